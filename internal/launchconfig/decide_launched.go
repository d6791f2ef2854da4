package launchconfig

import (
	"errors"
	"fmt"
	"strconv"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// decideLaunched says what is launched, where the spec asks for another configuration, and has EC2
// try what is launched if it has not.
func decideLaunched(in Input, asked asked, launch steered, version launchtemplate.Version, plan *reconcile.Plan) bool {
	if !showLaunched(in, asked, launch, version, plan) {
		return false
	}
	return decideTryFirst(in, launch, version.Number, plan)
}

// showLaunched shows what is launched, where the spec asks for another configuration. It reports
// false if what it names has to be looked up first.
func showLaunched(in Input, asked asked, launch steered, version launchtemplate.Version, plan *reconcile.Plan) bool {
	status := &in.Object.Status
	defer showColumns(in.Object)
	if launch.input.Fingerprints.Config == asked.config() {
		status.Launched = nil
		return true
	}
	facts, known := in.Seen.Facts[version.Number]
	if !known {
		plan.Need(reconcile.Need(factsNeed + strconv.FormatInt(version.Number, 10)))
		return false
	}
	contents, err := launch.input.Contents()
	if err = errors.Join(err, facts.Err); err != nil {
		pool.TryAgain(plan, fmt.Errorf("reading what is launched: %w", err))
		return true
	}
	if eksChooses(&in.Object.Spec) {
		facts.Value.RootDeviceName = rootDevice(in.Object.Spec.Nodegroup.AMIType)
	}
	launched := inspection.Inspect(contents, facts.Value)
	status.Launched = resolvedStatus(&launched)
	return true
}

// showColumns fills the columns of kubectl get that describe the launched configuration.
func showColumns(config *infrav1.AWSLaunchConfig) {
	launched := config.WhatIsLaunched()
	config.Status.LaunchedImageID, config.Status.LaunchedInstanceType = launched.ImageID, launched.InstanceType
}

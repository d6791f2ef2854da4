package awslaunchconfig

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// showResolved shows in status what the spec's names and look-ups led to: the same as is told of a template of somebody else's.
func (r *Reconciler) showResolved(ctx context.Context, p *pass, image discovery.Image, instanceType discovery.InstanceType, imageKey string) error {
	contents, err := p.input.Contents()
	if err != nil {
		return err
	}
	facts := inspection.Facts{RootDeviceName: image.RootDeviceName}
	if image.ID != "" {
		facts.Image = &image
	}
	if instanceType.Name != "" {
		facts.InstanceType = &instanceType
	}
	if len(contents.SubnetIDs) > 0 {
		if facts.Subnets, err = p.cloud.Discovery.SubnetsByID(ctx, contents.SubnetIDs); err != nil {
			return err
		}
	}
	resolved := inspection.Inspect(contents, facts)
	p.config.Status.Resolved = resolvedStatus(&resolved)
	p.config.Status.Resolved.ImageKey = imageKey
	return nil
}

// showLaunched shows what is launched, where the spec asks for another configuration.
func (r *Reconciler) showLaunched(ctx context.Context, p *pass) reconciling.Outcome {
	status := &p.config.Status
	defer showColumns(p.config)
	if p.input.Fingerprints.Config == p.asked {
		status.Launched = nil
		return reconciling.Continue()
	}
	contents, err := p.input.Contents()
	if err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	device := ""
	if eksChooses(&p.config.Spec) {
		device = rootDevice(p.config.Spec.Nodegroup.AMIType)
	}
	launched, err := inspection.NewReader(p.cloud.Discovery).Resolve(ctx, contents, device)
	if err != nil {
		return outcome.Again(fmt.Errorf("looking at what is launched: %w", err)).AndGoOn()
	}
	status.Launched = resolvedStatus(&launched)
	return reconciling.Continue()
}

// showColumns fills what kubectl get shows of what is launched.
func showColumns(config *infrav1.AWSLaunchConfig) {
	launched := config.WhatIsLaunched()
	config.Status.LaunchedImageID, config.Status.LaunchedInstanceType = launched.ImageID, launched.InstanceType
}

// mostListed is how many security groups and subnets status has room for (API: maxItems).
const mostListed = 64

func resolvedStatus(resolved *inspection.Resolved) *infrav1.ResolvedLaunchConfig {
	status := &infrav1.ResolvedLaunchConfig{
		ImageID: resolved.ImageID, ImageParameter: resolved.ImageParameter, ImageArchitecture: resolved.Architecture, OperatingSystem: resolved.OperatingSystem, RootDeviceName: resolved.RootDeviceName,
		InstanceType: resolved.InstanceType, InstanceRequirements: resolved.Requirements, Market: resolved.Market,
		SecurityGroupIDs: atMost(resolved.SecurityGroups), SubnetIDs: atMost(resolved.SubnetIDs), AvailabilityZones: atMost(resolved.Zones),
		IamInstanceProfile: resolved.InstanceProfile, EphemeralStorageGiB: resolved.EphemeralStorageGiB,
		UserDataBytes: ptr.To(int32(resolved.UserDataBytes)), //nolint:gosec // at most 16,384
	}
	for _, gap := range resolved.Gaps {
		status.Missing = append(status.Missing, infrav1.LaunchConfigGap{
			For: string(gap.Consumer), Member: gap.Member, Blocking: gap.Blocking, Message: common.Shortened(gap.Message),
		})
	}
	return status
}

func atMost(values []string) []string { return values[:min(len(values), mostListed)] }

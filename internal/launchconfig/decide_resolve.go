package launchconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// asked holds what the spec asks for: what its names lead to, and the request that is built from
// it.
type asked struct {
	resolved launchtemplate.Resolved
	input    launchtemplate.Input
}

// config returns the fingerprint of the node configuration that the spec asks for.
func (a asked) config() string { return a.input.Fingerprints.Config }

// decideResolved finds what the spec names by other means than an id, and makes the request of it.
func decideResolved(in Input, delivered delivery, plan *reconcile.Plan) (asked, bool) {
	config, found := in.Object, in.Seen.Lookups
	if found == nil {
		plan.Need(needLookups)
		plan.Need(needImage)
		return asked{}, false
	}
	if !profileAllowed(in, plan, found.ProfileErr) || !lookupsSucceeded(in, plan) {
		return asked{}, false
	}
	if !imageSuits(in, plan) {
		return asked{}, false
	}
	if config.Spec.Nodegroup != nil {
		rendered, known := decideNodegroupData(in, plan)
		if !known {
			return asked{}, false
		}
		delivered = rendered
	}
	resolved := resolvedOf(in, delivered)
	resolved.TokensRequired = tokensRequired(config, in.Seen.Template.Observation, resolved)
	input, err := launchtemplate.NewInput(&config.Spec, resolved)
	if err == nil {
		err = showResolved(in, input)
	}
	if err != nil {
		plan.Fail(err)
		return asked{}, false
	}
	reconciling.True(config, infrav1.ResolvedCondition, infrav1.ReadyReason, "")
	return asked{resolved: resolved, input: input}, true
}

// imageSuits reports whether the image was found and goes with the spec and the instance type.
func imageSuits(in Input, plan *reconcile.Plan) bool {
	image := in.Seen.Image
	switch {
	case image == nil:
		plan.Fail(missingFacts("the image"))
		return false
	case image.Err != nil:
		unresolved(in, plan, infrav1.ImageNotFoundReason, image.Err)
		return false
	}
	if image.Gone != "" {
		plan.Tell(reconcile.Warningf(infrav1.ImageGoneEvent, "Image %s no longer exists. Slipway looks up "+
			"another one. Running nodes are kept", image.Gone))
	}
	if reason, message := contradiction(&in.Object.Spec, in.Seen.Lookups.Type.Value, image.Image); reason != "" {
		reconciling.False(in.Object, infrav1.ResolvedCondition, reason, message)
		return false
	}
	return true
}

// resolvedOf returns what was found for the spec.
func resolvedOf(in Input, delivered delivery) launchtemplate.Resolved {
	config, image, found, facts := in.Object, in.Seen.Image, in.Seen.Lookups, in.Seen.Access.Facts
	resolved := launchtemplate.Resolved{
		ImageID: image.ID, ImageKey: image.Key, RootDeviceName: image.RootDeviceName,
		SecurityGroupIDs: slices.Concat(facts.NodeSecurityGroupIDs, found.Groups.Value),
		Tags:             facts.OwnedTags(names(config)[0], config.Spec.AdditionalTags),
		UserData:         delivered.userData, Bootstrap: delivered.bootstrap,
	}
	for _, one := range found.Interfaces {
		made := launchtemplate.Interface{GroupIDs: one.Groups.Value}
		if len(one.Subnets.Value) == 1 {
			made.SubnetID = one.Subnets.Value[0].ID
		}
		resolved.Interfaces = append(resolved.Interfaces, made)
	}
	if delivered.item != nil {
		resolved.Data = delivered.item.Location.String()
	}
	return resolved
}

// unresolved says in the Resolved condition why something was not found. The reason is for
// something that AWS does not have.
func unresolved(in Input, plan *reconcile.Plan, notFound string, err error) {
	pool.ShowFailure(in.Object, plan, infrav1.ResolvedCondition, reasonOr(err, notFound), err)
}

// reasonOr is the given reason for something that AWS does not have, and a general one for any other failure.
func reasonOr(err error, notFound string) string {
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		return notFound
	}
	return infrav1.ResolveFailedReason
}

// lookupsSucceeded reports whether security groups, network interfaces and instance type were
// found, and says what was not.
func lookupsSucceeded(in Input, plan *reconcile.Plan) bool {
	found := in.Seen.Lookups
	if err := found.Groups.Err; err != nil {
		unresolved(in, plan, infrav1.SecurityGroupNotFoundReason, err)
		return false
	}
	for i, one := range found.Interfaces {
		switch subnets := one.Subnets; {
		case one.Groups.Err != nil:
			unresolved(in, plan, infrav1.SecurityGroupNotFoundReason, one.Groups.Err)
			return false
		case subnets.Err != nil:
			unresolved(in, plan, infrav1.SubnetsNotFoundReason, subnets.Err)
			return false
		case in.Object.Spec.NetworkInterfaces[i].Subnet != nil && len(subnets.Value) != 1:
			reconciling.False(in.Object, infrav1.ResolvedCondition, infrav1.InvalidSpecReason, fmt.Sprintf(
				"networkInterfaces[%d].subnet matches %d subnets, but an interface has exactly one. Set the "+
					"subnet's ID, or narrow the filters", i, len(subnets.Value)))
			return false
		}
	}
	if err := found.Type.Err; err != nil {
		unresolved(in, plan, infrav1.InstanceTypeNotFoundReason, err)
		return false
	}
	return true
}

// showResolved shows in status what the spec's names and look-ups resolved to. Status has the same
// fields for a launch template that Slipway does not own.
func showResolved(in Input, input launchtemplate.Input) error {
	contents, err := input.Contents()
	if err != nil {
		return err
	}
	image, found := in.Seen.Image, in.Seen.Lookups
	facts := inspection.Facts{RootDeviceName: image.RootDeviceName}
	if image.ID != "" {
		facts.Image = &image.Image
	}
	if found.Type.Value.Name != "" {
		facts.InstanceType = &found.Type.Value
	}
	for _, one := range found.Interfaces {
		facts.Subnets = append(facts.Subnets, one.Subnets.Value...)
	}
	slices.SortFunc(facts.Subnets, func(a, b discovery.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	facts.Subnets = slices.CompactFunc(facts.Subnets, func(a, b discovery.Subnet) bool { return a.ID == b.ID })
	resolved := inspection.Inspect(contents, facts)
	in.Object.Status.Resolved = resolvedStatus(&resolved)
	in.Object.Status.Resolved.ImageKey = image.Key
	return nil
}

// mostListed limits the number of security groups and subnets in status (API: maxItems).
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
			For: string(gap.Consumer), Member: gap.Member, Blocking: gap.Blocking, Message: report.Shortened(gap.Message),
		})
	}
	return status
}

func atMost(values []string) []string { return values[:min(len(values), mostListed)] }

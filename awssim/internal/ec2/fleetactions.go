package ec2

import (
	"strconv"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// createFleet launches a fleet of the type instant. Errors that prevent the launch of single
// instances do not fail the call: the answer lists them alongside the launched instances (API
// reference, CreateFleet, errorSet).
//
// A repeated client token gets the former answer, errors included, also when nothing was launched
// then: a retry has to come with another token (https://github.com/runs-on/runs-on/issues/251).
func createFleet(c *sim.Call, in *awsec2.CreateFleetInput) (*awsec2.CreateFleetOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	previous, err := replay[awsec2.CreateFleetOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, request)
	if previous != nil || err != nil {
		return previous, err
	}
	if err := checkFleet(&request); err != nil {
		return nil, err
	}
	tags, err := tagsFor(request.TagSpecifications, types.ResourceTypeFleet, fleetTaggable...)
	if err != nil {
		return nil, err
	}
	if err := s.capacities.checkNamed(&request); err != nil {
		return nil, err
	}
	templates, err := fleetTemplates(s, &request)
	if err != nil {
		return nil, err
	}
	pools, err := fleetPools(s, &request, templates)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	l := &fleetLaunch{state: s, pools: pools, spotRole: func() error { return ensureSpotRole(c) }, fleet: fleet{
		id: "fleet-" + c.Kernel.NewUUID(), created: c.Now, request: request, templates: templates, tags: tags, state: types.FleetStateCodeActive,
	}}
	if err := l.run(); err != nil {
		return nil, err
	}
	s.fleets.Put(l.fleet.id, l.fleet)
	out := &awsec2.CreateFleetOutput{FleetId: ptr(l.fleet.id), Instances: l.fleet.instances, Errors: l.fleet.errors}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

// fleetTemplates resolves the launch templates of a request. All of them must exist: a missing one
// fails the call (Karpenter looks for InvalidLaunchTemplateName.NotFoundException there).
func fleetTemplates(s *state, request *awsec2.CreateFleetInput) ([]*LaunchTemplateVersion, error) {
	templates := make([]*LaunchTemplateVersion, len(request.LaunchTemplateConfigs))
	for i, config := range request.LaunchTemplateConfigs {
		spec := config.LaunchTemplateSpecification
		version, err := ResolveLaunchTemplate(s.region, LaunchTemplateSpec{
			ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version),
		})
		if err != nil {
			return nil, err
		}
		if err := checkFleetMarket(val(version.Data.InstanceMarketOptions).MarketType, request); err != nil {
			return nil, err
		}
		templates[i] = version
	}
	return templates, nil
}

// launchTemplateAndOverrides says how something was launched. The template is given by its id and
// the number of its version, whatever the request named it by
// (https://github.com/getmoto/moto/pull/9790), the overrides as they were asked for.
func launchTemplateAndOverrides(p *pool) *types.LaunchTemplateAndOverridesResponse {
	return &types.LaunchTemplateAndOverridesResponse{
		LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecification{
			LaunchTemplateId: ptr(p.template.ID), Version: ptr(strconv.FormatInt(p.template.Number, 10)),
		},
		Overrides: ptr(shape.Convert[types.FleetLaunchTemplateOverrides](p.override)),
	}
}

var fleetFilters = filterTable[fleet]{
	"activity-status":                    func(fleet) []string { return enum(types.FleetActivityStatusFulfilled) },
	"excess-capacity-termination-policy": func(fleet) []string { return []string{"false"} },
	"fleet-state":                        func(f fleet) []string { return enum(f.state) },
	"replace-unhealthy-instances":        func(fleet) []string { return []string{"false"} },
	"type":                               func(fleet) []string { return enum(types.FleetTypeInstant) },
}

// describeFleets shows instant fleets only if they are asked for by id (SDK, DescribeFleetsInput.FleetIds).
func describeFleets(c *sim.Call, in *awsec2.DescribeFleetsInput) (*awsec2.DescribeFleetsOutput, error) {
	s := stateOf(c.Region)
	all := s.fleets.allLive(s.fleets.VisibleAll())
	if len(in.FleetIds) == 0 {
		all = nil
	}
	fleets := listing[fleet]{kind: fleetID, id: func(f fleet) string { return f.id }, filters: fleetFilters, tags: fleetTags, pages: pageLimits{min: 1, max: 1000}}
	found, next, err := fleets.read(all, query{in.FleetIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeFleetsOutput{NextToken: next}
	for _, f := range found {
		out.Fleets = append(out.Fleets, f.data())
	}
	return out, nil
}

func fleetTags(f fleet) []types.Tag { return f.tags }

// describeFleetInstances has nothing to show: it "does not support fleets of type instant" (SDK,
// DescribeFleetInstances), and there are no others. The code is an inference.
func describeFleetInstances(c *sim.Call, in *awsec2.DescribeFleetInstancesInput) (*awsec2.DescribeFleetInstancesOutput, error) {
	s := stateOf(c.Region)
	id := val(in.FleetId)
	if err := fleetID.check(id); err != nil {
		return nil, err
	}
	if f, ok := s.fleets.Visible(id); !ok || !s.fleets.live(f) {
		return nil, fleetID.missing(id)
	}
	return nil, sim.Errorf("UnsupportedOperation", "DescribeFleetInstances does not support fleets of type instant. Use DescribeFleets with the fleet ID.")
}

// maxFleetDeletions limits the instant fleets that one request deletes (SDK,
// DeleteFleetsInput.FleetIds).
const maxFleetDeletions = 25

// deleteFleets deletes fleets with their instances. Codes and messages are from the User Guide,
// "Troubleshoot when a fleet fails to delete".
func deleteFleets(c *sim.Call, in *awsec2.DeleteFleetsInput) (*awsec2.DeleteFleetsOutput, error) {
	if len(in.FleetIds) == 0 {
		return nil, missingParameter("FleetId")
	}
	if in.TerminateInstances == nil {
		return nil, missingParameter("TerminateInstances")
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s, out := stateOf(c.Region), &awsec2.DeleteFleetsOutput{}
	for _, id := range in.FleetIds {
		f, ok := s.fleets.Get(id)
		refuse := func(code types.DeleteFleetErrorCode, message string) {
			out.UnsuccessfulFleetDeletions = append(out.UnsuccessfulFleetDeletions, types.DeleteFleetErrorItem{
				FleetId: ptr(id), Error: &types.DeleteFleetError{Code: code, Message: ptr(message)},
			})
		}
		switch {
		case fleetID.check(id) != nil:
			refuse(types.DeleteFleetErrorCodeFleetIdMalformed, "The fleet ID '"+id+"' is malformed")
		case !ok || !s.fleets.live(f):
			refuse(types.DeleteFleetErrorCodeFleetIdDoesNotExist, "The fleet ID '"+id+"' does not exist")
		case len(in.FleetIds) > maxFleetDeletions:
			refuse("ExceededInstantFleetNumForDeletion", "Can't delete more than 25 instant fleets in a single request.")
		case !*in.TerminateInstances:
			refuse("NoTerminateInstancesNotSupported", "NoTerminateInstances option is not supported for instant fleet")
		case f.state != types.FleetStateCodeActive:
			refuse(types.DeleteFleetErrorCodeFleetNotInDeletableState, "The fleet '"+id+"' is not in a deletable state")
		default:
			before := f.state
			f.state = types.FleetStateCodeDeletedTerminatingInstances
			s.fleets.Put(id, f)
			TerminateInstances(s.region, f.instanceIDs()...)
			out.SuccessfulFleetDeletions = append(out.SuccessfulFleetDeletions, types.DeleteFleetSuccessItem{
				FleetId: ptr(id), PreviousFleetState: before, CurrentFleetState: f.state,
			})
		}
	}
	return out, nil
}

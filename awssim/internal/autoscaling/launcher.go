package autoscaling

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// launcher adds instances to groups: new ones, or ones that wait in a warm pool.
type launcher struct {
	region     *sim.Region
	kernel     *sim.Kernel
	groups     *groups
	activities *activityLog
	compute    compute
	planner    *launchPlanner
	lifecycle  *lifecycle
}

// launchUnits launches instances until they make up the given units or a launch fails. reason
// explains a replacement; without one the launches answer the difference between the desired and
// the actual capacity.
func (l *launcher) launchUnits(g *group, units int, reason string) {
	for units > 0 {
		if now := l.kernel.Now(); now.Before(g.retryAt) || now.Before(g.holdUntil) || g.suspends(processLaunch) {
			return
		}
		m := l.fromWarmPool(g, reason)
		if m == nil {
			if m = l.launchOne(g, reason, types.LifecycleStatePending); m == nil {
				return
			}
		}
		units -= m.units
	}
}

// launchOne launches one instance by the first option that EC2 grants, or records why there is none.
func (l *launcher) launchOne(g *group, reason string, state types.LifecycleState) *member {
	options, err := l.planner.options(g, reason == reasonBalance)
	if err != nil {
		l.launchFailed(g, nil, err)
		return nil
	}
	var last allocation.Place
	for _, o := range options {
		launched, launchErr := l.compute.launch(launchRequest{
			template: o.template, instanceType: o.choice.InstanceType, imageID: val(o.override.ImageId), place: o.place,
			market: o.market, maxPrice: o.maxPrice, tags: g.instanceTags(), groupName: g.name, placementGroup: g.placementGroup,
			reservation: o.reservation,
		})
		if launchErr == nil {
			return l.adopt(g, launched, o, reason, state)
		}
		err, last = launchErr, o.place
		if !lacksCapacity(launchErr) {
			break
		}
	}
	l.launchFailed(g, &last, err)
	return nil
}

// adopt makes a launched instance a member.
func (l *launcher) adopt(g *group, i ec2.Instance, o option, reason string, state types.LifecycleState) *member {
	now := l.kernel.Now()
	before := g.capacity()
	g.launches++
	m := &member{
		id: val(i.InstanceId), sequence: g.launches, zone: val(i.Placement.AvailabilityZone), subnet: val(i.SubnetId),
		instanceType: string(i.InstanceType), imageID: val(o.override.ImageId), weight: weightOf(o, g.capacityUnit),
		units: o.choice.Units, spot: i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot, launched: now, state: state,
		reservation: o.reservation,
		protected:   g.protectNew, configuration: o.template.configuration,
	}
	if m.configuration == nil {
		m.template = &types.LaunchTemplateSpecification{
			LaunchTemplateId: ptr(o.template.id), LaunchTemplateName: ptr(o.template.name), Version: ptr(itoa(o.template.number)),
		}
	}
	if z := l.region.World().Zone(m.zone); z != nil {
		m.zoneID = z.ID
	}
	g.members = append(g.members, m)
	l.groups.ofInstance[m.id] = g
	g.failures, g.retryAt, g.failure, g.failureMessage = 0, time.Time{}, nil, ""
	description := "Launching a new EC2 instance: " + m.id
	if m.warmed() {
		description = "Launching a new EC2 instance into warm pool: " + m.id
	}
	m.run = l.activities.begin(g, m, description, l.launchCause(g, before, before+m.units, reason))
	return m
}

// weightOf returns what is shown as the weight of an instance: "the number of capacity units
// contributed by the instance based on its instance type" (SDK types.Instance.WeightedCapacity).
// That it is shown of a group that counts vCPUs or memory too is an inference.
func weightOf(o option, capacityUnit string) string {
	if capacityUnit != allocation.CapacityTypeUnits {
		return itoa(o.choice.Units)
	}
	return val(o.override.WeightedCapacity)
}

// launchCause returns why an instance is launched.
func (l *launcher) launchCause(g *group, from, to int, reason string) string {
	now := l.kernel.Now()
	if reason == "" && g.replacing > 0 {
		g.replacing--
		reason = "an unhealthy instance needing to be replaced"
	}
	if reason != "" {
		return causeLaunched(now, reason)
	}
	return join(g.cause, causeCapacity(now, from, to))
}

// launchFailed records a launch that EC2 refused, and puts off the next attempt.
func (l *launcher) launchFailed(g *group, where *allocation.Place, err error) {
	now := l.kernel.Now()
	var m *member
	if where != nil {
		m = &member{zone: where.Zone, subnet: where.Subnet}
	}
	a := l.activities.begin(g, m, "Launching a new EC2 instance", join(g.cause, causeCapacity(now, g.capacity(), max(g.desired, g.capacity()+1))))
	config := g.effective()
	market, _ := nextMarket(g, config)
	failure := sim.AsError(err)
	if config.mixed != nil {
		failure = fleetFailure(failure, market)
	}
	g.failure, g.failureMessage = failure, failureMessage(failure, config.mixed != nil, market)
	l.activities.note(a, types.ScalingActivityStatusCodeFailed, 100, g.failureMessage)
	g.backOff(l.kernel.Now())
}

// failureMessage returns the status message of an activity whose launch failed. For a group with a
// mixed instances policy it has the purchase option and EC2's code before EC2's message:
// buildkite/elastic-ci-stack-for-aws#851, cortexlabs/cortex#1258 and mludvig/aws-ethereum-miner#23
// for Spot, aws/containers-roadmap#2204 and klothoplatform/klotho#311 for On-Demand. For any other
// group it has neither: aws/aws-parallelcluster#1944.
func failureMessage(e *sim.Error, mixed bool, market ec2types.MarketType) string {
	message := strings.TrimRight(e.Message, ".") + ". Launching EC2 instance failed."
	switch {
	case !mixed:
		return message
	case market == ec2types.MarketTypeSpot:
		return "Could not launch Spot Instances. " + e.Code + " - " + message
	default:
		return "Could not launch On-Demand Instances. " + e.Code + " - " + message
	}
}

// fleetFailure returns the error as a fleet reports it, through which Auto Scaling launches for a
// mixed instances policy: of Spot capacity that is not there (re:Post, "How do I troubleshoot Spot
// Instance issues in Amazon EKS"), and of a type that the zone lacks
// (mludvig/aws-ethereum-miner#23).
func fleetFailure(e *sim.Error, market ec2types.MarketType) *sim.Error {
	switch {
	case e.Code == "InsufficientInstanceCapacity" && market == ec2types.MarketTypeSpot:
		return sim.AsError(sim.Errorf("UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."))
	case e.Code == "Unsupported":
		return &sim.Error{Code: "InvalidFleetConfiguration", Message: e.Message, Status: e.Status}
	}
	return e
}

// instanceTags returns what the group puts on its instances. They win over the launch template's
// (reference 2.3).
func (g *group) instanceTags() []ec2types.Tag {
	var tags []ec2types.Tag
	for _, t := range g.tags {
		if val(t.PropagateAtLaunch) {
			tags = append(tags, ec2types.Tag{Key: t.Key, Value: t.Value})
		}
	}
	return tags
}

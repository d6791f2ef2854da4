package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// inService is the state of a load balancer that has taken in the group's instances. There are no
// load balancers here that could be slower (API LoadBalancerState: Added if the group has no
// instances that could be registered).
const inService = "InService"

// attachmentActions serves the actions that attach load balancers and other traffic sources.
type attachmentActions struct {
	ownZoneOnly map[string]bool
	groups      *groups
}

// with and without return a list with names added or taken away; what is there already, or is not
// there, changes nothing.
func with(list, names []string) []string {
	list = slices.Clone(list)
	for _, n := range names {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

func without(all, names []string) []string {
	return list.Filter(all, func(n string) bool { return !slices.Contains(names, n) })
}

// detachNames takes names from a list of attachments. Auto Scaling refuses the call if one of them is
// not attached (Terraform's AWS provider, internal/service/autoscaling/attachment.go; deployment
// tools look for the same message with Target Groups).
func (api *attachmentActions) detachNames(c *sim.Call, group *string, kind string, names []string, of func(*attachments) *[]string) error {
	g, err := api.groups.change(c, group)
	if err != nil {
		return err
	}
	if attached := *of(&g.attached); len(without(names, attached)) > 0 {
		return invalid("Trying to remove %s that are not part of the group", kind)
	}
	return api.change(c, group, func(a *attachments) { *of(a) = without(*of(a), names) })
}

// change changes what a group is attached to.
func (api *attachmentActions) change(c *sim.Call, group *string, change func(*attachments)) error {
	g, err := api.groups.change(c, group)
	if err != nil {
		return err
	}
	changed := g.attached
	change(&changed)
	if err := changed.check(); err != nil {
		return err
	}
	g.attached = changed
	api.groups.changed(g)
	return nil
}

func (api *attachmentActions) attachLoadBalancers(c *sim.Call, in *autoscaling.AttachLoadBalancersInput) (*autoscaling.AttachLoadBalancersOutput, error) {
	err := api.change(c, in.AutoScalingGroupName, func(a *attachments) { a.loadBalancers = with(a.loadBalancers, in.LoadBalancerNames) })
	return &autoscaling.AttachLoadBalancersOutput{}, err
}

func (api *attachmentActions) detachLoadBalancers(c *sim.Call, in *autoscaling.DetachLoadBalancersInput) (*autoscaling.DetachLoadBalancersOutput, error) {
	err := api.detachNames(c, in.AutoScalingGroupName, "Load Balancers", in.LoadBalancerNames, func(a *attachments) *[]string { return &a.loadBalancers })
	return &autoscaling.DetachLoadBalancersOutput{}, err
}

func (api *attachmentActions) attachTargetGroups(c *sim.Call,
	in *autoscaling.AttachLoadBalancerTargetGroupsInput) (*autoscaling.AttachLoadBalancerTargetGroupsOutput, error) {
	if err := fewTargetGroups(in.TargetGroupARNs); err != nil {
		return nil, err
	}
	err := api.change(c, in.AutoScalingGroupName, func(a *attachments) { a.targetGroups = with(a.targetGroups, in.TargetGroupARNs) })
	return &autoscaling.AttachLoadBalancerTargetGroupsOutput{}, err
}

func (api *attachmentActions) detachTargetGroups(c *sim.Call,
	in *autoscaling.DetachLoadBalancerTargetGroupsInput) (*autoscaling.DetachLoadBalancerTargetGroupsOutput, error) {
	if err := fewTargetGroups(in.TargetGroupARNs); err != nil {
		return nil, err
	}
	err := api.detachNames(c, in.AutoScalingGroupName, "Target Groups", in.TargetGroupARNs, func(a *attachments) *[]string { return &a.targetGroups })
	return &autoscaling.DetachLoadBalancerTargetGroupsOutput{}, err
}

// fewTargetGroups: one call takes up to ten (SDK AttachLoadBalancerTargetGroupsInput.TargetGroupARNs).
func fewTargetGroups(arns []string) error {
	if len(arns) > maxTargetGroupsPerCall {
		return invalid("You can specify a maximum of %d target groups.", maxTargetGroupsPerCall)
	}
	return nil
}

func identifies(all []types.TrafficSourceIdentifier, t types.TrafficSourceIdentifier) bool {
	return slices.ContainsFunc(all, func(o types.TrafficSourceIdentifier) bool { return val(o.Identifier) == val(t.Identifier) })
}

func (api *attachmentActions) attachTrafficSources(c *sim.Call, in *autoscaling.AttachTrafficSourcesInput) (*autoscaling.AttachTrafficSourcesOutput, error) {
	if err := fewTrafficSources(in.TrafficSources); err != nil {
		return nil, err
	}
	if g := api.groups.byName[val(in.AutoScalingGroupName)]; g != nil {
		if err := checkZonalShift(api.ownZoneOnly, g.impairment, attachments{trafficSources: in.TrafficSources}, in.SkipZonalShiftValidation); err != nil {
			return nil, err
		}
	}
	err := api.change(c, in.AutoScalingGroupName, func(a *attachments) {
		added := list.Filter(in.TrafficSources, func(t types.TrafficSourceIdentifier) bool { return !identifies(a.trafficSources, t) })
		a.trafficSources = slices.Concat(a.trafficSources, added)
	})
	return &autoscaling.AttachTrafficSourcesOutput{}, err
}

// fewTrafficSources: one call takes up to ten (SDK AttachTrafficSourcesInput.TrafficSources).
func fewTrafficSources(sources []types.TrafficSourceIdentifier) error {
	switch {
	case len(sources) == 0:
		return required("trafficSources")
	case len(sources) > maxTargetGroupsPerCall:
		return invalid("You can specify a maximum of %d traffic sources.", maxTargetGroupsPerCall)
	}
	return nil
}

// detachTrafficSources takes what is not attached for detached: what Auto Scaling answers to that is
// not documented.
func (api *attachmentActions) detachTrafficSources(c *sim.Call, in *autoscaling.DetachTrafficSourcesInput) (*autoscaling.DetachTrafficSourcesOutput, error) {
	if err := fewTrafficSources(in.TrafficSources); err != nil {
		return nil, err
	}
	err := api.change(c, in.AutoScalingGroupName, func(a *attachments) {
		a.trafficSources = list.Filter(a.trafficSources, func(t types.TrafficSourceIdentifier) bool { return !identifies(in.TrafficSources, t) })
	})
	return &autoscaling.DetachTrafficSourcesOutput{}, err
}

func (api *attachmentActions) describeLoadBalancers(_ *sim.Call, in *autoscaling.DescribeLoadBalancersInput) (*autoscaling.DescribeLoadBalancersOutput, error) {
	v, err := api.groups.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(v.group.LoadBalancerNames, in.NextToken, in.MaxRecords, 100, 100, func(n string) string { return n })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeLoadBalancersOutput{NextToken: next}
	for _, n := range page {
		out.LoadBalancers = append(out.LoadBalancers, types.LoadBalancerState{LoadBalancerName: ptr(n), State: ptr(inService)})
	}
	return out, nil
}

func (api *attachmentActions) describeTargetGroups(_ *sim.Call,
	in *autoscaling.DescribeLoadBalancerTargetGroupsInput) (*autoscaling.DescribeLoadBalancerTargetGroupsOutput, error) {
	v, err := api.groups.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(v.group.TargetGroupARNs, in.NextToken, in.MaxRecords, 100, 100, func(n string) string { return n })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeLoadBalancerTargetGroupsOutput{NextToken: next}
	for _, n := range page {
		out.LoadBalancerTargetGroups = append(out.LoadBalancerTargetGroups, types.LoadBalancerTargetGroupState{LoadBalancerTargetGroupARN: ptr(n), State: ptr(inService)})
	}
	return out, nil
}

func (api *attachmentActions) describeTrafficSources(_ *sim.Call, in *autoscaling.DescribeTrafficSourcesInput) (*autoscaling.DescribeTrafficSourcesOutput, error) {
	v, err := api.groups.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	all := list.Filter(v.group.TrafficSources, func(t types.TrafficSourceIdentifier) bool {
		return in.TrafficSourceType == nil || *in.TrafficSourceType == val(t.Type)
	})
	page, next, err := paginate(all, in.NextToken, in.MaxRecords, 50, 50, func(t types.TrafficSourceIdentifier) string { return *t.Identifier })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeTrafficSourcesOutput{NextToken: next}
	for _, t := range page {
		out.TrafficSources = append(out.TrafficSources, types.TrafficSourceState{Identifier: t.Identifier, Type: t.Type, State: ptr(inService)})
	}
	return out, nil
}

package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file refuses configurations that a group could not launch with.

// checkLaunchable resolves everything that a configuration could launch and refuses it if a launch
// would be refused, as Auto Scaling does when a group is created or updated (UG
// ts-as-launch-template: the values in the launch template are only validated then).
func (s *service) checkLaunchable(n *settings) error {
	if n.config.launchConfiguration != "" {
		if err := s.checkPlacementGroup(n); err != nil {
			return err
		}
		return s.checkConfigured(n)
	}
	base, err := s.base(n.config)
	if err != nil {
		return badTemplate(err)
	}
	if err := s.checkPlacementGroup(n); err != nil {
		return err
	}
	if err := checkTemplate(base, n); err != nil {
		return err
	}
	for i, o := range n.config.alternatives() {
		if err := s.checkAlternative(n, base, i, o); err != nil {
			return err
		}
	}
	return nil
}

// alternatives are the overrides, or for a configuration without any the one alternative of changing nothing.
func (c configuration) alternatives() []types.LaunchTemplateOverrides {
	if overrides := c.overrides(); len(overrides) > 0 {
		return overrides
	}
	return []types.LaunchTemplateOverrides{{}}
}

// templateOf returns the launch template of an override: its own, or that of the policy.
func (s *service) templateOf(o types.LaunchTemplateOverrides, base resolved) (resolved, error) {
	if o.LaunchTemplateSpecification == nil {
		return base, nil
	}
	return s.resolve(o.LaunchTemplateSpecification)
}

// checkAlternative refuses the i-th way to launch if no place of the group could launch it.
func (s *service) checkAlternative(n *settings, base resolved, i int, o types.LaunchTemplateOverrides) error {
	template, err := s.templateOf(o, base)
	if err != nil {
		return badTemplate(err)
	}
	if err := checkTemplate(template, n); err != nil {
		return err
	}
	instanceType := valOr(o.InstanceType, string(template.data.InstanceType))
	if req := requirementsOf(o, template); req != nil {
		if err := checkBaseline(req); err != nil {
			return err
		}
		matches := s.matching(n, req, i, s.architectureOf(o, template))
		if len(matches) == 0 {
			return invalid("No instance types match the specified instance requirements.")
		}
		instanceType = matches[0].instanceType
	}
	if instanceType == "" {
		return invalid("You must use a valid fully-formed launch template. The launch template must contain an instance type.")
	}
	if o.ImageId == nil && val(template.data.ImageId) == "" {
		return invalid("You must use a valid fully-formed launch template. The request must contain the parameter ImageId")
	}
	if err := s.dryRunAnywhere(n, launchRequest{template: template, instanceType: instanceType, imageID: val(o.ImageId), placementGroup: n.placementGroup}); err != nil {
		return badTemplate(err)
	}
	return nil
}

// dryRunAnywhere tries a launch in the places of the group until one allows it. That a zone does
// not offer the instance type is no reason to refuse a group that has others: the launch there
// fails and goes to the next zone (UG ts-as-instancelaunchfailure lists it among failed launches).
// That it is one where no zone of the group offers it is an inference.
func (s *service) dryRunAnywhere(n *settings, request launchRequest) error {
	var first error
	for _, p := range n.placesOf(nil, nil) {
		request.place = p
		err := s.dryRun(request)
		if err == nil || sim.AsError(err).Code != "Unsupported" {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// checkPlacementGroup: a cluster placement group lies in one zone (SDK
// CreateAutoScalingGroupInput.PlacementGroup). That the group exists is seen by the dry run.
func (s *service) checkPlacementGroup(n *settings) error {
	if n.placementGroup != "" && len(n.zones) > 1 && s.clusters(n.placementGroup) {
		return invalid("You cannot specify multiple Availability Zones and a cluster placement group (%s).", n.placementGroup)
	}
	return nil
}

// attributeBased reports whether instance types are chosen by their attributes, which the overrides
// or the launch templates may name (UG
// create-mixed-instances-group-attribute-based-instance-type-selection). A template that is gone
// names none.
func (s *service) attributeBased(c configuration) bool {
	base, baseErr := s.base(c)
	return slices.ContainsFunc(c.alternatives(), func(o types.LaunchTemplateOverrides) bool {
		if o.InstanceRequirements != nil || o.InstanceType != nil {
			return o.InstanceRequirements != nil
		}
		template, err := s.templateOf(o, base)
		return err == nil && (baseErr == nil || o.LaunchTemplateSpecification != nil) && template.data.InstanceRequirements != nil
	})
}

// requirementsOf returns the attributes by which an override, or the template itself, chooses instance types.
func requirementsOf(o types.LaunchTemplateOverrides, t resolved) *ec2types.InstanceRequirementsRequest {
	if o.InstanceRequirements != nil {
		return ptr(shape.Convert[ec2types.InstanceRequirementsRequest](*o.InstanceRequirements))
	}
	if o.InstanceType == nil && t.data.InstanceType == "" {
		return t.data.InstanceRequirements
	}
	return nil
}

// checkTemplate refuses what Auto Scaling refuses of a template that EC2 would launch (reference
// 2.3 and 4(b)).
func checkTemplate(t resolved, n *settings) error {
	if err := checkMarket(t.data.InstanceMarketOptions, n.config.mixed != nil); err != nil {
		return err
	}
	if p := t.data.Placement; p != nil && (val(p.HostId) != "" || val(p.Affinity) == "host") {
		return invalid("You must use a valid fully-formed launch template. Dedicated Host id and affinity are not supported in an Auto Scaling group.")
	}
	// Code and message as users report them, hashicorp/terraform-provider-aws#4570: this is a check
	// of Auto Scaling's own, before EC2 is asked.
	if len(t.data.NetworkInterfaces) > 0 && len(t.data.SecurityGroupIds)+len(t.data.SecurityGroups) > 0 {
		return sim.Errorf("InvalidQueryParameter", "Invalid launch template: When a network interface is provided, the security groups must be a part of it.")
	}
	return checkInterfaces(t.data.NetworkInterfaces, n)
}

func checkMarket(m *ec2types.LaunchTemplateInstanceMarketOptionsRequest, mixed bool) error {
	switch {
	case m == nil:
	case m.MarketType == ec2types.MarketTypeSpot && mixed:
		return invalid("Incompatible launch template: the launch template must not specify Spot Instances when it is used with a mixed instances policy.")
	case m.MarketType == ec2types.MarketTypeCapacityBlock && mixed:
		return invalid("Incompatible launch template: Capacity Blocks cannot be used with a mixed instances policy.")
	case m.SpotOptions != nil && (m.SpotOptions.SpotInstanceType == ec2types.SpotInstanceTypePersistent || m.SpotOptions.ValidUntil != nil):
		return invalid("You must use a valid fully-formed launch template. Spot requests of an Auto Scaling group must be one-time and without ValidUntil.")
	}
	return nil
}

func checkInterfaces(interfaces []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, n *settings) error {
	devices := map[[2]int32]bool{}
	for _, i := range interfaces {
		device := [2]int32{val(i.NetworkCardIndex), val(i.DeviceIndex)}
		switch {
		case devices[device]:
			return invalid("You must use a valid fully-formed launch template. Each network interface requires a unique device index.")
		case val(i.NetworkInterfaceId) != "" && (n.max > 1 || len(n.zones) > 1 || len(n.subnets) > 0):
			return invalid("You must use a valid fully-formed launch template. A group that uses an existing network interface can have one instance, in one Availability Zone, and no subnets.")
		case len(interfaces) > 1 && val(i.AssociatePublicIpAddress):
			return invalid("You must use a valid fully-formed launch template. The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
		devices[device] = true
	}
	return nil
}

// parameterImage reports whether a template's image is a Systems Manager parameter, which the
// refresh features exclude (UG using-systems-manager-parameters).
func parameterImage(t resolved) bool { return strings.HasPrefix(val(t.data.ImageId), "resolve:ssm:") }

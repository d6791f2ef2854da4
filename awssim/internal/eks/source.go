package eks

import (
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// source is the version of a user's launch template that a group was created from.
type source struct {
	id, name string
	version  int64
	data     ec2types.RequestLaunchTemplateData
}

// custom reports whether the nodes boot the user's own image.
func (o *source) custom() bool { return o != nil && val(o.data.ImageId) != "" }

// findSource returns the version that a specification currently refers to. EKS records its number
// (SDK LaunchTemplateSpecification: "if no version is specified, then the template's default
// version is used").
func (r *requests) findSource(spec *types.LaunchTemplateSpecification) (*source, error) {
	if spec == nil {
		return nil, nil
	}
	if (val(spec.Id) == "") == (val(spec.Name) == "") {
		return nil, invalid("You must specify either the launch template ID or the launch template name in the request, but not both.")
	}
	v, err := ec2.ResolveLaunchTemplate(r.region, ec2.LaunchTemplateSpec{ID: val(spec.Id), Name: val(spec.Name), Version: val(spec.Version)})
	if err != nil {
		return nil, invalid("%v", err)
	}
	return &source{id: v.ID, name: v.Name, version: v.Number, data: v.Data}, nil
}

// check refuses settings that a launch template of a managed node group must not have (UG
// launch-templates, "Launch template configuration basics"; SDK LaunchTemplateSpecification). The
// wording about instance profiles is from reports. The other wordings are inferences.
func (o *source) check() error {
	d := o.data
	switch {
	case d.IamInstanceProfile != nil:
		return invalid("Launch template should not specify an instance profile. The noderole in your request will be used to construct an instance profile.")
	case slices.ContainsFunc(d.NetworkInterfaces, func(n ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest) bool {
		return val(n.SubnetId) != ""
	}):
		return invalid("Launch template should not specify a subnet. The subnets in your request will be used.")
	case d.InstanceInitiatedShutdownBehavior != "":
		return invalid("Launch template should not specify a shutdown behavior. Amazon EKS controls the instance lifecycle.")
	case d.HibernationOptions != nil:
		return invalid("Launch template should not specify hibernation options.")
	case d.InstanceMarketOptions != nil && (d.InstanceMarketOptions.MarketType == ec2types.MarketTypeSpot || d.InstanceMarketOptions.SpotOptions != nil):
		return invalid("Launch template should not request Spot Instances. Specify the capacity type in your request.")
	case d.InstanceRequirements != nil:
		return invalid("Launch template should not specify instance requirements.")
	case strings.HasPrefix(val(d.ImageId), "resolve:ssm:"):
		return invalid("Launch template should not specify a Systems Manager parameter for the image.")
	case len(d.SecurityGroupIds)+len(d.SecurityGroups) > 0 && slices.ContainsFunc(d.NetworkInterfaces,
		func(n ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest) bool {
			return len(n.Groups) > 0
		}):
		return invalid("Launch template should not specify both instance-level security groups and security groups of network interfaces.")
	}
	return nil
}

// groups reports whether the template brings security groups of its own, in which case EKS adds
// none (UG launch-templates, "Using custom security groups").
func (o *source) groups() bool {
	d := o.data
	return len(d.SecurityGroupIds)+len(d.SecurityGroups) > 0 || slices.ContainsFunc(d.NetworkInterfaces,
		func(n ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest) bool {
			return len(n.Groups) > 0
		})
}

// blockReservation returns the capacity reservation that the template targets.
func (o *source) blockReservation() string {
	if o == nil || o.data.CapacityReservationSpecification == nil || o.data.CapacityReservationSpecification.CapacityReservationTarget == nil {
		return ""
	}
	return val(o.data.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId)
}

// asksForBlock reports whether the template launches into a Capacity Block.
func (o *source) asksForBlock() bool {
	return o != nil && o.data.InstanceMarketOptions != nil && o.data.InstanceMarketOptions.MarketType == ec2types.MarketTypeCapacityBlock
}

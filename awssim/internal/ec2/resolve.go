package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// LaunchTemplateSpec names a version of a launch template, as RunInstances, Auto Scaling groups and
// fleets do: exactly one of ID and Name, and a version number, $Latest, $Default or nothing, which
// means $Default.
type LaunchTemplateSpec struct{ ID, Name, Version string }

// LaunchTemplateVersion is the version that a LaunchTemplateSpec currently resolves to.
type LaunchTemplateVersion struct {
	ID, Name string
	Number   int64
	Data     types.RequestLaunchTemplateData
}

// ResolveLaunchTemplate returns the version that the spec stands for now. The data is a copy. It
// fails with EC2's error when the template or the version does not exist, or when the spec is not
// well-formed.
func ResolveLaunchTemplate(r *sim.Region, spec LaunchTemplateSpec) (*LaunchTemplateVersion, error) {
	t, err := stateOf(r).templates.find(optional(spec.ID), optional(spec.Name))
	if err != nil {
		return nil, err
	}
	if spec.Version == "" {
		spec.Version = aliasDefault
	}
	v, err := t.version(spec.Version)
	if err != nil {
		return nil, err
	}
	return &LaunchTemplateVersion{ID: t.id, Name: t.name, Number: v.number, Data: shape.Clone(v.data)}, nil
}

// ResolveImageID returns the image that an image id or a Systems Manager reference
// (resolve:ssm:<parameter>) stands for now.
func ResolveImageID(r *sim.Region, id string) (string, error) { return stateOf(r).images.resolve(id) }

// mergeLaunch returns the launch that a request means: the launch template's parameters with the
// request's own on top.
func mergeLaunch(data types.RequestLaunchTemplateData, request awsec2.RunInstancesInput) awsec2.RunInstancesInput {
	merged := shape.Convert[awsec2.RunInstancesInput](data)
	shape.Overlay(&merged, request)
	return merged
}

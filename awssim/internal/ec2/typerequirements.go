package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/requirements"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// requirementPages are the limits of GetInstanceTypesFromInstanceRequirements (API reference:
// MaxResults "between 1 and 1000", 1000 by default).
var requirementPages = pageLimits{min: 1, max: 1000, unpaged: 1000}

// getInstanceTypesFromInstanceRequirements returns the names of the types with the attributes, in
// alphabetical order, as in the AWS CLI's example. Capacity is not considered, nor is price
// protection: its members are documented as not supported here (SDK, InstanceRequirementsRequest),
// and Cluster Autoscaler sends them.
func getInstanceTypesFromInstanceRequirements(
	c *sim.Call, in *awsec2.GetInstanceTypesFromInstanceRequirementsInput,
) (*awsec2.GetInstanceTypesFromInstanceRequirementsOutput, error) {
	if err := checkTypeQuery(in); err != nil {
		return nil, err
	}
	var all []string
	for _, t := range stateOf(c.Region).catalog.offeredTypes() {
		if intersects(in.ArchitectureTypes, t.Architectures) && intersects(in.VirtualizationTypes, virtualizationTypes(t)) && requirements.Meets(t, in.InstanceRequirements) {
			all = append(all, t.Name)
		}
	}
	slices.Sort(all)
	found, next, err := page(all, in.MaxResults, in.NextToken, requirementPages, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.GetInstanceTypesFromInstanceRequirementsOutput{NextToken: next}
	for _, name := range found {
		out.InstanceTypes = append(out.InstanceTypes, types.InstanceTypeInfoFromInstanceRequirements{InstanceType: ptr(name)})
	}
	return out, nil
}

func checkTypeQuery(in *awsec2.GetInstanceTypesFromInstanceRequirementsInput) error {
	switch {
	case len(in.ArchitectureTypes) == 0:
		return missingParameter("ArchitectureType")
	case len(in.VirtualizationTypes) == 0:
		return missingParameter("VirtualizationType")
	case in.InstanceRequirements == nil:
		return missingParameter("InstanceRequirements")
	}
	if err := checkEnums(*in, ""); err != nil {
		return err
	}
	return checkRequirements(in.InstanceRequirements)
}

func virtualizationTypes(t *world.InstanceType) []string {
	if len(t.VirtualizationTypes) == 0 {
		return []string{string(types.VirtualizationTypeHvm)}
	}
	return t.VirtualizationTypes
}

// intersects reports whether one of the wanted values is there.
func intersects[T ~string](wanted []T, there []string) bool {
	return slices.ContainsFunc(wanted, func(w T) bool { return slices.Contains(there, string(w)) })
}

package ec2

import (
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const service = "ec2"

// Register registers the handlers of EC2's actions and the function that dumps its state.
func Register(reg *sim.Registry) {
	registerTemplates(reg)
	registerInstances(reg)
	registerFleets(reg)
	registerResources(reg)
	registerNetwork(reg)
	registerAuthorization(reg)
	reg.State(service, dump)
}

func registerTemplates(reg *sim.Registry) {
	sim.Handle(reg, service, "CreateLaunchTemplate", createLaunchTemplate)
	sim.Handle(reg, service, "CreateLaunchTemplateVersion", createLaunchTemplateVersion)
	sim.Handle(reg, service, "DeleteLaunchTemplate", deleteLaunchTemplate)
	sim.Handle(reg, service, "DeleteLaunchTemplateVersions", deleteLaunchTemplateVersions)
	sim.Handle(reg, service, "DescribeLaunchTemplateVersions", describeLaunchTemplateVersions)
	sim.Handle(reg, service, "DescribeLaunchTemplates", describeLaunchTemplates)
	sim.Handle(reg, service, "GetLaunchTemplateData", getLaunchTemplateData)
	sim.Handle(reg, service, "ModifyLaunchTemplate", modifyLaunchTemplate)
}

func registerInstances(reg *sim.Registry) {
	sim.Handle(reg, service, "DescribeInstanceAttribute", describeInstanceAttribute)
	sim.Handle(reg, service, "DescribeInstanceStatus", describeInstanceStatus)
	sim.Handle(reg, service, "DescribeInstances", describeInstances)
	sim.Handle(reg, service, "ModifyInstanceAttribute", modifyInstanceAttribute)
	sim.Handle(reg, service, "ModifyInstanceMetadataOptions", modifyInstanceMetadataOptions)
	sim.Handle(reg, service, "RebootInstances", rebootInstances)
	sim.Handle(reg, service, "RunInstances", runInstances)
	sim.Handle(reg, service, "StartInstances", startInstances)
	sim.Handle(reg, service, "StopInstances", stopInstances)
	sim.Handle(reg, service, "TerminateInstances", terminateInstances)
	sim.Handle(reg, service, "DescribeVolumes", describeVolumes)
	sim.Handle(reg, service, "DeleteVolume", deleteVolume)
}

func registerFleets(reg *sim.Registry) {
	sim.Handle(reg, service, "CreateFleet", createFleet)
	sim.Handle(reg, service, "DeleteFleets", deleteFleets)
	sim.Handle(reg, service, "DescribeFleetInstances", describeFleetInstances)
	sim.Handle(reg, service, "DescribeFleets", describeFleets)
}

func registerResources(reg *sim.Registry) {
	sim.Handle(reg, service, "CreateTags", createTags)
	sim.Handle(reg, service, "DeleteTags", deleteTags)
	sim.Handle(reg, service, "DescribeTags", describeTags)
	sim.Handle(reg, service, "CopyImage", copyImage)
	sim.Handle(reg, service, "DeregisterImage", deregisterImage)
	sim.Handle(reg, service, "DescribeImages", describeImages)
	sim.Handle(reg, service, "RegisterImage", registerImage)
	sim.Handle(reg, service, "DescribeInstanceTypeOfferings", describeInstanceTypeOfferings)
	sim.Handle(reg, service, "DescribeInstanceTypes", describeInstanceTypes)
	sim.Handle(reg, service, "GetInstanceTypesFromInstanceRequirements", getInstanceTypesFromInstanceRequirements)
	sim.Handle(reg, service, "DescribeSpotPriceHistory", describeSpotPriceHistory)
	sim.Handle(reg, service, "CreateKeyPair", createKeyPair)
	sim.Handle(reg, service, "DeleteKeyPair", deleteKeyPair)
	sim.Handle(reg, service, "DescribeKeyPairs", describeKeyPairs)
	sim.Handle(reg, service, "ImportKeyPair", importKeyPair)
	sim.Handle(reg, service, "CreatePlacementGroup", createPlacementGroup)
	sim.Handle(reg, service, "DeletePlacementGroup", deletePlacementGroup)
	sim.Handle(reg, service, "DescribePlacementGroups", describePlacementGroups)
	sim.Handle(reg, service, "DescribeCapacityReservations", describeCapacityReservations)
}

func registerNetwork(reg *sim.Registry) {
	sim.Handle(reg, service, "DescribeAvailabilityZones", describeAvailabilityZones)
	sim.Handle(reg, service, "DescribeRegions", describeRegions)
	sim.Handle(reg, service, "CreateVpc", createVpc)
	sim.Handle(reg, service, "DeleteVpc", deleteVpc)
	sim.Handle(reg, service, "DescribeVpcs", describeVpcs)
	sim.Handle(reg, service, "CreateSubnet", createSubnet)
	sim.Handle(reg, service, "DeleteSubnet", deleteSubnet)
	sim.Handle(reg, service, "DescribeSubnets", describeSubnets)
	sim.Handle(reg, service, "CreateSecurityGroup", createSecurityGroup)
	sim.Handle(reg, service, "DeleteSecurityGroup", deleteSecurityGroup)
	sim.Handle(reg, service, "DescribeSecurityGroups", describeSecurityGroups)
}

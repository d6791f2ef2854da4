package ec2

import (
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

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
	sim.Handle(reg, service, "CreateReplaceRootVolumeTask", createReplaceRootVolumeTask)
	sim.Handle(reg, service, "DescribeReplaceRootVolumeTasks", describeReplaceRootVolumeTasks)
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
	sim.Handle(reg, service, "AssociateDhcpOptions", associateDhcpOptions)
	sim.Handle(reg, service, "AssociateVpcCidrBlock", associateVpcCidrBlock)
	sim.Handle(reg, service, "CreateDhcpOptions", createDhcpOptions)
	sim.Handle(reg, service, "DeleteDhcpOptions", deleteDhcpOptions)
	sim.Handle(reg, service, "DisassociateVpcCidrBlock", disassociateVpcCidrBlock)
	sim.Handle(reg, service, "CreateVpc", createVpc)
	sim.Handle(reg, service, "DeleteVpc", deleteVpc)
	sim.Handle(reg, service, "DescribeVpcs", describeVpcs)
	sim.Handle(reg, service, "CreateSubnet", createSubnet)
	sim.Handle(reg, service, "DeleteSubnet", deleteSubnet)
	sim.Handle(reg, service, "DescribeSubnets", describeSubnets)
	sim.Handle(reg, service, "DescribeDhcpOptions", describeDhcpOptions)
	sim.Handle(reg, service, "DescribeVpcAttribute", describeVpcAttribute)
	sim.Handle(reg, service, "ModifySubnetAttribute", modifySubnetAttribute)
	sim.Handle(reg, service, "ModifyVpcAttribute", modifyVpcAttribute)
	registerSecurityGroups(reg)
	registerInterfaces(reg)
	registerNetworkACLs(reg)
	registerGateways(reg)
	registerRoutes(reg)
}

func registerNetworkACLs(reg *sim.Registry) {
	sim.Handle(reg, service, "CreateNetworkAcl", createNetworkACL)
	sim.Handle(reg, service, "CreateNetworkAclEntry", createNetworkACLEntry)
	sim.Handle(reg, service, "DeleteNetworkAcl", deleteNetworkACL)
	sim.Handle(reg, service, "DeleteNetworkAclEntry", deleteNetworkACLEntry)
	sim.Handle(reg, service, "DescribeNetworkAcls", describeNetworkAcls)
	sim.Handle(reg, service, "ReplaceNetworkAclAssociation", replaceNetworkACLAssociation)
	sim.Handle(reg, service, "ReplaceNetworkAclEntry", replaceNetworkACLEntry)
}

func registerGateways(reg *sim.Registry) {
	sim.Handle(reg, service, "AllocateAddress", allocateAddress)
	sim.Handle(reg, service, "AssociateAddress", associateAddress)
	sim.Handle(reg, service, "AttachInternetGateway", attachInternetGateway)
	sim.Handle(reg, service, "CreateInternetGateway", createInternetGateway)
	sim.Handle(reg, service, "CreateNatGateway", createNatGateway)
	sim.Handle(reg, service, "DeleteInternetGateway", deleteInternetGateway)
	sim.Handle(reg, service, "DeleteNatGateway", deleteNatGateway)
	sim.Handle(reg, service, "DescribeAddresses", describeAddresses)
	sim.Handle(reg, service, "DescribeAddressesAttribute", describeAddressesAttribute)
	sim.Handle(reg, service, "DescribeInternetGateways", describeInternetGateways)
	sim.Handle(reg, service, "DescribeNatGateways", describeNatGateways)
	sim.Handle(reg, service, "DetachInternetGateway", detachInternetGateway)
	sim.Handle(reg, service, "DisassociateAddress", disassociateAddress)
	sim.Handle(reg, service, "ReleaseAddress", releaseAddress)
}

func registerRoutes(reg *sim.Registry) {
	sim.Handle(reg, service, "AssociateRouteTable", associateRouteTable)
	sim.Handle(reg, service, "CreateRoute", createRoute)
	sim.Handle(reg, service, "CreateRouteTable", createRouteTable)
	sim.Handle(reg, service, "DeleteRoute", deleteRoute)
	sim.Handle(reg, service, "DeleteRouteTable", deleteRouteTable)
	sim.Handle(reg, service, "DescribeRouteTables", describeRouteTables)
	sim.Handle(reg, service, "DisassociateRouteTable", disassociateRouteTable)
	sim.Handle(reg, service, "ReplaceRoute", replaceRoute)
	sim.Handle(reg, service, "ReplaceRouteTableAssociation", replaceRouteTableAssociation)
}

func registerSecurityGroups(reg *sim.Registry) {
	sim.Handle(reg, service, "AuthorizeSecurityGroupEgress", authorizeSecurityGroupEgress)
	sim.Handle(reg, service, "AuthorizeSecurityGroupIngress", authorizeSecurityGroupIngress)
	sim.Handle(reg, service, "CreateSecurityGroup", createSecurityGroup)
	sim.Handle(reg, service, "DeleteSecurityGroup", deleteSecurityGroup)
	sim.Handle(reg, service, "DescribeSecurityGroupRules", describeSecurityGroupRules)
	sim.Handle(reg, service, "DescribeSecurityGroups", describeSecurityGroups)
	sim.Handle(reg, service, "ModifySecurityGroupRules", modifySecurityGroupRules)
	sim.Handle(reg, service, "RevokeSecurityGroupEgress", revokeSecurityGroupEgress)
	sim.Handle(reg, service, "RevokeSecurityGroupIngress", revokeSecurityGroupIngress)
	sim.Handle(reg, service, "UpdateSecurityGroupRuleDescriptionsEgress", updateSecurityGroupRuleDescriptionsEgress)
	sim.Handle(reg, service, "UpdateSecurityGroupRuleDescriptionsIngress", updateSecurityGroupRuleDescriptionsIngress)
}

func registerInterfaces(reg *sim.Registry) {
	sim.Handle(reg, service, "AttachNetworkInterface", attachNetworkInterface)
	sim.Handle(reg, service, "CreateNetworkInterface", createNetworkInterface)
	sim.Handle(reg, service, "DeleteNetworkInterface", deleteNetworkInterface)
	sim.Handle(reg, service, "DescribeNetworkInterfaceAttribute", describeNetworkInterfaceAttribute)
	sim.Handle(reg, service, "DescribeNetworkInterfaces", describeNetworkInterfaces)
	sim.Handle(reg, service, "DetachNetworkInterface", detachNetworkInterface)
	sim.Handle(reg, service, "ModifyNetworkInterfaceAttribute", modifyNetworkInterfaceAttribute)
}

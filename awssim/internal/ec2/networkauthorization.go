package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls about networks need (AWS: Service Authorization Reference,
// list_amazonec2): the action on each resource that the request names and on what it creates, and
// ec2:CreateTags on what it creates with tags.

func registerNetworkAuthorization(reg *sim.Registry) {
	authorizeCreate(reg, "CreateVpc", types.ResourceTypeVpc, func(in *awsec2.CreateVpcInput) creation { return creation{in.TagSpecifications, nil} })
	authorizeOn(reg, "DeleteVpc", func(in *awsec2.DeleteVpcInput) []*string { return []*string{in.VpcId} })
	authorizeCreate(reg, "CreateSubnet", types.ResourceTypeSubnet, func(in *awsec2.CreateSubnetInput) creation {
		return creation{in.TagSpecifications, []*string{in.VpcId}}
	})
	authorizeOn(reg, "DeleteSubnet", func(in *awsec2.DeleteSubnetInput) []*string { return []*string{in.SubnetId} })
	authorizeOn(reg, "AssociateVpcCidrBlock", func(in *awsec2.AssociateVpcCidrBlockInput) []*string { return []*string{in.VpcId} })
	sim.Authorize(reg, service, "DisassociateVpcCidrBlock", func(c *sim.Call, in *awsec2.DisassociateVpcCidrBlockInput) []sim.Question {
		s := stateOf(c.Region)
		vpc, _ := s.vpcs.findBlock(val(in.AssociationId))
		return questions(onEach(s, "ec2:DisassociateVpcCidrBlock", vpc.VpcId))
	})
	authorizeCreate(reg, "CreateDhcpOptions", types.ResourceTypeDhcpOptions, func(in *awsec2.CreateDhcpOptionsInput) creation {
		return creation{in.TagSpecifications, nil}
	})
	authorizeOn(reg, "DeleteDhcpOptions", func(in *awsec2.DeleteDhcpOptionsInput) []*string { return []*string{in.DhcpOptionsId} })
	authorizeOn(reg, "AssociateDhcpOptions", func(in *awsec2.AssociateDhcpOptionsInput) []*string { return []*string{in.DhcpOptionsId, in.VpcId} })
	authorizeOn(reg, "ModifyVpcAttribute", func(in *awsec2.ModifyVpcAttributeInput) []*string { return []*string{in.VpcId} })
	authorizeOn(reg, "ModifySubnetAttribute", func(in *awsec2.ModifySubnetAttributeInput) []*string { return []*string{in.SubnetId} })
	authorizeSecurityGroups(reg)
	authorizeInterfaces(reg)
	authorizeNetworkACLs(reg)
	authorizeGateways(reg)
	authorizeAddresses(reg)
	authorizeRoutes(reg)
}

func authorizeNetworkACLs(reg *sim.Registry) {
	authorizeCreate(reg, "CreateNetworkAcl", types.ResourceTypeNetworkAcl, func(in *awsec2.CreateNetworkAclInput) creation {
		return creation{in.TagSpecifications, []*string{in.VpcId}}
	})
	authorizeOn(reg, "DeleteNetworkAcl", func(in *awsec2.DeleteNetworkAclInput) []*string { return []*string{in.NetworkAclId} })
	authorizeOn(reg, "CreateNetworkAclEntry", func(in *awsec2.CreateNetworkAclEntryInput) []*string { return []*string{in.NetworkAclId} })
	authorizeOn(reg, "ReplaceNetworkAclEntry", func(in *awsec2.ReplaceNetworkAclEntryInput) []*string { return []*string{in.NetworkAclId} })
	authorizeOn(reg, "DeleteNetworkAclEntry", func(in *awsec2.DeleteNetworkAclEntryInput) []*string { return []*string{in.NetworkAclId} })
	authorizeOn(reg, "ReplaceNetworkAclAssociation", func(in *awsec2.ReplaceNetworkAclAssociationInput) []*string { return []*string{in.NetworkAclId} })
}

func authorizeGateways(reg *sim.Registry) {
	authorizeCreate(reg, "CreateInternetGateway", types.ResourceTypeInternetGateway, func(in *awsec2.CreateInternetGatewayInput) creation {
		return creation{in.TagSpecifications, nil}
	})
	authorizeOn(reg, "AttachInternetGateway", func(in *awsec2.AttachInternetGatewayInput) []*string {
		return []*string{in.InternetGatewayId, in.VpcId}
	})
	authorizeOn(reg, "DetachInternetGateway", func(in *awsec2.DetachInternetGatewayInput) []*string {
		return []*string{in.InternetGatewayId, in.VpcId}
	})
	authorizeOn(reg, "DeleteInternetGateway", func(in *awsec2.DeleteInternetGatewayInput) []*string { return []*string{in.InternetGatewayId} })
	authorizeCreate(reg, "CreateNatGateway", types.ResourceTypeNatgateway, func(in *awsec2.CreateNatGatewayInput) creation {
		return creation{in.TagSpecifications, []*string{in.SubnetId, in.AllocationId}}
	})
	authorizeOn(reg, "DeleteNatGateway", func(in *awsec2.DeleteNatGatewayInput) []*string { return []*string{in.NatGatewayId} })
}

func authorizeAddresses(reg *sim.Registry) {
	authorizeCreate(reg, "AllocateAddress", types.ResourceTypeElasticIp, func(in *awsec2.AllocateAddressInput) creation { return creation{in.TagSpecifications, nil} })
	sim.Authorize(reg, service, "ReleaseAddress", func(c *sim.Call, in *awsec2.ReleaseAddressInput) []sim.Question {
		return askAddress(stateOf(c.Region), c, in.AllocationId, in.PublicIp)
	})
	sim.Authorize(reg, service, "AssociateAddress", func(c *sim.Call, in *awsec2.AssociateAddressInput) []sim.Question {
		return askAddress(stateOf(c.Region), c, in.AllocationId, in.PublicIp, in.InstanceId, in.NetworkInterfaceId)
	})
	sim.Authorize(reg, service, "DisassociateAddress", func(c *sim.Call, in *awsec2.DisassociateAddressInput) []sim.Question {
		s := stateOf(c.Region)
		for _, a := range s.elastics.All() {
			if a.AssociationId != nil && (*a.AssociationId == val(in.AssociationId) || *a.PublicIp == val(in.PublicIp)) {
				return askAddress(s, c, a.AllocationId, nil, a.InstanceId, a.NetworkInterfaceId)
			}
		}
		return nil
	})
}

// askAddress returns what a call needs for an address and for what the address is associated with.
func askAddress(s *state, c *sim.Call, id, ip *string, others ...*string) []sim.Question {
	if a, err := s.elastics.find(id, ip); err == nil {
		others = append([]*string{a.AllocationId}, others...)
	}
	return questions(onEach(s, "ec2:"+c.Action, others...))
}

func authorizeRoutes(reg *sim.Registry) {
	authorizeCreate(reg, "CreateRouteTable", types.ResourceTypeRouteTable, func(in *awsec2.CreateRouteTableInput) creation {
		return creation{in.TagSpecifications, []*string{in.VpcId}}
	})
	authorizeOn(reg, "DeleteRouteTable", func(in *awsec2.DeleteRouteTableInput) []*string { return []*string{in.RouteTableId} })
	authorizeOn(reg, "CreateRoute", func(in *awsec2.CreateRouteInput) []*string { return []*string{in.RouteTableId} })
	authorizeOn(reg, "ReplaceRoute", func(in *awsec2.ReplaceRouteInput) []*string { return []*string{in.RouteTableId} })
	authorizeOn(reg, "DeleteRoute", func(in *awsec2.DeleteRouteInput) []*string { return []*string{in.RouteTableId} })
	authorizeOn(reg, "AssociateRouteTable", func(in *awsec2.AssociateRouteTableInput) []*string { return []*string{in.RouteTableId, in.SubnetId} })
	sim.Authorize(reg, service, "DisassociateRouteTable", func(c *sim.Call, in *awsec2.DisassociateRouteTableInput) []sim.Question {
		return askAssociation(stateOf(c.Region), c, in.AssociationId)
	})
	sim.Authorize(reg, service, "ReplaceRouteTableAssociation", func(c *sim.Call, in *awsec2.ReplaceRouteTableAssociationInput) []sim.Question {
		return askAssociation(stateOf(c.Region), c, in.AssociationId, in.RouteTableId)
	})
}

// askAssociation returns what a call needs for an association of a route table.
func askAssociation(s *state, c *sim.Call, id *string, others ...*string) []sim.Question {
	if table, association, err := s.routeTables.findAssociation(id); err == nil {
		others = append(others, table.RouteTableId, association.SubnetId)
	}
	return questions(onEach(s, "ec2:"+c.Action, others...))
}

func authorizeSecurityGroups(reg *sim.Registry) {
	authorizeCreate(reg, "CreateSecurityGroup", types.ResourceTypeSecurityGroup, func(in *awsec2.CreateSecurityGroupInput) creation {
		return creation{in.TagSpecifications, []*string{in.VpcId}}
	})
	authorizeGroup(reg, "DeleteSecurityGroup", func(in *awsec2.DeleteSecurityGroupInput) groupRef { return groupRef{in.GroupId, in.GroupName, nil} })
	authorizeGroup(reg, "AuthorizeSecurityGroupIngress", func(in *awsec2.AuthorizeSecurityGroupIngressInput) groupRef {
		return groupRef{in.GroupId, in.GroupName, in.TagSpecifications}
	})
	authorizeGroup(reg, "AuthorizeSecurityGroupEgress", func(in *awsec2.AuthorizeSecurityGroupEgressInput) groupRef {
		return groupRef{in.GroupId, nil, in.TagSpecifications}
	})
	authorizeGroup(reg, "RevokeSecurityGroupIngress", func(in *awsec2.RevokeSecurityGroupIngressInput) groupRef {
		return groupRef{in.GroupId, in.GroupName, nil}
	})
	authorizeGroup(reg, "RevokeSecurityGroupEgress", func(in *awsec2.RevokeSecurityGroupEgressInput) groupRef { return groupRef{in.GroupId, nil, nil} })
	authorizeGroup(reg, "UpdateSecurityGroupRuleDescriptionsIngress", func(in *awsec2.UpdateSecurityGroupRuleDescriptionsIngressInput) groupRef {
		return groupRef{in.GroupId, in.GroupName, nil}
	})
	authorizeGroup(reg, "UpdateSecurityGroupRuleDescriptionsEgress", func(in *awsec2.UpdateSecurityGroupRuleDescriptionsEgressInput) groupRef {
		return groupRef{in.GroupId, in.GroupName, nil}
	})
	authorizeOn(reg, "ModifySecurityGroupRules", func(in *awsec2.ModifySecurityGroupRulesInput) []*string {
		named := []*string{in.GroupId}
		for _, rule := range in.SecurityGroupRules {
			named = append(named, rule.SecurityGroupRuleId)
		}
		return named
	})
}

func authorizeInterfaces(reg *sim.Registry) {
	authorizeCreate(reg, "CreateNetworkInterface", types.ResourceTypeNetworkInterface, func(in *awsec2.CreateNetworkInterfaceInput) creation {
		named := []*string{in.SubnetId}
		for _, id := range in.Groups {
			named = append(named, &id)
		}
		return creation{in.TagSpecifications, named}
	})
	authorizeOn(reg, "DeleteNetworkInterface", func(in *awsec2.DeleteNetworkInterfaceInput) []*string { return []*string{in.NetworkInterfaceId} })
	authorizeOn(reg, "AttachNetworkInterface", func(in *awsec2.AttachNetworkInterfaceInput) []*string {
		return []*string{in.InstanceId, in.NetworkInterfaceId}
	})
	authorizeOn(reg, "ModifyNetworkInterfaceAttribute", func(in *awsec2.ModifyNetworkInterfaceAttributeInput) []*string {
		named := []*string{in.NetworkInterfaceId}
		for _, id := range in.Groups {
			named = append(named, &id)
		}
		return named
	})
	sim.Authorize(reg, service, "DetachNetworkInterface", func(c *sim.Call, in *awsec2.DetachNetworkInterfaceInput) []sim.Question {
		s := stateOf(c.Region)
		for _, n := range s.interfaces.All() {
			if n.Attachment != nil && val(n.Attachment.AttachmentId) == val(in.AttachmentId) {
				return questions(onEach(s, "ec2:"+c.Action, n.NetworkInterfaceId, n.Attachment.InstanceId))
			}
		}
		return nil
	})
}

// creation holds the tags that a request gives to what it creates, and the ids of the resources
// that it names.
type creation struct {
	tags  []types.TagSpecification
	named []*string
}

// authorizeCreate registers an action that creates one resource of a kind.
func authorizeCreate[I any](reg *sim.Registry, action string, kind types.ResourceType, read func(*I) creation) {
	sim.Authorize(reg, service, action, func(c *sim.Call, in *I) []sim.Question {
		s, request := stateOf(c.Region), read(in)
		asked := onNew(s, action, kind, request)
		return questions(append(asked, onEach(s, "ec2:"+action, request.named...)...))
	})
}

// onNew returns the requests about a resource that an action creates.
func onNew(s *state, action string, kind types.ResourceType, request creation) []iampolicy.Request {
	tags := map[string]string{}
	for _, specification := range request.tags {
		if specification.ResourceType == kind {
			tags = tagMap(specification.Tags)
		}
	}
	arn := resourceARN(s.region, string(kind)+"/*")
	context := sim.Tagging(iampolicy.Context{}, tags)
	for _, id := range request.named {
		if vpc := vpcOf(s, val(id)); vpc != "" {
			context["ec2:Vpc"] = []string{resourceARN(s.region, "vpc/"+vpc)}
			break
		}
	}
	asked := []iampolicy.Request{{Action: "ec2:" + action, Resource: arn, Context: context}}
	if len(tags) > 0 {
		asked = append(asked, iampolicy.Request{
			Action: "ec2:CreateTags", Resource: arn, Context: sim.Tagging(iampolicy.Context{"ec2:CreateAction": {action}}, tags),
		})
	}
	return asked
}

// authorizeOn registers an action on resources that a request names.
func authorizeOn[I any](reg *sim.Registry, action string, named func(*I) []*string) {
	sim.Authorize(reg, service, action, func(c *sim.Call, in *I) []sim.Question {
		return questions(onEach(stateOf(c.Region), "ec2:"+action, named(in)...))
	})
}

// onEach returns the requests for an action on resources. A resource that does not exist needs no
// permission.
func onEach(s *state, action string, ids ...*string) []iampolicy.Request {
	var asked []iampolicy.Request
	for _, id := range ids {
		if val(id) == "" {
			continue
		}
		t, tags, err := findTaggable(s, *id)
		if err != nil {
			continue
		}
		context := sim.Tagged(iampolicy.Context{}, tagMap(tags), service)
		if vpc := vpcOf(s, *id); vpc != "" && t.resource != types.ResourceTypeVpc {
			context["ec2:Vpc"] = []string{resourceARN(s.region, "vpc/"+vpc)}
		}
		asked = append(asked, iampolicy.Request{Action: action, Resource: resourceARN(s.region, string(t.resource)+"/"+*id), Context: context})
	}
	return asked
}

// groupRef names a security group, and has the tags of the rules that are added to it.
type groupRef struct {
	id, name *string
	tags     []types.TagSpecification
}

// authorizeGroup registers an action on a security group. Rules that are created with tags are
// asked for, too (inference: the reference lists security-group-rule as a resource that is not
// required).
func authorizeGroup[I any](reg *sim.Registry, action string, read func(*I) groupRef) {
	sim.Authorize(reg, service, action, func(c *sim.Call, in *I) []sim.Question {
		s, ref := stateOf(c.Region), read(in)
		group, err := s.groups.named(ref.id, ref.name)
		if err != nil {
			return nil
		}
		asked := onEach(s, "ec2:"+action, group.GroupId)
		if len(ref.tags) > 0 {
			asked = append(asked, onNew(s, action, types.ResourceTypeSecurityGroupRule, creation{tags: ref.tags})...)
		}
		return questions(asked)
	})
}

// vpcOf returns the VPC that a resource is in, or is; "" if it is in none.
func vpcOf(s *state, id string) string {
	if subnet, ok := s.subnets.Get(id); ok {
		return val(subnet.VpcId)
	}
	if group, ok := s.groups.Get(id); ok {
		return val(group.VpcId)
	}
	if n, ok := s.interfaces.Get(id); ok {
		return val(n.VpcId)
	}
	if table, ok := s.routeTables.Get(id); ok {
		return *table.VpcId
	}
	if acl, ok := s.acls.Get(id); ok {
		return *acl.VpcId
	}
	if _, ok := s.vpcs.Get(id); ok {
		return id
	}
	return ""
}

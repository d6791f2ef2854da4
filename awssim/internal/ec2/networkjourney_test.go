package ec2_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// must returns a result, and fails the test immediately if there is an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// estate is the network that the usual VPC module creates: public and private subnets in three
// zones, an internet gateway, one NAT gateway, and a route table for each kind of subnet.
type estate struct {
	*rig
	vpc, gateway, nat, address, group string
	subnets                           []string // three public ones, three private ones
	tables                            []string // public, private
	associations                      []string // of the subnets
	instance                          string
}

func named(kind types.ResourceType, name string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: []types.Tag{tag("Name", name)}}}
}

func newEstate(t *testing.T, r *rig) *estate {
	t.Helper()
	ctx := t.Context()
	e := &estate{rig: r}
	vpc := must[*ec2.CreateVpcOutput](t)(r.ec2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.1.0.0/16"), TagSpecifications: named(types.ResourceTypeVpc, "main")}))
	e.vpc = *vpc.Vpc.VpcId
	must[*ec2.ModifyVpcAttributeOutput](t)(r.ec2.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: &e.vpc, EnableDnsHostnames: &types.AttributeBooleanValue{Value: aws.Bool(true)}}))
	gateway := must[*ec2.CreateInternetGatewayOutput](t)(r.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: named(types.ResourceTypeInternetGateway, "main")}))
	e.gateway = *gateway.InternetGateway.InternetGatewayId
	must[*ec2.AttachInternetGatewayOutput](t)(r.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: &e.gateway, VpcId: &e.vpc}))
	for i := range 6 {
		zone := "us-east-1" + string(rune('a'+i%3))
		out := must[*ec2.CreateSubnetOutput](t)(r.ec2.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &e.vpc, AvailabilityZone: &zone, CidrBlock: aws.String(fmt.Sprintf("10.1.%d.0/24", i)), TagSpecifications: named(types.ResourceTypeSubnet, fmt.Sprint("subnet-", i))}))
		e.subnets = append(e.subnets, *out.Subnet.SubnetId)
		if i < 3 {
			must[*ec2.ModifySubnetAttributeOutput](t)(r.ec2.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{SubnetId: out.Subnet.SubnetId, MapPublicIpOnLaunch: &types.AttributeBooleanValue{Value: aws.Bool(true)}}))
		}
	}
	address := must[*ec2.AllocateAddressOutput](t)(r.ec2.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc, TagSpecifications: named(types.ResourceTypeElasticIp, "nat")}))
	e.address = *address.AllocationId
	nat := must[*ec2.CreateNatGatewayOutput](t)(r.ec2.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: &e.subnets[0], AllocationId: &e.address, TagSpecifications: named(types.ResourceTypeNatgateway, "main")}))
	e.nat = *nat.NatGateway.NatGatewayId
	r.clock.Step(2 * time.Minute)
	for i, route := range []ec2.CreateRouteInput{{GatewayId: &e.gateway}, {NatGatewayId: &e.nat}} {
		table := must[*ec2.CreateRouteTableOutput](t)(r.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &e.vpc, TagSpecifications: named(types.ResourceTypeRouteTable, fmt.Sprint("table-", i))}))
		route.RouteTableId, route.DestinationCidrBlock = table.RouteTable.RouteTableId, aws.String("0.0.0.0/0")
		e.tables = append(e.tables, *route.RouteTableId)
		must[*ec2.CreateRouteOutput](t)(r.ec2.CreateRoute(ctx, &route))
		for _, subnet := range e.subnets[3*i : 3*i+3] {
			out := must[*ec2.AssociateRouteTableOutput](t)(r.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: route.RouteTableId, SubnetId: &subnet}))
			e.associations = append(e.associations, *out.AssociationId)
		}
	}
	e.group = r.newGroup("nodes", e.vpc)
	if err := r.permit(e.group, permission("tcp", 443, 443, "10.1.0.0/16")); err != nil {
		t.Fatal(err)
	}
	e.instance = *r.launched(func(in *ec2.RunInstancesInput) { in.SubnetId, in.SecurityGroupIds = &e.subnets[3], []string{e.group} }).InstanceId
	return e
}

// TestNetworkJourney does what Terraform does with the usual VPC module: it creates a network,
// reads it back, changes it, and destroys it, after a try in the wrong order. The caller is held to
// a policy, so that every action has permissions. In the end nothing is left.
func TestNetworkJourney(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.dump()
	const limited = "AKIALIMITED123456789012"
	if err := r.sim.SetPolicies(limited, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"ec2:*","Resource":"*"}}`); err != nil {
		t.Fatal(err)
	}
	r.ec2 = ec2.New(r.ec2.Options(), func(o *ec2.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(limited, "secret", "") })
	e := newEstate(t, r)
	e.isAsCreated()
	e.change()
	e.refuseWrongOrder()
	e.destroy()
	r.clock.Step(2 * time.Hour)
	if diff := cmp.Diff(before, r.dump()); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

func (r *rig) dump() string {
	r.Helper()
	all, err := r.sim.Region(awssim.DefaultAccount, region).State()
	if err != nil {
		r.Fatal(err)
	}
	text, err := json.MarshalIndent(all["ec2"], "", " ")
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// isAsCreated reads what Terraform's provider reads.
func (e *estate) isAsCreated() {
	e.Helper()
	t, ctx := e.T, e.Context()
	vpc := must[*ec2.DescribeVpcsOutput](t)(e.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{e.vpc}})).Vpcs[0]
	if vpc.State != types.VpcStateAvailable || *vpc.IsDefault || vpc.InstanceTenancy != types.TenancyDefault || len(vpc.CidrBlockAssociationSet) != 1 || tagMap(vpc.Tags)["Name"] != "main" {
		t.Errorf("the VPC is %+v", vpc)
	}
	options := must[*ec2.DescribeDhcpOptionsOutput](t)(e.ec2.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{*vpc.DhcpOptionsId}}))
	if len(options.DhcpOptions) != 1 {
		t.Errorf("the VPC's DHCP options do not exist")
	}
	for attribute, want := range map[types.VpcAttributeName]bool{
		types.VpcAttributeNameEnableDnsSupport: true, types.VpcAttributeNameEnableDnsHostnames: true, types.VpcAttributeNameEnableNetworkAddressUsageMetrics: false,
	} {
		out := must[*ec2.DescribeVpcAttributeOutput](t)(e.ec2.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &e.vpc, Attribute: attribute}))
		for _, value := range []*types.AttributeBooleanValue{out.EnableDnsSupport, out.EnableDnsHostnames, out.EnableNetworkAddressUsageMetrics} {
			if value != nil && *value.Value != want {
				t.Errorf("%s is %t, want %t", attribute, *value.Value, want)
			}
		}
	}
	acls := must[*ec2.DescribeNetworkAclsOutput](t)(e.ec2.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{Filters: []types.Filter{filter("default", "true"), filter("vpc-id", e.vpc)}}))
	if len(acls.NetworkAcls) != 1 || len(acls.NetworkAcls[0].Associations) != 6 || len(acls.NetworkAcls[0].Entries) != 4 {
		t.Errorf("the default network ACLs are %+v, want one with four entries and all subnets", acls.NetworkAcls)
	}
	main := must[*ec2.DescribeRouteTablesOutput](t)(e.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("association.main", "true"), filter("vpc-id", e.vpc)}}))
	if len(main.RouteTables) != 1 || len(main.RouteTables[0].Routes) != 1 || *main.RouteTables[0].Routes[0].GatewayId != "local" {
		t.Errorf("the main route tables are %+v, want one with the local route", main.RouteTables)
	}
	e.wantRoutes("active")
	subnets := must[*ec2.DescribeSubnetsOutput](t)(e.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: e.subnets}))
	for i, subnet := range subnets.Subnets {
		free := int32(251)
		if i == 0 || i == 3 { // the NAT gateway and the instance have an address each
			free--
		}
		if *subnet.MapPublicIpOnLaunch != (i < 3) || *subnet.AvailableIpAddressCount != free {
			t.Errorf("subnet %d maps public addresses: %t, and has %d free addresses, want %d", i, *subnet.MapPublicIpOnLaunch, *subnet.AvailableIpAddressCount, free)
		}
	}
	nat := must[*ec2.DescribeNatGatewaysOutput](t)(e.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{e.nat}})).NatGateways[0]
	address := must[*ec2.DescribeAddressesOutput](t)(e.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{e.address}})).Addresses[0]
	if part := nat.NatGatewayAddresses[0]; nat.State != types.NatGatewayStateAvailable || *part.PublicIp != *address.PublicIp || *part.NetworkInterfaceId != *address.NetworkInterfaceId || *part.AssociationId != *address.AssociationId {
		t.Errorf("the NAT gateway is %s with %+v, and its address %+v", nat.State, part, address)
	}
	instance := e.rig.instance(e.instance)
	if *instance.SubnetId != e.subnets[3] || *instance.SecurityGroups[0].GroupId != e.group || instance.PublicIpAddress != nil {
		t.Errorf("the instance is in %s with %v", *instance.SubnetId, instance.SecurityGroups)
	}
}

// wantRoutes holds the states of the default routes, first through the internet gateway and then
// through the NAT gateway.
func (e *estate) wantRoutes(states ...types.RouteState) {
	e.Helper()
	out := must[*ec2.DescribeRouteTablesOutput](e.T)(e.ec2.DescribeRouteTables(e.Context(), &ec2.DescribeRouteTablesInput{RouteTableIds: e.tables}))
	for i, table := range out.RouteTables {
		want := states[min(i, len(states)-1)]
		if route := table.Routes[1]; route.State != want || len(table.Associations) != 3 {
			e.Errorf("the default route of table %d is %s, want %s; it has %d subnets", i, route.State, want, len(table.Associations))
		}
	}
}

func (e *estate) change() {
	e.Helper()
	t, ctx := e.T, e.Context()
	rule := e.rules(e.group)[1]
	must[*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput](t)(e.ec2.UpdateSecurityGroupRuleDescriptionsIngress(ctx, &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{
		GroupId: &e.group, SecurityGroupRuleDescriptions: []types.SecurityGroupRuleDescription{{SecurityGroupRuleId: rule.SecurityGroupRuleId, Description: aws.String("webhooks")}},
	}))
	must[*ec2.ModifySubnetAttributeOutput](t)(e.ec2.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{SubnetId: &e.subnets[4], PrivateDnsHostnameTypeOnLaunch: types.HostnameTypeResourceName}))
	all := append([]string{e.vpc, e.gateway, e.nat, e.address, e.group}, append(e.subnets, e.tables...)...)
	must[*ec2.CreateTagsOutput](t)(e.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: all, Tags: []types.Tag{tag("team", "blue")}}))
	tagged := must[*ec2.DescribeTagsOutput](t)(e.ec2.DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: []types.Filter{filter("key", "team")}}))
	if len(tagged.Tags) != len(all) {
		t.Errorf("%d resources have the new tag, want %d", len(tagged.Tags), len(all))
	}
	if got := e.rules(e.group)[1].Description; aws.ToString(got) != "webhooks" {
		t.Errorf("the rule's description is %q", aws.ToString(got))
	}
	found := must[*ec2.DescribeSubnetsOutput](t)(e.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []types.Filter{
		filter("private-dns-name-options-on-launch.hostname-type", "resource-name"), filter("vpc-id", e.vpc),
	}}))
	if len(found.Subnets) != 1 || *found.Subnets[0].SubnetId != e.subnets[4] {
		t.Errorf("subnets that name hosts by resource: %v", found.Subnets)
	}
}

// refuseWrongOrder tries to delete what is in use.
func (e *estate) refuseWrongOrder() {
	e.Helper()
	t, ctx := e.T, e.Context()
	for _, row := range []struct {
		reason      string
		try         func() error
		code, words string
	}{
		{"a VPC with subnets", func() error { _, err := e.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &e.vpc}); return err }, "DependencyViolation", "The vpc '" + e.vpc + "' has dependencies"},
		{"a subnet with an instance", func() error {
			_, err := e.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &e.subnets[3]})
			return err
		}, "DependencyViolation", "has dependencies and cannot be deleted"},
		{"a group on an interface", func() error {
			_, err := e.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &e.group})
			return err
		}, "DependencyViolation", "has a dependent object"},
		{"a route table with subnets", func() error {
			_, err := e.ec2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &e.tables[0]})
			return err
		}, "DependencyViolation", "The routeTable"},
		{"a gateway that is attached", func() error {
			_, err := e.ec2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &e.gateway})
			return err
		}, "DependencyViolation", "The internetGateway"},
		{"the gateway of public addresses", func() error {
			_, err := e.ec2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &e.gateway, VpcId: &e.vpc})
			return err
		}, "DependencyViolation", "has some mapped public address(es)"},
		{"an address in use", func() error {
			_, err := e.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: &e.address})
			return err
		}, "InvalidIPAddress.InUse", "is in use"},
	} {
		err := row.try()
		if code(t, err) != row.code {
			t.Errorf("%s: %v, want %s", row.reason, err, row.code)
			continue
		}
		wantError(t, err, row.code, row.words)
	}
}

func (e *estate) destroy() {
	e.Helper()
	t, ctx := e.T, e.Context()
	must[*ec2.TerminateInstancesOutput](t)(e.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{e.instance}}))
	must[*ec2.DeleteNatGatewayOutput](t)(e.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &e.nat}))
	e.wantRoutes("active", "blackhole")
	e.clock.Step(time.Minute)
	if nat := must[*ec2.DescribeNatGatewaysOutput](t)(e.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{e.nat}})).NatGateways[0]; nat.State != types.NatGatewayStateDeleted {
		t.Errorf("the NAT gateway is %s", nat.State)
	}
	must[*ec2.ReleaseAddressOutput](t)(e.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: &e.address}))
	for _, association := range e.associations {
		must[*ec2.DisassociateRouteTableOutput](t)(e.ec2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: &association}))
	}
	for _, table := range e.tables {
		must[*ec2.DeleteRouteOutput](t)(e.ec2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: &table, DestinationCidrBlock: aws.String("0.0.0.0/0")}))
		must[*ec2.DeleteRouteTableOutput](t)(e.ec2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &table}))
	}
	must[*ec2.DetachInternetGatewayOutput](t)(e.ec2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &e.gateway, VpcId: &e.vpc}))
	must[*ec2.DeleteInternetGatewayOutput](t)(e.ec2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &e.gateway}))
	for _, subnet := range e.subnets {
		must[*ec2.DeleteSubnetOutput](t)(e.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &subnet}))
	}
	_, err := e.run(func(in *ec2.RunInstancesInput) { in.SubnetId = &e.subnets[3] })
	wantError(t, err, "InvalidSubnetID.NotFound", e.subnets[3])
	must[*ec2.DeleteSecurityGroupOutput](t)(e.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &e.group}))
	must[*ec2.DeleteVpcOutput](t)(e.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &e.vpc}))
}

package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (r *rig) allocate() types.Address {
	r.Helper()
	out, err := r.ec2.AllocateAddress(r.Context(), &ec2.AllocateAddressInput{})
	if err != nil {
		r.Fatalf("allocating an address: %v", err)
	}
	return r.address(*out.AllocationId)
}

func (r *rig) address(id string) types.Address {
	r.Helper()
	out, err := r.ec2.DescribeAddresses(r.Context(), &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
	if err != nil {
		r.Fatalf("describing address %s: %v", id, err)
	}
	return out.Addresses[0]
}

// TestElasticAddresses: an address moves between instances, survives a stop, and is free when its
// instance is terminated.
func TestElasticAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, a := t.Context(), r.allocate()
	first, second := r.launched(nil), r.launched(nil)
	must[*ec2.AssociateAddressOutput](t)(r.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: a.AllocationId, InstanceId: first.InstanceId}))
	if got := r.instance(*first.InstanceId); aws.ToString(got.PublicIpAddress) != *a.PublicIp {
		t.Errorf("the instance has the public address %v, want %s", got.PublicIpAddress, *a.PublicIp)
	}
	if got := r.interfaces(filter("association.allocation-id", *a.AllocationId)); len(got) != 1 || *got[0].Attachment.InstanceId != *first.InstanceId {
		t.Errorf("the interfaces with the address are %v", got)
	}
	must[*ec2.StopInstancesOutput](t)(r.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{*first.InstanceId}}))
	if got := r.instance(*first.InstanceId); got.State.Name != types.InstanceStateNameStopped || aws.ToString(got.PublicIpAddress) != *a.PublicIp {
		t.Errorf("the %s instance has the public address %v", got.State.Name, got.PublicIpAddress)
	}
	_, err := r.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: a.AllocationId, InstanceId: second.InstanceId, AllowReassociation: aws.Bool(false)})
	wantError(t, err, "Resource.AlreadyAssociated", *a.AllocationId)
	must[*ec2.AssociateAddressOutput](t)(r.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: a.AllocationId, InstanceId: second.InstanceId}))
	if one, two := r.instance(*first.InstanceId), r.instance(*second.InstanceId); one.PublicIpAddress != nil || aws.ToString(two.PublicIpAddress) != *a.PublicIp {
		t.Errorf("the public addresses are %v and %v, want the second to have it", one.PublicIpAddress, two.PublicIpAddress)
	}
	_, err = r.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: a.AllocationId})
	wantError(t, err, "InvalidIPAddress.InUse", *a.PublicIp)
	must[*ec2.TerminateInstancesOutput](t)(r.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{*second.InstanceId}}))
	if got := r.address(*a.AllocationId); got.AssociationId != nil || got.InstanceId != nil {
		t.Errorf("the address of a terminated instance is %+v", got)
	}
	must[*ec2.ReleaseAddressOutput](t)(r.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: a.AllocationId}))
	_, err = r.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{*a.AllocationId}})
	wantError(t, err, "InvalidAllocationID.NotFound", "The allocation ID '"+*a.AllocationId+"' does not exist")
	_, err = r.ec2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: aws.String("eipassoc-00000000000000000")})
	wantError(t, err, "InvalidAssociationID.NotFound", "eipassoc-00000000000000000")
}

// TestDisassociatedInstancesAreLentAnAddress: an instance that was launched with an automatic
// address has one again.
func TestDisassociatedInstancesAreLentAnAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	i := r.launched(func(in *ec2.RunInstancesInput) {
		in.SubnetId, in.NetworkInterfaces = nil, []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), AssociatePublicIpAddress: aws.Bool(true)}}
	})
	a := r.allocate()
	out := must[*ec2.AssociateAddressOutput](t)(r.ec2.AssociateAddress(t.Context(), &ec2.AssociateAddressInput{PublicIp: a.PublicIp, InstanceId: i.InstanceId}))
	if got := aws.ToString(r.instance(*i.InstanceId).PublicIpAddress); got != *a.PublicIp {
		t.Errorf("the public address is %s, want the elastic one", got)
	}
	must[*ec2.DisassociateAddressOutput](t)(r.ec2.DisassociateAddress(t.Context(), &ec2.DisassociateAddressInput{AssociationId: out.AssociationId}))
	if got := aws.ToString(r.instance(*i.InstanceId).PublicIpAddress); got == "" || got == *a.PublicIp {
		t.Errorf("the public address is %q, want an automatic one", got)
	}
}

// TestNATGatewayLife: a gateway is pending for a while, fails for the documented reasons, and is
// shown for an hour after it failed or was deleted.
func TestNATGatewayLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, inDefault := t.Context(), r.subnet("us-east-1a").SubnetId
	isolated := must[string](t)(r.newSubnet(r.newVPC("10.9.0.0/16"), "10.9.1.0/24"))
	a := r.allocate()
	create := func(subnet *string, kind types.ConnectivityType, address *string) string {
		t.Helper()
		out := must[*ec2.CreateNatGatewayOutput](t)(r.ec2.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: subnet, AllocationId: address, ConnectivityType: kind}))
		if out.NatGateway.State != types.NatGatewayStatePending {
			t.Errorf("a new gateway is %s", out.NatGateway.State)
		}
		return *out.NatGateway.NatGatewayId
	}
	describe := func(id string) types.NatGateway {
		t.Helper()
		return must[*ec2.DescribeNatGatewaysOutput](t)(r.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})).NatGateways[0]
	}
	good, second := create(inDefault, "", a.AllocationId), create(inDefault, types.ConnectivityTypePublic, a.AllocationId)
	private, alone := create(&isolated, types.ConnectivityTypePrivate, nil), create(&isolated, "", r.allocate().AllocationId)
	if got := describe(good).State; got != types.NatGatewayStatePending {
		t.Errorf("before its time the gateway is %s", got)
	}
	r.clock.Step(2 * time.Minute)
	for _, row := range []struct {
		reason, id string
		state      types.NatGatewayState
		code       string
	}{
		{"a public one", good, types.NatGatewayStateAvailable, ""},
		{"one with an address that is taken", second, types.NatGatewayStateFailed, "Resource.AlreadyAssociated"},
		{"a private one", private, types.NatGatewayStateAvailable, ""},
		{"a public one without an internet gateway", alone, types.NatGatewayStateFailed, "Gateway.NotAttached"},
	} {
		if got := describe(row.id); got.State != row.state || aws.ToString(got.FailureCode) != row.code {
			t.Errorf("%s is %s (%s), want %s (%s)", row.reason, got.State, aws.ToString(got.FailureCode), row.state, row.code)
		}
	}
	if got := r.interfaces(filter("interface-type", "nat_gateway")); len(got) != 2 || !*got[0].RequesterManaged {
		t.Errorf("%d interfaces of gateways that work, want 2", len(got))
	}
	_, err := r.ec2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{PublicIp: a.PublicIp})
	wantError(t, err, "AuthFailure", "You do not have permission")
	must[*ec2.DeleteNatGatewayOutput](t)(r.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &good}))
	if got := describe(good).State; got != types.NatGatewayStateDeleting {
		t.Errorf("the gateway is %s, want deleting", got)
	}
	r.clock.Step(time.Minute)
	if got := describe(good); got.State != types.NatGatewayStateDeleted || r.address(*a.AllocationId).AssociationId != nil {
		t.Errorf("the gateway is %s, its address %+v", got.State, r.address(*a.AllocationId))
	}
	r.clock.Step(2 * time.Hour)
	_, err = r.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{good}})
	wantError(t, err, "NatGatewayNotFound", "The Nat Gateway "+good+" was not found")
}

func TestGatewaysThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, vpc := t.Context(), r.newVPC("10.9.0.0/16")
	subnet := must[string](t)(r.newSubnet(vpc, "10.9.1.0/24"))
	gateway := must[*ec2.CreateInternetGatewayOutput](t)(r.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})).InternetGateway.InternetGatewayId
	inDefault := r.subnet("us-east-1a").VpcId
	table := must[*ec2.CreateRouteTableOutput](t)(r.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc})).RouteTable.RouteTableId
	route := func(change func(*ec2.CreateRouteInput)) error {
		in := &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0")}
		change(in)
		_, err := r.ec2.CreateRoute(ctx, in)
		return err
	}
	for _, row := range []struct {
		reason      string
		try         func() error
		code, words string
	}{
		{"a second gateway of a VPC", func() error {
			_, err := r.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway, VpcId: inDefault})
			return err
		}, "InvalidParameterValue", "already has an internet gateway attached"},
		{"detaching what is not attached", func() error {
			_, err := r.ec2.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: gateway, VpcId: &vpc})
			return err
		}, "Gateway.NotAttached", "is not attached to network"},
		{"a route to a gateway of no VPC", func() error { return route(func(in *ec2.CreateRouteInput) { in.GatewayId = gateway }) }, "InvalidParameterValue", "belong to different networks"},
		{"a route to nothing", func() error { return route(func(*ec2.CreateRouteInput) {}) }, "MissingParameter", ""},
		{"a route to a NAT gateway that there is not", func() error {
			return route(func(in *ec2.CreateRouteInput) { in.NatGatewayId = aws.String("nat-00000000000000000") })
		}, "InvalidNatGatewayID.NotFound", "nat-00000000000000000"},
		{"a second local route", func() error {
			return route(func(in *ec2.CreateRouteInput) {
				in.DestinationCidrBlock, in.NetworkInterfaceId = aws.String("10.9.0.0/16"), r.launched(nil).NetworkInterfaces[0].NetworkInterfaceId
			})
		}, "InvalidParameterValue", "belong to different networks"},
		{"deleting the local route", func() error {
			_, err := r.ec2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("10.9.0.0/16")})
			return err
		}, "InvalidParameterValue", "cannot remove local route"},
		{"deleting a route that there is not", func() error {
			_, err := r.ec2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("1.0.0.0/8")})
			return err
		}, "InvalidRoute.NotFound", "no route with destination-cidr-block 1.0.0.0/8 in route table"},
		{"a subnet of another VPC", func() error {
			_, err := r.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: r.subnet("us-east-1a").SubnetId})
			return err
		}, "InvalidParameterValue", "belong to different networks"},
		{"an elastic address in a VPC without a gateway", func() error {
			n := must[*ec2.CreateNetworkInterfaceOutput](t)(r.ec2.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet})).NetworkInterface
			_, err := r.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: r.allocate().AllocationId, NetworkInterfaceId: n.NetworkInterfaceId})
			return err
		}, "Gateway.NotAttached", "is not attached to any internet gateway"},
	} {
		err := row.try()
		if code(t, err) != row.code {
			t.Errorf("%s: %v, want %s", row.reason, err, row.code)
			continue
		}
		wantError(t, err, row.code, row.words)
	}
}

// TestRouteTables: routes are replaced and turn into black holes, and associations move, also the
// one of the main table.
func TestRouteTables(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, vpc := t.Context(), r.newVPC("10.9.0.0/16")
	subnet := must[string](t)(r.newSubnet(vpc, "10.9.1.0/24"))
	gateway := must[*ec2.CreateInternetGatewayOutput](t)(r.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})).InternetGateway.InternetGatewayId
	must[*ec2.AttachInternetGatewayOutput](t)(r.ec2.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: gateway, VpcId: &vpc}))
	find := func(filters ...types.Filter) types.RouteTable {
		t.Helper()
		out := must[*ec2.DescribeRouteTablesOutput](t)(r.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: append(filters, filter("vpc-id", vpc))}))
		if len(out.RouteTables) != 1 {
			t.Fatalf("%d route tables were found, want 1", len(out.RouteTables))
		}
		return out.RouteTables[0]
	}
	main := find(filter("association.main", "true"))
	table := must[*ec2.CreateRouteTableOutput](t)(r.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc})).RouteTable.RouteTableId
	n := must[*ec2.CreateNetworkInterfaceOutput](t)(r.ec2.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet})).NetworkInterface.NetworkInterfaceId
	everywhere := aws.String("0.0.0.0/0")
	must[*ec2.CreateRouteOutput](t)(r.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, NetworkInterfaceId: n}))
	if got := find(filter("route.state", "blackhole")); *got.RouteTableId != *table {
		t.Errorf("the table with a route to an interface without an instance is %s", *got.RouteTableId)
	}
	_, err := r.ec2.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, GatewayId: gateway})
	wantError(t, err, "RouteAlreadyExists", "The route identified by 0.0.0.0/0 already exists.")
	must[*ec2.ReplaceRouteOutput](t)(r.ec2.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, GatewayId: gateway}))
	if got := find(filter("route.gateway-id", *gateway)).Routes[1]; got.State != types.RouteStateActive || got.NetworkInterfaceId != nil {
		t.Errorf("the replaced route is %+v", got)
	}
	association := must[*ec2.AssociateRouteTableOutput](t)(r.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: main.RouteTableId, SubnetId: &subnet})).AssociationId
	_, err = r.ec2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: &subnet})
	wantError(t, err, "Resource.AlreadyAssociated", "conflicts with an existing association")
	moved := must[*ec2.ReplaceRouteTableAssociationOutput](t)(r.ec2.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{AssociationId: association, RouteTableId: table})).NewAssociationId
	if got := find(filter("association.subnet-id", subnet)); *got.RouteTableId != *table || *got.Associations[0].RouteTableAssociationId != *moved {
		t.Errorf("the subnet is with %+v", got)
	}
	must[*ec2.ReplaceRouteTableAssociationOutput](t)(r.ec2.ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: main.Associations[0].RouteTableAssociationId, RouteTableId: table,
	}))
	if got := find(filter("association.main", "true")); *got.RouteTableId != *table {
		t.Errorf("the main table is %s", *got.RouteTableId)
	}
	must[*ec2.DeleteRouteTableOutput](t)(r.ec2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: main.RouteTableId}))
	_, err = r.ec2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: find(filter("association.main", "true")).Associations[1].RouteTableAssociationId})
	wantError(t, err, "InvalidParameterValue", "main route table")
}

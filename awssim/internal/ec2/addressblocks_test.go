package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// localRoutes returns the destinations of the local routes of a VPC's main route table.
func (r *rig) localRoutes(vpc string) []string {
	r.Helper()
	out, err := r.ec2.DescribeRouteTables(r.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("vpc-id", vpc), filter("association.main", "true")}})
	if err != nil {
		r.Fatal(err)
	}
	var local []string
	for _, route := range out.RouteTables[0].Routes {
		if aws.ToString(route.GatewayId) == "local" {
			local = append(local, *route.DestinationCidrBlock)
		}
	}
	return local
}

// TestFurtherBlocksOfAVPC: subnets can be in a block that is added, and its local route is in the
// route tables, also in new ones.
func TestFurtherBlocksOfAVPC(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, vpc := t.Context(), r.newVPC("10.9.0.0/16")
	associate := func(cidr string) (string, error) {
		out, err := r.ec2.AssociateVpcCidrBlock(ctx, &ec2.AssociateVpcCidrBlockInput{VpcId: &vpc, CidrBlock: &cidr})
		if err != nil {
			return "", err
		}
		return *out.CidrBlockAssociation.AssociationId, nil
	}
	_, err := r.newSubnet(vpc, "100.64.0.0/18")
	wantError(t, err, "InvalidSubnet.Range", "")
	further := must[string](t)(associate("100.64.0.0/16"))
	for _, row := range []struct{ reason, cidr, code string }{
		{"the primary block", "10.9.0.0/16", "InvalidVpc.Conflict"},
		{"within another", "100.64.1.0/24", "InvalidVpc.Conflict"},
		{"too large", "10.0.0.0/8", "InvalidVpc.Range"},
		{"no block", "10.0.0.0", "InvalidParameterValue"},
	} {
		if _, err := associate(row.cidr); code(t, err) != row.code {
			t.Errorf("a block that is %s: %v, want %s", row.reason, err, row.code)
		}
	}
	subnet := must[string](t)(r.newSubnet(vpc, "100.64.0.0/18"))
	if diff := cmp.Diff([]string{"10.9.0.0/16", "100.64.0.0/16"}, r.localRoutes(vpc)); diff != "" {
		t.Errorf("local routes (-want +got):\n%s", diff)
	}
	made := must[*ec2.CreateRouteTableOutput](t)(r.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc}))
	if got := len(made.RouteTable.Routes); got != 2 {
		t.Errorf("a new route table has %d routes, want 2", got)
	}
	described := must[*ec2.DescribeVpcsOutput](t)(r.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("cidr-block-association.cidr-block", "100.64.0.0/16")}}))
	if len(described.Vpcs) != 1 || described.Vpcs[0].CidrBlockAssociationSet[1].CidrBlockState.State != types.VpcCidrBlockStateCodeAssociated {
		t.Errorf("VPCs with the block are %+v", described.Vpcs)
	}
	disassociate := func(id string) error {
		_, err := r.ec2.DisassociateVpcCidrBlock(ctx, &ec2.DisassociateVpcCidrBlockInput{AssociationId: &id})
		return err
	}
	wantError(t, disassociate(further), "InvalidCidrBlock.InUse", "subnet")
	wantError(t, disassociate(*described.Vpcs[0].CidrBlockAssociationSet[0].AssociationId), "OperationNotPermitted", "primary")
	must[*ec2.DeleteSubnetOutput](t)(r.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &subnet}))
	if err := disassociate(further); err != nil {
		t.Fatal(err)
	}
	wantError(t, disassociate(further), "InvalidVpcCidrBlockAssociationID.NotFound", further)
	if diff := cmp.Diff([]string{"10.9.0.0/16"}, r.localRoutes(vpc)); diff != "" {
		t.Errorf("local routes (-want +got):\n%s", diff)
	}
	for _, cidr := range []string{"100.64.0.0/16", "100.65.0.0/16", "100.66.0.0/16", "100.67.0.0/16"} {
		must[string](t)(associate(cidr))
	}
	_, err = associate("100.68.0.0/16")
	wantError(t, err, "CidrLimitExceeded", vpc)
}

// TestDHCPOptions: a set that a VPC is associated with stays.
func TestDHCPOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, vpc := t.Context(), r.newVPC("10.9.0.0/16")
	create := func(options ...types.NewDhcpConfiguration) (string, error) {
		out, err := r.ec2.CreateDhcpOptions(ctx, &ec2.CreateDhcpOptionsInput{DhcpConfigurations: options})
		if err != nil {
			return "", err
		}
		return *out.DhcpOptions.DhcpOptionsId, nil
	}
	for _, row := range []struct {
		reason, code string
		options      []types.NewDhcpConfiguration
	}{
		{"with an unknown option", "InvalidParameterValue", []types.NewDhcpConfiguration{{Key: aws.String("color"), Values: []string{"blue"}}}},
		{"with an option without values", "InvalidParameterValue", []types.NewDhcpConfiguration{{Key: aws.String("domain-name")}}},
	} {
		if _, err := create(row.options...); code(t, err) != row.code {
			t.Errorf("a set %s: %v, want %s", row.reason, err, row.code)
		}
	}
	id := must[string](t)(create(
		types.NewDhcpConfiguration{Key: aws.String("domain-name"), Values: []string{"example.com"}},
		types.NewDhcpConfiguration{Key: aws.String("domain-name-servers"), Values: []string{"10.9.0.5", "10.9.0.6"}},
	))
	found := must[*ec2.DescribeDhcpOptionsOutput](t)(r.ec2.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{Filters: []types.Filter{filter("value", "10.9.0.6")}}))
	if len(found.DhcpOptions) != 1 || *found.DhcpOptions[0].DhcpOptionsId != id {
		t.Errorf("sets with the server are %+v", found.DhcpOptions)
	}
	associate := func(id string) error {
		_, err := r.ec2.AssociateDhcpOptions(ctx, &ec2.AssociateDhcpOptionsInput{VpcId: &vpc, DhcpOptionsId: &id})
		return err
	}
	wantError(t, associate("dopt-0123456789abcdef0"), "InvalidDhcpOptionID.NotFound", "dopt-0123456789abcdef0")
	if err := associate(id); err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		_, err := r.ec2.DeleteDhcpOptions(ctx, &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: &id})
		return err
	}
	wantError(t, remove(), "DependencyViolation", id)
	if err := associate("default"); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	wantError(t, remove(), "InvalidDhcpOptionID.NotFound", id)
}

package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var routeTableListing = listing[types.RouteTable]{
	kind: routeTableID, id: func(t types.RouteTable) string { return *t.RouteTableId }, tags: func(t types.RouteTable) []types.Tag { return t.Tags },
	pages: pageLimits{min: 5, max: 100}, // API reference, DescribeRouteTables
	filters: filterTable[types.RouteTable]{
		"association.gateway-id":                 tableAssociations(func(a types.RouteTableAssociation) []string { return text(a.GatewayId) }),
		"association.main":                       tableAssociations(func(a types.RouteTableAssociation) []string { return boolean(a.Main) }),
		"association.route-table-association-id": tableAssociations(func(a types.RouteTableAssociation) []string { return text(a.RouteTableAssociationId) }),
		"association.route-table-id":             tableAssociations(func(a types.RouteTableAssociation) []string { return text(a.RouteTableId) }),
		"association.subnet-id":                  tableAssociations(func(a types.RouteTableAssociation) []string { return text(a.SubnetId) }),
		"owner-id":                               func(t types.RouteTable) []string { return text(t.OwnerId) },
		"route-table-id":                         func(t types.RouteTable) []string { return text(t.RouteTableId) },
		"route.destination-cidr-block":           tableRoutes(func(r types.Route) []string { return text(r.DestinationCidrBlock) }),
		"route.gateway-id":                       tableRoutes(func(r types.Route) []string { return text(r.GatewayId) }),
		"route.instance-id":                      tableRoutes(func(r types.Route) []string { return text(r.InstanceId) }),
		"route.nat-gateway-id":                   tableRoutes(func(r types.Route) []string { return text(r.NatGatewayId) }),
		"route.origin":                           tableRoutes(func(r types.Route) []string { return enum(r.Origin) }),
		"route.state":                            tableRoutes(func(r types.Route) []string { return enum(r.State) }),
		// The simulation has no routes that these could find.
		"route.destination-ipv6-cidr-block":     tableRoutes(func(r types.Route) []string { return text(r.DestinationIpv6CidrBlock) }),
		"route.destination-prefix-list-id":      tableRoutes(func(r types.Route) []string { return text(r.DestinationPrefixListId) }),
		"route.egress-only-internet-gateway-id": tableRoutes(func(r types.Route) []string { return text(r.EgressOnlyInternetGatewayId) }),
		"route.transit-gateway-id":              tableRoutes(func(r types.Route) []string { return text(r.TransitGatewayId) }),
		"route.vpc-peering-connection-id":       tableRoutes(func(r types.Route) []string { return text(r.VpcPeeringConnectionId) }),
		"vpc-id":                                func(t types.RouteTable) []string { return text(t.VpcId) },
	},
}

func tableAssociations(read func(types.RouteTableAssociation) []string) func(types.RouteTable) []string {
	return func(t types.RouteTable) []string { return collect(t.Associations, read) }
}

func tableRoutes(read func(types.Route) []string) func(types.RouteTable) []string {
	return func(t types.RouteTable) []string { return collect(t.Routes, read) }
}

func describeRouteTables(c *sim.Call, in *awsec2.DescribeRouteTablesInput) (*awsec2.DescribeRouteTablesOutput, error) {
	s := stateOf(c.Region)
	all := s.routeTables.VisibleAll()
	for i := range all {
		all[i].Routes = withStates(s, all[i])
	}
	found, next, err := routeTableListing.read(all, query{in.RouteTableIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeRouteTablesOutput{RouteTables: found, NextToken: next}, nil
}

func withAssociation(table types.RouteTable, a types.RouteTableAssociation) types.RouteTable {
	a.RouteTableId, a.AssociationState = table.RouteTableId, routeAssociated()
	table.Associations = append(slices.Clone(table.Associations), a)
	return table
}

func withoutAssociation(table types.RouteTable, id string) types.RouteTable {
	table.Associations = slices.DeleteFunc(slices.Clone(table.Associations), func(a types.RouteTableAssociation) bool { return *a.RouteTableAssociationId == id })
	return table
}

func createRouteTable(c *sim.Call, in *awsec2.CreateRouteTableInput) (*awsec2.CreateRouteTableOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateRouteTableOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
		return answer, err
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeRouteTable, types.ResourceTypeRouteTable)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	table := s.routeTables.newTable(c.Kernel.NewID("rtb-", 17), vpc, tags)
	s.routeTables.Put(*table.RouteTableId, table)
	out := &awsec2.CreateRouteTableOutput{RouteTable: &table, ClientToken: in.ClientToken}
	remember(s.tokens, c.Action, in.ClientToken, asked, out)
	return out, nil
}

func deleteRouteTable(c *sim.Call, in *awsec2.DeleteRouteTableInput) (*awsec2.DeleteRouteTableOutput, error) {
	s := stateOf(c.Region)
	table, err := s.routeTables.find(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	if len(table.Associations) > 0 {
		return nil, dependencyViolation("routeTable", *table.RouteTableId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.routeTables.Delete(*table.RouteTableId)
	return &awsec2.DeleteRouteTableOutput{}, nil
}

func associateRouteTable(c *sim.Call, in *awsec2.AssociateRouteTableInput) (*awsec2.AssociateRouteTableOutput, error) {
	s := stateOf(c.Region)
	if err := unsupportedMember(in.GatewayId != nil || in.PublicIpv4Pool != nil, "route tables of gateways"); err != nil {
		return nil, err
	}
	table, err := s.routeTables.find(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	subnet, err := s.subnets.find(in.SubnetId)
	if err != nil {
		return nil, err
	}
	if *subnet.VpcId != *table.VpcId {
		return nil, differentNetworks(table, *subnet.SubnetId)
	}
	if other, association, taken := s.routeTables.ofSubnet(*subnet.SubnetId); taken {
		if *other.RouteTableId == *table.RouteTableId {
			return &awsec2.AssociateRouteTableOutput{AssociationId: association.RouteTableAssociationId, AssociationState: routeAssociated()}, nil
		}
		return nil, sim.Errorf("Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", *table.RouteTableId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	id := c.Kernel.NewID("rtbassoc-", 17)
	s.routeTables.Put(*table.RouteTableId, withAssociation(table, types.RouteTableAssociation{Main: ptr(false), RouteTableAssociationId: &id, SubnetId: subnet.SubnetId}))
	return &awsec2.AssociateRouteTableOutput{AssociationId: &id, AssociationState: routeAssociated()}, nil
}

func differentNetworks(table types.RouteTable, other string) error {
	return sim.Errorf("InvalidParameterValue", "route table %s and %s belong to different networks", *table.RouteTableId, other)
}

func disassociateRouteTable(c *sim.Call, in *awsec2.DisassociateRouteTableInput) (*awsec2.DisassociateRouteTableOutput, error) {
	s := stateOf(c.Region)
	table, association, err := s.routeTables.findAssociation(in.AssociationId)
	if err != nil {
		return nil, err
	}
	if *association.Main {
		return nil, sim.Errorf("InvalidParameterValue", "cannot disassociate the main route table association %s", *in.AssociationId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.routeTables.Put(*table.RouteTableId, withoutAssociation(table, *in.AssociationId))
	return &awsec2.DisassociateRouteTableOutput{}, nil
}

// replaceRouteTableAssociation gives a subnet another route table or, for the main association, its
// VPC another main one.
func replaceRouteTableAssociation(c *sim.Call, in *awsec2.ReplaceRouteTableAssociationInput) (*awsec2.ReplaceRouteTableAssociationOutput, error) {
	s := stateOf(c.Region)
	old, association, err := s.routeTables.findAssociation(in.AssociationId)
	if err != nil {
		return nil, err
	}
	target, err := s.routeTables.find(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	if *old.VpcId != *target.VpcId {
		return nil, differentNetworks(target, *in.AssociationId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.routeTables.Put(*old.RouteTableId, withoutAssociation(old, *in.AssociationId))
	target, _ = s.routeTables.Get(*target.RouteTableId) // it may be the old one
	association.RouteTableAssociationId = ptr(c.Kernel.NewID("rtbassoc-", 17))
	s.routeTables.Put(*target.RouteTableId, withAssociation(target, association))
	return &awsec2.ReplaceRouteTableAssociationOutput{NewAssociationId: association.RouteTableAssociationId, AssociationState: routeAssociated()}, nil
}

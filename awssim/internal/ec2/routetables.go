package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// routeTables holds the route tables of a Region.
type routeTables struct {
	*sim.Table[types.RouteTable]
	region *sim.Region
}

// newTable returns a route table with a local route for each block of the VPC, which every
// table has (VPC User Guide, "Route table concepts").
func (rt *routeTables) newTable(id string, vpc types.Vpc, tags []types.Tag) types.RouteTable {
	table := types.RouteTable{RouteTableId: ptr(id), VpcId: vpc.VpcId, OwnerId: ptr(rt.region.Account.ID), Tags: tags}
	for _, association := range vpc.CidrBlockAssociationSet {
		table.Routes = append(table.Routes, localRoute(association.CidrBlock))
	}
	return table
}

// localRoute returns the route to a block of the VPC itself.
func localRoute(cidr *string) types.Route {
	return types.Route{DestinationCidrBlock: cidr, GatewayId: ptr(localTarget), Origin: types.RouteOriginCreateRouteTable, State: types.RouteStateActive}
}

// localTarget is the target of a local route in the answers of EC2.
const localTarget = "local"

func routeAssociated() *types.RouteTableAssociationState {
	return &types.RouteTableAssociationState{State: types.RouteTableAssociationStateCodeAssociated}
}

func isMain(table types.RouteTable) bool {
	return slices.ContainsFunc(table.Associations, func(a types.RouteTableAssociation) bool { return *a.Main })
}

// mainOf returns the main route table of a VPC, which always has one.
func (rt *routeTables) mainOf(vpc string) types.RouteTable {
	for _, table := range rt.All() {
		if *table.VpcId == vpc && isMain(table) {
			return table
		}
	}
	return types.RouteTable{RouteTableId: ptr("")}
}

// ofSubnet returns the route table that a subnet is associated with explicitly.
func (rt *routeTables) ofSubnet(subnet string) (types.RouteTable, types.RouteTableAssociation, bool) {
	return rt.with(func(a types.RouteTableAssociation) bool { return val(a.SubnetId) == subnet })
}

func (rt *routeTables) with(wanted func(types.RouteTableAssociation) bool) (types.RouteTable, types.RouteTableAssociation, bool) {
	for _, table := range rt.All() {
		if place := slices.IndexFunc(table.Associations, wanted); place >= 0 {
			return table, table.Associations[place], true
		}
	}
	return types.RouteTable{}, types.RouteTableAssociation{}, false
}

// changeEach changes the route tables of a VPC.
func (rt *routeTables) changeEach(vpc string, change func(*types.RouteTable)) {
	for _, table := range rt.All() {
		if val(table.VpcId) == vpc {
			change(&table)
			rt.Put(*table.RouteTableId, table)
		}
	}
}

func (rt *routeTables) find(id *string) (types.RouteTable, error) {
	if err := routeTableID.check(val(id)); err != nil {
		return types.RouteTable{}, err
	}
	table, ok := rt.Get(*id)
	if !ok {
		return table, routeTableID.missing(*id)
	}
	return table, nil
}

// findAssociation returns a route table with one of its associations.
func (rt *routeTables) findAssociation(id *string) (types.RouteTable, types.RouteTableAssociation, error) {
	if val(id) == "" {
		return types.RouteTable{}, types.RouteTableAssociation{}, missingParameter("associationId")
	}
	table, association, ok := rt.with(func(a types.RouteTableAssociation) bool { return *a.RouteTableAssociationId == *id })
	if !ok {
		return table, association, associationNotFound(*id)
	}
	return table, association, nil
}

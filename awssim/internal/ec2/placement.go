package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var placementGroupID = idKind{"pg", "InvalidPlacementGroupId.Malformed", "InvalidPlacementGroup.Unknown", "placement group", ""}

var placementFilters = filterTable[types.PlacementGroup]{
	"group-name":   func(p types.PlacementGroup) []string { return text(p.GroupName) },
	"group-arn":    func(p types.PlacementGroup) []string { return text(p.GroupArn) },
	"state":        func(p types.PlacementGroup) []string { return enum(p.State) },
	"strategy":     func(p types.PlacementGroup) []string { return enum(p.Strategy) },
	"spread-level": func(p types.PlacementGroup) []string { return enum(p.SpreadLevel) },
}

// createPlacementGroup makes a placement group (SDK, CreatePlacementGroupInput: up to 255 ASCII
// characters, up to 7 partitions, which is an inference from the user guide's limit per zone).
func createPlacementGroup(c *sim.Call, in *awsec2.CreatePlacementGroupInput) (*awsec2.CreatePlacementGroupOutput, error) {
	s := stateOf(c.Region)
	name := val(in.GroupName)
	if name == "" {
		return nil, missingParameter("groupName")
	}
	if in.Strategy == "" {
		return nil, missingParameter("strategy")
	}
	if err := checkEnum("strategy", in.Strategy, in.Strategy.Values()); err != nil {
		return nil, err
	}
	if in.PartitionCount != nil && (in.Strategy != types.PlacementStrategyPartition || *in.PartitionCount < 1 || *in.PartitionCount > 7) {
		return nil, invalidValue("partitionCount", *in.PartitionCount, "It is valid for the strategy partition only, from 1 to 7.")
	}
	for _, p := range s.placements.All() {
		if *p.GroupName == name {
			return nil, sim.Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", name)
		}
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypePlacementGroup, types.ResourceTypePlacementGroup)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	group := types.PlacementGroup{
		GroupId: ptr(c.Kernel.NewID("pg-", 17)), GroupName: ptr(name), GroupArn: ptr(resourceARN(s.region, "placement-group/"+name)), State: types.PlacementGroupStateAvailable,
		Strategy: in.Strategy, PartitionCount: in.PartitionCount, SpreadLevel: in.SpreadLevel, Tags: tags,
	}
	if in.Strategy == types.PlacementStrategyPartition && group.PartitionCount == nil {
		// User Guide, "Create a placement group": two partitions by default
		group.PartitionCount = ptr(int32(2))
	}
	s.placements.Put(*group.GroupId, group)
	return &awsec2.CreatePlacementGroupOutput{PlacementGroup: &group}, nil
}

func describePlacementGroups(c *sim.Call, in *awsec2.DescribePlacementGroupsInput) (*awsec2.DescribePlacementGroupsOutput, error) {
	all, err := selectByID(placementGroupID, stateOf(c.Region).placements.VisibleAll(), func(p types.PlacementGroup) string { return *p.GroupId }, in.GroupIds)
	if err != nil {
		return nil, err
	}
	all, err = selectByName(all, in.GroupNames, func(p types.PlacementGroup) string { return *p.GroupName }, func(name string) error {
		return sim.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
	})
	if err != nil {
		return nil, err
	}
	found, err := placementFilters.apply(in.Filters, all, func(p types.PlacementGroup) []types.Tag { return p.Tags })
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribePlacementGroupsOutput{PlacementGroups: found}, nil
}

// selectByName is selectByID for resources that are named.
func selectByName[V any](items []V, wanted []string, name func(V) string, missing func(string) error) ([]V, error) {
	if len(wanted) == 0 {
		return items, nil
	}
	byName := map[string]bool{}
	var chosen []V
	asked := setOf(wanted)
	for _, item := range items {
		byName[name(item)] = true
		if asked[name(item)] {
			chosen = append(chosen, item)
		}
	}
	for _, w := range wanted {
		if !byName[w] {
			return nil, missing(w)
		}
	}
	return chosen, nil
}

func deletePlacementGroup(c *sim.Call, in *awsec2.DeletePlacementGroupInput) (*awsec2.DeletePlacementGroupOutput, error) {
	s := stateOf(c.Region)
	for _, p := range s.placements.All() {
		if *p.GroupName != val(in.GroupName) {
			continue
		}
		for _, i := range s.instances.All() {
			if i.holdsCapacity() && (val(i.api.Placement.GroupName) == *p.GroupName || val(i.api.Placement.GroupId) == *p.GroupId) {
				return nil, sim.Errorf("InvalidPlacementGroup.InUse", "The Placement Group '%s' is in use and may not be deleted.", *p.GroupName)
			}
		}
		if val(in.DryRun) {
			return nil, dryRun()
		}
		s.placements.Delete(*p.GroupId)
		return &awsec2.DeletePlacementGroupOutput{}, nil
	}
	return nil, sim.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", val(in.GroupName))
}

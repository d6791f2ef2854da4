package autoscaling

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const tagResource = "auto-scaling-group"

// describedTags returns the tags of a group as they are shown: sorted by key, with the group named in each.
func describedTags(tags []types.Tag, group string) []types.TagDescription {
	var out []types.TagDescription
	for _, t := range tags {
		out = append(out, types.TagDescription{
			Key: t.Key, Value: ptr(val(t.Value)), PropagateAtLaunch: ptr(val(t.PropagateAtLaunch)), ResourceId: ptr(group), ResourceType: ptr(tagResource),
		})
	}
	slices.SortFunc(out, func(a, b types.TagDescription) int { return cmp.Compare(*a.Key, *b.Key) })
	return out
}

// tagActions serves the actions on tags.
type tagActions struct {
	groups *groups
}

// createOrUpdate sets tags of groups, all or none. Instances that run already do not get them
// (UG ec2-auto-scaling-tagging).
func (api *tagActions) createOrUpdate(c *sim.Call, in *autoscaling.CreateOrUpdateTagsInput) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, required("tags")
	}
	if err := validateTags(in.Tags, ""); err != nil {
		return nil, err
	}
	merged := map[*group][]types.TagDescription{}
	var touched []*group
	for _, t := range in.Tags {
		if t.ResourceId == nil || t.ResourceType == nil {
			return nil, invalid("Tag %s must have a ResourceId and a ResourceType.", val(t.Key))
		}
		g, err := api.groups.change(c, t.ResourceId)
		if err != nil {
			return nil, err
		}
		if merged[g] == nil {
			merged[g] = slices.Clone(g.tags)
			touched = append(touched, g)
		}
		merged[g] = append(slices.DeleteFunc(merged[g], func(o types.TagDescription) bool { return *o.Key == *t.Key }), describedTags([]types.Tag{t}, g.name)...)
		if len(merged[g]) > maxTags {
			return nil, sim.Errorf(codeLimitExceeded, "You can specify a maximum of %d tags for the Auto Scaling group %s.", maxTags, g.name)
		}
	}
	for _, g := range touched {
		slices.SortFunc(merged[g], func(a, b types.TagDescription) int { return cmp.Compare(*a.Key, *b.Key) })
		g.tags = merged[g]
		api.groups.publish(g)
	}
	return &autoscaling.CreateOrUpdateTagsOutput{}, nil
}

// delete removes tags; one that is not there is no error. A value, if given, must match
// (inference from DeleteTags of EC2).
func (api *tagActions) delete(c *sim.Call, in *autoscaling.DeleteTagsInput) (*autoscaling.DeleteTagsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, required("tags")
	}
	for _, t := range in.Tags {
		if _, err := api.groups.change(c, t.ResourceId); err != nil {
			return nil, err
		}
	}
	for _, t := range in.Tags {
		g := api.groups.byName[*t.ResourceId]
		g.tags = list.Filter(g.tags, func(o types.TagDescription) bool {
			return *o.Key != val(t.Key) || t.Value != nil && *o.Value != *t.Value
		})
		api.groups.publish(g)
	}
	return &autoscaling.DeleteTagsOutput{}, nil
}

func (api *tagActions) describe(_ *sim.Call, in *autoscaling.DescribeTagsInput) (*autoscaling.DescribeTagsOutput, error) {
	for _, f := range in.Filters {
		if !slices.Contains([]string{tagResource, "key", "value", "propagate-at-launch"}, val(f.Name)) {
			return nil, invalid("Filter type %s is not correct. Allowed Filter types are: auto-scaling-group key value propagate-at-launch", val(f.Name))
		}
	}
	var found []types.TagDescription
	for _, v := range api.groups.views.VisibleAll() {
		found = append(found, list.Filter(v.group.Tags, func(t types.TagDescription) bool { return tagMatches(t, in.Filters) })...)
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(t types.TagDescription) string { return *t.ResourceId + "\x00" + *t.Key })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeTagsOutput{Tags: page, NextToken: next}, nil
}

func tagMatches(t types.TagDescription, filters []types.Filter) bool {
	for _, f := range filters {
		actual := map[string]string{
			tagResource: *t.ResourceId, "key": *t.Key, "value": *t.Value, "propagate-at-launch": strconv.FormatBool(*t.PropagateAtLaunch),
		}[*f.Name]
		if !slices.ContainsFunc(f.Values, func(v string) bool {
			return v == actual || *f.Name == "propagate-at-launch" && strings.EqualFold(v, actual)
		}) {
			return false
		}
	}
	return true
}

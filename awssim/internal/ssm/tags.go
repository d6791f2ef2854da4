package ssm

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// mostTags is the number of tags that a parameter may have (AWS: AddTagsToResource).
const mostTags = 50

// tagged returns tags with others added to them.
func tagged(tags map[string]string, added []types.Tag) (map[string]string, error) {
	result := map[string]string{}
	maps.Copy(result, tags)
	for _, t := range added {
		key := str(t.Key)
		if key == "" || len([]rune(key)) > 128 || len([]rune(str(t.Value))) > 256 || strings.HasPrefix(strings.ToLower(key), "aws:") {
			return nil, invalid("The tag %q is not valid.", key)
		}
		result[key] = str(t.Value)
	}
	if len(result) > mostTags {
		return nil, sim.Errorf("TooManyTagsError", "A resource can have at most %d tags.", mostTags)
	}
	return result, nil
}

// resource finds the parameter whose tags a call is about. Tags of other resources are not simulated.
func resource(c *sim.Call, kind types.ResourceTypeForTagging, id *string) (parameter, error) {
	if kind != types.ResourceTypeForTaggingParameter {
		return parameter{}, sim.Errorf("InvalidResourceType", "The simulated Systems Manager has no resources of type %s.", kind)
	}
	p, ok := of(c.Region).parameters.Get(key(str(id)))
	if !ok || p.Public {
		return parameter{}, sim.Errorf("InvalidResourceId", "The resource ID is not valid. Verify that you entered the correct ID and try again.")
	}
	return p, nil
}

func addTags(c *sim.Call, in *ssm.AddTagsToResourceInput) (*ssm.AddTagsToResourceOutput, error) {
	p, err := resource(c, in.ResourceType, in.ResourceId)
	if err != nil {
		return nil, err
	}
	if p.Tags, err = tagged(p.Tags, in.Tags); err != nil {
		return nil, err
	}
	of(c.Region).parameters.Put(key(p.Name), p)
	return &ssm.AddTagsToResourceOutput{}, nil
}

func removeTags(c *sim.Call, in *ssm.RemoveTagsFromResourceInput) (*ssm.RemoveTagsFromResourceOutput, error) {
	p, err := resource(c, in.ResourceType, in.ResourceId)
	if err != nil {
		return nil, err
	}
	p.Tags = maps.Clone(p.Tags)
	for _, key := range in.TagKeys {
		delete(p.Tags, key)
	}
	of(c.Region).parameters.Put(key(p.Name), p)
	return &ssm.RemoveTagsFromResourceOutput{}, nil
}

func listTags(c *sim.Call, in *ssm.ListTagsForResourceInput) (*ssm.ListTagsForResourceOutput, error) {
	p, err := resource(c, in.ResourceType, in.ResourceId)
	if err != nil {
		return nil, err
	}
	out := &ssm.ListTagsForResourceOutput{TagList: []types.Tag{}}
	for _, key := range slices.Sorted(maps.Keys(p.Tags)) {
		value := p.Tags[key]
		out.TagList = append(out.TagList, types.Tag{Key: &key, Value: &value})
	}
	return out, nil
}

package eventbridge

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// mostTags is the number of tags that a resource may have ("EventBridge quotas"; the error for more
// is an inference).
const mostTags = 50

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// tagged returns tags with others added to them.
func tagged(had map[string]string, added []types.Tag) (map[string]string, error) {
	tags := map[string]string{}
	maps.Copy(tags, had)
	for key, value := range tagMap(added) {
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return nil, invalid("Tag keys must not begin with aws:.")
		}
		tags[key] = value
	}
	if len(tags) > mostTags {
		return nil, tooMany()
	}
	return tags, nil
}

// checkResource refuses an ARN that is neither the default event bus's nor a rule's.
func (s *state) checkResource(arn string, get func(*sim.Table[rule], string) (rule, bool)) error {
	if arn == s.busARN() {
		return nil
	}
	name, isRule := strings.CutPrefix(arn, s.ruleARN(""))
	if _, exists := get(s.rules, name); !isRule || !exists {
		return noRule(arn[strings.LastIndex(arn, "/")+1:])
	}
	return nil
}

func tagResource(c *sim.Call, in *eventbridge.TagResourceInput) (*eventbridge.TagResourceOutput, error) {
	s := of(c.Region)
	if err := s.checkResource(*in.ResourceARN, (*sim.Table[rule]).Get); err != nil {
		return nil, err
	}
	had, _ := s.tags.Get(*in.ResourceARN)
	tags, err := tagged(had, in.Tags)
	if err != nil {
		return nil, err
	}
	s.tags.Put(*in.ResourceARN, tags)
	return &eventbridge.TagResourceOutput{}, nil
}

func untagResource(c *sim.Call, in *eventbridge.UntagResourceInput) (*eventbridge.UntagResourceOutput, error) {
	s := of(c.Region)
	if err := s.checkResource(*in.ResourceARN, (*sim.Table[rule]).Get); err != nil {
		return nil, err
	}
	had, _ := s.tags.Get(*in.ResourceARN)
	tags := map[string]string{}
	maps.Copy(tags, had)
	for _, key := range in.TagKeys {
		delete(tags, key)
	}
	s.tags.Put(*in.ResourceARN, tags)
	return &eventbridge.UntagResourceOutput{}, nil
}

func listTagsForResource(c *sim.Call, in *eventbridge.ListTagsForResourceInput) (*eventbridge.ListTagsForResourceOutput, error) {
	s := of(c.Region)
	if err := s.checkResource(*in.ResourceARN, (*sim.Table[rule]).Visible); err != nil {
		return nil, err
	}
	tags, _ := s.tags.Visible(*in.ResourceARN)
	out := &eventbridge.ListTagsForResourceOutput{Tags: []types.Tag{}}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := tags[key]
		out.Tags = append(out.Tags, types.Tag{Key: &key, Value: &value})
	}
	return out, nil
}

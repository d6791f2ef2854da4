package ec2

import (
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Limits of tags (User Guide, "Tag your Amazon EC2 resources", tag restrictions).
const (
	maxTagsPerResource = 50
	maxTagKeyLength    = 128
	maxTagValueLength  = 256
	reservedTagPrefix  = "aws:"
)

// checkTags refuses tags that a user may not set: empty or reserved keys, keys or values that are
// too long, one key twice.
func checkTags(tags []types.Tag) error {
	seen := map[string]bool{}
	for _, tag := range tags {
		key := val(tag.Key)
		if key == "" {
			return sim.Errorf("InvalidParameterValue", "Tag key cannot be null or empty. Please specify a valid tag key.")
		}
		if strings.HasPrefix(strings.ToLower(key), reservedTagPrefix) {
			return sim.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
		if utf8.RuneCountInString(key) > maxTagKeyLength {
			return sim.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of %d characters", maxTagKeyLength)
		}
		if utf8.RuneCountInString(val(tag.Value)) > maxTagValueLength {
			return sim.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of %d characters", maxTagValueLength)
		}
		if seen[key] {
			return sim.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		seen[key] = true
	}
	return checkTagCount(tags)
}

// checkTagCount counts the tags that users set: AWS's own do not count (User Guide, tag restrictions).
func checkTagCount(tags []types.Tag) error {
	count := 0
	for _, tag := range tags {
		if !strings.HasPrefix(val(tag.Key), reservedTagPrefix) {
			count++
		}
	}
	if count > maxTagsPerResource {
		return sim.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	return nil
}

// metadataTagKey matches the keys that instance metadata can serve as path elements (User Guide,
// "View tags for your EC2 instances using instance metadata").
var metadataTagKey = regexp.MustCompile(`^[0-9a-zA-Z\-_+=,.@:]{1,255}$`)

// checkMetadataTagKeys refuses a launch that shows instance tags in instance metadata when a key
// does not fit there.
func checkMetadataTagKeys(tags []types.Tag) error {
	for _, tag := range tags {
		key := val(tag.Key)
		if strings.HasPrefix(key, reservedTagPrefix) {
			continue
		}
		if !metadataTagKey.MatchString(key) || key == "." || key == ".." || key == "_index" {
			return sim.Errorf("InvalidParameterValue", `'%s' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255}), and must not be a reserved name ('.', '..', '_index')`, key)
		}
	}
	return nil
}

// mergeTags returns base with over's tags added, over winning for the same key, sorted by key so
// that answers and dumps are the same from run to run.
func mergeTags(base, over []types.Tag) []types.Tag {
	values := map[string]string{}
	for _, list := range [][]types.Tag{base, over} {
		for _, tag := range list {
			values[val(tag.Key)] = val(tag.Value)
		}
	}
	merged := make([]types.Tag, 0, len(values))
	for key, value := range values {
		merged = append(merged, types.Tag{Key: ptr(key), Value: ptr(value)})
	}
	sort.Slice(merged, func(i, j int) bool { return *merged[i].Key < *merged[j].Key })
	return merged
}

// tagsFor collects the tags that a request's tag specifications give to one type of resource. It
// refuses a resource type that is not among the allowed ones.
func tagsFor(specifications []types.TagSpecification, resource types.ResourceType, allowed ...types.ResourceType) ([]types.Tag, error) {
	seen := map[types.ResourceType]bool{}
	var tags []types.Tag
	for _, spec := range specifications {
		if err := checkTaggable(spec.ResourceType, allowed); err != nil {
			return nil, err
		}
		if seen[spec.ResourceType] {
			return nil, sim.Errorf("InvalidParameterValue", "Duplicate resource type '%s' in tag specifications.", spec.ResourceType)
		}
		seen[spec.ResourceType] = true
		if err := checkTags(spec.Tags); err != nil {
			return nil, err
		}
		if spec.ResourceType == resource {
			tags = mergeTags(nil, spec.Tags)
		}
	}
	return tags, nil
}

func checkTaggable(resource types.ResourceType, allowed []types.ResourceType) error {
	if resource == "" {
		return sim.Errorf("InvalidParameterValue", "Tag specification resource type must have a value")
	}
	for _, a := range allowed {
		if a == resource {
			return nil
		}
	}
	return sim.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", resource)
}

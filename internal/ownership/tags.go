package ownership

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/reconciling"
)

// LastAppliedTagsAnnotation holds, as JSON, the tags that the user requested when tags were last
// set. It distinguishes a tag that the user removed from the spec from a tag that another client
// set. CAPA uses the same annotation in the same format.
const LastAppliedTagsAnnotation = "sigs.k8s.io/cluster-api-provider-aws-last-applied-tags"

// RetiredTags returns the keys that were applied earlier and are no longer asked for, sorted. It
// leaves out invalid keys, which AWS would refuse to delete: anybody can write the annotation.
func RetiredTags(object client.Object, wanted map[string]string) []string {
	var retired []string
	for key := range lastApplied(object) {
		if _, kept := wanted[key]; !kept && isTagKey(key) {
			retired = append(retired, key)
		}
	}
	slices.Sort(retired)
	return retired
}

// isTagKey reports whether a key is valid for a user's tag: 1 to 128 characters, and no prefix aws:
// (AWS: Tagging AWS resources).
func isTagKey(key string) bool {
	length := utf8.RuneCountInString(key)
	return length >= 1 && length <= 128 && !strings.HasPrefix(strings.ToLower(key), "aws:")
}

// TagsApplied is true if exactly these tags were asked for when tags were last set.
func TagsApplied(object client.Object, wanted map[string]string) bool {
	return maps.Equal(lastApplied(object), wanted)
}

// AnnounceTags records the tags that are about to be set in addition to the tags that were set, so
// that none is forgotten if the pass is interrupted.
func AnnounceTags(object client.Object, wanted map[string]string) {
	union := lastApplied(object)
	maps.Copy(union, wanted)
	recordTags(object, union)
}

// ConfirmTags records that exactly these tags are set, the retired ones being gone.
func ConfirmTags(object client.Object, wanted map[string]string) { recordTags(object, wanted) }

// lastApplied returns no tags if the annotation is missing or cannot be parsed, so that Slipway
// removes no tag.
func lastApplied(object client.Object) map[string]string {
	var tags map[string]string
	err := json.Unmarshal([]byte(object.GetAnnotations()[LastAppliedTagsAnnotation]), &tags)
	if err != nil || tags == nil {
		return map[string]string{}
	}
	return tags
}

func recordTags(object client.Object, tags map[string]string) {
	text, err := json.Marshal(tags)
	if err != nil {
		panic(err) // strings by strings: there is nothing that JSON cannot write
	}
	if len(tags) == 0 {
		text = nil
	}
	reconciling.SetAnnotation(object, LastAppliedTagsAnnotation, string(text))
}

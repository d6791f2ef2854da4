package autoscalinggroup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digests returns two digests that are equal for the same group, hooks apart, and for no other: one
// of what it launches, "" if that is not known, and one of the rest.
func (d Desired) Digests() (settings, launches string) {
	if d.launches() {
		launches = digestOf(struct {
			Template string
			Version  int64
			Policy   any
		}{d.LaunchTemplateID, d.Version, d.MixedInstancesPolicy})
	}
	d.LaunchTemplateID, d.Version, d.MixedInstancesPolicy = "", 0, nil
	d.Names, d.Hooks, d.RetiredTags = nil, nil, nil
	return digestOf(d), launches
}

func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers and maps of strings: there is nothing that JSON cannot write
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])[:16]
}

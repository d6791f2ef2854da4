package autoscalinggroup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Wanted holds what instances should have been launched from.
type Wanted struct {
	// TemplateID is the pool's launch template.
	TemplateID string
	// Config is the fingerprint of the wanted config, and Versions are all versions of the template
	// with it: they differ by their join token alone. Version is the one that new instances get.
	Config   string
	Versions []int64
	Version  int64
	// Accepted are versions, of whatever template, that count as the wanted config without a
	// fingerprint that says so.
	Accepted []infrav1.AcceptedVersions
	// ImageID is the image of these versions, empty if it is not known.
	ImageID string
	// Overrides are the pool's. One with an image or a template of its own decides what instances
	// of its type run.
	Overrides []infrav1.Overrides
}

// source is the template version and image that an instance is launched from.
type source struct {
	template string
	version  int64
	image    string // of an override, empty for the template's
}

// Key identifies what is wanted over time: it changes when instances have to be replaced, and not
// when a join token rotates.
func (w Wanted) Key() string {
	own := ownSources(w.Overrides)
	if own == "" {
		return w.Config
	}
	digest := sha256.Sum256([]byte(own))
	return w.Config + "+" + hex.EncodeToString(digest[:])[:16]
}

// configOf returns the fingerprint of the config in a key.
func configOf(key string) string {
	config, _, _ := strings.Cut(key, "+")
	return config
}

// Runs reports whether an instance need not be replaced. An instance of a type that no override
// names any longer is judged by the pool's template: instance types come and go without a roll-out.
func (w Wanted) Runs(instance Instance) bool {
	has := source{instance.LaunchTemplateID, instance.Version, instance.ImageID}
	return slices.ContainsFunc(w.sourcesOf(instance), func(wanted source) bool {
		if wanted.template != "" {
			return has == wanted
		}
		return w.accepts(has.template, has.version) && w.image(has) == w.image(wanted)
	})
}

// accepts reports whether a version has the wanted config, or counts as if it had.
func (w Wanted) accepts(template string, version int64) bool {
	return template == w.TemplateID && slices.Contains(w.Versions, version) ||
		slices.ContainsFunc(w.Accepted, func(accepted infrav1.AcceptedVersions) bool { return accepted.Holds(template, version) })
}

// image returns the image that an instance from the pool's template boots: an override's image, or
// the template's.
func (w Wanted) image(s source) string {
	if s.image == "" {
		return w.ImageID
	}
	return s.image
}

// sourcesOf returns what an instance of this type may be launched from; a source without a template
// is the pool's.
func (w Wanted) sourcesOf(instance Instance) []source {
	var sources []source
	for i := range w.Overrides {
		override := &w.Overrides[i]
		if override.InstanceType == "" || override.InstanceType == instance.InstanceType {
			sources = append(sources, sourceOf(override))
		}
	}
	if len(sources) == 0 {
		return []source{{}}
	}
	return sources
}

func sourceOf(override *infrav1.Overrides) source {
	own := source{image: override.ImageID}
	if override.LaunchTemplate != nil {
		own.template, own.version = override.LaunchTemplate.ID, override.LaunchTemplate.Version
	}
	return own
}

// skipped reports whether AWS's skip matching leaves an instance alone: it was launched from the
// version that the group names, number by number (AWS: asg-instance-refresh-skip-matching).
func (w Wanted) skipped(instance Instance) bool {
	has := source{instance.LaunchTemplateID, instance.Version, instance.ImageID}
	return slices.ContainsFunc(w.sourcesOf(instance), func(wanted source) bool {
		if wanted.template == "" {
			wanted.template, wanted.version = w.TemplateID, w.Version
		}
		return has == wanted
	})
}

// byAttributes reports whether AWS chooses instance types by requirements: then it does not know
// which instances match.
func (w Wanted) byAttributes() bool {
	return slices.ContainsFunc(w.Overrides, func(override infrav1.Overrides) bool { return override.InstanceRequirements != nil })
}

// ownSources returns a text of the images and templates that overrides name, empty if none does.
// The order of overrides is a priority and rolls nothing.
func ownSources(overrides []infrav1.Overrides) string {
	var lines []string
	for i := range overrides {
		if own := sourceOf(&overrides[i]); own != (source{}) {
			lines = append(lines, ownSource(overrides[i].InstanceType, own))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func ownSource(instanceType string, own source) string {
	return fmt.Sprintf("%s image=%s template=%s version=%d", instanceType, own.image, own.template, own.version)
}

// Launches reports whether new instances of the group are what is wanted: it names one of the
// wanted versions, and the overrides' images and templates.
func (w Wanted) Launches(group Group) bool {
	number, err := strconv.ParseInt(group.Version, 10, 64)
	if err != nil || !w.accepts(group.LaunchTemplateID, number) {
		return false
	}
	var lines []string
	for _, override := range group.Overrides {
		if own := groupSource(override); own != (source{}) {
			lines = append(lines, ownSource(awssdk.ToString(override.InstanceType), own))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") == ownSources(w.Overrides)
}

func groupSource(override asgtypes.LaunchTemplateOverrides) source {
	own := source{image: awssdk.ToString(override.ImageId)}
	if specification := override.LaunchTemplateSpecification; specification != nil {
		own.template = awssdk.ToString(specification.LaunchTemplateId)
		if number, err := strconv.ParseInt(awssdk.ToString(specification.Version), 10, 64); err == nil {
			own.version = number
		}
	}
	return own
}

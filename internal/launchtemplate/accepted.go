package launchtemplate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Accepted holds versions that count as a config although they have no fingerprint of it: versions
// of a template that was taken over which CAPA created, and versions of a deleted template, whose
// descriptions are gone with it. It is kept in a tag of the template, so that AWS alone is enough
// to know it.
type Accepted struct {
	// Config is the fingerprint that they count as.
	Config string
	// Versions are the versions, the newest template first.
	Versions []infrav1.AcceptedVersions
}

// longestTagValue bounds the value of a tag (AWS: Using_Tags, tag restrictions).
const longestTagValue = 256

var (
	acceptedForm  = regexp.MustCompile(`^config=([0-9a-f]{32})((?: lt-[0-9a-z]+:[1-9][0-9]*-[1-9][0-9]*)+)$`)
	acceptedRange = regexp.MustCompile(`(lt-[0-9a-z]+):([0-9]+)-([0-9]+)`)
)

// Text returns the value of the tag, or "" if there is nothing to record. Ranges that do not fit
// are dropped from the end: instances of those versions would be replaced.
func (a Accepted) Text() string {
	if a.Config == "" || len(a.Versions) == 0 {
		return ""
	}
	text := "config=" + a.Config
	for _, versions := range a.Versions {
		part := fmt.Sprintf(" %s:%d-%d", versions.LaunchTemplateID, versions.First, versions.Last)
		if len(text)+len(part) > longestTagValue {
			break
		}
		text += part
	}
	return text
}

// ParseAccepted reads a tag's value. It is false for one that is not of this form.
func ParseAccepted(text string) (Accepted, bool) {
	parts := acceptedForm.FindStringSubmatch(text)
	if parts == nil {
		return Accepted{}, false
	}
	accepted := Accepted{Config: parts[1]}
	for _, match := range acceptedRange.FindAllStringSubmatch(parts[2], -1) {
		first, err := strconv.ParseInt(match[2], 10, 64)
		if err != nil {
			return Accepted{}, false
		}
		last, err := strconv.ParseInt(match[3], 10, 64)
		if err != nil {
			return Accepted{}, false
		}
		accepted.Versions = append(accepted.Versions, infrav1.AcceptedVersions{LaunchTemplateID: match[1], First: first, Last: last})
	}
	return accepted, true
}

// Of returns the versions if they count as the config, else none.
func (a Accepted) Of(config string) []infrav1.AcceptedVersions {
	if a.Config != config {
		return nil
	}
	return a.Versions
}

// Lost returns the versions to accept when a template was deleted: the known versions that had a
// config, and the versions that were accepted for that config before. A template that is created
// again therefore replaces no instance that already runs the config.
func Lost(templateID, config string, versions []infrav1.LaunchTemplateVersionStatus, before Accepted) Accepted {
	accepted := Accepted{Config: config}
	sorted := slices.Clone(versions)
	slices.SortFunc(sorted, func(a, b infrav1.LaunchTemplateVersionStatus) int { return cmp.Compare(b.Number, a.Number) })
	for _, version := range sorted {
		if version.ConfigFingerprint != config {
			continue
		}
		// Only neighbors form a range: versions between others may have been anything.
		if last := len(accepted.Versions) - 1; last >= 0 && accepted.Versions[last].First == version.Number+1 {
			accepted.Versions[last].First = version.Number
			continue
		}
		accepted.Versions = append(accepted.Versions, infrav1.AcceptedVersions{LaunchTemplateID: templateID, First: version.Number, Last: version.Number})
	}
	accepted.Versions = append(accepted.Versions, before.Of(config)...)
	return accepted
}

// mostAccepted limits the number of ranges in the status (API: maxItems).
const mostAccepted = 16

// WithDeleted returns what is accepted when versions with a config were deleted by hand: they too,
// because instances that were launched from them run the config, and the description that said so
// is gone. Existing ranges stay in front, and ranges that do not fit are dropped.
func (a Accepted) WithDeleted(templateID, config string, numbers []int64) Accepted {
	result := Accepted{Config: config, Versions: slices.Clone(a.Of(config))}
	missing := slices.DeleteFunc(slices.Clone(numbers), func(number int64) bool {
		return slices.ContainsFunc(result.Versions, func(versions infrav1.AcceptedVersions) bool { return versions.Holds(templateID, number) })
	})
	if len(missing) == 0 {
		return a
	}
	slices.SortFunc(missing, func(a, b int64) int { return cmp.Compare(b, a) })
	added := len(result.Versions)
	for _, number := range missing {
		if last := len(result.Versions) - 1; last >= added && result.Versions[last].First == number+1 {
			result.Versions[last].First = number
			continue
		}
		result.Versions = append(result.Versions, infrav1.AcceptedVersions{LaunchTemplateID: templateID, First: number, Last: number})
	}
	result.Versions = result.Versions[:min(len(result.Versions), mostAccepted)]
	return result
}

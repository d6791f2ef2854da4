package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// sharesTarget is the highest percentage of wrong doc comments and of wide lines to aim for.
const sharesTarget = 5

// measure is one number that has a limit: a rate per 1,000 words, or a percentage.
type measure struct {
	name, wording, instead string
	value, target          float64
	// unit is "" for a rate and "%" for a percentage.
	unit string
	// places are what was counted.
	places []place
}

// measured returns the value with its unit.
func (m measure) measured() string {
	return strings.TrimSpace(fmt.Sprintf("%.2f %s", m.value, m.unit))
}

// exceeds reports whether a measure is above a limit, beyond the error of floating-point numbers.
func (m measure) exceeds(limit float64) bool {
	return m.value > limit+1e-9
}

// measuresOf measures comments and guides.
func measuresOf(comments, guides *corpus) []measure {
	var measures []measure
	for _, pattern := range patterns {
		measures = append(measures, pattern.measure("comments", comments))
	}
	measures = append(measures,
		shareOf("comments/is-doc", "function docs that open with X is, without tests", "returns, sets, reports whether", comments.isDocs),
		shareOf("comments/unnamed-doc", "doc comments that do not start with the identifier", "the identifier and a verb", comments.unnamed),
		shareOf("comments/wide", fmt.Sprintf("comment lines wider than %d columns", widest), "lines of 100 columns", comments.wide))
	for _, pattern := range patterns {
		if !pattern.docsOnly {
			measures = append(measures, pattern.measure("guides", guides))
		}
	}
	return append(measures, shareOf("guides/wide", fmt.Sprintf("lines wider than %d columns, without tables", widest), "lines of 100 columns", guides.wide))
}

// measure counts a pattern in some prose.
func (p *pattern) measure(scope string, prose *corpus) measure {
	result := measure{name: scope + "/" + p.name, wording: p.wording, instead: p.instead, target: p.anchors.target()}
	paragraphs := prose.paragraphs
	if p.docsOnly {
		paragraphs = prose.openings
	}
	for _, paragraph := range paragraphs {
		for _, found := range p.find(paragraph.text) {
			result.places = append(result.places, place{paragraph.path, paragraph.line, found})
		}
	}
	if prose.words > 0 {
		result.value = 1000 * float64(len(result.places)) / float64(prose.words)
	}
	return result
}

// find returns the occurrences of a pattern in a paragraph, each with some of the text around it.
func (p *pattern) find(paragraph string) []string {
	if p.except != nil {
		paragraph = p.except.ReplaceAllString(paragraph, "_")
	}
	var found []string
	for _, span := range p.match.FindAllStringIndex(paragraph, -1) {
		from, to := max(0, span[0]-40), min(len(paragraph), span[1]+60)
		found = append(found, strings.ToValidUTF8(paragraph[from:to], ""))
	}
	return found
}

// shareOf returns the measure of a share.
func shareOf(name, wording, instead string, share share) measure {
	return measure{name: name, wording: wording, instead: instead, value: share.percent(), target: sharesTarget, unit: "%", places: share.wrong}
}

// limits holds the highest value that each measure may have, by name.
type limits map[string]float64

// readLimits reads a file of limits.
func readLimits(file string) (limits, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the limits: %w", err)
	}
	var read limits
	if err := yaml.UnmarshalStrict(content, &read); err != nil {
		return nil, fmt.Errorf("reading the limits in %s: %w", file, err)
	}
	return read, nil
}

// lowered returns the limits that hold from now on: what is measured, but no less than the target and
// no more than the old limit. A new measure gets a limit, and a limit without a measure is dropped.
func (l limits) lowered(measures []measure) limits {
	lowered := limits{}
	for _, m := range measures {
		limit := max(roundUp(m.value), roundUp(m.target))
		if old, has := l[m.name]; has {
			limit = min(limit, old)
		}
		lowered[m.name] = limit
	}
	return lowered
}

// roundUp rounds to the two digits that a report shows.
func roundUp(value float64) float64 {
	return max(0, math.Ceil(value*100-1e-6)/100)
}

// write writes a file of limits.
func (l limits) write(file string) error {
	var content strings.Builder
	content.WriteString("# The limits of `make lint-text`: occurrences per 1,000 words, or percentages (is-doc, unnamed-doc, wide).\n" +
		"# `go run ./hack/linttext -lower` lowers them to what is measured. Nothing raises them.\n")
	for _, name := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(&content, "%s: %.2f\n", name, l[name])
	}
	if err := os.WriteFile(file, []byte(content.String()), 0o644); err != nil {
		return fmt.Errorf("writing the limits: %w", err)
	}
	return nil
}

// check returns an error if a measure exceeds its limit, or if measures and limits differ.
func (l limits) check(measures []measure, file string) error {
	var failures []error
	known := map[string]bool{}
	for _, m := range measures {
		known[m.name] = true
		limit, has := l[m.name]
		switch {
		case !has:
			failures = append(failures, fmt.Errorf("%s has no limit in %s: set one with -lower", m.name, file))
		case m.exceeds(limit):
			failures = append(failures, fmt.Errorf("%s (%s) rose to %s, and its limit is %.2f: write %s. go run ./hack/linttext -list %s prints all places",
				m.name, m.wording, m.measured(), limit, m.instead, m.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if !known[name] {
			failures = append(failures, fmt.Errorf("%s has a limit for %s, which is not measured", file, name))
		}
	}
	return errors.Join(failures...)
}

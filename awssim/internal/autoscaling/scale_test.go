package autoscaling

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScaleInChoice(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	// in makes a candidate that has run for the given minutes.
	in := func(id, zone string, minutes, version int, change ...func(*candidate)) candidate {
		c := candidate{id: id, zone: zone, units: 1, launched: now.Add(-time.Duration(minutes) * time.Minute), currentTemplate: true, version: version}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	protect := func(c *candidate) { c.protected = true }
	tests := []struct {
		reason   string
		all      []candidate
		policies []string
		mixed    bool
		spot     bool // surplus of Spot
		want     string
	}{
		{reason: "the fullest zone first", all: []candidate{in("a1", "a", 50, 1), in("b1", "b", 10, 2), in("b2", "b", 5, 2)}, want: "b1"},
		{reason: "the fullest zone that has an unprotected instance", want: "a1",
			all: []candidate{in("a1", "a", 50, 1), in("b1", "b", 10, 2, protect), in("b2", "b", 5, 2, protect)}},
		{reason: "a zone that the group has left before all", all: []candidate{in("z1", "z", 1, 9), in("a1", "a", 50, 1), in("a2", "a", 50, 1)}, want: "z1"},
		{reason: "the oldest version of the template", all: []candidate{in("a1", "a", 10, 3), in("b1", "b", 5, 2)}, want: "b1"},
		{reason: "another template before an old version", want: "b1",
			all: []candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 7, func(c *candidate) { c.currentTemplate = false })}},
		{reason: "then the next billing hour", all: []candidate{in("a1", "a", 70, 1), in("b1", "b", 59, 1)}, want: "b1"},
		{reason: "unhealthy passes by everything", all: []candidate{in("a1", "a", 1, 9, func(c *candidate) { c.unhealthy = true }), in("b1", "b", 50, 1), in("b2", "b", 50, 1)}, want: "a1"},
		{reason: "newest", all: []candidate{in("a1", "a", 10, 1), in("b1", "b", 5, 1)}, policies: []string{policyNewestInstance}, want: "b1"},
		{reason: "oldest", all: []candidate{in("a1", "a", 10, 1), in("b1", "b", 5, 1)}, policies: []string{policyOldestInstance}, want: "a1"},
		{reason: "policies in their order", want: "a2", policies: []string{policyOldestLaunchTemplate, policyNewestInstance},
			all: []candidate{in("a1", "a", 20, 1), in("a2", "a", 10, 1), in("a3", "a", 5, 2)}},
		{reason: "the purchase option of which there is too much", mixed: true, spot: true, want: "b1",
			all: []candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 2, func(c *candidate) { c.spot = true })}},
		{reason: "what the allocation strategy prefers least", mixed: true, want: "b1",
			all: []candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 2, func(c *candidate) { c.preference = 1 })}},
		{reason: "nobody if all are protected", all: []candidate{in("a1", "a", 50, 1, protect)}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			s := scaleIn{zones: []string{"a", "b"}, policies: tt.policies, mixed: tt.mixed, surplusSpot: tt.spot, now: now}
			got, ok := s.choose(tt.all)
			if got.id != tt.want || ok != (tt.want != "") {
				t.Errorf("chose %q, want %q", got.id, tt.want)
			}
		})
	}
}

func TestPlacesAreOrdered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		places []place
		want   []string
	}{
		{"the emptiest zone, and its emptiest subnet", []place{{"a", "a1", 2, 2}, {"a", "a2", 1, 1}, {"b", "b1", 2, 2}, {"b", "b2", 0, 0}}, []string{"b2", "b1", "a2", "a1"}},
		{"equal ones keep their order", []place{{"b", "b1", 1, 1}, {"a", "a1", 1, 1}}, []string{"b1", "a1"}},
		{"what is about to be replaced counts last", []place{{"a", "a1", 1, 1}, {"b", "b1", 3, 0}, {"c", "c1", 2, 0}}, []string{"c1", "b1", "a1"}},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range orderPlaces(tt.places) {
			got = append(got, p.subnet)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestOnDemandShare(t *testing.T) {
	t.Parallel()
	tests := []struct{ total, base, percent, want int }{
		{10, 0, 100, 10}, {10, 0, 0, 0}, {10, 3, 0, 3}, {2, 3, 0, 2}, {10, 2, 50, 6}, {5, 2, 50, 4},
	}
	for _, tt := range tests {
		if got := onDemandTarget(tt.total, tt.base, tt.percent); got != tt.want {
			t.Errorf("%d units with base %d and %d%%: %d On-Demand, want %d", tt.total, tt.base, tt.percent, got, tt.want)
		}
	}
}

package scalein

import (
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	// in makes a Candidate that has run for the given minutes.
	in := func(id, zone string, minutes, version int, change ...func(*Candidate)) Candidate {
		c := Candidate{ID: id, Zone: zone, Units: 1, Launched: now.Add(-time.Duration(minutes) * time.Minute), CurrentTemplate: true, Version: version}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	protect := func(c *Candidate) { c.Protected = true }
	spot := func(c *Candidate) { c.Spot = true }
	// from gives a candidate a launch configuration that was created the given hours ago.
	from := func(hours int) func(*Candidate) {
		return func(c *Candidate) {
			c.Configured, c.CurrentTemplate, c.Version = now.Add(-time.Duration(hours)*time.Hour), false, 0
		}
	}
	tests := []struct {
		reason   string
		all      []Candidate
		policies []string
		mixed    bool
		spot     bool // surplus of Spot
		onDemand bool // surplus of On-Demand
		want     string
	}{
		{reason: "the fullest zone first", all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 10, 2), in("b2", "b", 5, 2)}, want: "b1"},
		{reason: "the fullest zone that has an unprotected instance", want: "a1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 10, 2, protect), in("b2", "b", 5, 2, protect)}},
		{reason: "a zone that the group has left before all", all: []Candidate{in("z1", "z", 1, 9), in("a1", "a", 50, 1), in("a2", "a", 50, 1)}, want: "z1"},
		{reason: "the oldest version of the template", all: []Candidate{in("a1", "a", 10, 3), in("b1", "b", 5, 2)}, want: "b1"},
		{reason: "another template before an old version", want: "b1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 7, func(c *Candidate) { c.CurrentTemplate = false })}},
		{reason: "then the next billing hour", all: []Candidate{in("a1", "a", 70, 1), in("b1", "b", 59, 1)}, want: "b1"},
		{reason: "unhealthy passes by everything", all: []Candidate{in("a1", "a", 1, 9, func(c *Candidate) { c.Unhealthy = true }), in("b1", "b", 50, 1), in("b2", "b", 50, 1)}, want: "a1"},
		{reason: "newest", all: []Candidate{in("a1", "a", 10, 1), in("b1", "b", 5, 1)}, policies: []string{PolicyNewestInstance}, want: "b1"},
		{reason: "oldest", all: []Candidate{in("a1", "a", 10, 1), in("b1", "b", 5, 1)}, policies: []string{PolicyOldestInstance}, want: "a1"},
		{reason: "policies in their order", want: "a2", policies: []string{PolicyOldestLaunchTemplate, PolicyNewestInstance},
			all: []Candidate{in("a1", "a", 20, 1), in("a2", "a", 10, 1), in("a3", "a", 5, 2)}},
		{reason: "the purchase option of which there is too much", mixed: true, spot: true, want: "b1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 2, func(c *Candidate) { c.Spot = true })}},
		{reason: "what the allocation strategy prefers least", mixed: true, want: "b1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 2, func(c *Candidate) { c.Preference = 1 })}},
		{reason: "On-Demand if there is too much of it", mixed: true, onDemand: true, want: "a1",
			all: []Candidate{in("a1", "a", 5, 2), in("b1", "b", 50, 1, spot)}},
		{reason: "another purchase option if all of the surplus is protected", mixed: true, spot: true, want: "a1",
			all: []Candidate{in("a1", "a", 5, 2), in("b1", "b", 50, 1, spot, protect)}},
		{reason: "purchase options do not matter without a distribution", spot: true, want: "a1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 2, spot)}},
		{reason: "a launch configuration before a launch template", want: "b1",
			all: []Candidate{in("a1", "a", 50, 1), in("b1", "b", 5, 0, from(1))}},
		{reason: "the oldest launch configuration", want: "b1", all: []Candidate{in("a1", "a", 50, 0, from(1)), in("b1", "b", 5, 0, from(2))}},
		{reason: "a policy about launch configurations passes where there are none", want: "b1",
			policies: []string{PolicyOldestLaunchConfiguration, PolicyNewestInstance}, all: []Candidate{in("a1", "a", 10, 1), in("b1", "b", 5, 2)}},
		{reason: "a Lambda function is not called, so the oldest leaves", want: "b1", policies: []string{"arn:aws:lambda:us-east-1:111122223333:function:f"},
			all: []Candidate{in("a1", "a", 5, 1), in("b1", "b", 50, 2)}},
		{reason: "of equal ones the smallest id", want: "a1", all: []Candidate{in("b1", "b", 5, 1), in("a1", "a", 5, 1)}},
		{reason: "an unhealthy instance that is protected stays", want: "b1",
			all: []Candidate{in("a1", "a", 50, 1, protect, func(c *Candidate) { c.Unhealthy = true }), in("b1", "b", 5, 1)}},
		{reason: "no instance if all are protected", all: []Candidate{in("a1", "a", 50, 1, protect)}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			d := Decision{Zones: []string{"a", "b"}, Policies: tt.policies, Mixed: tt.mixed, SurplusSpot: tt.spot, SurplusOnDemand: tt.onDemand, Now: now}
			got, ok := d.Choose(tt.all)
			if got.ID != tt.want || ok != (tt.want != "") {
				t.Errorf("chose %q, want %q", got.ID, tt.want)
			}
		})
	}
}

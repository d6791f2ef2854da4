package launchtemplate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const someConfig = "0123456789abcdef0123456789abcdef"

func versionsOf(template string, first, last int64) infrav1.AcceptedVersions {
	return infrav1.AcceptedVersions{LaunchTemplateID: template, First: first, Last: last}
}

// TestAcceptedIsReadBack holds that a tag says what was written into it, within what a tag can hold.
func TestAcceptedIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		accepted := Accepted{Config: someConfig}
		for i := range rapid.IntRange(1, 12).Draw(t, "templates") {
			first := rapid.Int64Range(1, 1<<40).Draw(t, "first")
			accepted.Versions = append(accepted.Versions, versionsOf(fmt.Sprintf("lt-%017x", i), first, first+rapid.Int64Range(0, 9).Draw(t, "more")))
		}
		text := accepted.Text()
		if len(text) > longestTagValue {
			t.Fatalf("%q has %d characters", text, len(text))
		}
		read, ok := ParseAccepted(text)
		if !ok || read.Config != accepted.Config || len(read.Versions) == 0 {
			t.Fatalf("%q was read as %+v", text, read)
		}
		if diff := cmp.Diff(accepted.Versions[:len(read.Versions)], read.Versions); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}

func TestParseAccepted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, text string
		want         bool
	}{
		{"nothing", "", false},
		{"no version", "config=" + someConfig, false},
		{"a short fingerprint", "config=abc lt-1:1-2", false},
		{"no range", "config=" + someConfig + " lt-1:1", false},
		{"version 0", "config=" + someConfig + " lt-1:0-2", false},
		{"a number beyond all numbers", "config=" + someConfig + " lt-1:1-99999999999999999999", false},
		{"something behind", "config=" + someConfig + " lt-1:1-2 and more", false},
		{"one range", "config=" + someConfig + " lt-1:1-2", true},
		{"two", "config=" + someConfig + " lt-1:1-2 lt-2:7-7", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if _, got := ParseAccepted(row.text); got != row.want {
				t.Errorf("%q is read: %v", row.text, got)
			}
		})
	}
}

func TestNothingAcceptedIsNoTag(t *testing.T) {
	t.Parallel()
	if text := (Accepted{Config: someConfig}).Text(); text != "" {
		t.Errorf("the tag would be %q", text)
	}
}

// TestLost holds that the versions of a deleted template that have the config are accepted, and no
// others.
func TestLost(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("f", 32)
	version := func(number int64, config string) infrav1.LaunchTemplateVersionStatus {
		return infrav1.LaunchTemplateVersionStatus{Number: number, ConfigFingerprint: config}
	}
	before := Accepted{Config: someConfig, Versions: []infrav1.AcceptedVersions{versionsOf("lt-older", 1, 9)}}
	for _, row := range []struct {
		reason   string
		versions []infrav1.LaunchTemplateVersionStatus
		before   Accepted
		want     []infrav1.AcceptedVersions
	}{
		{"none had it", []infrav1.LaunchTemplateVersionStatus{version(1, other)}, Accepted{}, nil},
		{"neighbours are one range", []infrav1.LaunchTemplateVersionStatus{version(3, someConfig), version(2, someConfig), version(1, other)}, Accepted{},
			[]infrav1.AcceptedVersions{versionsOf("lt-1", 2, 3)}},
		{"what lies between may have been anything", []infrav1.LaunchTemplateVersionStatus{version(5, someConfig), version(3, someConfig)}, Accepted{},
			[]infrav1.AcceptedVersions{versionsOf("lt-1", 5, 5), versionsOf("lt-1", 3, 3)}},
		{"in any order", []infrav1.LaunchTemplateVersionStatus{version(1, someConfig), version(2, someConfig)}, Accepted{},
			[]infrav1.AcceptedVersions{versionsOf("lt-1", 1, 2)}},
		{"what was accepted for it before still is", []infrav1.LaunchTemplateVersionStatus{version(1, someConfig)}, before,
			[]infrav1.AcceptedVersions{versionsOf("lt-1", 1, 1), versionsOf("lt-older", 1, 9)}},
		{"what was accepted for another is not", []infrav1.LaunchTemplateVersionStatus{version(1, someConfig)}, Accepted{Config: other, Versions: before.Versions},
			[]infrav1.AcceptedVersions{versionsOf("lt-1", 1, 1)}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			lost := Lost("lt-1", someConfig, row.versions, row.before)
			if diff := cmp.Diff(row.want, lost.Of(someConfig), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
			if len(lost.Of(other)) != 0 {
				t.Error("it is accepted for any config")
			}
		})
	}
}

func TestWithDeleted(t *testing.T) {
	t.Parallel()
	ranges := func(bounds ...int64) (versions []infrav1.AcceptedVersions) {
		for i := 0; i < len(bounds); i += 2 {
			versions = append(versions, infrav1.AcceptedVersions{LaunchTemplateID: "lt-1", First: bounds[i], Last: bounds[i+1]})
		}
		return versions
	}
	many := make([]int64, 0, 40)
	for number := int64(1); number <= 80; number += 2 {
		many = append(many, number)
	}
	for _, row := range []struct {
		reason  string
		before  Accepted
		deleted []int64
		want    []infrav1.AcceptedVersions
	}{
		{"neighbours are a range", Accepted{}, []int64{2, 5, 3}, ranges(5, 5, 2, 3)},
		{"what was adopted stays in front", Accepted{Config: "a", Versions: ranges(1, 4)}, []int64{7}, ranges(1, 4, 7, 7)},
		{"what is accepted already is not repeated", Accepted{Config: "a", Versions: ranges(1, 4)}, []int64{3}, ranges(1, 4)},
		{"what counts as another config does not count as this", Accepted{Config: "b", Versions: ranges(1, 4)}, []int64{7}, ranges(7, 7)},
		{"no more than status takes", Accepted{}, many, nil},
	} {
		got := row.before.WithDeleted("lt-1", "a", row.deleted)
		if row.want == nil {
			if len(got.Versions) != 16 || got.Versions[0].Last != 79 {
				t.Errorf("%s: %d ranges, the first %+v", row.reason, len(got.Versions), got.Versions[0])
			}
			continue
		}
		if difference := cmp.Diff(row.want, got.Of("a")); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

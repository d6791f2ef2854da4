package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestConfigDifferences holds what the reason for an update of a launch config says: every member
// that changes, with its values where they are plain and short, and nothing where nothing changes.
func TestConfigDifferences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSLaunchConfigSpec)
		labels map[string]string
		notes  map[string]string
		want   string
	}{
		{reason: "nothing"},
		{reason: "an instance type", change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceType = "m6i.large" }, want: "instanceType m5.large → m6i.large"},
		{reason: "a value comes", change: func(s *infrav1.AWSLaunchConfigSpec) { s.IamInstanceProfile = "nodes" }, want: "iamInstanceProfile none → nodes"},
		{reason: "a value goes", change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceType = "" }, want: "instanceType m5.large → none"},
		{reason: "a number", change: func(s *infrav1.AWSLaunchConfigSpec) { s.VersionsToKeep = ptr.To[int32](3) }, want: "versionsToKeep none → 3"},
		{reason: "a list", change: func(s *infrav1.AWSLaunchConfigSpec) { s.AdditionalTags = infrav1.Tags{"team": "a"} }, want: "another additionalTags"},
		{reason: "a value that is too long for a reason", change: func(s *infrav1.AWSLaunchConfigSpec) { s.IamInstanceProfile = strings.Repeat("x", 65) }, want: "another iamInstanceProfile"},
		{reason: "an object", change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume = &infrav1.Volume{Size: 20} }, want: "another rootVolume"},
		{reason: "two members, sorted", change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceType, s.IamInstanceProfile = "m6i.large", "nodes" },
			want: "iamInstanceProfile none → nodes, instanceType m5.large → m6i.large"},
		{reason: "an empty list is none", change: func(s *infrav1.AWSLaunchConfigSpec) { s.AdditionalTags = infrav1.Tags{} }},
		{reason: "labels and annotations", labels: map[string]string{"a": "b"}, notes: map[string]string{"c": "d"}, want: "other labels, other annotations"},
	} {
		config := &infrav1.AWSLaunchConfig{}
		config.Spec.InstanceType = "m5.large"
		wanted := *config.Spec.DeepCopy()
		if row.change != nil {
			row.change(&wanted)
		}
		if got := pool.ConfigDifferences(config, wanted, row.labels, row.notes); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// changes holds the differences between versions of templates.
type changes struct {
	list []string
	err  error
}

// TemplateChanges implements pool.VersionChanges.
func (c changes) TemplateChanges(context.Context, string, int64, int64) ([]string, error) {
	return c.list, c.err
}

// TestTemplateDifferences holds that versions that cannot be read do not hold up a roll-out: its
// cause then names them.
func TestTemplateDifferences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		versions changes
		want     string
	}{
		{"two differences", changes{list: []string{"instance type m5.large → m6i.large", "key pair a → b"}}, "instance type m5.large → m6i.large; key pair a → b"},
		{"none, after an edit that was taken back", changes{}, ""},
		{"a version is gone", changes{err: errors.New("not found")}, "configuration changed (launch template version 3 → 7)"},
	} {
		if got := pool.Differences(t.Context(), row.versions, "lt-1", 3, 7); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestRoundedUp holds that a time that the API stores is in whole seconds and not before the one that
// it stands for, so that a wait that is measured from it is never too short.
func TestRoundedUp(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		reason    string
		now, want time.Time
	}{
		{"a whole second stays", noon, noon},
		{"a nanosecond after it", noon.Add(1), noon.Add(time.Second)},
		{"a nanosecond before the next", noon.Add(time.Second - 1), noon.Add(time.Second)},
	} {
		if got := pool.RoundedUp(row.now); !got.Equal(&metav1.Time{Time: row.want}) {
			t.Errorf("%s: %s", row.reason, got)
		}
	}
}

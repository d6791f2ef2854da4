package awslaunchconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestHistory holds what status.history says, most of all that join tokens make no entries and that pruning takes none away.
func TestHistory(t *testing.T) {
	t.Parallel()
	at := func(number int64) time.Time { return time.Date(2026, time.November, int(number), 0, 0, 0, 0, time.UTC) }
	version := func(number int64, config string) launchtemplate.Version {
		return launchtemplate.Version{Number: number, Created: at(number), Fingerprints: launchtemplate.Fingerprints{Config: config, Bootstrap: "t" + config}}
	}
	entry := func(number int64, config string, cause infrav1.LaunchConfigCause, change string) infrav1.LaunchConfigHistoryEntry {
		return infrav1.LaunchConfigHistoryEntry{
			Version: number, Created: metav1.NewTime(at(number)), Cause: cause, Change: change, ConfigFingerprint: config, BootstrapFingerprint: "t" + config,
		}
	}
	runs := func(name string, counts map[int64]int32) usage {
		used := usage{user: infrav1.LaunchConfigUser{Kind: "AWSMachinePool", Name: name, Instances: 9}, running: map[versionOfTemplate]int32{}}
		for number, count := range counts {
			used.running[versionOfTemplate{"lt-1", number}] = count
		}
		used.running[versionOfTemplate{"lt-2", 2}] = 5 // of another template
		return used
	}
	by := func(e infrav1.LaunchConfigHistoryEntry, name string, instances int32) infrav1.LaunchConfigHistoryEntry {
		e.RunBy = append(e.RunBy, infrav1.LaunchConfigUser{Kind: "AWSMachinePool", Name: name, Instances: instances})
		return e
	}
	deleted := func(e infrav1.LaunchConfigHistoryEntry) infrav1.LaunchConfigHistoryEntry {
		e.Deleted = true
		return e
	}
	const edit = "instance type a → b"
	for _, row := range []struct {
		reason   string
		versions []launchtemplate.Version
		reasons  map[int64]string
		held     heldBack
		usages   []usage
		before   []infrav1.LaunchConfigHistoryEntry
		want     []infrav1.LaunchConfigHistoryEntry
	}{
		{
			reason:   "tokens are no entries, and instances of before a token count",
			versions: []launchtemplate.Version{version(1, "a"), version(2, "b"), version(3, "b")},
			reasons:  map[int64]string{1: reasonFirst, 2: edit, 3: reasonToken},
			usages:   []usage{runs("x", map[int64]int32{1: 1, 2: 2, 3: 4}), runs("y", map[int64]int32{3: 1})},
			want: []infrav1.LaunchConfigHistoryEntry{
				by(by(entry(3, "b", infrav1.LaunchConfigCauseEdited, edit), "x", 6), "y", 1), by(entry(1, "a", infrav1.LaunchConfigCauseFirst, reasonFirst), "x", 1),
			},
		},
		{
			reason:   "a version waits",
			versions: []launchtemplate.Version{version(1, "a"), version(2, "b")}, reasons: map[int64]string{2: edit}, held: heldBack{2, infrav1.LaunchConfigCauseWaitingForApproval},
			want: []infrav1.LaunchConfigHistoryEntry{entry(2, "b", infrav1.LaunchConfigCauseWaitingForApproval, edit), entry(1, "a", "", "")},
		},
		{
			reason:   "what came back has a new cause",
			versions: []launchtemplate.Version{version(1, "a"), version(2, "b"), version(3, "a")},
			reasons:  map[int64]string{1: reasonFirst, 2: edit, 3: rolledBackPrefix + "instance type b → a"},
			want: []infrav1.LaunchConfigHistoryEntry{
				entry(3, "a", infrav1.LaunchConfigCauseRolledBack, rolledBackPrefix+"instance type b → a"), entry(2, "b", infrav1.LaunchConfigCauseEdited, edit),
			},
		},
		{
			reason:   "pruned ones stay listed, and so does what a pruned version said",
			versions: []launchtemplate.Version{version(9, "c")}, reasons: map[int64]string{9: reasonToken},
			before: []infrav1.LaunchConfigHistoryEntry{
				by(entry(8, "c", infrav1.LaunchConfigCauseEdited, edit), "x", 2), by(entry(3, "a", infrav1.LaunchConfigCauseFirst, reasonFirst), "x", 2),
			},
			want: []infrav1.LaunchConfigHistoryEntry{
				entry(9, "c", infrav1.LaunchConfigCauseEdited, edit), deleted(entry(3, "a", infrav1.LaunchConfigCauseFirst, reasonFirst)),
			},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got := history(launchtemplate.Observation{Versions: row.versions}, "lt-1", row.reasons, row.held, row.usages, row.before)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again := history(launchtemplate.Observation{Versions: row.versions}, "lt-1", row.reasons, row.held, row.usages, got)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("a second pass changed it:\n%s", diff)
			}
		})
	}
	var many []launchtemplate.Version
	for number := range int64(50) {
		many = append(many, version(number+1, strings.Repeat("x", int(number)+1)))
	}
	if got := history(launchtemplate.Observation{Versions: many}, "lt-1", nil, heldBack{}, nil, nil); len(got) != infrav1.MaxLaunchConfigHistory || got[0].Version != 50 {
		t.Errorf("%d entries, the first of version %d", len(got), got[0].Version)
	}
}

// TestUsage holds which launch config a pool uses, and what of it counts.
func TestUsage(t *testing.T) {
	t.Parallel()
	managed := &infrav1.AWSManagedMachinePool{}
	managed.Name = "m"
	if got := usageOf(managed).config; got != "" {
		t.Errorf("a pool without a launch template uses %q", got)
	}
	managed.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
	managed.Status.LaunchTemplateID, managed.Status.LaunchTemplateVersion, managed.Status.UpToDateReplicas = "lt-1", ptr.To("3"), ptr.To[int32](2)
	if got := usageOf(managed); got.config != "shared" || got.user.Instances != 2 || got.running[versionOfTemplate{"lt-1", 3}] != 2 {
		t.Errorf("the usage is %+v", got)
	}
	self := &infrav1.AWSMachinePool{}
	self.Name, self.Annotations = "s", map[string]string{"cluster.x-k8s.io/paused": ""}
	if got := usageOf(self); got.config != "s" || !got.paused {
		t.Errorf("the usage is %+v", got)
	}
}

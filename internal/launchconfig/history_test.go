package launchconfig

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// launches is a config of a pool, and what the pool reports.
type launches struct {
	*rig
	pool *infrav1.AWSMachinePool
}

func newLaunches(t *testing.T) *launches {
	t.Helper()
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName, UID: "pool-1"}}
	return &launches{pool: pool, rig: newRig(t, pool, launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: configName, UID: "pool-1", Controller: ptr.To(true),
		}}
	}))}
}

// runs has the pool report instances by version, and reconciles.
func (l *launches) runs(instances map[int64]int32) *infrav1.AWSLaunchConfig {
	l.Helper()
	config := l.reconcile()
	if err := l.client.Get(l.Context(), client.ObjectKeyFromObject(l.pool), l.pool); err != nil {
		l.Fatal(err)
	}
	l.pool.Status.RunningVersions = nil
	for version, count := range instances {
		l.pool.Status.RunningVersions = append(l.pool.Status.RunningVersions, infrav1.RunningVersion{
			LaunchTemplateID: config.Status.LaunchTemplateID, Version: version, Instances: count,
		})
	}
	if err := l.client.Status().Update(l.Context(), l.pool); err != nil {
		l.Fatal(err)
	}
	l.clock.Step(time.Minute)
	return l.reconcile()
}

func (l *launches) setType(instanceType string) {
	l.Helper()
	l.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = instanceType })
}

// expectHistory compares the rows with version, cause, change and how many instances run them, the
// latest first.
func (l *launches) expectHistory(config *infrav1.AWSLaunchConfig, want ...string) {
	l.Helper()
	var got []string
	for _, entry := range config.Status.History {
		instances := int32(0)
		for _, user := range entry.RunBy {
			instances += user.Instances
		}
		got = append(got, fmt.Sprintf("%d %s %s: %d", entry.Version, entry.Cause, entry.Change, instances))
		if entry.Launched.IsZero() || entry.LaunchTemplateID == "" {
			l.Errorf("entry %+v lacks when and of which template", entry)
		}
	}
	if difference := cmp.Diff(want, got); difference != "" {
		l.Errorf("history (-want +got):\n%s", difference)
	}
}

// TestHistoryIsOfLaunches holds that each launch has a row, in order, even if its configuration was
// launched before, and that no later launch changes a row.
func TestHistoryIsOfLaunches(t *testing.T) {
	t.Parallel()
	l := newLaunches(t)
	l.expectHistory(l.reconcile())
	l.expectHistory(l.runs(map[int64]int32{1: 2}), "1 First first version: 2")
	l.setType("m5.xlarge")
	l.expectHistory(l.runs(map[int64]int32{1: 2}), "1 First first version: 2")
	l.expectHistory(l.runs(map[int64]int32{1: 1, 2: 1}), "2 Edited instance type m5.large → m5.xlarge: 1", "1 First first version: 1")
	l.setType("m5.large")
	l.expectHistory(l.runs(map[int64]int32{1: 2}),
		"1 Edited instance type m5.xlarge → m5.large: 2", "2 Edited instance type m5.large → m5.xlarge: 0", "1 First first version: 0")
	l.setType("c5.large")
	l.runs(map[int64]int32{3: 2})
	l.setType("m5.large")
	config := l.runs(map[int64]int32{1: 2})
	want := []string{
		"1 Edited instance type c5.large → m5.large: 2", "3 Edited instance type m5.large → c5.large: 0",
		"1 Edited instance type m5.xlarge → m5.large: 0", "2 Edited instance type m5.large → m5.xlarge: 0", "1 First first version: 0",
	}
	l.expectHistory(config, want...)
	for i := range len(config.Status.History) - 1 {
		if config.Status.History[i].Launched.Before(&config.Status.History[i+1].Launched) {
			t.Errorf("entry %d is younger than the one before it", i+1)
		}
	}
	l.restart()
	l.expectHistory(l.reconcile(), want...)
}

// TestHistoryOmitsWhatWasNotLaunched holds that a typo that was taken back is neither a row nor a
// part of the next change.
func TestHistoryOmitsWhatWasNotLaunched(t *testing.T) {
	t.Parallel()
	l := newLaunches(t)
	l.runs(map[int64]int32{1: 2})
	l.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.SSHKeyName = ptr.To("typo") })
	l.runs(map[int64]int32{1: 2})
	l.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.SSHKeyName = nil })
	l.runs(map[int64]int32{1: 2})
	l.setType("m5.xlarge")
	l.expectHistory(l.runs(map[int64]int32{3: 2}), "3 Edited instance type m5.large → m5.xlarge: 2", "1 First first version: 0")
}

// TestHistoryOfSteps holds the same where one edit follows another before any instance runs it.
func TestHistoryOfSteps(t *testing.T) {
	t.Parallel()
	l := newLaunches(t)
	l.runs(map[int64]int32{1: 2})
	l.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.SSHKeyName = ptr.To("default") })
	l.runs(map[int64]int32{1: 2})
	l.setType("m5.xlarge")
	l.expectHistory(l.runs(map[int64]int32{3: 2}), "3 Edited instance type m5.large → m5.xlarge, key pair none → default: 2", "1 First first version: 0")
}

// TestHistoryHasLaunchesThatWereEditedAtOnce holds that a launch has a row although an edit came before
// a pass saw the instances.
func TestHistoryHasLaunchesThatWereEditedAtOnce(t *testing.T) {
	t.Parallel()
	l := newLaunches(t)
	l.reconcile()
	l.setType("m5.xlarge")
	l.expectHistory(l.runs(map[int64]int32{1: 2}), "1 First first version: 2")
	l.expectHistory(l.runs(map[int64]int32{1: 1, 2: 1}), "2 Edited instance type m5.large → m5.xlarge: 1", "1 First first version: 1")
	l.setType("c5.large")
	l.reconcile()
	l.setType("c5.xlarge")
	l.expectHistory(l.runs(map[int64]int32{2: 1, 3: 1}),
		"3 Edited instance type m5.xlarge → c5.large: 1", "2 Edited instance type m5.large → m5.xlarge: 1", "1 First first version: 0")
	l.expectHistory(l.runs(map[int64]int32{4: 2}),
		"4 Edited instance type c5.large → c5.xlarge: 2", "3 Edited instance type m5.xlarge → c5.large: 0",
		"2 Edited instance type m5.large → m5.xlarge: 0", "1 First first version: 0")
}

// TestHistoryOfEarlierReleases holds that rows of versions that were never launched go, and that
// all others stay as they are.
func TestHistoryOfEarlierReleases(t *testing.T) {
	t.Parallel()
	row := func(number int64, config string, cause infrav1.LaunchConfigCause) infrav1.LaunchConfigHistoryEntry {
		return infrav1.LaunchConfigHistoryEntry{Version: number, ConfigFingerprint: config, Cause: cause}
	}
	kept := []infrav1.LaunchConfigHistoryEntry{row(4, "c", infrav1.LaunchConfigCauseEdited), row(1, "a", infrav1.LaunchConfigCauseFirst)}
	before := append([]infrav1.LaunchConfigHistoryEntry{
		row(6, "e", infrav1.LaunchConfigCauseWaitingForApproval), row(5, "d", infrav1.LaunchConfigCauseNotVerified),
	}, kept...)
	if difference := cmp.Diff(kept, onlyLaunches(before)); difference != "" {
		t.Errorf("(-want +got):\n%s", difference)
	}
	if difference := cmp.Diff(kept, withLaunch(kept, row(7, "c", infrav1.LaunchConfigCauseEdited))); difference != "" {
		t.Errorf("a new join token is no launch (-want +got):\n%s", difference)
	}
	var many []infrav1.LaunchConfigHistoryEntry
	for number := range int64(50) {
		many = withLaunch(many, row(number+1, fmt.Sprint(number), infrav1.LaunchConfigCauseEdited))
	}
	if len(many) != infrav1.MaxLaunchConfigHistory || many[0].Version != 50 {
		t.Errorf("%d entries, the first of version %d", len(many), many[0].Version)
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
	managed.Status.LaunchTemplateID, managed.Status.LaunchTemplateVersion = "lt-1", ptr.To("3")
	managed.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{{LaunchTemplateVersion: "3"}, {LaunchTemplateVersion: "3"}, {LaunchTemplateVersion: "4"}, {}}
	want := map[versionOfTemplate]int32{{"lt-1", 3}: 2, {"lt-1", 4}: 1}
	if got := usageOf(managed); got.config != "shared" || got.user.Instances != 3 || !maps.Equal(got.running, want) {
		t.Errorf("the usage is %+v", got)
	}
	self := &infrav1.AWSMachinePool{}
	self.Name, self.Annotations = "s", map[string]string{"cluster.x-k8s.io/paused": ""}
	if got := usageOf(self); got.config != "s" || !got.paused {
		t.Errorf("the usage is %+v", got)
	}
}

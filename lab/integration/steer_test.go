package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// waits is nil while a version of a launch config waits for approval, and a pool says how that is given.
func waits(config *infrav1.AWSLaunchConfig, pool conditioned, pending int64) error {
	condition := meta.FindStatusCondition(pool.GetConditions(), infrav1.RolloutApprovedCondition)
	if condition == nil || condition.Reason != infrav1.WaitingForApprovalReason || config.Status.PendingVersion != pending ||
		!strings.Contains(condition.Message, fmt.Sprintf(`approved-version: "%d"`, pending)) {
		return fmt.Errorf("version %d waits, and the pool says %+v", config.Status.PendingVersion, condition)
	}
	return nil
}

// awaits is nil while the pool waits for the approval of a version, launches from another, and has
// replaced nothing.
func (w *world) awaits(pending int64, launched string, instances []string) error {
	if err := waits(w.mustConfig(), w.mustPool(), pending); err != nil {
		return err
	}
	return w.launches(launched, instances)
}

// launches is nil while the group launches from a version, which is the default, and nothing was replaced.
func (w *world) launches(version string, instances []string) error {
	if got := *w.group().LaunchTemplate.Version; got != version {
		return fmt.Errorf("the group launches from version %s", got)
	}
	if got := fmt.Sprint(*w.template().DefaultVersionNumber); got != version {
		return fmt.Errorf("the default version is %s", got)
	}
	return equals(w.running(), instances)
}

// TestApprovedRollout holds that rollout Manual creates the version, replaces nothing until its
// number is approved, keeps join tokens fresh meanwhile, and forgets nothing with its status.
func TestApprovedRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool("  awsLaunchTemplate:", "  rollout: Manual\n  awsLaunchTemplate:")
	instances := w.running()
	w.editType("m6i.large")
	w.Eventually("the edit waits", func() error { return w.awaits(2, "1", instances) })
	message := w.awaitCondition(infrav1.RolloutApprovedCondition, metav1.ConditionFalse, infrav1.WaitingForApprovalReason).Message
	if !strings.Contains(message, "instance type t3.large → m6i.large") {
		t.Errorf("the message is %q", message)
	}
	w.RotateBootstrapToken(poolName)
	w.Eventually("the token is new, and the edit waits on", func() error { return w.awaits(2, "3", instances) })
	w.rest()
	w.Cloud.AWS.ClearCalls()
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.Eventually("the edit waits without its status", func() error { return w.awaits(2, "3", instances) })
	w.annotate(infrav1.ApprovedVersionAnnotation, "1")
	w.rest()
	if err := w.awaits(2, "3", instances); err != nil {
		t.Errorf("the approval of another version: %v", err)
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
	w.annotate(infrav1.ApprovedVersionAnnotation, "2")
	w.Eventually("the approved edit rolls", func() error { return w.replaced(instances, 2) })
	if got := w.latest().InstanceType; got != "m6i.large" || len(w.versions()) != 4 {
		t.Errorf("version %d of %s is launched, with the token of today", len(w.versions()), got)
	}
	w.rest()
	w.expectHistory(
		infrav1.LaunchConfigHistoryEntry{Version: 4, Cause: infrav1.LaunchConfigCauseEdited, Change: "instance type t3.large → m6i.large"},
		infrav1.LaunchConfigHistoryEntry{Version: 3, Deleted: false},
	)
	instances = w.running()
	w.editType("m5.large")
	w.Eventually("an approval is for one edit", func() error { return w.awaits(5, "4", instances) })
}

// expectHistory compares the requested changes in status.history, and holds that the pool's two
// instances run the newest.
func (w *world) expectHistory(want ...infrav1.LaunchConfigHistoryEntry) {
	w.Helper()
	want[0].RunBy = []infrav1.LaunchConfigUser{{Kind: "AWSMachinePool", Name: poolName, Instances: 2}}
	w.Eventually("the history is told", func() error {
		got := w.mustConfig().Status.History
		for i := range got {
			got[i].Created, got[i].Launched, got[i].ConfigFingerprint, got[i].BootstrapFingerprint, got[i].LaunchTemplateID = metav1.Time{}, metav1.Time{}, "", "", ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	if got := w.mustConfig().Status.Users; got != poolName {
		w.Errorf("the launch config is used by %q", got)
	}
}

// TestPausedPool holds that a pool that is paused by itself has its launch config paused too.
func TestPausedPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.annotate(clusterv1.PausedAnnotation, "true")
	w.awaitConfigCondition(infrav1.PausedCondition, metav1.ConditionTrue, infrav1.PausedReason)
	w.RotateBootstrapToken(poolName)
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("while the pool is paused the manager wrote %q", writes)
	}
	w.annotate(clusterv1.PausedAnnotation, "")
	w.Eventually("the token reaches the group", func() error {
		if got := *w.group().LaunchTemplate.Version; got != "2" {
			return fmt.Errorf("the group launches from version %s", got)
		}
		return nil
	})
}

// TestPinnedVersion holds that a pool goes back to an earlier version, or to its configuration with
// the token of today, and forward again.
func TestPinnedVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	pin := func(version *int64) {
		w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.PinnedVersion = version })
	}
	roll := func(reason string, change func()) {
		before := w.running()
		change()
		w.Eventually(reason, func() error { return w.replaced(before, 2) })
	}
	roll("the edit rolls", func() { w.editType("m6i.large") })
	roll("the pool goes back", func() { pin(ptr.To[int64](1)) })
	if got := w.types(); len(got) != 1 || got[0] != "t3.large" || *w.template().DefaultVersionNumber != 1 || len(w.versions()) != 2 {
		t.Errorf("version %d of %d is launched, of %v", *w.template().DefaultVersionNumber, len(w.versions()), got)
	}
	w.awaitCondition(infrav1.RolloutApprovedCondition, metav1.ConditionFalse, infrav1.PinnedReason)
	instances := w.running()
	w.RotateBootstrapToken(poolName)
	w.Eventually("the token is new", func() error {
		if got := *w.group().LaunchTemplate.Version; got != "3" || w.latest().InstanceType != "t3.large" {
			return fmt.Errorf("the group launches from version %s", got)
		}
		return equals(w.running(), instances)
	})
	roll("the pool goes forward", func() { pin(nil) })
	w.rest()
	w.Cloud.AWS.ClearCalls()
	pin(ptr.To[int64](99))
	condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.VersionNotFoundReason)
	if !strings.Contains(condition.Message, "version 99, which spec.pinnedVersion names, does not exist. The launch template has versions ") {
		t.Errorf("the message is %q", condition.Message)
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
}

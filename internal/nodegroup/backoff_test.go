package nodegroup

import (
	"math"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

// TestBackOff holds the waits after failed updates, and that a count that a user wrote to status
// neither stops the waiting nor keeps the controller busy.
func TestBackOff(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		attempts int
		want     time.Duration
	}{
		{"the first failure", 1, 5 * time.Minute}, {"the second", 2, 10 * time.Minute}, {"the fifth", 5, 80 * time.Minute}, {"the bound", 6, 2 * time.Hour},
		{"far beyond the bound", 1000, 2 * time.Hour}, {"the largest number in status", math.MaxInt32, 2 * time.Hour}, {"the largest number", math.MaxInt, 2 * time.Hour},
		{"a status without a count", 0, 5 * time.Minute}, {"a negative number in status", math.MinInt32, 5 * time.Minute},
	} {
		if got := BackOff(row.attempts); got != row.want {
			t.Errorf("%s: the wait is %s, want %s", row.reason, got, row.want)
		}
	}
}

// TestAttempts holds for which change an attempt counts, and that each attempt has a name of its own
// for each object.
func TestAttempts(t *testing.T) {
	t.Parallel()
	failed := Attempt{For: "labels", Failed: true, Attempts: 2, Ended: now}
	for _, row := range []struct {
		reason  string
		attempt Attempt
		change  string
		after   time.Duration
		wait    time.Duration
		next    string
	}{
		{"it just failed", failed, "labels", 0, 10 * time.Minute, "uid/2"},
		{"half of the wait is over", failed, "labels", 5 * time.Minute, 5 * time.Minute, "uid/2"},
		{"the wait is over", failed, "labels", 10 * time.Minute, 0, "uid/2"},
		{"long ago", failed, "labels", 24 * time.Hour, 0, "uid/2"},
		{"another change does not wait", failed, "taints", 0, 0, "uid"},
		{"no failure", Attempt{For: "labels", Attempts: 2, Ended: now}, "labels", 0, 0, "uid"},
		{"nothing is remembered", Attempt{}, "labels", 0, 0, "uid"},
		{"a clock that was set back", failed, "labels", -time.Minute, 11 * time.Minute, "uid/2"},
	} {
		if got := row.attempt.wait(row.change, now.Add(row.after)); got != row.wait {
			t.Errorf("%s: the wait is %s, want %s", row.reason, got, row.wait)
		}
		if got := row.attempt.next("uid", row.change); got != row.next {
			t.Errorf("%s: the next is %s, want %s", row.reason, got, row.next)
		}
	}
	refused := Attempt{}.Refused("1.34 → 1.33", "too late", now)
	if again := refused.Refused("1.34 → 1.33", "too late", now); refused.Attempts != 1 || again.Attempts != 2 {
		t.Errorf("refusals are counted %d and %d", refused.Attempts, again.Attempts)
	}
	if other := refused.Refused("1.33 → 1.32", "too late", now); other.Attempts != 1 {
		t.Errorf("the refusal of another step is counted %d", other.Attempts)
	}
}

// TestVersionsOfAnyForm holds that a version that is no version of Kubernetes neither starts an
// update nor refuses one, wherever it comes from.
func TestVersionsOfAnyForm(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.34.2": "1.34", "1.34": "1.34", "v1.34.2-eks-3cfe0ce": "1.34", "v1.34": "1.34", "1.34.0+build.1": "1.34",
		"": "", "1": "", "v": "", "v2.1.0": "", "latest": "", "1.x": "", "1.": "", "v1.34-rc": "", "1.99999999999999999999": "", "vv1.34": "", "1.0.0": "",
	} {
		if got := Minor(version); got != want {
			t.Errorf("the minor version of %q is %q, want %q", version, got, want)
		}
	}
	never := func(version string) bool {
		if Minor(version) != "" {
			return true
		}
		step := Next(desired(func(d *Desired) { d.KubernetesVersion = version }), seen(nil), nil, now)
		return step.Version == nil && step.Hardest().Obstacle == "" && RefusedVersion(version, "1.33", "1.31") == "" && !AheadOf(version, "1.33")
	}
	if err := quick.Check(never, nil); err != nil {
		t.Error(err)
	}
}

// FuzzVersions holds that a step goes forward or back by one minor version, and never ahead of the
// cluster, whatever the MachinePool, the cluster and EKS say.
func FuzzVersions(f *testing.F) {
	f.Add("v1.34.2", "1.34", "1.33")
	f.Add("v1.32.0", "1.34", "1.34")
	f.Add("1.-5", "1.34", "1.1")
	f.Add("v1.999999999999", "", "1.30")
	f.Fuzz(func(t *testing.T, wanted, cluster, present string) {
		step := Next(desired(func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = wanted, cluster }), seen(func(n *Nodegroup) { n.KubernetesVersion = present }), nil, now)
		if step.Version == nil {
			return
		}
		from, to := minorOf(present), minorOf(step.Version.KubernetesVersion)
		if distance := to - from; distance != 1 && distance != -1 {
			t.Errorf("a step from %q (of cluster %q) to %q, for %q", present, cluster, step.Version.KubernetesVersion, wanted)
		}
		if known := minorOf(cluster); known != 0 && to > known && to > from {
			t.Errorf("a step from %q to %q, ahead of cluster %q", present, step.Version.KubernetesVersion, cluster)
		}
	})
}

// TestEveryObstacleHelps holds that the message of an obstacle says what a user can do about it.
func TestEveryObstacleHelps(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		obstacle Obstacle
		desired  func(*Desired)
		seen     func(*Nodegroup)
		last     Attempts
		says     string
	}{
		{obstacle: TemplateGone, desired: func(d *Desired) { d.Template.ID = "lt-2" }, says: "uses launch template lt-1, not lt-2"},
		{obstacle: Downgrade, desired: func(d *Desired) { d.KubernetesVersion = "v1.29.0" }, says: "Set the version to 1.31, or create another pool"},
		{obstacle: Downgrade, desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.30.0", "1.31" },
			last: Attempts{Rollback: {For: "Kubernetes 1.31 → 1.30", Failed: true, Attempts: 1, Ended: now, Answer: "Seven days have passed."}},
			says: "from Kubernetes 1.31 to 1.30: Seven days have passed. EKS rolls back"},
		{obstacle: AheadOfControlPlane, desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.32.0", "1.31" }, says: "Upgrade the control plane, or set the version to 1.31"},
		{obstacle: SizesOutOfBounds, desired: func(d *Desired) { *d.Capacity = 6 }, says: "6 replicas are requested, but the bounds are 1 and 5"},
		{obstacle: BlockInUse, desired: func(d *Desired) { d.Template = wanted(4) }, seen: func(n *Nodegroup) { n.CapacityType = "CAPACITY_BLOCK" }, says: "set spec.replicas of the MachinePool to 0"},
		{obstacle: Fixed, desired: func(d *Desired) { d.AMIType = "AL2_x86_64" }, says: "Set the fields to the values of the node group, or create a new pool"},
	} {
		step := Next(desired(row.desired), seen(row.seen), row.last, now)
		if step.Hardest().Obstacle != row.obstacle || !strings.Contains(step.Hardest().Message, row.says) {
			t.Errorf("the obstacle is %s: %s; want %s: … %s", step.Hardest().Obstacle, step.Hardest().Message, row.obstacle, row.says)
		}
	}
}

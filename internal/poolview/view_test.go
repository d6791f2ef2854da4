package poolview

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var now = time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
}

// rolling returns the objects of a pool with four instances after two were replaced.
func rolling() Objects {
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{
		Namespace: "blue", Name: "workers", Generation: 4, Labels: map[string]string{clusterv1.ClusterNameLabel: "prod"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "slipway", Operation: metav1.ManagedFieldsOperationUpdate, Time: ptr.To(ago(time.Minute)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:providerID":{}}}`)},
			{Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, Time: ptr.To(ago(21 * time.Minute)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:awsLaunchTemplate":{"f:instanceType":{}}}}`)},
			{Manager: "argocd", Operation: metav1.ManagedFieldsOperationApply, Time: ptr.To(ago(48 * time.Hour)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:minSize":{},"f:maxSize":{}}}`)},
			{Manager: "slipway", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: ptr.To(ago(time.Second)), FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
		},
		Annotations: map[string]string{drainingAnnotation: `{"i-0a":"2026-11-26T09:45:00Z"}`},
	}}
	status := &pool.Status
	status.ObservedGeneration, status.Replicas, status.ReadyReplicas, status.UpToDateReplicas = 4, 4, ptr.To[int32](3), ptr.To[int32](2)
	status.LaunchTemplateID, status.WantedVersion = "lt-1", 7
	status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: "blue-workers"}
	status.RunningVersions = []infrav1.RunningVersion{
		{LaunchTemplateID: "lt-1", Version: 6, Instances: 2}, {LaunchTemplateID: "lt-1", Version: 7, Instances: 2, UpToDate: true},
	}
	status.Rollout = &infrav1.RolloutStatus{Cause: "instance type m5.large → m5.xlarge", RefreshID: "r-1", Status: "InProgress", PercentageComplete: ptr.To[int32](50), StartTime: ptr.To(ago(20 * time.Minute))}
	status.Instances = []infrav1.AWSMachinePoolInstanceStatus{
		{InstanceID: "i-0b", LaunchTemplateVersion: "7", LifecycleState: "InService", HealthStatus: "Healthy", AvailabilityZone: "us-east-1a"},
		{InstanceID: "i-0a", LaunchTemplateVersion: "6", LifecycleState: "Terminating:Wait", HealthStatus: "Healthy", AvailabilityZone: "us-east-1a"},
	}
	status.Conditions = []metav1.Condition{
		condition(infrav1.ConvergedCondition, metav1.ConditionFalse, infrav1.RollingOutReason, "2 of 4 instances"),
		condition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason, "2 of 4 instances"),
		condition(infrav1.NodesDrainedCondition, metav1.ConditionFalse, infrav1.DrainingReason,
			"node ip-10-0-1-7 (i-0a): 1 pod held by PodDisruptionBudget shop/web, 2 pods ending, until 2026-11-26T10:15:00Z at the latest"),
	}
	machinePool := &clusterv1.MachinePool{}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "prod", ptr.To[int32](3)
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}
	config.Status.LaunchTemplateID, config.Status.Version, config.Status.CurrentVersions = "lt-1", 7, []int64{7}
	config.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 7, Reason: "instance type m5.large → m5.xlarge"}, {Number: 6, Reason: "first"}}
	user := func(instances int32) []infrav1.LaunchConfigUser {
		return []infrav1.LaunchConfigUser{{Kind: SelfManagedKind, Name: "workers", Instances: instances}}
	}
	config.Status.History = []infrav1.LaunchConfigHistoryEntry{
		{Version: 7, Launched: ago(18 * time.Minute), Created: ago(20*time.Minute + 50*time.Second), Cause: infrav1.LaunchConfigCauseEdited, Change: "instance type m5.large → m5.xlarge", RunBy: user(2)},
		{Version: 6, Launched: ago(50 * time.Hour), Created: ago(50 * time.Hour), Cause: infrav1.LaunchConfigCauseRolledBack, RunBy: user(2)},
		{Version: 5, Launched: ago(60 * time.Hour), Created: ago(60 * time.Hour), Cause: infrav1.LaunchConfigCauseEdited, Deleted: true},
	}
	return Objects{SelfManaged: pool, MachinePool: machinePool, Config: config, Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-1-7"}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-0a"}}}}
}

func at(d time.Duration) *time.Time { return ptr.To(now.Add(d)) }

func TestOfRollingPool(t *testing.T) {
	t.Parallel()
	got := Of(rolling(), now)
	want := View{
		Kind: SelfManagedKind, Namespace: "blue", Name: "workers", Cluster: "prod", LaunchConfig: "workers", LaunchTemplateID: "lt-1", Group: "blue-workers",
		State: infrav1.RollingOutReason, Message: "2 of 4 instances", Desired: 3, Replicas: 4, Ready: 3, UpToDate: 2, WantedVersion: 7, NeedsHuman: true,
		Versions: []Version{
			{Number: 7, Instances: 2, Wanted: true, Reason: "instance type m5.large → m5.xlarge"}, {Number: 6, Instances: 2, Reason: "first"},
		},
		Rollout: &Rollout{
			Done: 2, Total: 4, Percent: 50, Status: infrav1.RollingOutReason, Active: true, AWS: "InProgress", ID: "r-1", Cause: "instance type m5.large → m5.xlarge",
			Started: at(-20 * time.Minute), ETA: &Range{Earliest: now.Add(6*time.Minute + 40*time.Second)},
		},
		Drains: []Drain{{
			Node: "ip-10-0-1-7", Instance: "i-0a", Waits: "1 pod held by PodDisruptionBudget shop/web, 2 pods ending",
			Budgets: []Budget{{Namespace: "shop", Name: "web", Pods: 1}}, Since: at(-15 * time.Minute), Until: at(15 * time.Minute),
		}},
		Writers: []Writer{
			{Object: SelfManagedKind, Manager: "kubectl-edit", Operation: "Update", Time: at(-21 * time.Minute), Fields: []string{"awsLaunchTemplate"}},
			{Object: SelfManagedKind, Manager: "argocd", Operation: "Apply", Time: at(-48 * time.Hour), Fields: []string{"maxSize", "minSize"}},
		},
		Instances: []Instance{
			{ID: "i-0a", Node: "ip-10-0-1-7", Version: "6", Lifecycle: "Terminating:Wait", Health: "Healthy", Zone: "us-east-1a"},
			{ID: "i-0b", Version: "7", Wanted: true, Lifecycle: "InService", Health: "Healthy", Zone: "us-east-1a"},
		},
		History: []Launch{
			{Version: 7, Launched: at(-18 * time.Minute), Created: at(-20*time.Minute - 50*time.Second), Cause: "Edited", Change: "instance type m5.large → m5.xlarge", By: "kubectl-edit", Nodes: 2, AllNodes: 2, Outcome: InProgress},
			{Version: 6, Launched: at(-50 * time.Hour), Created: at(-50 * time.Hour), Cause: "RolledBack", Nodes: 2, AllNodes: 2, Outcome: Replaced},
			{Version: 5, Launched: at(-60 * time.Hour), Created: at(-60 * time.Hour), Cause: "Edited", Outcome: RolledBack, Deleted: true},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(View{}, "Problems")); diff != "" {
		t.Errorf("Of(a pool that rolls out): -want +got:\n%s", diff)
	}
	if len(got.Problems) != 2 || got.Problems[0].NeedsHuman || !got.Problems[1].NeedsHuman {
		t.Errorf("Of(a drain that has been blocked for 15 minutes): got problems %+v, want only the drain to need a human", got.Problems)
	}
}

// TestRolloutsPaused holds that roll-outs are paused by the pool or by its launch config.
func TestRolloutsPaused(t *testing.T) {
	t.Parallel()
	paused := map[string]string{infrav1.RolloutPausedAnnotation: "true"}
	for _, row := range []struct {
		reason       string
		pool, config map[string]string
		want         bool
	}{
		{reason: "neither"},
		{reason: "the pool", pool: paused, want: true},
		{reason: "the launch config", config: paused, want: true},
	} {
		view := Of(Objects{
			SelfManaged: &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Annotations: row.pool}},
			Config:      &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Annotations: row.config}},
		}, time.Time{})
		if view.RolloutsPaused != row.want {
			t.Errorf("%s: paused %t", row.reason, view.RolloutsPaused)
		}
	}
}

// TestRolloutIsNotKnown holds that no progress is shown while it is not known what instances should run, such
// as after an edit that was refused.
func TestRolloutIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, complete := range map[string]bool{"the last roll-out is complete": true, "there was none": false} {
		objects := rolling()
		status := &objects.SelfManaged.Status
		status.UpToDateReplicas = nil
		status.Conditions = []metav1.Condition{condition(infrav1.RolledOutCondition, metav1.ConditionUnknown, infrav1.WaitingForLaunchConfigReason, "not known")}
		if complete {
			status.Rollout.Status, status.Rollout.PercentageComplete = "Successful", ptr.To[int32](100)
		} else {
			status.Rollout = nil
		}
		if got := Of(objects, now).Rollout; got != nil {
			t.Errorf("%s: the roll-out is %+v", name, got)
		}
	}
}

// TestOfManagedPool holds that an update of a node group is shown by its instances.
func TestOfManagedPool(t *testing.T) {
	t.Parallel()
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "eks", Generation: 2}}
	status := &pool.Status
	status.ObservedGeneration, status.Replicas, status.ReadyReplicas, status.UpToDateReplicas, status.WantedVersion = 2, 4, ptr.To[int32](4), ptr.To[int32](1), 3
	status.Nodegroup = &infrav1.NodegroupStatus{Name: "eks-group", AutoScalingGroup: "eks-asg"}
	status.Update = &infrav1.NodegroupUpdateStatus{ID: "u-1", Type: "VersionUpdate", Status: "InProgress", Cause: "image a → b", StartTime: ptr.To(ago(10 * time.Minute))}
	for i, version := range []string{"2", "2", "2", "3"} {
		status.Instances = append(status.Instances, infrav1.AWSMachinePoolInstanceStatus{InstanceID: fmt.Sprintf("i-%d", i), LaunchTemplateVersion: version})
	}
	status.Conditions = []metav1.Condition{condition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason, "")}
	got := Of(Objects{Managed: pool}, now)
	wantRollout := &Rollout{Done: 1, Total: 4, Percent: 25, Status: infrav1.RollingOutReason, Active: true, AWS: "InProgress", ID: "u-1", Cause: "image a → b", Started: at(-10 * time.Minute),
		ETA: &Range{Earliest: now.Add(10 * time.Minute), Latest: at(30 * time.Minute)}}
	if diff := cmp.Diff(wantRollout, got.Rollout); diff != "" {
		t.Errorf("roll-out of an update: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]Version{{Number: 3, Instances: 1, Wanted: true}, {Number: 2, Instances: 3}}, got.Versions); diff != "" {
		t.Errorf("versions of a node group: -want +got:\n%s", diff)
	}
	status.Update.Status = "Successful"
	status.Conditions[0].Reason = infrav1.SettlingReason
	if diff := cmp.Diff(&Rollout{Done: 1, Total: 4, Percent: 25, Status: infrav1.SettlingReason}, Of(Objects{Managed: pool}, now).Rollout); diff != "" {
		t.Errorf("an edit that waits after an update that was successful, whose cause is another one: -want +got:\n%s", diff)
	}
	removed := pool.DeepCopy()
	removed.Status.Conditions = append(removed.Status.Conditions, condition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.NodegroupDeletingReason, ""))
	if got := Of(Objects{Managed: removed}, now).Rollout; got != nil {
		t.Errorf("a pool that is being deleted: got the roll-out %+v, want none", got)
	}
	for i := range status.Instances {
		status.Instances[i].LaunchTemplateVersion = "3"
	}
	if diff := cmp.Diff([]Version{{Number: 3, Instances: 4}}, Of(Objects{Managed: pool}, now).Versions); diff != "" {
		t.Errorf("versions of an update that brings another image alone: -want +got:\n%s", diff)
	}
	if got.Nodegroup != "eks-group" || got.Group != "eks-asg" || got.State != infrav1.PendingReason || got.NeedsHuman {
		t.Errorf("got node group %q, group %q, state %q and needs human %t", got.Nodegroup, got.Group, got.State, got.NeedsHuman)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason     string
		conditions []metav1.Condition
		want       []string // condition, reason, and whether it needs a human
	}{
		"Fine": {reason: "True conditions are no problem.", conditions: []metav1.Condition{
			condition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason, ""),
			condition(infrav1.PausedCondition, metav1.ConditionFalse, infrav1.NotPausedReason, ""),
		}},
		"Paused": {reason: "A pool stays paused until a human unpauses it.", want: []string{"Paused Paused true"}, conditions: []metav1.Condition{
			condition(infrav1.PausedCondition, metav1.ConditionTrue, infrav1.PausedReason, ""),
		}},
		"Chain": {reason: "A condition that waits for another one needs no human of its own.", conditions: []metav1.Condition{
			condition(infrav1.ASGReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLaunchTemplateReason, ""),
			condition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.ImageNotFoundReason, ""),
			condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ImageNotFoundReason, ""),
		}, want: []string{"LaunchTemplateReady ImageNotFound true", "ASGReady WaitingForLaunchTemplate false"}},
		"Unknown": {reason: "What this program does not know may need a human.", want: []string{"ASGReady Unheard true"}, conditions: []metav1.Condition{
			condition(infrav1.ASGReadyCondition, metav1.ConditionFalse, "Unheard", ""),
		}},
		"Deleting": {reason: "What a pool that is deleted lacks for new nodes is no problem.", want: []string{"Deleting Draining false"}, conditions: []metav1.Condition{
			condition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DrainingReason, ""),
			condition(infrav1.BootstrapDataReadyCondition, metav1.ConditionFalse, infrav1.BootstrapDataSecretNotFoundReason, ""),
			condition(infrav1.ASGReadyCondition, metav1.ConditionFalse, infrav1.ASGDeletionInProgressReason, ""),
		}},
		"DeletionFails": {reason: "A deletion that fails may need a human.", want: []string{"Deleting ASGDeleteFailed true", "NodesDrained Draining false"}, conditions: []metav1.Condition{
			condition(infrav1.NodesDrainedCondition, metav1.ConditionFalse, infrav1.DrainingReason, ""),
			condition(infrav1.DeletingCondition, metav1.ConditionFalse, infrav1.ASGDeleteFailedReason, ""),
		}},
		"Waits": {reason: "A roll-out that is in progress needs no human.", want: []string{"RolledOut RollingOut false"}, conditions: []metav1.Condition{
			condition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason, ""),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := &infrav1.AWSMachinePool{}
			pool.Status.Conditions = tc.conditions
			var got []string
			for _, problem := range Of(Objects{SelfManaged: pool}, now).Problems {
				got = append(got, fmt.Sprintf("%s %s %t", problem.Condition, problem.Reason, problem.NeedsHuman))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestETA(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		progress float64
		total    int32
		blocked  bool
		want     *Range
	}{
		"Start":   {reason: "Before the first instance is replaced there is no pace.", total: 4},
		"Half":    {reason: "The next instance may be nearly done.", progress: 0.5, total: 4, want: &Range{Earliest: now.Add(200 * time.Second), Latest: at(10 * time.Minute)}},
		"Blocked": {reason: "A drain that is blocked has no end.", progress: 0.5, total: 4, blocked: true, want: &Range{Earliest: now.Add(200 * time.Second)}},
		"Done":    {reason: "A roll-out that is complete needs no time.", progress: 1, total: 4},
		"None":    {reason: "A pool without instances has no pace.", progress: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, eta(now.Add(-10*time.Minute), now, tc.progress, tc.total, tc.blocked)); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParseDrains holds that names which contain the separators of the message are not taken apart, and
// that a message of another release yields nothing.
func TestParseDrains(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, message string
		want            []Drain
	}{
		"Two": {
			reason:  "Each node is one drain.",
			message: "node a (i-0a): 12 pods held by PodDisruptionBudget x/y; instance i-0b: it has no node, until 2026-11-26T10:15:00Z at the latest; and 3 more",
			want: []Drain{
				{Node: "a", Instance: "i-0a", Waits: "12 pods held by PodDisruptionBudget x/y", Budgets: []Budget{{Namespace: "x", Name: "y", Pods: 12}}},
				{Instance: "i-0b", Waits: "it has no node", Until: at(15 * time.Minute)},
			},
		},
		"Retained": {
			reason:  "A retained instance has no deadline.",
			message: "node a (i-0a): 1 pod ending; its instance is retained until the node is empty",
			want:    []Drain{{Node: "a", Instance: "i-0a", Waits: "1 pod ending"}},
		},
		"Hostile": {reason: "A failure of the workload cluster's API server may say anything.", message: "node a (i-0a): 1 pod not evicted: x; node b: y, z",
			want: []Drain{{Node: "a", Instance: "i-0a", Waits: "1 pod not evicted: x; node b: y, z"}}},
		"Other": {reason: "What is not understood is left out.", message: "Something else"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, parseDrains(tc.message)); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// BenchmarkOf measures the views of 1,000 pools that roll out.
func BenchmarkOf(b *testing.B) {
	objects := rolling()
	for b.Loop() {
		for range 1000 {
			_ = Of(objects, now)
		}
	}
}

// TestLaunchWriters holds whose edit a launch was for.
func TestLaunchWriters(t *testing.T) {
	t.Parallel()
	edited := func(manager string, before time.Duration, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: ptr.To(ago(before)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + fields + `}}`)}
	}
	const template, size = `"f:awsLaunchTemplate":{}`, `"f:minSize":{}`
	for _, row := range []struct {
		reason string
		given  func(objects *Objects)
		want   []string
	}{
		{"the version was created for the edit", func(*Objects) {}, []string{"kubectl-edit", "", ""}},
		{"another manager wrote only a size", func(objects *Objects) {
			objects.SelfManaged.ManagedFields = append(objects.SelfManaged.ManagedFields, edited("autoscaler", 21*time.Minute, size))
		}, []string{"kubectl-edit", "", ""}},
		{"two managers wrote the launch template", func(objects *Objects) {
			objects.SelfManaged.ManagedFields = append(objects.SelfManaged.ManagedFields, edited("terraform", 21*time.Minute, template))
		}, []string{"", "", ""}},
		{"the pool shares a launch config, which was edited", func(objects *Objects) {
			objects.SelfManaged.ManagedFields = nil
			objects.Config.ManagedFields = []metav1.ManagedFieldsEntry{edited("slipway", 21*time.Minute, template), edited("argocd", 21*time.Minute, template)}
		}, []string{"argocd", "", ""}},
		{"a user went back to an earlier version", func(objects *Objects) {
			objects.SelfManaged.ManagedFields = []metav1.ManagedFieldsEntry{edited("kubectl-slipway", 18*time.Minute, `"f:pinnedVersion":{}`)}
			objects.Config.Status.History[0].Cause, objects.Config.Status.History[0].Created = infrav1.LaunchConfigCausePinned, ago(70*time.Hour)
		}, []string{"kubectl-slipway", "", ""}},
		{"a version waited for approval, and its user edited the pool since", func(objects *Objects) {
			objects.SelfManaged.ManagedFields = []metav1.ManagedFieldsEntry{edited("kubectl-edit", time.Minute, template)}
			objects.Config.Status.History[0].Launched = ago(time.Minute)
		}, []string{"", "", ""}},
		{"the clock of AWS is a day ahead, and the pool writes its launch config at once", func(objects *Objects) {
			objects.Config.Status.History[0].Created, objects.Config.Status.History[0].Launched = ago(-24*time.Hour), ago(-24*time.Hour)
			objects.Config.ManagedFields = []metav1.ManagedFieldsEntry{edited("slipway", 21*time.Minute, `"f:instanceType":{}`)}
			objects.SelfManaged.ManagedFields = append(objects.SelfManaged.ManagedFields, edited("terraform", time.Minute, `"f:refreshPreferences":{}`), edited("kubectl-client-side-apply", 22*time.Minute, template))
		}, []string{"kubectl-edit", "", ""}},
		{"the clock of AWS is a day ahead, and the launch config that pools share was edited", func(objects *Objects) {
			objects.Config.Status.History[0].Created, objects.Config.Status.History[0].Launched = ago(-24*time.Hour), ago(-24*time.Hour)
			objects.SelfManaged.ManagedFields, objects.Config.OwnerReferences = nil, nil
			objects.Config.ManagedFields = []metav1.ManagedFieldsEntry{edited("argocd", 3*time.Hour, template), edited("kubectl-patch", time.Hour, `"f:instanceType":{}`)}
		}, []string{"kubectl-patch", "", ""}},
		{"the clock of AWS is a day ahead, and nothing is known of edits", func(objects *Objects) {
			objects.Config.Status.History[0].Created = ago(-24 * time.Hour)
		}, []string{"", "", ""}},
		{"Slipway rolled back, and a user edited the pool at that time", func(objects *Objects) {
			objects.Config.Status.History[0].Cause = infrav1.LaunchConfigCauseRolledBack
		}, []string{"", "", ""}},
	} {
		objects := rolling()
		row.given(&objects)
		var got []string
		for _, launch := range Of(objects, now).History {
			got = append(got, launch.By)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", row.reason, diff)
		}
	}
}

// TestNodesText holds how the number of nodes is described while a roll-out has more of them than the pool asks for, and
// before it is known what they should run.
func TestNodesText(t *testing.T) {
	t.Parallel()
	for want, view := range map[string]View{
		"1 of 3 ready, 1 of 2 with the wanted configuration":      {Ready: 1, Desired: 3, UpToDate: 1, Replicas: 2},
		"4 ready, 2 wanted, 2 of 4 with the wanted configuration": {Ready: 4, Desired: 2, UpToDate: 2, Replicas: 4},
		"0 of 2 ready, the wanted configuration is not known":     {Desired: 2, Problems: []Problem{{Condition: infrav1.RolledOutCondition, Status: "Unknown"}}},
	} {
		if diff := cmp.Diff(want, view.NodesText()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestWritersOfSharedConfig holds that the writers of an AWSLaunchConfig are shown for the pools that share it, and not
// for the pool that owns it, whose spec it repeats.
func TestWritersOfSharedConfig(t *testing.T) {
	t.Parallel()
	for owned, want := range map[bool]int{false: 1, true: 0} {
		objects := rolling()
		objects.SelfManaged.ManagedFields, objects.MachinePool = nil, nil
		objects.Config.OwnerReferences = nil
		if owned {
			objects.Config.OwnerReferences = []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: "workers", Controller: ptr.To(true)}}
		}
		objects.Config.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "argocd", Time: ptr.To(ago(time.Minute)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:instanceType":{}}}`)}}
		writers := Of(objects, now).Writers
		if len(writers) != want || want > 0 && (writers[0].Object != "AWSLaunchConfig" || writers[0].Manager != "argocd") {
			t.Errorf("owned by the pool %t: got %+v, want %d writers", owned, writers, want)
		}
	}
}

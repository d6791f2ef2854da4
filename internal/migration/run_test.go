package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// foreign are the kinds that are not Slipway's.
var foreign = []string{"Cluster", "Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// TestThereAndBack holds that both directions complete, in their order, that doing either twice changes
// nothing, and that the way back restores every object that is not Slipway's to the byte.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	before := w.contents(foreign...)
	w.migrate(ToSlipway)
	want := []string{
		"pause-cluster Cluster default/blue due", "pause-cluster Cluster default/green due",
		"remove-capa-webhooks MutatingWebhookConfiguration capa-mutating-webhook-configuration due",
		"remove-capa-webhooks ValidatingWebhookConfiguration capa-validating-webhook-configuration due",
		"stop-capa-controllers Deployment capa-system/capa-controller-manager due", "stop-capa-controllers Deployment capa-system/capa-controller-manager waiting",
		"resume-cluster Cluster default/blue due", "take-over-pool AWSManagedMachinePool default/blue-eks-0 waiting",
		"resume-cluster Cluster default/green due", "take-over-pool AWSMachinePool default/green-mp-0 waiting",
	}
	if diff := cmp.Diff(want, w.progress); diff != "" {
		t.Errorf("steps there (-want +got):\n%s", diff)
	}
	w.idle(ToSlipway)

	w.progress = nil
	w.migrate(ToCAPA)
	want = []string{
		"release-pool AWSManagedMachinePool default/blue-eks-0 due", "release-pool AWSManagedMachinePool default/blue-eks-0 waiting",
		"pin-image AWSMachinePool default/blue-mp-0 due", "release-pool AWSMachinePool default/blue-mp-0 due", "release-pool AWSMachinePool default/blue-mp-0 waiting",
		"pin-image AWSMachinePool default/green-mp-0 due", "release-pool AWSMachinePool default/green-mp-0 due", "release-pool AWSMachinePool default/green-mp-0 waiting",
		"pause-cluster Cluster default/blue due", "pause-cluster Cluster default/green due",
		"start-capa-controllers Deployment capa-system/capa-controller-manager due", "start-capa-controllers Deployment capa-system/capa-controller-manager waiting",
		"restore-capa-webhooks MutatingWebhookConfiguration capa-mutating-webhook-configuration due",
		"restore-capa-webhooks ValidatingWebhookConfiguration capa-validating-webhook-configuration due",
		"resume-cluster Cluster default/blue due", "resume-cluster Cluster default/green due",
	}
	if diff := cmp.Diff(want, w.progress); diff != "" {
		t.Errorf("steps back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.contents(foreign...)); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
	w.idle(ToCAPA)
	pool := &infrav1.AWSMachinePool{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "blue-mp-0"}, pool); err != nil {
		t.Fatal(err)
	}
	template := pool.Spec.AWSLaunchTemplate
	if ptr.Deref(template.AMI.ID, "") != "ami-0123456789abcdef0" || template.ImageLookupBaseOS != "" || pool.Annotations[infrav1.ReleaseAnnotation] != "true" {
		t.Errorf("the pool has the launch template %+v and annotations %v", template, pool.Annotations)
	}
	if got := pool.Annotations[infrav1.BeforeMigrationAnnotation]; got != `{"imageLookupBaseOS":"ubuntu-24.04"}` {
		t.Errorf("the lookup is recorded as %s", got)
	}

	w.migrate(ToSlipway) // which takes the released pools over again
	w.idle(ToSlipway)
}

// idle fails if a migration that is complete does anything.
func (w *world) idle(direction Direction) {
	w.Helper()
	patches := w.patches
	report, err := w.runner().Run(w.Context(), direction)
	if err != nil || report.State != Done || w.patches != patches {
		w.Errorf("%s again: state %s, %d patches, %v", direction, report.State, w.patches-patches, err)
	}
}

// fewer leaves out the cluster green, and most of CAPA's webhooks, which saves time where there are many
// worlds.
func fewer(objects []client.Object) []client.Object {
	var kept []client.Object
	for _, object := range objects {
		if strings.HasPrefix(object.GetName(), "green") {
			continue
		}
		kept = append(kept, object)
		configuration, is := object.(*unstructured.Unstructured)
		if !is || configuration.GetKind() == "Deployment" {
			continue
		}
		webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		_ = unstructured.SetNestedSlice(configuration.Object, webhooks[6:11], "webhooks")
	}
	return kept
}

// TestInterrupted holds that a migration which stops before or after any of its patches is resumed, and
// completes like one that was not interrupted, with no further patch. It can also be taken back from there.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	whole := newWorld(t, fewer)
	before := whole.contents(foreign...)
	whole.migrate(ToSlipway)
	there, patchesThere := whole.contents(append(foreign, selfManaged, managed)...), whole.patches
	whole.migrate(ToCAPA)
	back, patches := whole.contents(append(foreign, selfManaged, managed)...), whole.patches
	for _, lost := range []bool{false, true} {
		for at := range patches {
			t.Run(fmt.Sprintf("patch %d, lost %t", at, lost), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, fewer)
				w.lost = lost
				direction := ToSlipway
				if at >= patchesThere {
					direction = ToCAPA
					w.migrate(ToSlipway)
				}
				w.crash(direction, at)
				if at < patchesThere && !lost {
					returned := newWorld(t, fewer)
					returned.crash(ToSlipway, at)
					returned.migrate(ToCAPA)
					if diff := cmp.Diff(before, returned.contents(foreign...)); diff != "" {
						t.Errorf("objects that were taken back (-before +after):\n%s", diff)
					}
				}
				w.migrate(direction)
				want, count := there, patchesThere
				if direction == ToCAPA {
					want, count = back, patches
				}
				if diff := cmp.Diff(want, w.contents(append(foreign, selfManaged, managed)...)); diff != "" || w.patches != count {
					t.Errorf("after %d patches, want %d (-uninterrupted +resumed):\n%s", w.patches, count, diff)
				}
				w.idle(direction)
			})
		}
	}
}

// crash migrates until the patch with a number fails.
func (w *world) crash(direction Direction, at int) {
	w.Helper()
	w.failsAt = at
	for {
		report, err := w.runner().Run(w.Context(), direction)
		if errors.Is(err, errCrash) {
			w.failsAt = -1
			return
		}
		if err != nil {
			w.Fatal(err)
		}
		switch next := report.Next(); {
		case next == nil:
			w.Fatalf("no patch %d fails", at)
		case next.Name == InstallSlipway:
			w.installed, w.slipways = true, true
		case next.Name == UninstallSlipway:
			w.installed = false
		case next.Name == RestoreDefinitions:
			w.slipways = false
		default:
			w.Fatalf("step %s is %s: %s", next.Name, next.State, next.Found)
		}
	}
}

// TestForeignChangesStay holds that the way back keeps what another client changed meanwhile, in the same
// lists.
func TestForeignChangesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.migrate(ToSlipway)
	w.edit("apps/v1", "Deployment", "capa-system", "capa-controller-manager", func(object map[string]any) {
		containers, _, _ := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		args := container["args"].([]any)
		container["args"] = append([]any{"--v=4"}, args...)
		_ = unstructured.SetNestedSlice(object, containers, "spec", "template", "spec", "containers")
	})
	w.edit("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "capa-validating-webhook-configuration", func(object map[string]any) {
		webhooks, _, _ := unstructured.NestedSlice(object, "webhooks")
		_ = unstructured.SetNestedSlice(object, webhooks[2:], "webhooks")
	})
	w.migrate(ToCAPA)
	observed := w.observed()
	args := observed.Deployments[0].Containers[0].Args
	if len(args) != 6 || args[0] != "--v=4" || strings.Contains(strings.Join(args, " "), offArgument) {
		t.Errorf("the arguments are %q", args)
	}
	if count := len(observed.Hooks[1].Webhooks); count != 16 {
		t.Errorf("there are %d validating webhooks", count)
	}
	if names := observed.Hooks[1].forPools(); len(names) != 2 || observed.Hooks[1].Record != "" {
		t.Errorf("the webhooks for pools are %q, and the record is %q", names, observed.Hooks[1].Record)
	}
}

// edit changes an object as another client does.
func (w *world) edit(version, kind, namespace, name string, change func(map[string]any)) {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
	change(object.Object)
	if err := w.Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// TestUpgradeOfCAPA holds that an upgrade that turns CAPA's controllers of pools and webhooks on again is
// migrated again, and taken back to what the upgrade installed.
func TestUpgradeOfCAPA(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	upgraded := w.contents("Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	w.migrate(ToSlipway)
	for _, released := range capaObjects(t) { // which keeps annotations, as `kubectl apply` does
		object := released.(*unstructured.Unstructured)
		w.edit(object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName(), func(current map[string]any) {
			for _, field := range []string{"spec", "webhooks"} {
				if value, has := object.Object[field]; has {
					current[field] = value
				}
			}
		})
	}
	if !w.observed().capaRuns() {
		t.Fatal("the upgrade does not turn CAPA's controllers on")
	}
	w.migrate(ToSlipway)
	w.idle(ToSlipway)
	w.migrate(ToCAPA)
	if diff := cmp.Diff(upgraded, w.contents("Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")); diff != "" {
		t.Errorf("CAPA's objects (-upgraded +after):\n%s", diff)
	}
}

// TestChangedMeanwhile holds that nothing is written over an object that changed after it was observed: the
// step is tried again with what it is then, for a while.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason             string
		changes            int
		patches, conflicts int
		fails              bool
	}{
		{reason: "it changes twice", changes: 2, patches: 4, conflicts: 2},
		{reason: "it changes each time", changes: 100, conflicts: mostConflicts + 1, fails: true},
	} {
		w := newWorld(t, fewer)
		runner, changes := w.runner(), 0
		runner.Observe = func(ctx context.Context) (Observed, error) {
			observed, err := w.observe(ctx)
			if changes++; changes <= row.changes {
				w.edit(clusterVersion, "Cluster", "default", "blue", func(object map[string]any) {
					_ = unstructured.SetNestedField(object, fmt.Sprint("change ", changes), "metadata", "annotations", "note")
				})
			}
			return observed, err
		}
		_, err := runner.Run(t.Context(), ToSlipway)
		if row.fails != (err != nil) || row.fails && !strings.Contains(err.Error(), "step pause-cluster of Cluster default/blue") || w.patches != row.patches || w.conflicts != row.conflicts {
			t.Errorf("%s: %d patches, %d conflicts, and the error is %v", row.reason, w.patches, w.conflicts, err)
		}
		cluster := &clusterv1.Cluster{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "blue"}, cluster); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("change ", min(row.changes, changes)); cluster.Annotations["note"] != want {
			t.Errorf("%s: the annotation is %q, want %q", row.reason, cluster.Annotations["note"], want)
		}
	}
}

// TestChangedBack holds that a run stops if another client changes an object back each time.
func TestChangedBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	runner := w.runner()
	runner.Observe = func(ctx context.Context) (Observed, error) {
		w.edit(clusterVersion, "Cluster", "default", "blue", func(object map[string]any) {
			unstructured.RemoveNestedField(object, "spec", "paused")
		})
		return w.observe(ctx)
	}
	_, err := runner.Run(t.Context(), ToSlipway)
	if err == nil || !strings.Contains(err.Error(), "another client changes the object back") || w.patches != mostAttempts {
		t.Errorf("%d patches, and the error is %v", w.patches, err)
	}
}

// TestWaitEnds holds that a run stops if the user does not wait any longer, or the cluster cannot be read.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w, enough := newWorld(t, nil), errors.New("enough")
	runner := w.runner()
	runner.Wait = func(context.Context) error { return enough }
	report, err := runner.Run(t.Context(), ToSlipway)
	if !errors.Is(err, enough) || report.State != Waiting || report.Next().Name != StopCAPA {
		t.Errorf("state %s, %v", report.State, err)
	}
	runner.Observe = func(context.Context) (Observed, error) { return Observed{}, enough }
	if _, err := runner.Run(t.Context(), ToSlipway); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
}

// TestArgumentsThatWereNotThere holds that a container without arguments has none again after the way back.
func TestArgumentsThatWereNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(objects []client.Object) []client.Object {
		for _, object := range objects {
			if deployment, is := object.(*unstructured.Unstructured); is && deployment.GetKind() == "Deployment" {
				containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
				delete(containers[0].(map[string]any), "args")
				_ = unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
			}
		}
		return objects
	})
	before := w.contents(foreign...)
	w.migrate(ToSlipway)
	if diff := cmp.Diff([]string{offArgument}, w.observed().Deployments[0].Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	w.migrate(ToCAPA)
	if diff := cmp.Diff(before, w.contents(foreign...)); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
}

// TestTerminatingPodsExist holds that a pod which terminates counts until it is gone: it may be in the middle
// of a reconcile.
func TestTerminatingPodsExist(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		status appsv1.DeploymentStatus
		want   bool
	}{
		{"all pods are updated", appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}, true},
		{"an earlier pod terminates", appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, TerminatingReplicas: ptr.To[int32](1)}, false},
		{"an earlier pod runs", appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1}, false},
		{"no pod is updated", appsv1.DeploymentStatus{}, false},
	} {
		if got := deploymentOf(&appsv1.Deployment{Status: row.status}).rolledOut(); got != row.want {
			t.Errorf("%s: rolled out %t", row.reason, got)
		}
	}
}

// TestPausedByUser holds that a cluster that the user paused stays paused in both directions.
func TestPausedByUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(objects []client.Object) []client.Object {
		for _, object := range objects {
			if cluster, is := object.(*clusterv1.Cluster); is && cluster.Name == "green" {
				cluster.Spec.Paused = ptr.To(true)
			}
		}
		return objects
	})
	before := w.contents(foreign...)
	w.migrate(ToSlipway)
	for _, cluster := range w.observed().Clusters {
		if cluster.paused() != (cluster.Name == "green") || cluster.Record != "" {
			t.Errorf("%+v", cluster)
		}
	}
	w.migrate(ToCAPA)
	if diff := cmp.Diff(before, w.contents(foreign...)); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
}

// TestClustersOfPoolsThatAreGone holds that a Cluster that the command paused is resumed although its pools
// are left out or deleted meanwhile, in both directions.
func TestClustersOfPoolsThatAreGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*testing.T, *world, *infrav1.AWSMachinePool)
	}{
		{"the pool is left out", func(t *testing.T, w *world, pool *infrav1.AWSMachinePool) {
			t.Helper()
			pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			if err := w.Update(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}},
		{"the pool is deleted", func(t *testing.T, w *world, pool *infrav1.AWSMachinePool) {
			t.Helper()
			if err := w.Delete(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for _, direction := range []Direction{ToSlipway, ToCAPA} {
			t.Run(row.reason+", "+string(direction), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, nil)
				before := w.contents("Cluster")
				if report, err := w.runner().Run(t.Context(), ToSlipway); err != nil || report.Next().Name != InstallSlipway {
					t.Fatalf("the migration stops with %v at %+v", err, report.Next())
				}
				pool := &infrav1.AWSMachinePool{}
				if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "green-mp-0"}, pool); err != nil {
					t.Fatal(err)
				}
				row.change(t, w, pool)
				w.migrate(direction)
				if diff := cmp.Diff(before, w.contents("Cluster")); diff != "" {
					t.Errorf("Clusters after the migration (-before +after):\n%s", diff)
				}
			})
		}
	}
}

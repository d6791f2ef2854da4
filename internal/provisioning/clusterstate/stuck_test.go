package clusterstate_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// TestStuck holds which pods no node helps because of their volume, and the reason that they get.
// The scheduler refuses each of them on every node.
func TestStuck(t *testing.T) {
	t.Parallel()
	claim := func(edit ...func(*corev1.PersistentVolumeClaim)) []corev1.PersistentVolumeClaim {
		one := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
		for _, change := range edit {
			change(&one)
		}
		return []corev1.PersistentVolumeClaim{one}
	}
	class := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(one *corev1.PersistentVolumeClaim) { one.Spec.StorageClassName = &name }
	}
	bound := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(one *corev1.PersistentVolumeClaim) { one.Spec.VolumeName = name }
	}
	deleted := func(one *corev1.PersistentVolumeClaim) { one.DeletionTimestamp = &metav1.Time{} }
	ephemeral := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	}
	for _, row := range []struct {
		reason string
		pod    func(*corev1.Pod)
		claims []corev1.PersistentVolumeClaim
		want   string
	}{
		{"no claim", func(*corev1.Pod) {}, nil, ""},
		{"a claim that is missing", claims("data"), nil, "PersistentVolumeClaim data, which does not exist"},
		{"one of another namespace", claims("data"), claim(func(one *corev1.PersistentVolumeClaim) { one.Namespace = "other" }), "PersistentVolumeClaim data, which does not exist"},
		{"a claim that Kubernetes has yet to create", ephemeral, nil, "PersistentVolumeClaim p-scratch of its ephemeral volume scratch, which Kubernetes has not created"},
		{"a claim that is being deleted", claims("data"), claim(bound("disk"), deleted), "which is being deleted"},
		{"a claim whose volume is gone", claims("data"), claim(bound("gone")), "whose volume gone no longer exists"},
		{"a claim that is bound", claims("data"), claim(bound("disk")), ""},
		{"a claim without a StorageClass", claims("data"), claim(), "which has neither a volume nor a StorageClass"},
		{"a claim for a volume that a user creates", claims("data"), claim(class("")), "create a volume for the claim"},
		{"a StorageClass that is missing", claims("data"), claim(class("missing")), "whose StorageClass missing does not exist"},
		{"a StorageClass that binds at once", claims("data"), claim(class("at-once")), "StorageClass at-once binds claims before pods are scheduled"},
		{"one that does not say when it binds", claims("data"), claim(class("silent")), "StorageClass silent binds claims before pods are scheduled"},
		{"a StorageClass that waits for the pod", claims("data"), claim(class("later")), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			cluster := clusterstate.Cluster{
				Pods: []*corev1.Pod{pod("p", row.pod)}, Claims: row.claims, Volumes: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}},
				Classes: []storagev1.StorageClass{
					{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate)},
					{ObjectMeta: metav1.ObjectMeta{Name: "later"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)},
					{ObjectMeta: metav1.ObjectMeta{Name: "silent"}},
				},
			}
			stuck, packed := cluster.Stuck(), cluster.Problem(nil, types1()).Pods
			if row.want == "" {
				if len(stuck) != 0 || len(packed) != 1 {
					t.Errorf("a node helps the pod, and %+v is told; %d pods are packed", stuck, len(packed))
				}
				return
			}
			if len(stuck) != 1 || !strings.HasPrefix(stuck[0].Reason, "waits for ") || !strings.Contains(stuck[0].Reason, row.want) || stuck[0].Cause != packing.CauseVolume {
				t.Fatalf("the pod is told %+v", stuck)
			}
			if len(packed) != 0 || len(cluster.Waiting()) != 0 {
				t.Errorf("%d pods are packed, and %d wait for a node", len(packed), len(cluster.Waiting()))
			}
		})
	}
}

// TestImmovable holds that a pod whose node leaves, and whose claim is gone, gets that reason and
// is not packed. A claim that is only being deleted may be created again for its successor.
func TestImmovable(t *testing.T) {
	t.Parallel()
	moves := func(p *corev1.Pod) {
		on("node-1")(p)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Controller: ptr.To(true)}}
		p.Status.Phase = corev1.PodRunning
	}
	gone, deleting := pod("gone", moves, claims("gone")), pod("deleting", moves, claims("data"))
	cluster := clusterstate.Cluster{
		Pods: []*corev1.Pod{gone, deleting, pod("waits")}, Volumes: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}},
		Claims: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", DeletionTimestamp: &metav1.Time{}}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "disk"},
		}},
		Nodes: []corev1.Node{member(corev1.ConditionTrue)},
		Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, ready, func(n *provisioningv1.ProvisionedNode) {
			n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionTrue})
		})},
	}
	immovable := cluster.Immovable()
	if len(immovable) != 1 || immovable[0].Pod != gone || immovable[0].Cause != packing.CauseVolume {
		t.Errorf("pods that cannot move are %+v", immovable)
	}
	if packed := cluster.Problem(nil, types1()).Pods; len(packed) != 2 {
		t.Errorf("%d pods are packed", len(packed))
	}
}

// TestReadWriteOncePod holds that no node is launched for a pod whose claim only one pod may use while
// another one uses it: the scheduler would refuse the pod on the new node too (Kubernetes:
// plugins/volumerestrictions).
func TestReadWriteOncePod(t *testing.T) {
	t.Parallel()
	running := func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }
	finished := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	for _, row := range []struct {
		reason string
		mode   corev1.PersistentVolumeAccessMode
		other  *corev1.Pod
		stuck  bool
	}{
		{"another pod uses it", corev1.ReadWriteOncePod, pod("user", on("n"), running, claims("data")), true},
		{"another pod has finished", corev1.ReadWriteOncePod, pod("user", on("n"), finished, claims("data")), false},
		{"the Node of another pod is gone", corev1.ReadWriteOncePod, pod("user", on("gone"), running, claims("data")), false},
		{"another pod waits too", corev1.ReadWriteOncePod, pod("user", claims("data")), false},
		{"another pod uses another one", corev1.ReadWriteOncePod, pod("user", on("n"), running, claims("other")), false},
		{"another pod of its node may use it", corev1.ReadWriteOnce, pod("user", on("n"), running, claims("data")), false},
	} {
		cluster := clusterstate.Cluster{
			Pods: []*corev1.Pod{pod("p", claims("data")), row.other}, Volumes: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}},
			Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}},
		}
		for _, name := range []string{"data", "other"} {
			cluster.Claims = append(cluster.Claims, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
				VolumeName: "disk", AccessModes: []corev1.PersistentVolumeAccessMode{row.mode},
			}})
		}
		stuck := cluster.Stuck()
		if len(stuck) == 1 != row.stuck || row.stuck && (stuck[0].Pod.Name != "p" || !strings.Contains(stuck[0].Reason, "(ReadWriteOncePod) and pod user uses")) {
			t.Errorf("%s: stuck are %+v", row.reason, stuck)
		}
	}
}

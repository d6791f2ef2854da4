package scheduler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestPodOfALocalVolume holds that a pod whose volume is a disk of one Node gets one event about
// it, and another when that Node is gone; that no node is launched for it; and that it gets one
// when its claim was deleted and created again.
func TestPodOfALocalVolume(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host", Labels: map[string]string{"topology.topolvm.io/node": "host"}}}
	w.Create(host)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "topology.topolvm.io/node", Operator: corev1.NodeSelectorOpIn, Values: []string{"host"}}},
	}}}}
	w.Create(volume)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.VolumeName = "disk"
	w.Create(claim)
	pod := w.Pod("one", func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	})
	told := func(when string, there, gone int) {
		t.Helper()
		w.Advance(3 * time.Minute)
		if got := len(w.Told("Warning VolumeOfOneNode one:", "volume disk of PersistentVolumeClaim data is local to Node host")); got != there {
			t.Errorf("%s, the pod was told %d times that its Node is there: %q", when, got, w.Events())
		}
		if got := len(w.Told("Warning VolumeOfOneNode one:", "Delete PersistentVolumeClaim data", "no longer exists (topology.topolvm.io/node=host)")); got != gone {
			t.Errorf("%s, the pod was told %d times that its Node is gone: %q", when, got, w.Events())
		}
		if got := len(w.Provisioned()); got != 0 || len(w.Told("one:")) != there+gone {
			t.Errorf("%s, %d nodes are launched, and the events are %q", when, got, w.Events())
		}
	}
	told("while the Node is there", 1, 0)
	w.Delete(host)
	told("after it is gone", 1, 1)
	w.Delete(claim)
	w.Delete(pod)
	w.Pod("one")
	w.Settle()
	if got := len(w.Provisioned()); got != 1 {
		t.Errorf("%d nodes are launched for the pod without the volume", got)
	}
}

package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestLookWaitsForVolumes holds that a node is empty only when its kubelet has unmounted the volumes of the pods
// that have left. Kubernetes would otherwise detach them from an instance that is gone only after six minutes.
func TestLookWaitsForVolumes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	using := func(names ...corev1.UniqueVolumeName) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Status.VolumesInUse = names }
	}
	claims := func(names ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			for _, name := range names {
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
				}})
			}
		}
	}
	scratch := func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}
	}
	const ebs = "kubernetes.io/csi/ebs.csi.aws.com^vol-"
	for _, row := range []struct {
		reason string
		ready  corev1.ConditionStatus
		node   func(*corev1.Node)
		pods   []*corev1.Pod
		terms  Terms
		empty  bool
		words  string
	}{
		{"a volume is still mounted", "True", using(ebs + "1"), nil, Terms{}, false, "1 volume to be unmounted"},
		{"two are", "True", using(ebs+"1", ebs+"2"), nil, Terms{}, false, "2 volumes to be unmounted"},
		{"the pod that has it leaves first", "True", using(ebs + "1"), []*corev1.Pod{pod("a", claims("data"), endingPod)}, Terms{}, false, "1 pod ending"},
		{"a finished pod has none mounted", "True", using(ebs + "1"), []*corev1.Pod{pod("a", claims("data"), phase(corev1.PodSucceeded))}, Terms{}, false, "1 volume to be unmounted"},
		{"it is a DaemonSet's, whose pod stays", "True", using(ebs + "1"), []*corev1.Pod{pod("a", claims("data"), owned("DaemonSet"))}, Terms{}, true, "no pods left"},
		{"another one is", "True", using(ebs+"1", ebs+"2"), []*corev1.Pod{pod("a", claims("data"), owned("DaemonSet"))}, Terms{}, false, "1 volume to be unmounted"},
		{"pods that stay share one", "True", using(ebs+"1", ebs+"2"), []*corev1.Pod{
			pod("a", claims("data"), labelled("skip")), pod("b", claims("data"), labelled("skip")),
		}, Terms{}, false, "1 volume to be unmounted"},
		{"it is an ephemeral volume of a pod that stays", "True", using(ebs + "1"), []*corev1.Pod{pod("a", scratch, labelled("skip"))}, Terms{}, true, "no pods left"},
		{"it is of a pod that should have ended long ago", "True", using(ebs + "1"), []*corev1.Pod{pod("a", claims("data"), endingPod)}, Terms{Now: now}, true, "no pods left"},
		{"its kubelet does not respond", "Unknown", using(ebs + "1"), nil, Terms{}, true, "no pods left"},
		{"its kubelet responds, but is not ready", "False", using(ebs + "1"), nil, Terms{}, false, "1 volume to be unmounted"},
		{"the deadline has come", "True", using(ebs + "1"), nil, Terms{Now: now, Deadline: now}, true, "1 volume to be unmounted"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			drained := node(row.ready)
			drained.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
			row.node(drained)
			objects := []runtime.Object{drained}
			for _, pod := range row.pods {
				objects = append(objects, pod)
			}
			got, err := LookWith(t.Context(), Clientset(cluster(nil, objects...)), nodeName, providerID, row.terms)
			if err != nil || got.Empty != row.empty || got.String() != row.words {
				t.Errorf("the node is empty: %t, %q, error %v; want %t, %q", got.Empty, got, err, row.empty, row.words)
			}
		})
	}
}

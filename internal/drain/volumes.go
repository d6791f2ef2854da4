package drain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
)

// mounted returns how many volumes a Node's kubelet has still to unmount for pods that have left.
// If the instance were terminated before, the volumes would be reported as in use for good, and
// their pods could start nowhere else until Kubernetes detaches them by force after six minutes
// (Kubernetes: the attach/detach controller, maxWaitForUnmountDuration). The kubelet reports a volume
// until it is safely unmounted (Kubernetes: volumemanager, GetVolumesInUse). One that no longer
// responds is not waited for.
//
// A report has no pods in it, so as many volumes may remain as the pods that stay can have.
func mounted(node *corev1.Node, staying []*corev1.Pod) int {
	if unreachable(node) {
		return 0
	}
	remain := map[types.NamespacedName]bool{}
	for _, pod := range staying {
		if finished(pod) {
			continue // its volumes are unmounted
		}
		for i := range pod.Spec.Volumes {
			if claim := claimOf(pod, &pod.Spec.Volumes[i]); claim != "" {
				remain[types.NamespacedName{Namespace: pod.Namespace, Name: claim}] = true
			}
		}
	}
	return max(len(node.Status.VolumesInUse)-len(remain), 0)
}

// claimOf returns the name of the PersistentVolumeClaim of a pod's volume, or "" if it has none.
func claimOf(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

package clusterstate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Stuck returns the pods that the scheduler finds no node for because of a volume: a
// PersistentVolumeClaim is missing, or is bound before its pod is scheduled and is not bound. Until
// then no node helps.
func (c *Cluster) Stuck() []packing.Unplaced {
	c.Waiting()
	return c.stuckPods
}

// Immovable returns the pods whose node leaves, and that could run on no other because of a volume.
func (c *Cluster) Immovable() []packing.Unplaced {
	var immovable []packing.Unplaced
	for _, pod := range c.Waiting() {
		if pod.Spec.NodeName == "" {
			continue
		}
		if why := c.volumes().obstacle(pod); why != "" {
			immovable = append(immovable, packing.Unplaced{Pod: pod, Reason: why, Cause: packing.CauseVolume})
		}
	}
	return immovable
}

// obstacle returns why no node helps a pod because of one of its volumes, "" if nothing is in the
// way. The scheduler decides the same (Kubernetes: plugins/volumebinding).
func (v *volumes) obstacle(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		if name := claimName(pod, &pod.Spec.Volumes[i]); name != "" {
			if why := v.obstacleOf(pod, &pod.Spec.Volumes[i], name); why != "" {
				return why
			}
		}
	}
	return ""
}

// obstacleOf returns why no node helps a pod because of the claim of one of its volumes.
func (v *volumes) obstacleOf(pod *corev1.Pod, of *corev1.Volume, name string) string {
	claim := v.claims[namespaced(pod, name)]
	switch {
	case claim == nil && of.Ephemeral != nil:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s of its ephemeral volume %s, which Kubernetes has "+
			"not created: see the events of the pod", name, of.Name)
	case claim == nil:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which does not exist: create it, or correct the name where the pod is created", name)
	case claim.DeletionTimestamp != nil && pod.Spec.NodeName == "": // the claim of a running pod may be created again for its successor
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which is being deleted: create the claim again once it is gone", name)
	case pod.Spec.NodeName == "" && v.users[namespaced(pod, name)] != nil: // the successor of a running pod comes when it is gone
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which only one pod may use at a time (ReadWriteOncePod) and pod %s uses: "+
			"delete that pod, or use another claim or access mode", name, v.users[namespaced(pod, name)].Name)
	case claim.Spec.VolumeName != "" && v.volumes[claim.Spec.VolumeName] == nil:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, whose volume %s no longer exists: delete the "+
			"claim and the pod to run the pod without the data", name, claim.Spec.VolumeName)
	case claim.Spec.VolumeName != "":
		return ""
	}
	class := v.classOf(claim)
	switch {
	case claim.Spec.StorageClassName == nil:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which has neither a volume nor a StorageClass: make a StorageClass the default, or create a volume for the claim", name)
	case *claim.Spec.StorageClassName == "":
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which accepts only volumes without a "+
			"StorageClass and is not bound to one: create a volume for the claim", name)
	case class == nil:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, whose StorageClass %s does not exist: create it, or create the claim with another", name, *claim.Spec.StorageClassName)
	case class.VolumeBindingMode == nil, *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return fmt.Sprintf("waits for PersistentVolumeClaim %s, which is not bound yet: StorageClass %s binds "+
			"claims before pods are scheduled. See the events of the claim", name, class.Name)
	}
	return ""
}

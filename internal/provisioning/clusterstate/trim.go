package clusterstate

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/provisioning/disruption"
)

// mostShared bounds how many sorts of pods are remembered: what is remembered of one is about a kilobyte.
const mostShared = 4096

// Trimmer removes from pods and Nodes what no controller of just-in-time nodes reads, before a
// cache keeps them. A pod of some kilobytes becomes small, and pods that are alike share the same
// data. The kept fields are listed here: code that reads another field of a pod or a Node must add
// it.
type Trimmer struct {
	mu sync.Mutex
	// shared are pods without what is their own, by their encoding.
	shared map[string]*corev1.Pod
}

// Pod trims a pod. It is a transform function of a cache.
func (t *Trimmer) Pod(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil // a cache's notice of a deletion that it missed
	}
	common, err := t.share(commonOf(pod))
	if err != nil {
		return nil, fmt.Errorf("trimming pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	trimmed := *common
	trimmed.Name, trimmed.UID, trimmed.ResourceVersion, trimmed.DeletionTimestamp = pod.Name, pod.UID, pod.ResourceVersion, pod.DeletionTimestamp
	trimmed.Spec.NodeName, trimmed.Spec.Volumes, trimmed.Status.NominatedNodeName = pod.Spec.NodeName, claimed(pod.Spec.Volumes), pod.Status.NominatedNodeName
	if Nominated(pod) {
		trimmed.ManagedFields = nominatedBySlipway
	}
	return &trimmed, nil
}

// share returns the first of equal pods.
func (t *Trimmer) share(common *corev1.Pod) (*corev1.Pod, error) {
	encoded, err := common.Marshal()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.shared[string(encoded)]; first != nil {
		return first, nil
	}
	if t.shared == nil || len(t.shared) >= mostShared {
		t.shared = map[string]*corev1.Pod{}
	}
	t.shared[string(encoded)] = common
	return common, nil
}

// commonOf returns the part of a pod that counts and is the same for all pods of its owner.
func commonOf(pod *corev1.Pod) *corev1.Pod {
	common, spec := &corev1.Pod{}, &pod.Spec
	common.Namespace, common.Labels = pod.Namespace, pod.Labels
	common.Annotations = only(pod.Annotations, append([]string{corev1.MirrorPodAnnotationKey}, disruption.Protections...)...)
	for _, owner := range pod.OwnerReferences {
		if ptr.Deref(owner.Controller, false) {
			common.OwnerReferences = append(common.OwnerReferences, owner)
		}
	}
	common.Spec = corev1.PodSpec{
		Containers: asking(spec.Containers), InitContainers: asking(spec.InitContainers), Overhead: spec.Overhead,
		NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints,
		Priority: spec.Priority, OS: spec.OS,
	}
	if len(spec.ResourceClaims) > 0 { // that there are some is all that counts
		common.Spec.ResourceClaims = make([]corev1.PodResourceClaim, 1)
	}
	if spec.Resources != nil {
		common.Spec.Resources = &corev1.ResourceRequirements{Requests: spec.Resources.Requests}
	}
	common.Status.Phase = pod.Status.Phase
	for _, condition := range pod.Status.Conditions {
		switch condition.Type {
		case corev1.PodScheduled:
			common.Status.Conditions = append(common.Status.Conditions, corev1.PodCondition{Type: condition.Type, Status: condition.Status, Reason: condition.Reason})
		case corev1.PodReady:
			common.Status.Conditions = append(common.Status.Conditions, corev1.PodCondition{Type: condition.Type, Status: condition.Status})
		default: // not read
		}
	}
	return common
}

// only returns the annotations with the keys, nil if there are none.
func only(annotations map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, is := annotations[key]; is {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// asking returns containers with only what they ask of a node.
func asking(containers []corev1.Container) []corev1.Container {
	var trimmed []corev1.Container
	for i := range containers {
		from := &containers[i]
		container := corev1.Container{RestartPolicy: from.RestartPolicy}
		container.Resources.Requests = from.Resources.Requests
		for _, port := range from.Ports {
			if port.HostPort > 0 {
				container.Ports = append(container.Ports, corev1.ContainerPort{HostPort: port.HostPort, HostIP: port.HostIP, Protocol: port.Protocol})
			}
		}
		trimmed = append(trimmed, container)
	}
	return slices.Clip(trimmed)
}

// claimed returns the volumes that have PersistentVolumeClaims.
func claimed(volumes []corev1.Volume) []corev1.Volume {
	var trimmed []corev1.Volume
	for i := range volumes {
		switch from := &volumes[i]; {
		case from.PersistentVolumeClaim != nil:
			trimmed = append(trimmed, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: from.PersistentVolumeClaim}})
		case from.Ephemeral != nil:
			trimmed = append(trimmed, corev1.Volume{Name: from.Name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
		}
	}
	return slices.Clip(trimmed)
}

// TrimNode trims a Node. It is a transform function of a cache. Most of a Node is the list of its
// images.
func TrimNode(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return object, nil
	}
	trimmed := &corev1.Node{}
	trimmed.Name, trimmed.UID, trimmed.ResourceVersion, trimmed.DeletionTimestamp, trimmed.Labels = node.Name, node.UID, node.ResourceVersion, node.DeletionTimestamp, node.Labels
	trimmed.CreationTimestamp = node.CreationTimestamp
	trimmed.Annotations = only(node.Annotations, disruption.Protections...)
	trimmed.Finalizers = node.Finalizers // one is added and removed by patches, which write the whole list
	trimmed.Spec = corev1.NodeSpec{ProviderID: node.Spec.ProviderID, Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable}
	trimmed.Status.Allocatable = node.Status.Allocatable
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, corev1.NodeCondition{Type: condition.Type, Status: condition.Status})
		}
	}
	return trimmed, nil
}

package packtest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Launched returns a new node as one of its options has it, and the pods of daemon sets that run
// there.
func Launched(problem *packing.Problem, n *packing.NewNode, name string, option packing.Option) (*corev1.Node, []*corev1.Pod) {
	kind := TypeNamed(problem, option.Type)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(n.Ask.Labels)}}
	maps.Copy(node.Labels, kind.Labels)
	maps.Copy(node.Labels, map[string]string{
		corev1.LabelTopologyZone: option.Zone, corev1.LabelInstanceTypeStable: option.Type, corev1.LabelArchStable: kind.Architecture,
		provisioningv1.LabelCapacityType: option.CapacityType, corev1.LabelHostname: name,
	})
	node.Spec.Taints = n.Ask.Taints
	node.Status.Allocatable = kind.Capacity.DeepCopy()
	if n.Ask.EphemeralStorage > 0 {
		node.Status.Allocatable[corev1.ResourceEphemeralStorage] = *Quantity(n.Ask.EphemeralStorage)
	}
	for resource, less := range kind.Overhead {
		left := node.Status.Allocatable[resource]
		left.Sub(less)
		node.Status.Allocatable[resource] = left
	}
	packing.AddExtra(node.Status.Allocatable, n.Ask.Resources)
	constraints.AddAliases(node.Labels)
	var daemons []*corev1.Pod
	for i := range problem.Provisioners {
		if problem.Provisioners[i].Name != n.Ask.Provisioner {
			continue
		}
		for _, daemon := range problem.Provisioners[i].Daemons {
			if Matches(daemon, node) && Tolerates(daemon, node) {
				daemons = append(daemons, daemon)
			}
		}
	}
	return node, daemons
}

// Existing returns an existing node, without its pods.
func Existing(n *packing.Node) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{Taints: n.Taints, Unschedulable: n.Closed},
		Status: corev1.NodeStatus{Allocatable: n.Allocatable},
	}
}

// TypeNamed returns one of the problem's instance types, or nil.
func TypeNamed(problem *packing.Problem, name string) *packing.InstanceType {
	for i := range problem.Types {
		if problem.Types[i].Name == name {
			return &problem.Types[i]
		}
	}
	return nil
}

// Matches reports, with Kubernetes's own code, whether the node's labels suit the pod.
func Matches(pod *corev1.Pod, node *corev1.Node) bool {
	matched, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && matched
}

// Tolerates reports, with Kubernetes's own code, whether the node's taints admit the pod.
func Tolerates(pod *corev1.Pod, node *corev1.Node) bool {
	_, untolerated := scheduling.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !untolerated
}

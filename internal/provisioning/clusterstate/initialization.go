package clusterstate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

const (
	// readinessTaints is the prefix of taints that the Node Readiness Controller removes
	// (Kubernetes: sigs.k8s.io/node-readiness-controller).
	readinessTaints = "readiness.k8s.io/"
	// agentTaints is the suffix of taints that agents remove from their node, such as the taints of
	// Cilium and of AWS's CSI drivers.
	agentTaints = "/agent-not-ready"
	// uninitializedTaint is removed by the cloud controller manager.
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
)

// ephemeral reports whether Kubernetes, or Slipway, removes a taint of a Node as the Node starts.
func ephemeral(key string) bool {
	switch key {
	case UnregisteredTaint, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable, uninitializedTaint:
		return true
	}
	return false
}

// Awaited lists what keeps a ready Node from being initialized.
type Awaited struct {
	// Taints are the taints that another controller is expected to remove.
	Taints []string
	// Undeclared are taints that the Provisioner lists neither in taints nor in startupTaints. Pods
	// that the node was launched for need not tolerate them.
	Undeclared []string
	// Resources are the extended resources that the Node does not have yet.
	Resources []string
}

// Done reports whether nothing is awaited.
func (a Awaited) Done() bool { return len(a.Taints)+len(a.Undeclared)+len(a.Resources) == 0 }

// String names what is missing.
func (a Awaited) String() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{
		{"startup taint not removed: ", a.Taints}, {"taint that the Provisioner does not list: ", a.Undeclared}, {"not registered by its device plugin: ", a.Resources},
	} {
		if len(list.names) > 0 {
			parts = append(parts, list.what+strings.Join(list.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Awaits returns what keeps the ready Node of a ProvisionedNode from being initialized. A Node that
// already runs a pod that the node was launched for has no undeclared taint that matters: its pods
// tolerate the taints that it has.
func Awaits(provisioned *provisioningv1.ProvisionedNode, member *corev1.Node, used bool) Awaited {
	var awaited Awaited
	for i := range member.Spec.Taints {
		taint := &member.Spec.Taints[i]
		switch {
		case listed(provisioned.Spec.Taints, taint), taint.Key == corev1.TaintNodeUnschedulable:
		case ephemeral(taint.Key), startup(provisioned, taint):
			awaited.Taints = append(awaited.Taints, taint.ToString())
		case !used && taint.Effect != corev1.TaintEffectPreferNoSchedule:
			awaited.Undeclared = append(awaited.Undeclared, taint.ToString())
		}
	}
	for _, name := range provisioned.Spec.AwaitedResources {
		if has := member.Status.Allocatable[corev1.ResourceName(name)]; has.IsZero() {
			awaited.Resources = append(awaited.Resources, name)
		}
	}
	return awaited
}

// startup reports whether another controller is expected to remove the taint as the node starts.
func startup(provisioned *provisioningv1.ProvisionedNode, taint *corev1.Taint) bool {
	return listed(provisioned.Spec.StartupTaints, taint) || strings.HasPrefix(taint.Key, readinessTaints) || strings.HasSuffix(taint.Key, agentTaints)
}

func listed(list []provisioningv1.Taint, taint *corev1.Taint) bool {
	return slices.ContainsFunc(list, func(one provisioningv1.Taint) bool {
		return one.Key == taint.Key && string(one.Effect) == string(taint.Effect)
	})
}

// StartupTaints returns the taints that a Node gets when it registers, and that another controller removes.
func StartupTaints(provisioned *provisioningv1.ProvisionedNode) []corev1.Taint {
	return taintsOf(provisioned.Spec.StartupTaints)
}

// Initialized reports whether the node has taken pods. Until then it counts as what it will be.
func Initialized(node *provisioningv1.ProvisionedNode) bool {
	return node.Status.ReadyTime != nil || IsTrue(node, provisioningv1.ReadyCondition)
}

package provisioner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestPendingPodGetsNode holds the whole way: a pod that waits, an instance, a Node with its
// labels, and the end of both.
func TestPendingPodGetsNode(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "labels: {team: web}", "taints: [{key: dedicated, value: web, effect: NoSchedule}]")
	w.pod("one", func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	})
	node := w.readyNodes(1)[0]
	claim := w.provisioned()[0]
	for label, want := range map[string]string{
		provisioningv1.LabelProvisionerName: "default", provisioningv1.LabelCapacityType: "on-demand", "team": "web", corev1.LabelArchStable: "amd64",
		corev1.LabelInstanceTypeStable: claim.Status.InstanceType, corev1.LabelTopologyZone: claim.Status.Zone,
	} {
		if node.Labels[label] != want {
			t.Errorf("label %s is %q, want %q", label, node.Labels[label], want)
		}
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].ToString() != "dedicated=web:NoSchedule" {
		t.Errorf("taints are %v", node.Spec.Taints)
	}
	if instances := w.instances(); len(instances) != 1 || *instances[0].InstanceId != claim.Status.InstanceID {
		t.Errorf("instances are %v, and the object says %s", instances, claim.Status.InstanceID)
	}
	if w.count("CreateFleet") != 1 || w.count("CreateLaunchTemplate") != 1 {
		t.Errorf("%d calls of CreateFleet, %d of CreateLaunchTemplate", w.count("CreateFleet"), w.count("CreateLaunchTemplate"))
	}
}

package scheduler_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

func selecting(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

func requiring(requirements ...provisioningv1.Requirement) func(*provisioningv1.ProvisionerSpec) {
	return func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes, spec.Requirements = nil, requirements }
}

// TestPodsStayWithinLimits holds that a pod that asks for what its Provisioner's limits exclude
// gets no node, and an event that names the limit.
func TestPodsStayWithinLimits(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = []string{"us-east-1a"} })
	w.Pod("type", selecting(corev1.LabelInstanceTypeStable, "p5.48xlarge"))
	w.Pod("zone", selecting(corev1.LabelTopologyZone, "us-east-1b"))
	w.Settle()
	w.Advance(3 * time.Second)
	if got := len(w.Instances()); got != 0 {
		t.Errorf("%d instances run", got)
	}
	for _, told := range [][]string{
		{"NoNodeLaunched type:", "requires node.kubernetes.io/instance-type: p5.48xlarge, but " +
			"spec.instanceTypes of Provisioner default allows only m5.large"},
		{"NoNodeLaunched zone:", "requires topology.kubernetes.io/zone: us-east-1b, but spec.zones of " +
			"Provisioner default allows only us-east-1a"},
	} {
		if len(w.Told(told...)) != 1 {
			t.Errorf("no event says %q: %q", told, w.Events())
		}
	}
}

// TestNodesSatisfyRequirements holds that nodes satisfy the requirements of their Provisioner, and
// carry the labels that pods select them by.
func TestNodesSatisfyRequirements(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", requiring(
		provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-category", Operator: "In", Values: []string{"c", "m"}},
		provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-generation", Operator: "Gt", Values: []string{"5"}},
		provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: "Lt", Values: []string{"5"}},
		provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-cpu-manufacturer", Operator: "NotIn", Values: []string{"amd"}},
	))
	w.Pod("one", selecting("karpenter.k8s.aws/instance-cpu", "4"))
	w.Launch()
	members := w.Members()
	if len(members) != 1 {
		t.Fatalf("there are %d Nodes; events are %q", len(members), w.Events())
	}
	labels := members[0].Labels
	for key, allowed := range map[string][]string{
		"instance-category": {"c", "m"}, "instance-generation": {"6", "7", "8"}, "instance-cpu": {"4"}, "instance-cpu-manufacturer": {"intel"}, "instance-size": {"xlarge"},
	} {
		found := false
		for _, value := range allowed {
			found = found || labels["karpenter.k8s.aws/"+key] == value
		}
		if !found {
			t.Errorf("%s is %q, want one of %q", key, labels["karpenter.k8s.aws/"+key], allowed)
		}
	}
	if got := labels[provisioningv1.KarpenterLabelCapacityType]; got != "on-demand" {
		t.Errorf("%s is %q", provisioningv1.KarpenterLabelCapacityType, got)
	}
}

// TestOnDemandWhereSpotIsShort holds that a Provisioner that allows both capacity types launches
// Spot Instances, and On-Demand Instances while AWS has no Spot capacity.
func TestOnDemandWhereSpotIsShort(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		rules  []awssim.CapacityRule
		want   string
	}{
		{"Spot", nil, "spot"},
		{"On-Demand", []awssim.CapacityRule{{Market: "spot"}}, "on-demand"},
	} {
		w := provisioningtest.New(t, provisioningtest.Options{Behavior: awssim.Behavior{Capacity: row.rules}})
		w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
			spec.Requirements = []provisioningv1.Requirement{{Key: provisioningv1.KarpenterLabelCapacityType, Operator: "In", Values: []string{"spot", "on-demand"}}}
		})
		w.Pod("one")
		w.Launch()
		w.Advance(5 * time.Second)
		w.Launch()
		members := w.Members()
		if len(members) != 1 {
			t.Errorf("%s: there are %d Nodes; events are %q", row.reason, len(members), w.Events())
			continue
		}
		for _, key := range []string{provisioningv1.LabelCapacityType, provisioningv1.KarpenterLabelCapacityType} {
			if got := members[0].Labels[key]; got != row.want {
				t.Errorf("%s: label %s is %q, want %q", row.reason, key, got, row.want)
			}
		}
		if spot := w.Instances()[0].InstanceLifecycle == "spot"; spot != (row.want == "spot") {
			t.Errorf("%s: the instance is bought as Spot: %v", row.reason, spot)
		}
	}
}

// TestUnsatisfiableLimits holds that a Provisioner whose limits leave nothing to launch is not
// Ready, and says which.
func TestUnsatisfiableLimits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		edit func(*provisioningv1.ProvisionerSpec)
		says string
	}{
		{func(spec *provisioningv1.ProvisionerSpec) {
			spec.Zones = []string{"us-east-1a"}
			spec.Requirements = []provisioningv1.Requirement{{Key: corev1.LabelTopologyZone, Operator: "NotIn", Values: []string{"us-east-1a"}}}
		}, "spec.zones and spec.requirements allow no common value of topology.kubernetes.io/zone"},
		{requiring(provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-generation", Operator: "Gt", Values: []string{"90"}}),
			"no instance type of this region satisfies spec.requirements"},
	} {
		w := provisioningtest.New(t, provisioningtest.Options{})
		w.Provision("default", row.edit)
		w.Settle()
		condition := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.ReadyCondition)
		if condition == nil || condition.Status != "False" || !strings.HasSuffix(condition.Message, row.says) {
			t.Errorf("Ready is %+v, want %q", condition, row.says)
		}
	}
}

// TestPodsForWindows holds that no node is launched for a pod whose spec.os says Windows. The scheduler
// would bind the pod to the Linux node, whose kubelet rejects it, and its controller would create the
// next one. Pods that are alike otherwise get their node.
func TestPodsForWindows(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("windows", func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows} })
	w.Pod("linux", func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Linux} })
	w.Pod("any")
	w.Settle()
	w.Advance(2 * time.Minute)
	if got := len(w.Instances()); got != 2 {
		t.Errorf("%d instances, want one for each pod that runs on Linux: %q", got, w.Events())
	}
	if told := w.Told("NoNodeLaunched windows:", "requires kubernetes.io/os: windows"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
}

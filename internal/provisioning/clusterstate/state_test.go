package clusterstate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// pod waits. It is as a cache has it.
func pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	for _, one := range edit {
		one(p)
	}
	trimmed, err := (&clusterstate.Trimmer{}).Pod(p)
	if err != nil {
		panic(err)
	}
	return trimmed.(*corev1.Pod)
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func TestWaits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
		want   bool
	}{
		{"the scheduler found no node", func(*corev1.Pod) {}, true},
		{"it runs", on("n"), false},
		{"it is going", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		{"it has ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		{"a gate holds it", func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }, false},
		{"the scheduler has not looked", func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		{"a daemon waits for its own node", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
		}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if clusterstate.Waits(pod("p", row.edit)) != row.want {
				t.Errorf("it waits: %v", !row.want)
			}
		})
	}
}

// TestNominatedPods holds when a pod that the scheduler nominated a Node for waits nevertheless:
// the Node is gone, or takes no pods.
func TestNominatedPods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		cluster clusterstate.Cluster
		waits   bool
	}{
		{"others are evicted for it", clusterstate.Cluster{Nodes: []corev1.Node{member(corev1.ConditionTrue)}}, false},
		{"the Node is gone", clusterstate.Cluster{}, true},
		{"the Node is being deleted", clusterstate.Cluster{Nodes: []corev1.Node{member(corev1.ConditionTrue, func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} })}}, true},
		{"the Node is cordoned", clusterstate.Cluster{Nodes: []corev1.Node{member(corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true })}}, true},
		{"the Node is not ready", clusterstate.Cluster{Nodes: []corev1.Node{member(corev1.ConditionUnknown)}}, true},
		{"the Node is being replaced", clusterstate.Cluster{
			Nodes: []corev1.Node{member(corev1.ConditionTrue)},
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, ready, func(n *provisioningv1.ProvisionedNode) {
				n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionTrue})
			})},
		}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.cluster.Pods = []*corev1.Pod{pod("p", func(p *corev1.Pod) { p.Status.NominatedNodeName = "node-1" })}
			if got := len(row.cluster.Waiting()) == 1; got != row.waits || row.cluster.Preempting() == row.waits {
				t.Errorf("it waits: %t, and the scheduler makes room for it: %t", got, row.cluster.Preempting())
			}
		})
	}
}

func types1() []packing.InstanceType {
	return []packing.InstanceType{{
		Name: "m5.large", Architecture: "amd64",
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("29")},
		Overhead: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("70m")},
	}, {
		Name: "m5.xlarge", Architecture: "amd64",
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("58")},
		Overhead: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("80m")},
	}}
}

func provisioned(name string, edit ...func(*provisioningv1.ProvisionedNode)) provisioningv1.ProvisionedNode {
	node := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: provisioningv1.ProvisionedNodeSpec{
		Provisioner: "default", Offerings: []provisioningv1.NodeOffering{{InstanceType: "m5.large", Zone: "a"}}, Labels: map[string]string{"team": "web"},
		Taints:   []provisioningv1.Taint{{Key: "k", Effect: "NoSchedule"}},
		Reserved: provisioningv1.ProvisionedResources{CPU: resource.MustParse("8"), Memory: resource.MustParse("32Gi")},
	}}
	for _, one := range edit {
		one(&node)
	}
	return node
}

// offered adds an offering.
func offered(instanceType, zone string) func(*provisioningv1.ProvisionedNode) {
	return func(n *provisioningv1.ProvisionedNode) {
		n.Spec.Offerings = append(n.Spec.Offerings, provisioningv1.NodeOffering{InstanceType: instanceType, Zone: zone})
	}
}

func launched(n *provisioningv1.ProvisionedNode) {
	n.Status.InstanceID, n.Status.InstanceType, n.Status.Zone = "i-1", "m5.large", "b"
	n.Status.Resources = &provisioningv1.ProvisionedResources{CPU: resource.MustParse("2"), Memory: resource.MustParse("8Gi")}
}

func ready(n *provisioningv1.ProvisionedNode) {
	n.Status.Conditions = []metav1.Condition{{Type: provisioningv1.ReadyCondition, Status: metav1.ConditionTrue}}
}

func started(n *provisioningv1.ProvisionedNode) { n.Status.ReadyTime = &metav1.Time{} }

func member(status corev1.ConditionStatus, edit ...func(*corev1.Node)) corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{corev1.LabelHostname: "node-1"}}, Spec: corev1.NodeSpec{ProviderID: "aws:///b/i-1"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	for _, one := range edit {
		one(&node)
	}
	return node
}

// TestNodes holds what a node counts as on its way from an object to a Node that takes pods.
func TestNodes(t *testing.T) {
	t.Parallel()
	agent := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "agent"}}
	agent.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	agentPod := pod("agent-1", on("node-1"), func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", UID: "agent", Controller: ptr.To(true)}}
	})
	for _, row := range []struct {
		reason  string
		cluster clusterstate.Cluster
		want    string
	}{
		{"before EC2 has chosen an instance it takes pods already", clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{provisioned("n")}},
			"n open team=web zone=a cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"which is what all offerings have in common, and has the room of the smallest", clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{
			provisioned("n", offered("m5.xlarge", "a"), offered("m5.large", "b")),
		}}, "n open team=web zone= cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"the capacity of an offering that is no longer known is unknown", clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{
			provisioned("n", offered("m1.gone", "a")),
		}}, "n closed team=web zone=a cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"an instance takes pods before its Node is there", clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched)}},
			"n open team=web zone=b cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"a Node that is registering has what it will have", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched)},
			Nodes: []corev1.Node{member(corev1.ConditionFalse, func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: clusterstate.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}}
			})},
		}, "node-1 open team=web zone=b cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"a daemon that runs counts once", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched)}, Nodes: []corev1.Node{member(corev1.ConditionFalse)}, Pods: []*corev1.Pod{agentPod},
		}, "node-1 open team=web zone=b cpu=1930m taints=[k:NoSchedule] pods=[agent-1]"},
		{"what was promised is there", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched)}, Pods: []*corev1.Pod{pod("p")}, Promised: map[types.UID]string{"p": "n"},
		}, "n open team=web zone=b cpu=1930m taints=[k:NoSchedule] pods=[agent p]"},
		{"a Node that was ready and is not takes none", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, ready)}, Nodes: []corev1.Node{member(corev1.ConditionUnknown)},
		}, "node-1 closed team= zone= cpu=0 taints=[] pods=[]"},
		{"nor does one that failed since", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, started)}, Nodes: []corev1.Node{member(corev1.ConditionUnknown)},
		}, "node-1 closed team= zone= cpu=0 taints=[] pods=[]"},
		{"a ready Node takes pods while it has startup taints", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched)},
			Nodes: []corev1.Node{member(corev1.ConditionTrue, func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "readiness.k8s.io/network", Effect: corev1.TaintEffectNoSchedule}}
			})},
		}, "node-1 open team=web zone=b cpu=1930m taints=[k:NoSchedule] pods=[agent]"},
		{"one that has started has the taints that it has", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, started)},
			Nodes: []corev1.Node{member(corev1.ConditionTrue, func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "readiness.k8s.io/network", Effect: corev1.TaintEffectNoSchedule}}
			})},
		}, "node-1 open team= zone= cpu=0 taints=[readiness.k8s.io/network:NoSchedule] pods=[]"},
		{"nor one that is ending", clusterstate.Cluster{
			Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", launched, func(n *provisioningv1.ProvisionedNode) { n.DeletionTimestamp = &metav1.Time{} })},
			Nodes:       []corev1.Node{member(corev1.ConditionTrue)},
		}, "node-1 closed team= zone= cpu=0 taints=[] pods=[]"},
		{"a Node that Slipway did not launch is taken as it is", clusterstate.Cluster{Nodes: []corev1.Node{member(corev1.ConditionTrue)}}, "node-1 open team= zone= cpu=0 taints=[] pods=[]"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.cluster.DaemonSets = []appsv1.DaemonSet{agent}
			problem := row.cluster.Problem(nil, types1())
			if len(problem.Nodes) != 1 {
				t.Fatalf("there are %d nodes", len(problem.Nodes))
			}
			if difference := cmp.Diff(row.want, described(&problem.Nodes[0])); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

// TestAwaitedNodesHaveExtraResources checks that a node on its way has what is declared of it, and
// the labels that are aliases.
func TestAwaitedNodesHaveExtraResources(t *testing.T) {
	t.Parallel()
	types := types1()
	for i := range types {
		types[i].Capacity[corev1.ResourceMemory] = resource.MustParse("8Gi")
	}
	cluster := clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{provisioned("n", func(n *provisioningv1.ProvisionedNode) {
		n.Spec.ExtraResources = provisioningv1.ExtraResources{"hugepages-2Mi": resource.MustParse("2Gi"), "example.com/fpga": resource.MustParse("1")}
		n.Spec.Labels[provisioningv1.LabelCapacityType] = "spot"
	})}}
	node := cluster.Problem(nil, types).Nodes[0]
	pages, devices := node.Allocatable["hugepages-2Mi"], node.Allocatable["example.com/fpga"]
	if memory := node.Allocatable.Memory(); memory.Value() != 6<<30 || pages.Value() != 2<<30 || devices.Value() != 1 {
		t.Errorf("it has %s of memory, %s of huge pages, %s devices", memory, pages.String(), devices.String())
	}
	for key, want := range map[string]string{provisioningv1.KarpenterLabelCapacityType: "spot", "beta.kubernetes.io/instance-type": "m5.large"} {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
}

// TestDevicesOfAwaitedNodes checks which devices a node on its way has for pods: none that the
// image of its default launch template has no driver for, and none that only some of its offerings
// have.
func TestDevicesOfAwaitedNodes(t *testing.T) {
	t.Parallel()
	const gpu = "nvidia.com/gpu"
	types := types1()
	types[0].Name, types[1].Name = "g4dn.xlarge", "m5.xlarge"
	types[0].Capacity[gpu] = resource.MustParse("1")
	of := func(generated bool, awaited []string, instanceTypes ...string) provisioningv1.ProvisionedNode {
		return provisioned("n", func(n *provisioningv1.ProvisionedNode) {
			n.Spec.Architecture, n.Spec.LaunchTemplate.Generated, n.Spec.AwaitedResources, n.Spec.Offerings = "x86_64", generated, awaited, nil
			for _, name := range instanceTypes {
				offered(name, "a")(n)
			}
		})
	}
	joining := of(true, nil, "g4dn.xlarge")
	launched(&joining)
	joining.Status.InstanceType = "g4dn.xlarge"
	for _, row := range []struct {
		reason string
		node   provisioningv1.ProvisionedNode
		member *corev1.Node
		want   int64
	}{
		{reason: "the standard image has no driver", node: of(true, nil, "g4dn.xlarge"), want: 0},
		{reason: "NVIDIA's has", node: of(true, []string{gpu}, "g4dn.xlarge"), want: 1},
		{reason: "an image of a user's may have", node: of(false, nil, "g4dn.xlarge"), want: 1},
		{reason: "EC2 may choose a type without the device", node: of(false, nil, "g4dn.xlarge", "m5.xlarge"), want: 0},
		{reason: "its Node joins without the device", node: joining, member: ptr.To(member(corev1.ConditionFalse)), want: 0},
		{reason: "its Node says that it has the device", node: joining, member: ptr.To(member(corev1.ConditionTrue, func(n *corev1.Node) {
			n.Status.Allocatable = corev1.ResourceList{gpu: resource.MustParse("1")}
		})), want: 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			cluster := clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{row.node}}
			if row.member != nil {
				cluster.Nodes = []corev1.Node{*row.member}
			}
			node := cluster.Problem(nil, types).Nodes[0]
			if devices := node.Allocatable[gpu]; devices.Value() != row.want || node.Allocatable.Cpu().IsZero() {
				t.Errorf("it has %s devices, and %s CPUs", devices.String(), node.Allocatable.Cpu())
			}
		})
	}
}

func described(node *packing.Node) string {
	door := "open"
	if node.Closed {
		door = "closed"
	}
	taints, pods := []string{}, []string{}
	for i := range node.Taints {
		taints = append(taints, node.Taints[i].ToString())
	}
	for _, p := range node.Pods {
		pods = append(pods, p.Name)
	}
	slices.Sort(pods)
	return fmt.Sprintf("%s %s team=%s zone=%s cpu=%s taints=%v pods=%v", node.Name, door, node.Labels["team"], node.Labels[corev1.LabelTopologyZone],
		node.Allocatable.Cpu(), taints, pods)
}

// TestUsed holds that a node counts for limits from before its launch until it is gone.
func TestUsed(t *testing.T) {
	t.Parallel()
	cluster := clusterstate.Cluster{Provisioned: []provisioningv1.ProvisionedNode{
		provisioned("awaited"), provisioned("launched", launched), provisioned("ending", launched, func(n *provisioningv1.ProvisionedNode) { n.DeletionTimestamp = &metav1.Time{} }),
		provisioned("other", func(n *provisioningv1.ProvisionedNode) { n.Spec.Provisioner = "other" }),
	}}
	used := cluster.Used("default")
	if used.CPU.String() != "12" || used.Memory.String() != "48Gi" || *used.Nodes != 3 {
		t.Errorf("used are %s CPUs, %s, %d nodes", used.CPU, used.Memory, *used.Nodes)
	}
}

// TestPromises holds that a pod with a promised node is not packed again, and is when the node goes.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		nodes  []provisioningv1.ProvisionedNode
		packed int
	}{
		{"the node is on its way", []provisioningv1.ProvisionedNode{provisioned("n")}, 0},
		{"it has failed since it started", []provisioningv1.ProvisionedNode{provisioned("n", started, func(n *provisioningv1.ProvisionedNode) {
			n.Status.Conditions = []metav1.Condition{{Type: provisioningv1.NodeReadyCondition, Status: metav1.ConditionFalse}}
		})}, 1},
		{"it is ending", []provisioningv1.ProvisionedNode{provisioned("n", func(n *provisioningv1.ProvisionedNode) { n.DeletionTimestamp = &metav1.Time{} })}, 1},
		{"it is gone", nil, 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			cluster := clusterstate.Cluster{Provisioned: row.nodes, Pods: []*corev1.Pod{pod("p")}, Promised: map[types.UID]string{"p": "n"}}
			if problem := cluster.Problem([]constraints.Provisioner{{Name: "default"}}, types1()); len(problem.Pods) != row.packed {
				t.Errorf("%d pods are packed", len(problem.Pods))
			}
		})
	}
}

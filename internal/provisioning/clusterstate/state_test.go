package clusterstate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
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

func claims(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
}

// TestAttachedVolumes holds how many volumes pods have nodes attach, and how many nodes can attach
// in addition to the volumes of their pods: as their drivers report, and else by their type.
func TestAttachedVolumes(t *testing.T) {
	t.Parallel()
	claim := func(name, bound, class string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: bound, StorageClassName: &class},
		}
	}
	volume := func(name string, source corev1.PersistentVolumeSource) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	}
	class := func(name, provisioner string) storagev1.StorageClass {
		return storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}
	}
	node := func(name string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}}}
	}
	says := func(name string, drivers ...storagev1.CSINodeDriver) storagev1.CSINode {
		return storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: drivers}}
	}
	attachment := func(node, volume string) storagev1.VolumeAttachment {
		return storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{
			Attacher: packing.EBSDriver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		}}
	}
	cluster := clusterstate.Cluster{
		// pv-1 is a pod's too, and counts once; pv-4 belongs to no pod, and counts; pv-5 is gone.
		Attachments: []storagev1.VolumeAttachment{attachment("says", "pv-1"), attachment("says", "pv-4"), attachment("says-nothing", "pv-5")},
		Claims: []corev1.PersistentVolumeClaim{
			claim("one", "pv-1", ""), claim("same", "pv-1", ""), claim("old", "pv-2", ""), claim("shared", "pv-3", ""), claim("later", "", "ebs"), claim("later-old", "", "old"),
		},
		Volumes: []corev1.PersistentVolume{
			volume("pv-1", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: packing.EBSDriver, VolumeHandle: "vol-1"}}),
			volume("pv-2", corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-2"}}),
			volume("pv-3", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "efs.csi.aws.com", VolumeHandle: "fs-1"}}),
			volume("pv-4", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: packing.EBSDriver, VolumeHandle: "vol-4"}}),
		},
		Classes: []storagev1.StorageClass{class("ebs", packing.EBSDriver), class("old", "kubernetes.io/aws-ebs")},
		Nodes:   []corev1.Node{node("says"), node("says-nothing"), node("unbounded"), node("full")},
		CSINodes: []storagev1.CSINode{
			says("says", storagev1.CSINodeDriver{Name: packing.EBSDriver, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](10)}}),
			says("unbounded", storagev1.CSINodeDriver{Name: packing.EBSDriver}),
			says("full", storagev1.CSINodeDriver{Name: packing.EBSDriver, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](1)}}),
		},
		Pods: []*corev1.Pod{
			pod("waits", claims("one", "old", "shared", "later", "later-old")),
			// one and same are one volume
			pod("a", on("says"), claims("one", "old")), pod("b", on("says"), claims("same", "shared")),
			pod("c", on("says-nothing"), claims("one")), pod("d", on("full"), claims("one", "old")),
		},
	}
	types := types1()
	types[0].Name, types[0].Capacity = "m5.large", corev1.ResourceList{packing.AttachableVolumes(packing.EBSDriver): resource.MustParse("24")}
	problem := cluster.Problem(nil, types)
	if diff := cmp.Diff(map[string]int64{packing.EBSDriver: 4, "efs.csi.aws.com": 1}, problem.Pods[0].Volumes); diff != "" {
		t.Errorf("the pod that waits attaches (-want +got):\n%s", diff)
	}
	left := map[string]int64{}
	for _, node := range problem.Nodes {
		if quantity, bounded := node.Allocatable[packing.AttachableVolumes(packing.EBSDriver)]; bounded {
			left[node.Name] = quantity.Value()
		}
	}
	if diff := cmp.Diff(map[string]int64{"says": 7, "says-nothing": 23, "full": 0}, left); diff != "" {
		t.Errorf("nodes can attach (-want +got):\n%s", diff)
	}
}

// TestVolumeZones holds where a pod can be for its volumes' sake.
func TestVolumeZones(t *testing.T) {
	t.Parallel()
	zone := func(key string, zones ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: zones}}}
	}
	volume := func(name string, term corev1.NodeSelectorTerm) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}},
		}}
	}
	claim := func(name, bound, class string) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: bound}}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		return c
	}
	cluster := clusterstate.Cluster{
		Claims: []corev1.PersistentVolumeClaim{
			claim("in-a", "pv-a", ""), claim("in-a-or-b", "pv-ab", ""), claim("later", "", "wait"), claim("some-zones", "", "zones"), claim("at-once", "", "immediate"),
		},
		Volumes: []corev1.PersistentVolume{volume("pv-a", zone("topology.ebs.csi.aws.com/zone", "a")), volume("pv-ab", zone(corev1.LabelTopologyZone, "a", "b"))},
		Classes: []storagev1.StorageClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)},
			{ObjectMeta: metav1.ObjectMeta{Name: "zones"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"b", "c"}}}},
			}},
			{ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate)},
		},
	}
	for _, row := range []struct {
		reason string
		claims []string
		want   string
	}{
		{"no volume", nil, "[]"},
		{"bound, by the label of the driver", []string{"in-a"}, "[a]"},
		{"bound to either of two", []string{"in-a-or-b"}, "[a b]"},
		{"both", []string{"in-a-or-b", "in-a"}, "[a]"},
		{"made where the pod comes to be", []string{"later"}, "[]"},
		{"in some zones", []string{"some-zones"}, "[b c]"},
		{"no zone has all", []string{"in-a", "some-zones"}, "[]!"},
		{"is bound before the pod is scheduled", []string{"at-once"}, "not packed"},
		{"there is no claim", []string{"missing"}, "not packed"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			one := cluster
			one.Pods = []*corev1.Pod{pod("p", claims(row.claims...))}
			got := "not packed"
			if packed := one.Problem(nil, types1()).Pods; len(packed) > 0 {
				got = fmt.Sprint(packed[0].Zones)
				if packed[0].Zones != nil && len(packed[0].Zones) == 0 {
					got += "!"
				}
			}
			if got != row.want {
				t.Errorf("zones are %s, want %s", got, row.want)
			}
		})
	}
}

// TestPodsOfLocalVolumesWaitForNoNode holds that a pod whose bound volume is part of one Node waits
// for no other node, by whatever label the volume names its Node, and that a volume of a group of
// nodes is no such volume.
func TestPodsOfLocalVolumesWaitForNoNode(t *testing.T) {
	t.Parallel()
	node := func(name, key, value string) corev1.Node {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{key: value, corev1.LabelHostname: name + ".internal"}}}
		node.Spec.ProviderID = "aws:///us-east-1a/i-" + name
		return node
	}
	const driver = "disks.example.com/place"
	for _, row := range []struct {
		reason string
		// keys are the keys in the terms of the volume's node affinity.
		keys  []string
		nodes []corev1.Node
		label string // of the Provisioner
		tied  bool
		node  string
	}{
		{reason: "a local disk", keys: []string{corev1.LabelHostname}, tied: true},
		{reason: "a volume of a zone", keys: []string{corev1.LabelTopologyZone}},
		{reason: "a volume of TopoLVM", keys: []string{"topology.topolvm.io/node"}, tied: true},
		{reason: "one of OpenEBS", keys: []string{"openebs.io/nodename"}, tied: true},
		{reason: "one whose Node is there", keys: []string{"openebs.io/nodename"}, nodes: []corev1.Node{node("a", "openebs.io/nodename", "own")}, tied: true, node: "a"},
		{reason: "a driver names Nodes by their names", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "a"), node("b", driver, "b")}, tied: true},
		{reason: "by their host names", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "a.internal")}, tied: true},
		{reason: "by their instances", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "i-a")}, tied: true},
		{reason: "a label of which nothing is known", keys: []string{driver}},
		{reason: "a label of groups, of which each has one Node", keys: []string{"example.com/rack"}, nodes: []corev1.Node{node("a", "example.com/rack", "1"), node("b", "example.com/rack", "2")}},
		{reason: "a label that Nodes share, whatever its key", keys: []string{"example.com/node"}, nodes: []corev1.Node{node("a", "example.com/node", "1"), node("b", "example.com/node", "1")}},
		{reason: "a label that a Provisioner gives", keys: []string{"example.com/node"}, label: "example.com/node"},
		{reason: "a volume that a zone can have too", keys: []string{corev1.LabelHostname, corev1.LabelTopologyZone}},
		{reason: "a disk of two Nodes", keys: []string{corev1.LabelHostname, "openebs.io/nodename"}, tied: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			waiting := pod("p", func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			})
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
			claim.Spec.VolumeName = "disk"
			volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
			required := &corev1.NodeSelector{}
			for _, key := range row.keys {
				required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"own"}}},
				})
			}
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required}
			cluster := clusterstate.Cluster{Pods: []*corev1.Pod{waiting}, Claims: []corev1.PersistentVolumeClaim{claim}, Volumes: []corev1.PersistentVolume{volume}, Nodes: row.nodes}
			if row.label != "" {
				cluster.Provisioners = []provisioningv1.Provisioner{{Spec: provisioningv1.ProvisionerSpec{Labels: map[string]string{row.label: "own"}}}}
			}
			want := 1
			if row.tied {
				want = 0
			}
			if got := len(cluster.Waiting()); got != want {
				t.Errorf("%d pods wait for a node, want %d", got, want)
			}
			if got := len(cluster.Problem(nil, types1()).Pods); got != want {
				t.Errorf("%d pods are packed, want %d", got, want)
			}
			tied := cluster.Tied()
			if len(tied) != 1-want || row.tied && tied[0].Node != row.node {
				t.Errorf("the pods that are tied to a Node are %+v", tied)
			}
		})
	}
}

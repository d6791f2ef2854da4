package clusterstate_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// asks has a pod request CPUs.
func asks(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	}
}

func running(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = nil
}

// TestOverfull holds when the pods that were promised a place on a node are placed anew, because the
// scheduler has put other pods there: by resources, by the number of pods, and always where pods
// keep others away.
func TestOverfull(t *testing.T) {
	t.Parallel()
	apart := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}}
	}
	preferring := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}}}}
	}
	spread := func(how corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: how}}
		}
	}
	port := func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}}}
	}
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: ptr.To(true)}}
	}
	here := []func(*corev1.Pod){running, on("node-1")}
	with := func(edits ...func(*corev1.Pod)) []func(*corev1.Pod) { return append(edits, here...) }
	for _, row := range []struct {
		reason    string
		promised  []func(*corev1.Pod)
		bound     [][]func(*corev1.Pod)
		pods      string
		elsewhere bool
		want      bool
	}{
		{reason: "nothing else is there", promised: []func(*corev1.Pod){asks("2")}},
		{reason: "there is room for both", promised: []func(*corev1.Pod){asks("1")}, bound: [][]func(*corev1.Pod){with(asks("1"))}},
		{reason: "there is too little CPU", promised: []func(*corev1.Pod){asks("1")}, bound: [][]func(*corev1.Pod){with(asks("1001m"))}, want: true},
		{reason: "there is room in all but the number of pods", promised: []func(*corev1.Pod){asks("100m")}, bound: [][]func(*corev1.Pod){with(asks("100m"))}, pods: "1", want: true},
		{reason: "only pods of DaemonSets are there, which count in every node", promised: []func(*corev1.Pod){asks("2")}, bound: [][]func(*corev1.Pod){with(asks("1"), daemon)}},
		{reason: "a DaemonSet's pod counts beside another", promised: []func(*corev1.Pod){asks("1")}, bound: [][]func(*corev1.Pod){with(asks("600m"), daemon), with(asks("500m"))}, want: true},
		{reason: "the promised pod keeps others away", promised: []func(*corev1.Pod){apart}, bound: [][]func(*corev1.Pod){with()}, want: true},
		{reason: "the other pod keeps others away", bound: [][]func(*corev1.Pod){with(apart)}, want: true},
		{reason: "the other pod only prefers to", bound: [][]func(*corev1.Pod){with(preferring)}},
		{reason: "the promised pod must be spread", promised: []func(*corev1.Pod){spread(corev1.DoNotSchedule)}, bound: [][]func(*corev1.Pod){with()}, want: true},
		{reason: "the promised pod may be spread", promised: []func(*corev1.Pod){spread(corev1.ScheduleAnyway)}, bound: [][]func(*corev1.Pod){with()}},
		{reason: "the other pod has a port of the node", bound: [][]func(*corev1.Pod){with(port)}, want: true},
		{reason: "the promise is of another node", promised: []func(*corev1.Pod){asks("2")}, bound: [][]func(*corev1.Pod){with(asks("2"))}, elsewhere: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			place := "provisioned"
			if row.elsewhere {
				place = "another"
			}
			node := member(corev1.ConditionTrue, func(n *corev1.Node) {
				n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("10")}
				if row.pods != "" {
					n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(row.pods)
				}
			})
			cluster := clusterstate.Cluster{
				Nodes: []corev1.Node{node}, Provisioned: []provisioningv1.ProvisionedNode{provisioned("provisioned", launched, ready, started), provisioned("another")},
				Pods: []*corev1.Pod{pod("promised", row.promised...)}, Promised: map[types.UID]string{"promised": place},
			}
			for i, edits := range row.bound {
				cluster.Pods = append(cluster.Pods, pod("bound-"+string(rune('a'+i)), edits...))
			}
			overfull := cluster.Overfull()
			if overfull["provisioned"] != row.want || overfull["another"] {
				t.Errorf("overfull are %v", overfull)
			}
		})
	}
	if overfull := (&clusterstate.Cluster{}).Overfull(); len(overfull) > 0 {
		t.Errorf("without promises, overfull are %v", overfull)
	}
}

// TestTiedPodsAreExplained holds that the message about a pod that can run on one Node alone says
// what ties it there and what its user can do.
func TestTiedPodsAreExplained(t *testing.T) {
	t.Parallel()
	tied := clusterstate.Tied{Claim: "data", Volume: "pv-1", Label: "kubernetes.io/hostname=ip-10-0-0-1"}
	gone := tied.Explain()
	tied.Node = "ip-10-0-0-1"
	there := tied.Explain()
	for _, row := range []struct{ reason, message, words string }{
		{"the Node is gone", gone, "Delete PersistentVolumeClaim data and the pod to run the pod elsewhere without its data"},
		{"the Node is gone", gone, "volume pv-1 was local to a Node that no longer exists (kubernetes.io/hostname=ip-10-0-0-1)"},
		{"the Node is there", there, "No node is launched for the pod, because volume pv-1 of PersistentVolumeClaim data is local to Node ip-10-0-0-1"},
		{"the Node is there", there, "See the pod's condition PodScheduled for why the pod is not scheduled there"},
	} {
		if !strings.Contains(row.message, row.words) {
			t.Errorf("%s: it does not say %q: %s", row.reason, row.words, row.message)
		}
	}
}

// TestClaims holds which pods have claims, ephemeral ones included: their nodes are not emptied as
// easily.
func TestClaims(t *testing.T) {
	t.Parallel()
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		}
	}
	for _, row := range []struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		{"no volume", pod("p"), false},
		{"a directory of the node", pod("p", volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})), false},
		{"a claim", pod("p", claims("data")), true},
		{"a claim that is made for the pod", pod("p", volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}})), true},
		{"a claim beside a directory", pod("p", volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), claims("data")), true},
	} {
		if got := clusterstate.Claims(*row.pod); got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
}

package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// group is pods that ask for the same.
type group struct {
	name  string
	pods  int
	edits []func(*corev1.Pod)
}

// population returns pods of every sort that the scheduler distinguishes.
func population(claimInZoneB string) []group {
	either := requiredNodes(in(provisioningv1.LabelCapacityType, "spot", "on-demand"))
	return []group{
		{"plain", 6, nil},
		{"large", 2, edits(asking("6", "20Gi"))},
		{"small", 12, edits(asking("50m", "64Mi"))},
		{"with-init", 1, edits(asking("100m", "100Mi"), initContainer("3", "1Gi"))},
		{"in-zone", 2, edits(selecting(corev1.LabelTopologyZone, "us-east-1c"))},
		{"in-either-zone", 2, edits(requiredNodes(in(corev1.LabelTopologyZone, "us-east-1a"), in(corev1.LabelTopologyZone, "us-east-1c")))},
		{"not-in-zone", 2, edits(requiredNodes(expression(corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, "us-east-1a")))},
		{"prefers-what-there-is-not", 2, edits(preferredNodes(in("disk", "fast")))},
		{"prefers-zone", 2, edits(preferredNodes(in(corev1.LabelTopologyZone, "us-east-1b")))},
		{"arm64", 3, edits(selecting(corev1.LabelArchStable, "arm64"))},
		{"dedicated", 2, edits(selecting(provisioningv1.LabelProvisionerName, "tainted"), tolerating("dedicated"))},
		{"tolerant", 2, edits(tolerating("dedicated"))},
		{"spot", 2, edits(selecting(provisioningv1.LabelCapacityType, "spot"))},
		{"spread-over-zones", 5, edits(spreadOver(corev1.LabelTopologyZone, "spread-over-zones"))},
		{"spread-over-nodes", 3, edits(spreadOver(corev1.LabelHostname, "spread-over-nodes"))},
		{"spread-over-capacity-types", 4, edits(either, spreadOver(provisioningv1.LabelCapacityType, "spread-over-capacity-types"))},
		{"spread-over-three-zones", 3, edits(spreadOver(corev1.LabelTopologyZone, "spread-over-three-zones"), func(pod *corev1.Pod) {
			pod.Spec.TopologySpreadConstraints[0].MinDomains = ptr.To[int32](3)
			pod.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicyHonor)
		})},
		{"apart-on-nodes", 3, edits(apartFrom(corev1.LabelHostname, "apart-on-nodes"))},
		{"apart-in-zones", 2, edits(apartFrom(corev1.LabelTopologyZone, "apart-in-zones"))},
		{"database", 1, edits(selecting(corev1.LabelTopologyZone, "us-east-1b"))},
		{"with-database", 3, edits(togetherWith(corev1.LabelTopologyZone, "database"))},
		{"together", 3, edits(togetherWith(corev1.LabelHostname, "together"), selecting(provisioningv1.LabelProvisionerName, "alone"), tolerating("alone"))},
		{"with-agent", 1, edits(togetherWith(corev1.LabelHostname, "agent"))},
		{"without-arm-agent", 1, edits(apartFrom(corev1.LabelHostname, "arm-agent"))},
		{"on-port", 2, edits(onPort(8080))},
		{"on-port-of-arm-agent", 1, edits(onPort(9100), selecting(corev1.LabelArchStable, "amd64"))},
		{"with-volume", 2, edits(claiming(claimInZoneB))},
	}
}

// populate creates what the population needs: provisioners, daemons, and a volume. Pods that have
// to share one node have a provisioner of their own: the scheduler fills a node with whatever fits,
// and what it puts there first may leave too little room for the last of them.
func (w *world) populate() {
	w.Helper()
	if err := w.BindVolume(w.Namespace, "data", "ebs.csi.aws.com", "us-east-1b"); err != nil {
		w.Fatal(err)
	}
	w.daemonSet("agent", asking("100m", "100Mi"), tolerating(""))
	w.daemonSet("arm-agent", asking("200m", "100Mi"), selecting(corev1.LabelArchStable, "arm64"), onPort(9100))
	w.provision("default")
	w.provision("tainted", "taints: [{key: dedicated, value: batch, effect: NoSchedule}]", "labels: {node.k8s.aws/capacity-type: spot}")
	w.provision("alone", "taints: [{key: alone, effect: NoSchedule}]")
}

// TestPopulation holds that pods of every sort at once are all bound by the real scheduler to nodes
// that were launched for them.
func TestPopulation(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.populate()
	var pods []*corev1.Pod
	for _, group := range population("data") {
		for i := range group.pods {
			pods = append(pods, w.member(group, i))
		}
	}
	w.unschedulable(pods)
	w.start()
	w.allBound(pods)
}

// TestPopulationInWaves holds the same for pods that come while nodes are on their way, except for
// pods that have to share one node.
func TestPopulationInWaves(t *testing.T) {
	const waves = 3
	w := newWorld(t)
	w.populate()
	w.stop()
	var pods []*corev1.Pod
	for wave := range waves {
		for _, group := range population("data") {
			for i := range group.pods {
				if group.name == "together" && wave == 0 || group.name != "together" && i%waves == wave {
					pods = append(pods, w.member(group, i))
				}
			}
		}
		if wave == 0 {
			w.unschedulable(pods) // pods that have to share a node are seen together
			w.start()
		}
		w.Eventually("some node takes pods", func() error {
			if slices.ContainsFunc(w.provisioned(), func(node provisioningv1.ProvisionedNode) bool { return isTrue(&node, provisioningv1.ReadyCondition) }) {
				return nil
			}
			return fmt.Errorf("none of %d", len(w.provisioned()))
		})
	}
	w.allBound(pods)
}

// member creates a pod of a group.
func (w *world) member(of group, i int) *corev1.Pod {
	w.Helper()
	return w.pod(fmt.Sprintf("%s-%d", of.name, i), append(edits(labeled("app", of.name)), of.edits...)...)
}

// allBound waits until the scheduler has put every pod on a node.
func (w *world) allBound(pods []*corev1.Pod) {
	w.Helper()
	w.Eventually("every pod is on a node", func() error {
		var list corev1.PodList
		if err := w.Client.List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		bound := map[string]string{}
		var waiting []string
		for i := range list.Items {
			pod := &list.Items[i]
			if bound[pod.Name] = pod.Spec.NodeName; pod.Spec.NodeName == "" {
				waiting = append(waiting, fmt.Sprintf("%s %+v", pod.Name, pod.Status.Conditions))
			}
		}
		for _, pod := range pods {
			pod.Spec.NodeName = bound[pod.Name]
			if pod.Spec.NodeName == "" {
				return fmt.Errorf("there are %d nodes, and %d pods wait: %s", len(w.Nodes()), len(waiting), strings.Join(waiting, "\n"))
			}
		}
		return nil
	})
}

// daemonSet creates a DaemonSet, which goes before its pods do.
func (w *world) daemonSet(name string, edit ...func(*corev1.Pod)) {
	w.Helper()
	pod := w.podOf(name, append(edits(labeled("app", name)), edit...)...)
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
	if err := w.Client.Create(w.Context(), set); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(w.Context()), set); err != nil {
			w.Error(err)
		}
	})
}

func edits(of ...func(*corev1.Pod)) []func(*corev1.Pod) { return of }

func labeled(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{key: value} }
}

// tolerating has the pod tolerate a taint, or all of them.
func tolerating(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func expression(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func in(key string, values ...string) corev1.NodeSelectorTerm {
	return expression(key, corev1.NodeSelectorOpIn, values...)
}

func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

func requiredNodes(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		affinityOf(pod).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
}

func preferredNodes(term corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		affinityOf(pod).NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term}}}
	}
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func spreadOver(topology, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: topology, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app(name)}}
	}
}

func togetherWith(topology, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		affinityOf(pod).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: app(name)}}}
	}
}

func apartFrom(topology, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: app(name)}},
		}
	}
}

func onPort(port int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
	}
}

func claiming(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

func initContainer(cpu, memory string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}}}
	}
}

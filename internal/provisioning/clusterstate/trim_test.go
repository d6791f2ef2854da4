package clusterstate_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// fill gives everything in a value that is not set something, as far as a type can hold it.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Field(i); field.CanSet() && field.IsZero() {
				fill(field)
			}
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(key)
		fill(element)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, element)
	case reflect.String:
		value.SetString("filled")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(7)
	default:
	}
}

// full is the pod with everything else that a pod can have, and that says nothing about where it may run.
func full(from *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{}
	fill(reflect.ValueOf(pod).Elem())
	pod.Namespace, pod.Name, pod.UID, pod.Labels, pod.OwnerReferences, pod.DeletionTimestamp = from.Namespace, from.Name, from.UID, from.Labels, from.OwnerReferences, from.DeletionTimestamp
	spec := &pod.Spec
	spec.NodeName, spec.NodeSelector, spec.Affinity, spec.Tolerations = from.Spec.NodeName, from.Spec.NodeSelector, from.Spec.Affinity, from.Spec.Tolerations
	spec.TopologySpreadConstraints, spec.Priority, spec.Overhead, spec.Resources = from.Spec.TopologySpreadConstraints, from.Spec.Priority, from.Spec.Overhead, from.Spec.Resources
	spec.OS, spec.ResourceClaims = from.Spec.OS, from.Spec.ResourceClaims
	spec.Containers, spec.InitContainers = fullContainers(from.Spec.Containers), fullContainers(from.Spec.InitContainers)
	spec.Volumes[0].PersistentVolumeClaim, spec.Volumes[0].Ephemeral = nil, nil
	spec.Volumes = append(spec.Volumes, from.Spec.Volumes...)
	pod.Status.Phase, pod.Status.NominatedNodeName = from.Status.Phase, from.Status.NominatedNodeName
	pod.Status.Conditions = append(pod.Status.Conditions, from.Status.Conditions...)
	return pod
}

func fullContainers(from []corev1.Container) []corev1.Container {
	var all []corev1.Container
	for i := range from {
		container := corev1.Container{}
		fill(reflect.ValueOf(&container).Elem())
		container.Resources.Requests, container.RestartPolicy = from[i].Resources.Requests, from[i].RestartPolicy
		container.Ports[0].HostPort = 0
		container.Ports = append(container.Ports, from[i].Ports...)
		all = append(all, container)
	}
	return all
}

func trimmed(t rapid.TB, trimmer *clusterstate.Trimmer, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	object, err := trimmer.Pod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*corev1.Pod)
}

// TestTrimmedPodsArePackedAlike holds that nothing is lost of pods that packing reads, whatever pods share.
func TestTrimmedPodsArePackedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		trimmer := &clusterstate.Trimmer{}
		problem := packtest.Problems(rt)
		if rapid.Bool().Draw(rt, "requests of whole pods") {
			problem.Pods[0].Spec.Resources = &corev1.ResourceRequirements{Requests: packtest.Amounts("cpu", "1700m"), Limits: packtest.Amounts("cpu", "2")}
		}
		for i := range problem.Pods {
			if pod := problem.Pods[i].Pod; rapid.IntRange(0, 4).Draw(rt, "sidecar") == 0 {
				sidecar := corev1.Container{RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: packtest.Amounts("cpu", "300m")}}
				sidecar.Ports = []corev1.ContainerPort{{HostPort: 80, HostIP: fmt.Sprintf("10.0.0.%d", i%3), Protocol: corev1.ProtocolTCP}}
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecar)
				pod.Spec.Overhead, pod.Spec.Priority = packtest.Amounts("cpu", "50m"), ptr.To(int32(i%3))
			}
			if rapid.IntRange(0, 9).Draw(rt, "claim") == 0 {
				problem.Pods[i].Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("first")}, {Name: "nic"}}
			}
			if rapid.IntRange(0, 9).Draw(rt, "for Windows") == 0 {
				problem.Pods[i].Spec.OS = &corev1.PodOS{Name: corev1.Windows}
			}
			problem.Pods[i].Pod = full(problem.Pods[i].Pod)
		}
		for i := range problem.Nodes {
			for j, pod := range problem.Nodes[i].Pods {
				problem.Nodes[i].Pods[j] = full(pod)
			}
		}
		whole := packtest.Outcome(packing.Pack(problem))
		for i := range problem.Pods {
			problem.Pods[i].Pod = trimmed(rt, trimmer, problem.Pods[i].Pod)
		}
		for i := range problem.Nodes {
			for j, pod := range problem.Nodes[i].Pods {
				problem.Nodes[i].Pods[j] = trimmed(rt, trimmer, pod)
			}
		}
		if diff := cmp.Diff(whole, packtest.Outcome(packing.Pack(problem))); diff != "" {
			rt.Fatalf("trimmed pods are packed otherwise:\n%s", diff)
		}
	})
}

// TestTrimmedPods holds that what controllers see of a trimmed pod is what they see of the whole,
// that events can name it, and that trimming again takes nothing more.
func TestTrimmedPods(t *testing.T) {
	t.Parallel()
	trimmer := &clusterstate.Trimmer{}
	static := func(p *corev1.Pod) {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "kubelet", "other": "annotation"}
	}
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
	}{
		{"it waits", func(*corev1.Pod) {}},
		{"it runs", on("n")},
		{"others are evicted for it", func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }},
		{"it is going", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }},
		{"it has ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }},
		{"it is of a set", ofSet},
		{"it is a daemon's", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other"}, {APIVersion: "apps/v1", Kind: "DaemonSet", Controller: ptr.To(true)}}
		}},
		{"it is the kubelet's own", static},
		{"it is not to be evicted", func(p *corev1.Pod) { p.Labels = map[string]string{"cluster.x-k8s.io/drain": "skip"} }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			bare := pod("p", row.edit)
			whole := full(bare)
			if bare.Annotations != nil {
				whole.Annotations[corev1.MirrorPodAnnotationKey] = "kubelet"
			}
			seen := func(p *corev1.Pod) string {
				_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
				return fmt.Sprintln(p.Namespace, p.Name, p.UID, p.ResourceVersion, p.Spec.NodeName, p.Status.Phase, clusterstate.Waits(p), new(clusterstate.Cluster).Moves(p), drain.Leaves(p), static)
			}
			once := trimmed(t, trimmer, whole)
			if diff := cmp.Diff(seen(whole), seen(once)); diff != "" {
				t.Errorf("trimmed, it is another:\n%s", diff)
			}
			if diff := cmp.Diff(once, trimmed(t, trimmer, once)); diff != "" {
				t.Errorf("trimmed twice, it is another:\n%s", diff)
			}
			if len(once.ManagedFields) > 0 || len(once.Spec.Volumes) > 0 || once.Status.PodIP != "" || once.Annotations["filled"] != "" {
				t.Errorf("it keeps fields that are never read: %v", once)
			}
		})
	}
}

// TestTrimmedNodes holds that a cluster of trimmed Nodes is the same problem, and that fields that
// are not read are gone.
func TestTrimmedNodes(t *testing.T) {
	t.Parallel()
	node := member(corev1.ConditionTrue)
	whole := node.DeepCopy()
	fill(reflect.ValueOf(whole).Elem())
	whole.DeletionTimestamp, whole.Spec.Unschedulable = nil, false
	whole.Status.Conditions = append(whole.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue})
	object, err := clusterstate.TrimNode(whole)
	if err != nil {
		t.Fatal(err)
	}
	less := object.(*corev1.Node)
	problem := func(node *corev1.Node) *packing.Problem {
		cluster := clusterstate.Cluster{Nodes: []corev1.Node{*node}}
		return cluster.Problem(nil, types1())
	}
	if diff := cmp.Diff(problem(whole), problem(less)); diff != "" {
		t.Errorf("trimmed, it is another:\n%s", diff)
	}
	if less.Spec.ProviderID != whole.Spec.ProviderID || less.UID != whole.UID || less.ResourceVersion != whole.ResourceVersion || !clusterstate.Ready(less) {
		t.Errorf("it lost what it is known by: %v", less)
	}
	if len(less.ManagedFields)+len(less.Annotations)+len(less.Status.Images) > 0 {
		t.Errorf("it keeps fields that are never read: %v", less)
	}
}

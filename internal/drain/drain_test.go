package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	nodeName   = "ip-10-0-0-1"
	providerID = "aws:///us-east-1a/i-1"
)

func node(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{NodeName: nodeName},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, edit := range change {
		edit(made)
	}
	return made
}

func static(pod *corev1.Pod) {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
}

func owned(kind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", Controller: ptr.To(true)}}
	}
}

func labelled(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{clusterv1.PodDrainLabel: value} }
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func systemPod(pod *corev1.Pod) { pod.Spec.Priority = ptr.To[int32](systemCritical) }

func endingPod(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)}
	pod.Finalizers = []string{"test/keep"} // the fake API server takes no ending object without one
}

// TestPlan has a row for every kind of pod.
func TestPlan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason                           string
		node                             corev1.ConditionStatus
		pods                             []*corev1.Pod
		evict, later, ending, completing []string
	}{
		{reason: "no pods"},
		{reason: "a plain pod, though no controller recreates it", pods: []*corev1.Pod{pod("a")}, evict: []string{"a"}},
		{reason: "a Deployment's", pods: []*corev1.Pod{pod("a", owned("ReplicaSet"))}, evict: []string{"a"}},
		{reason: "a pod that has not started", pods: []*corev1.Pod{pod("a", phase(corev1.PodPending))}, evict: []string{"a"}},
		{reason: "a DaemonSet's stays", pods: []*corev1.Pod{pod("a", owned("DaemonSet"))}},
		{reason: "a static pod stays", pods: []*corev1.Pod{pod("a", static)}},
		{reason: "finished pods stay", pods: []*corev1.Pod{pod("a", phase(corev1.PodSucceeded)), pod("b", phase(corev1.PodFailed))}},
		{reason: "a pod that is to be skipped stays", pods: []*corev1.Pod{pod("a", labelled("skip"))}},
		{reason: "a pod that is to complete is waited for", pods: []*corev1.Pod{pod("a", labelled("wait-completed"))}, completing: []string{"a"}},
		{reason: "a label that says nothing known", pods: []*corev1.Pod{pod("a", labelled("x"))}, evict: []string{"a"}},
		{reason: "a pod on its way out is waited for", pods: []*corev1.Pod{pod("a", endingPod)}, ending: []string{"a"}},
		{reason: "a node that gives no sign confirms no end", node: corev1.ConditionUnknown, pods: []*corev1.Pod{pod("a", endingPod), pod("b")}, evict: []string{"b"}},
		{reason: "a node that is not ready does", node: corev1.ConditionFalse, pods: []*corev1.Pod{pod("a", endingPod)}, ending: []string{"a"}},
		{reason: "system pods wait for the others", pods: []*corev1.Pod{pod("dns", systemPod), pod("b"), pod("a")}, evict: []string{"a", "b"}, later: []string{"dns"}},
		{reason: "also while those end", pods: []*corev1.Pod{pod("dns", systemPod), pod("a", endingPod)}, ending: []string{"a"}, later: []string{"dns"}},
		{reason: "and while they complete", pods: []*corev1.Pod{pod("dns", systemPod), pod("a", labelled("wait-completed"))}, completing: []string{"a"}, later: []string{"dns"}},
		{reason: "then they go", pods: []*corev1.Pod{pod("dns", systemPod), pod("a", owned("DaemonSet"))}, evict: []string{"dns"}},
		{reason: "and do not wait for one another", pods: []*corev1.Pod{pod("dns", systemPod), pod("csi", systemPod, endingPod)}, evict: []string{"dns"}, ending: []string{"csi"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			made := planFor(node(row.node), values(row.pods), Terms{})
			for what, lists := range map[string][2][]string{
				"evicted": {names(made.evict), row.evict}, "for later": {names(made.later), row.later},
				"ending": {names(made.ending), row.ending}, "completing": {names(made.completing), row.completing},
			} {
				if !slices.Equal(lists[0], lists[1]) {
					t.Errorf("%s: %q, want %q", what, lists[0], lists[1])
				}
			}
		})
	}
}

// TestPlanMakesProgress holds that a plan that is not empty has something to do or to wait for that
// ends without us, whatever the pods are.
func TestPlanMakesProgress(t *testing.T) {
	t.Parallel()
	changes := []func(*corev1.Pod){static, owned("DaemonSet"), labelled("skip"), labelled("wait-completed"), systemPod, endingPod, phase(corev1.PodFailed)}
	rapid.Check(t, func(t *rapid.T) {
		var pods []corev1.Pod
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			pods = append(pods, *pod(fmt.Sprint(i), rapid.SliceOfN(rapid.SampledFrom(changes), 0, 3).Draw(t, "kinds")...))
		}
		made := planFor(node(rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "ready")), pods, Terms{})
		if !made.empty() && len(made.evict)+len(made.ending)+len(made.completing) == 0 {
			t.Fatalf("pods wait for nothing: %+v", made)
		}
		seen := map[string]bool{}
		for _, list := range [][]*corev1.Pod{made.evict, made.later, made.ending, made.completing} {
			for _, name := range names(list) {
				if seen[name] {
					t.Fatalf("pod %s has two fates", name)
				}
				seen[name] = true
			}
		}
	})
}

func values(pods []*corev1.Pod) []corev1.Pod {
	var list []corev1.Pod
	for _, pod := range pods {
		list = append(list, *pod)
	}
	return list
}

func names(pods []*corev1.Pod) []string {
	var list []string
	for _, pod := range pods {
		list = append(list, pod.Name)
	}
	return list
}

// cluster is an API server that keeps objects, whose answers to evictions are given by pod.
func cluster(answers map[string]error, objects ...runtime.Object) *fake.Clientset {
	api := fake.NewClientset(objects...)
	api.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, isCreate := action.(clienttesting.CreateAction)
		if !isCreate || action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		eviction := create.GetObject().(*policyv1.Eviction)
		if err := answers[eviction.Name]; err != nil {
			return true, nil, err
		}
		return true, nil, api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), eviction.Namespace, eviction.Name)
	})
	return api
}

// budget is the API server's answer where a budget holds a pod.
func budget(words string) error {
	refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	if words != "" {
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: words}}
	}
	return refusal
}

func TestLook(t *testing.T) {
	t.Parallel()
	several := apierrors.NewInternalError(errors.New("two budgets"))
	for _, row := range []struct {
		reason  string
		answers map[string]error
		objects []runtime.Object
		want    Progress
		words   string
	}{
		{reason: "no such node", want: Progress{Empty: true, Gone: true}, words: "no pods left"},
		{reason: "the name is another instance's by now", objects: []runtime.Object{
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-2"}}, pod("a"),
		}, want: Progress{Empty: true, Gone: true}, words: "no pods left"},
		{reason: "no pods", objects: []runtime.Object{node("True")}, want: Progress{Empty: true}, words: "no pods left"},
		{reason: "evictions are accepted", objects: []runtime.Object{node("True"), pod("a"), pod("b"), pod("dns", systemPod)},
			want: Progress{Ending: 2, Later: 1}, words: "2 pods ending, 1 pod to be evicted after these pods"},
		{reason: "a budget holds pods", answers: map[string]error{
			"a": budget("The disruption budget web needs 2 healthy pods and has 2 currently"),
			"b": budget("The disruption budget web is still being processed by the server."),
			"c": budget("The disruption budget db does not allow evicting pods currently"),
		}, objects: []runtime.Object{node("True"), pod("a"), pod("b"), pod("c"), pod("d")},
			want:  Progress{Ending: 1, Held: map[string]int{"default/web": 2, "default/db": 1}},
			words: "1 pod held by PodDisruptionBudget default/db, 2 pods held by PodDisruptionBudget default/web, 1 pod ending"},
		{reason: "a budget without a name", answers: map[string]error{"a": budget("")}, objects: []runtime.Object{node("True"), pod("a")},
			want: Progress{Held: map[string]int{"in namespace default": 1}}, words: "1 pod held by PodDisruptionBudget in namespace default"},
		{reason: "an eviction fails", answers: map[string]error{"a": several}, objects: []runtime.Object{node("True"), pod("a")},
			want: Progress{Failed: map[string]int{several.Error(): 1}}, words: "1 pod not evicted: " + several.Error()},
		{reason: "the API server goes away", answers: map[string]error{"a": errors.New("dial tcp 10.0.0.1:49152")}, objects: []runtime.Object{node("True"), pod("a")},
			want:  Progress{Failed: map[string]int{"the API server does not respond": 1}},
			words: "1 pod not evicted: the API server does not respond"},
		{reason: "a pod is gone already", answers: map[string]error{"a": apierrors.NewNotFound(corev1.Resource("pods"), "a")},
			objects: []runtime.Object{node("True"), pod("a")}, want: Progress{}, words: "no pods left"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			api := cluster(row.answers, row.objects...)
			got, err := Look(t.Context(), Clientset(api), nodeName, providerID)
			row.want.Node = nodeName
			if difference := cmp.Diff(row.want, got); err != nil || difference != "" {
				t.Errorf("progress (-want +got):\n%s, error %v", difference, err)
			}
			if got.String() != row.words {
				t.Errorf("words %q, want %q", got, row.words)
			}
		})
	}
}

// TestLookCordonsOnce holds that a node is cordoned before pods are asked to leave, and not again.
func TestLookCordonsOnce(t *testing.T) {
	t.Parallel()
	api := cluster(map[string]error{"a": budget("")}, node("True"), pod("a"))
	for range 2 {
		if _, err := Look(t.Context(), Clientset(api), nodeName, providerID); err != nil {
			t.Fatal(err)
		}
	}
	var writes []string
	for _, action := range api.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" {
			writes = append(writes, verb+" "+action.GetResource().Resource+"/"+action.GetSubresource())
		}
	}
	if want := []string{"patch nodes/", "create pods/eviction", "create pods/eviction"}; !slices.Equal(writes, want) {
		t.Errorf("writes %q, want %q", writes, want)
	}
	cordoned, err := api.CoreV1().Nodes().Get(t.Context(), nodeName, metav1.GetOptions{})
	if err != nil || !cordoned.Spec.Unschedulable {
		t.Errorf("node %+v, error %v", cordoned.Spec, err)
	}
}

// TestUncordon holds that a node that was cordoned here is uncordoned, and no other.
func TestUncordon(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		change   func(*corev1.Node)
		drained  bool
		of       string
		uncordon bool
	}{
		{"a node that was drained", func(*corev1.Node) {}, true, providerID, true},
		{"one that another controller or a user had cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }, true, providerID, false},
		{"one that another controller or a user cordoned instead", func(n *corev1.Node) { n.Spec.Unschedulable = true }, false, providerID, false},
		{"one of another instance by now", func(*corev1.Node) {}, true, "aws:///us-east-1a/i-2", false},
	} {
		existing := node("True")
		row.change(existing)
		fake := cluster(nil, existing)
		api := Clientset(fake)
		if row.drained {
			if _, err := Look(t.Context(), api, nodeName, providerID); err != nil {
				t.Fatal(err)
			}
		}
		changed, err := Uncordon(t.Context(), api, nodeName, row.of)
		now, getErr := fake.CoreV1().Nodes().Get(t.Context(), nodeName, metav1.GetOptions{})
		if getErr != nil {
			t.Fatal(getErr)
		}
		if changed != row.uncordon || now.Spec.Unschedulable == row.uncordon || row.uncordon && now.Annotations[CordonedAnnotation] != "" {
			t.Errorf("%s: changed %t, %v; the node is unschedulable %t with annotations %v", row.reason, changed, err, now.Spec.Unschedulable, now.Annotations)
		}
	}
	if changed, err := Uncordon(t.Context(), Clientset(cluster(nil)), nodeName, providerID); changed || err != nil {
		t.Errorf("a node that is gone: changed %t, %v", changed, err)
	}
}

// TestLookIsBounded holds that one step requests a limited number of evictions, and none once its
// time is up.
func TestLookIsBounded(t *testing.T) {
	t.Parallel()
	objects := []runtime.Object{node("True")}
	for i := range evictionsPerLook + 20 {
		objects = append(objects, pod(fmt.Sprintf("pod-%03d", i)))
	}
	api := cluster(nil, objects...)
	got, err := Look(t.Context(), Clientset(api), nodeName, providerID)
	if err != nil || got.Ending != evictionsPerLook || got.Later != 20 || got.Empty {
		t.Errorf("progress %+v, error %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err = Look(ended, Clientset(api), nodeName, providerID); err != nil || got.Ending != 0 || got.Later != 20 || got.Empty {
		t.Errorf("progress %+v, error %v, after the end", got, err)
	}
	if got, err = Look(t.Context(), Clientset(api), nodeName, providerID); err != nil || got.Ending != 20 {
		t.Errorf("progress %+v, error %v", got, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	api := cluster(nil, node("True"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-3"}})
	found, err := Find(t.Context(), Clientset(api), []string{providerID, "aws:///us-east-1a/i-2"})
	if difference := cmp.Diff(map[string][]string{providerID: {nodeName}}, found); err != nil || difference != "" {
		t.Errorf("found (-want +got):\n%s, error %v", difference, err)
	}
}

func TestNextLook(t *testing.T) {
	t.Parallel()
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 30 * time.Second: 5 * time.Second, time.Minute: 10 * time.Second, time.Hour: 30 * time.Second,
	} {
		if got := NextLook(elapsed); got != want {
			t.Errorf("after %s: %s, want %s", elapsed, got, want)
		}
	}
}

package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// nodeOf returns the name of the Node of an instance that a ProvisionedNode has.
func nodeOf(node *provisioningv1.ProvisionedNode) string { return "ip-" + node.Status.InstanceID }

// promisedTo returns the ProvisionedNode that a pod was found a place on.
func promisedTo(w *provisioningtest.World, pod *corev1.Pod) *provisioningv1.ProvisionedNode {
	w.Helper()
	name := w.Provisioning.Promises.Of(pod.UID)
	for _, node := range w.Provisioned() {
		if node.Name == name {
			return &node
		}
	}
	w.Fatalf("pod %s has no place", pod.Name)
	return nil
}

// TestPlaceThatTheSchedulerGaveAway holds that a pod that only one node suits gets another at once
// when the scheduler gives its place to a pod that could be elsewhere.
func TestPlaceThatTheSchedulerGaveAway(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Template("only", profile)
	w.Provision("default", allowing(provisioningv1.AllowedLaunchTemplates{Names: []string{"only"}}))
	a := w.Pod("a", provisioningtest.Naming("only"))
	b := w.Pod("b")
	w.Launch()
	if len(w.Instances()) != 2 {
		t.Fatalf("%d instances run; events are %q", len(w.Instances()), w.Events())
	}
	w.Bind(b, nodeOf(promisedTo(w, a)))
	w.Settle()
	w.Advance(time.Second)
	if got := len(w.Instances()); got != 3 {
		t.Errorf("%d instances run a second after its place was taken; events are %q", got, w.Events())
	}
	if node := promisedTo(w, a); node.Spec.LaunchTemplate.Version != 1 || nodeOf(node) == b.Spec.NodeName {
		t.Errorf("the pod is to come to %+v", node.Spec)
	}
}

// apart has a pod keep away from the others of its kind.
func apart(pod *corev1.Pod) {
	pod.Labels = map[string]string{"app": "apart"}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
	}}}
}

// TestPodsApartWhateverTheOrder holds that pods that keep away from each other share out the nodes
// that were launched for them in whatever order the scheduler takes them, and no further node is
// launched.
func TestPodsApartWhateverTheOrder(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	const number = 6
	var pods []*corev1.Pod
	for i := range number {
		pods = append(pods, w.Pod(fmt.Sprintf("pod-%d", i), apart))
		w.Settle()
		w.Advance(1200 * time.Millisecond)
	}
	w.Advance(3 * time.Second)
	w.Join()
	w.Settle()
	if got := len(w.Instances()); got != number {
		t.Fatalf("%d instances run", got)
	}
	// The scheduler takes the last pod first, and each goes where the next one should have.
	for i := number - 1; i > 0; i-- {
		w.Bind(pods[i], nodeOf(promisedTo(w, pods[i-1])))
		w.Settle()
		w.Advance(time.Second)
		taken := map[string]bool{}
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				taken[pod.Spec.NodeName] = true
			}
		}
		for _, pod := range pods[:i] {
			node := nodeOf(promisedTo(w, pod))
			if taken[node] {
				t.Errorf("%s is to come to %s, which another pod has", pod.Name, node)
			}
			taken[node] = true
		}
	}
	if got := len(w.Instances()); got != number {
		t.Errorf("%d instances run for %d pods", got, number)
	}
}

// scheduled is a world in which passes come as in a cluster: when a pod comes or is bound, and when
// the last pass asked for the next one. A scheduler binds pods that keep away from each other, each
// to some ready Node that has none, in any order.
type scheduled struct {
	*provisioningtest.World
	chance *rand.Rand
	due    time.Time
}

// pass is a pass for pods, and as many for nodes as change something.
func (w *scheduled) pass() {
	w.Helper()
	result, err := w.Provisioning.Reconcile(w.Context(), ctrl.Request{})
	if err != nil {
		w.Fatal(err)
	}
	w.due = w.Clock.Now().Add(result.RequeueAfter)
	if result.RequeueAfter == 0 {
		w.due = w.Clock.Now().Add(time.Hour)
	}
	w.reconcileNodes()
}

func (w *scheduled) reconcileNodes() {
	w.Helper()
	for range 2 { // what one pass has written the next acts on
		for _, node := range w.Provisioned() {
			if _, err := w.Nodes.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&node)}); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// schedule binds the pods that some ready Node is free for, and returns how many run in all.
func (w *scheduled) schedule() int {
	w.Helper()
	taken, running := map[string]bool{}, 0
	var waiting []corev1.Pod
	for _, pod := range w.Pods() {
		if pod.Spec.NodeName == "" {
			waiting = append(waiting, pod)
			continue
		}
		taken[pod.Spec.NodeName] = true
		running++
	}
	members := slices.DeleteFunc(w.Members(), func(member corev1.Node) bool {
		return taken[member.Name] || !slices.Contains(member.Finalizers, provisioningv1.NodeFinalizer)
	})
	w.chance.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	for i := range waiting[:min(len(waiting), len(members))] {
		w.Bind(&waiting[i], members[i].Name)
		w.pass()
		running++
	}
	return running
}

// TestPodsApartDoNotWait holds that pods which keep away from each other, and come 1.2 seconds
// apart, run once the last node has started, whichever pod the scheduler takes first for each node,
// and that each costs one node: also if nodes start while pods still come, so that a pod takes the
// node of one that came before it.
func TestPodsApartDoNotWait(t *testing.T) {
	t.Parallel()
	const number, interval, step = 12, 1200 * time.Millisecond, 400 * time.Millisecond
	for _, row := range []struct {
		startup, within time.Duration // the last pod comes after 13 seconds, and its batch may take two
	}{{15 * time.Second, 32 * time.Second}, {5 * time.Second, 24 * time.Second}, {2 * time.Second, 20 * time.Second}} {
		t.Run(fmt.Sprintf("nodes start in %s", row.startup), func(t *testing.T) {
			t.Parallel()
			w := &scheduled{World: provisioningtest.New(t, provisioningtest.Options{}), chance: rand.New(rand.NewPCG(1, 2))}
			w.Provision("default")
			w.Settle()
			began, came, running := w.Clock.Now(), 0, 0
			for ; running < number && w.Clock.Since(began) < 3*time.Minute; w.Clock.Step(step) {
				if came < number && w.Clock.Since(began) >= time.Duration(came)*interval {
					w.Pod(fmt.Sprintf("pod-%02d", came), apart)
					came++
					w.pass()
				}
				w.JoinAfter(row.startup)
				w.reconcileNodes()
				running = w.schedule()
				if !w.Clock.Now().Before(w.due) {
					w.pass()
				}
			}
			if took := w.Clock.Since(began); took > row.within {
				t.Errorf("%d of %d pods run after %s; events are %q", running, number, took, w.Events())
			}
			if got := len(w.Instances()); got != number {
				t.Errorf("%d instances run for %d pods", got, number)
			}
		})
	}
}

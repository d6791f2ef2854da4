package nodelifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// setReady has the kubelet of a Node say whether it is ready.
func setReady(w *provisioningtest.World, member *corev1.Node, status corev1.ConditionStatus) {
	w.Helper()
	member.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if err := w.Client.Status().Update(w.Context(), member); err != nil {
		w.Fatal(err)
	}
}

// inOneZone returns a world with so many used nodes in one zone.
func inOneZone(t *testing.T, nodes int) *provisioningtest.World {
	t.Helper()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = []string{"us-east-1a"} })
	for i := range nodes {
		w.Pod(fmt.Sprint("pod-", i))
	}
	w.Launch()
	for i, member := range w.Members() {
		w.Bind(&corev1.Pod{ObjectMeta: w.Pods()[i].ObjectMeta}, member.Name)
	}
	w.Settle()
	if got := len(w.Members()); got != nodes {
		t.Fatalf("there are %d nodes", got)
	}
	return w
}

// TestFailedNodesAreReplaced holds that nodes that fail together are replaced, a fifth of the
// zone's at once, also by a controller that was restarted.
func TestFailedNodesAreReplaced(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 6)
	failed := map[string]bool{}
	for _, member := range w.Members() {
		setReady(w, &member, corev1.ConditionUnknown)
		failed[member.Name] = true
	}
	w.Advance(9 * time.Minute)
	if got := len(w.Told("NodeFailed")); got != 0 {
		t.Fatalf("%d nodes are replaced though they may only be restarting", got)
	}
	w.Restart()
	replaced := func() int { return len(w.Told("Warning NodeFailed default:", "kubelet")) }
	w.Advance(2 * time.Minute)
	w.Pod("first-successor")
	w.Advance(4 * time.Minute)
	if replaced() != 1 {
		t.Fatalf("%d of 6 nodes are replaced while no new one starts", replaced())
	}
	for range 18 {
		before := replaced()
		for i := len(w.Pods()); i < 6; i++ {
			w.Pod(fmt.Sprint("successor-", i, "-", before))
		}
		w.Advance(time.Minute)
		w.Join()
		w.Settle()
		if now := replaced(); now > before+1 {
			t.Fatalf("%d nodes are replaced at once", now-before)
		}
	}
	for _, member := range w.Members() {
		if failed[member.Name] {
			t.Errorf("Node %s is left", member.Name)
		}
	}
	if replaced() != 6 {
		t.Errorf("%d nodes were replaced: %q", replaced(), w.Events())
	}
}

// TestRepairsEndInTime holds that a pod which cannot be evicted delays the replacement of a failed
// node for a few minutes, or for the terminationGracePeriod if that is shorter, and that the next
// failed node of the zone is replaced after it.
func TestRepairsEndInTime(t *testing.T) {
	t.Parallel()
	protect := func(w *provisioningtest.World, pod *corev1.Pod) {
		w.Update(pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
	}
	for _, row := range []struct {
		reason string
		keep   func(*provisioningtest.World, *corev1.Pod)
		period time.Duration
		within time.Duration
	}{
		{"karpenter.sh/do-not-disrupt", protect, 0, 5 * time.Minute},
		{"a longer terminationGracePeriod", protect, time.Hour, 5 * time.Minute},
		{"a shorter terminationGracePeriod", protect, 2 * time.Minute, 2 * time.Minute},
		{"a PodDisruptionBudget whose pods are not healthy", unhealthy, 0, 5 * time.Minute},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := inOneZone(t, 3)
			if row.period > 0 {
				provisioner := w.Provisioner("default")
				w.Update(provisioner, func() { provisioner.Spec.TerminationGracePeriod = &metav1.Duration{Duration: row.period} })
			}
			pod := w.Pods()[0]
			row.keep(w, &pod)
			first := fail(w, pod.Spec.NodeName)
			w.Advance(10*time.Minute + row.within - time.Minute)
			if told := w.Told("NodeFailed", first); len(told) != 1 || !running(w)[first] || len(w.Pods()) != 3 {
				t.Fatalf("the drain has not begun, or has ended before its time: %d pods are left; events are %q", len(w.Pods()), w.Events())
			}
			w.Restart() // the time counts on
			w.Advance(2 * time.Minute)
			if running(w)[first] {
				t.Fatalf("the failed instance still runs; ProvisionedNodes are %+v", w.Provisioned())
			}
			second := fail(w, w.Pods()[len(w.Pods())-1].Spec.NodeName)
			w.Advance(17 * time.Minute)
			if running(w)[second] {
				t.Errorf("the next failed instance of the zone still runs; events are %q", w.Events())
			}
		})
	}
}

// unhealthy has a PodDisruptionBudget cover a pod that is not ready, and allow no eviction.
func unhealthy(w *provisioningtest.World, pod *corev1.Pod) {
	w.Helper()
	w.Update(pod, func() { pod.Labels = map[string]string{"app": "one"} })
	w.UpdateStatus(pod, func() {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	})
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "one"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: pod.Labels}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, ExpectedPods: 1}
	w.Create(budget)
}

// fail has the kubelet of a Node report that it is not ready, and returns the instance.
func fail(w *provisioningtest.World, name string) string {
	w.Helper()
	for _, member := range w.Members() {
		if member.Name == name {
			setReady(w, &member, corev1.ConditionFalse)
			return clusterstate.InstanceOf(member.Spec.ProviderID)
		}
	}
	w.Fatalf("there is no Node %q", name)
	return ""
}

// TestNodeThatFailsWhileItDrains holds that the drain of a node that was deleted, and that waits
// for a protected pod, finishes once the node has failed for as long as others may.
func TestNodeThatFailsWhileItDrains(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	pod := w.Pods()[0]
	w.Update(&pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
	node := w.Provisioned()[0]
	w.Delete(&node)
	w.Advance(time.Hour)
	if !running(w)[node.Status.InstanceID] {
		t.Fatal("the drain does not wait for the pod while the node is well")
	}
	fail(w, pod.Spec.NodeName)
	w.Advance(9 * time.Minute)
	w.Restart()
	w.Advance(4 * time.Minute)
	if !running(w)[node.Status.InstanceID] {
		t.Fatal("the drain ends before the node has failed for long enough")
	}
	w.Advance(4 * time.Minute)
	if running(w)[node.Status.InstanceID] {
		t.Errorf("the failed instance still runs; the node says %+v", w.Provisioned()[0].Status)
	}
}

// TestNodeThatRecoversBeforeItIsDeleted holds that a node which could not be deleted when it should
// have been replaced, and recovered, keeps no deadline: a later drain waits for its pods.
func TestNodeThatRecoversBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	w.Faulty = true
	pod := w.Pods()[0]
	w.Update(&pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
	w.Nodes.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errors.New("the API server does not respond")
		},
	})
	fail(w, pod.Spec.NodeName)
	w.Advance(12 * time.Minute)
	if len(w.Told("NodeFailed")) == 0 {
		t.Fatal("the node is not to be replaced")
	}
	setReady(w, &w.Members()[0], corev1.ConditionTrue)
	w.Restart()
	w.Advance(time.Minute)
	node := w.Provisioned()[0]
	w.Delete(&node)
	w.Advance(time.Hour)
	if !running(w)[node.Status.InstanceID] || len(w.Pods()) != 1 {
		t.Errorf("the drain of a node that is well does not wait for its pod: the ProvisionedNodes are %+v", w.Provisioned())
	}
}

// TestWaitingRepairsWriteNothing holds that a failed node which waits until others of its zone are
// replaced is not written while it does.
func TestWaitingRepairsWriteNothing(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 2)
	for _, pod := range w.Pods() { // the drain of the first takes its time
		w.Update(&pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
		fail(w, pod.Spec.NodeName)
	}
	w.Advance(12 * time.Minute)
	waits := func() provisioningv1.ProvisionedNode {
		for _, node := range w.Provisioned() {
			if node.DeletionTimestamp == nil && node.Status.FailedSince != nil {
				return node
			}
		}
		t.Fatalf("no failed node waits; events are %q", w.Events())
		return provisioningv1.ProvisionedNode{}
	}
	before := waits()
	ready := meta.FindStatusCondition(before.Status.Conditions, provisioningv1.NodeReadyCondition)
	if since := before.Status.FailedSince.UTC().Format(time.RFC3339); !strings.Contains(ready.Message, "has failed since "+since) || !strings.Contains(ready.Message, "not replaced yet") {
		t.Errorf("the condition says %q", ready.Message)
	}
	w.Advance(3 * time.Minute)
	if after := waits(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the waiting node was written: %+v, and before %+v", after.Status, before.Status)
	}
}

// TestNodeThatRecovers holds that a node that recovers stays, and the time counts anew when it
// fails again.
func TestNodeThatRecovers(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	for range 3 {
		member := w.Members()[0]
		setReady(w, &member, corev1.ConditionFalse)
		w.Advance(8 * time.Minute)
		if w.Provisioned()[0].Status.FailedSince == nil {
			t.Error("the status does not say that the node failed")
		}
		setReady(w, &member, corev1.ConditionTrue)
		w.Advance(time.Minute)
	}
	if node := w.Provisioned()[0]; node.DeletionTimestamp != nil || node.Status.FailedSince != nil {
		t.Errorf("the node is %+v", node.Status)
	}
}

// TestStoppedInstance holds that an instance that a user stopped is replaced, even while its Node
// is still reported as ready.
func TestStoppedInstance(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	id := w.Provisioned()[0].Status.InstanceID
	if _, err := w.EC2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.Advance(13 * time.Minute)
	if told := w.Told("Warning NodeFailed default:", id+" is stopped"); len(told) != 1 || running(w)[id] {
		t.Errorf("the events are %q", w.Events())
	}
}

// failChecks has a status check of the first instance fail, or none.
func failChecks(w *provisioningtest.World, check string) string {
	w.Helper()
	id := w.Provisioned()[0].Status.InstanceID
	if err := w.Sim.Region(provisioningtest.Account, provisioningtest.Region).FailStatusCheck(id, check); err != nil {
		w.Fatal(err)
	}
	return id
}

// TestImpairedInstance holds that a node whose instance fails an EC2 status check is replaced
// though its kubelet says that it is ready, also by a process that was restarted meanwhile, and
// that one call asks for all nodes.
func TestImpairedInstance(t *testing.T) {
	t.Parallel()
	for _, check := range []string{awssim.SystemStatusCheck, awssim.InstanceStatusCheck} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			w := inOneZone(t, 3)
			id := failChecks(w, check)
			before := w.Calls("DescribeInstanceStatus")
			w.Advance(time.Minute)
			if calls := w.Calls("DescribeInstanceStatus") - before; calls != 1 {
				t.Errorf("%d calls asked for the status of 3 instances", calls)
			}
			node := w.Provisioned()[0]
			ready := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReadyCondition)
			if ready.Status != metav1.ConditionFalse || ready.Reason != "StatusChecksFailed" || node.Status.FailedSince == nil {
				t.Errorf("the node says %+v", ready)
			}
			w.Advance(7 * time.Minute)
			w.Restart()
			w.Settle() // before EC2 is asked again
			w.Advance(time.Minute)
			if len(w.Told("NodeFailed")) != 0 {
				t.Fatal("the node is replaced though its checks may pass again")
			}
			w.Advance(2 * time.Minute)
			if told := w.Told("Warning NodeFailed default:", id+" fails an EC2 status check"); len(told) != 1 || running(w)[id] {
				t.Errorf("the events are %q", w.Events())
			}
		})
	}
}

// TestChecksThatPassAgain holds that a node stays whose checks pass again in time, even if no poll
// has seen it.
func TestChecksThatPassAgain(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	failChecks(w, awssim.InstanceStatusCheck)
	w.Advance(9 * time.Minute)
	failChecks(w, "")
	w.Advance(time.Minute)
	if node := w.Provisioned()[0]; node.Status.FailedSince != nil || !meta.IsStatusConditionTrue(node.Status.Conditions, provisioningv1.ReadyCondition) {
		t.Errorf("the node is %+v", node.Status)
	}
	failChecks(w, awssim.InstanceStatusCheck)
	w.Advance(9 * time.Minute)
	failChecks(w, "")
	w.Clock.Step(2 * time.Minute)
	w.Settle() // without a poll
	if node := w.Provisioned()[0]; node.DeletionTimestamp != nil || len(w.Told("NodeFailed")) != 0 {
		t.Errorf("the node is replaced for what EC2 said before: %q", w.Events())
	}
}

// TestImpairedInstancesOfAZone holds that no more than a fifth of a zone's nodes are replaced at
// once for status checks either.
func TestImpairedInstancesOfAZone(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 6)
	for _, node := range w.Provisioned() {
		if err := w.Sim.Region(provisioningtest.Account, provisioningtest.Region).FailStatusCheck(node.Status.InstanceID, awssim.SystemStatusCheck); err != nil {
			t.Fatal(err)
		}
	}
	w.Advance(20 * time.Minute)
	if told := w.Told("Warning NodeFailed default:"); len(told) != 1 {
		t.Errorf("%d of 6 nodes are replaced while no new one starts: %q", len(told), told)
	}
}

// TestStatusChecksRefused holds that Provisioners get one event if EC2 refuses to show status
// checks, and that nothing is replaced or kept for it.
func TestStatusChecksRefused(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	w.Faulty = true
	if _, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeInstanceStatus", Code: "UnauthorizedOperation", Status: 403}); err != nil {
		t.Fatal(err)
	}
	failChecks(w, awssim.SystemStatusCheck)
	w.Advance(15 * time.Minute)
	if told := w.Told("Warning StatusChecksUnknown default:", "Slipway cannot replace nodes"); len(told) != 1 || len(w.Told("NodeFailed")) != 0 {
		t.Errorf("the events are %q", w.Events())
	}
}

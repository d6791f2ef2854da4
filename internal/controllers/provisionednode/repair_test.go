package provisionednode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
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

// Nodes that fail together are replaced, a fifth of the zone's at once, also by a controller that was restarted.
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
	w.Pod("second-successor")
	w.Advance(4 * time.Minute)
	if replaced() != 2 {
		t.Fatalf("%d of 6 nodes are replaced while none of the new ones starts", replaced())
	}
	for range 12 {
		before := replaced()
		for i := len(w.Pods()); i < 6; i++ {
			w.Pod(fmt.Sprint("successor-", i, "-", before))
		}
		w.Advance(time.Minute)
		w.Join()
		w.Settle()
		if now := replaced(); now > before+2 {
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

// A node that recovers stays, and the time counts anew when it fails again.
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

// An instance that somebody stopped is replaced, even while its Node is still said to be ready.
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
	if err := w.Sim.FailStatusCheck(provisioningtest.Account, provisioningtest.Region, id, check); err != nil {
		w.Fatal(err)
	}
	return id
}

// TestImpairedInstance holds that a node whose instance fails an EC2 status check is replaced though its kubelet says that it is ready, also by a process that was
// restarted meanwhile, and that one call asks for all nodes.
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

// TestChecksThatPassAgain holds that a node stays whose checks pass again in time, even if no poll has seen it.
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

// TestImpairedInstancesOfAZone holds that no more than a fifth of a zone's nodes are replaced at once for status checks either.
func TestImpairedInstancesOfAZone(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 6)
	for _, node := range w.Provisioned() {
		if err := w.Sim.FailStatusCheck(provisioningtest.Account, provisioningtest.Region, node.Status.InstanceID, awssim.SystemStatusCheck); err != nil {
			t.Fatal(err)
		}
	}
	w.Advance(20 * time.Minute)
	if told := w.Told("Warning NodeFailed default:"); len(told) != 2 {
		t.Errorf("%d of 6 nodes are replaced while no new one starts: %q", len(told), told)
	}
}

// TestStatusChecksRefused holds that Provisioners are told once if EC2 refuses to show status checks, and that nothing is replaced or kept for it.
func TestStatusChecksRefused(t *testing.T) {
	t.Parallel()
	w := inOneZone(t, 1)
	w.Faulty = true
	if _, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeInstanceStatus", Code: "UnauthorizedOperation", Status: 403}); err != nil {
		t.Fatal(err)
	}
	failChecks(w, awssim.SystemStatusCheck)
	w.Advance(15 * time.Minute)
	if told := w.Told("Warning StatusChecksUnknown default:", "Nodes are not replaced"); len(told) != 1 || len(w.Told("NodeFailed")) != 0 {
		t.Errorf("the events are %q", w.Events())
	}
}

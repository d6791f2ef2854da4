package provisioner

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestToldOnce holds that a pod without a place has one event about it, however many passes
// consider it, and another when the reason changes.
func TestToldOnce(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "limits: {nodes: 0}")
	pod := w.pod("one")
	events := func() (count int32, notes []string) {
		var list eventsv1.EventList
		if err := w.Client.List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			event := &list.Items[i]
			if event.Regarding.UID != pod.UID || event.Reason != "NoNodeLaunched" {
				continue
			}
			notes, count = append(notes, event.Note), count+1
			if event.Series != nil {
				count += event.Series.Count
			}
		}
		return count, notes
	}
	w.eventOf(pod, "limits of Provisioner default")
	// Later passes consider both pods; the event of the second shows that there was one.
	for i := range 3 {
		w.eventOf(w.pod(fmt.Sprintf("later-%d", i)), "limits of Provisioner default")
	}
	w.sleep("3m") // passes come by themselves each minute
	if count, notes := events(); count != 1 {
		t.Errorf("the pod was told %d times: %q", count, notes)
	}
	w.provision("default", "limits: {nodes: 1}", "instanceTypes: [none.large]")
	w.Eventually("the pod is told of the other reason", func() error {
		if count, notes := events(); count != 2 {
			return fmt.Errorf("it was told %d times: %q", count, notes)
		}
		return nil
	})
}

// TestPlaceThatIsNotTaken holds that a pod which the scheduler does not put on a node that is ready
// and has a place for it gets an event, and that no other node is launched for it.
func TestPlaceThatIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("first", asking("500m", "1Gi"))
	w.readyNodes(1)
	kept := w.pod("kept", asking("500m", "1Gi"), func(pod *corev1.Pod) { pod.Spec.SchedulerName = "unknown" })
	kept.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "for a reason of its own"}}
	if err := w.Client.Status().Update(w.Context(), kept); err != nil {
		t.Fatal(err)
	}
	w.eventOf(kept, "has room for the pod")
	if nodes := w.provisioned(); len(nodes) != 1 {
		t.Errorf("there are %d nodes", len(nodes))
	}
}

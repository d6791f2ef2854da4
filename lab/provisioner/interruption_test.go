package provisioner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/slipway-project/slipway/internal/permissions"
)

// spot is a provisioner of Spot Instances of two types.
var spot = []string{"instanceTypes: [m5.large, m6i.large]", "labels: {node.k8s.aws/capacity-type: spot}"}

// told waits for an event on the provisioner that has some words.
func (w *world) told(words string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("an event of the provisioner says %q", words), func() error {
		var events eventsv1.EventList
		if err := w.Client.List(w.Context(), &events); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Kind == "Provisioner" && event.CreationTimestamp.After(w.began) && strings.Contains(event.Note, words)
		}) {
			return errors.New("none does")
		}
		return nil
	})
}

// TestSpotInterruption holds that a notice has the node's pods move, and another kind of instance
// launched for them, while the clock stands still: long before EC2 takes the instance.
func TestSpotInterruption(t *testing.T) {
	w := newWorldWith(t, options{features: []permissions.Feature{permissions.Events}})
	w.provision("default", spot...)
	w.keepReplicas(1)
	old := w.runningOn(1)[0]
	w.sleep("10s") // so that the next pod is not waited for to have company
	was := w.instances()[0]
	w.clock.SetRate(0)
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).InterruptSpotInstance(*was.InstanceId); err != nil {
		t.Fatal(err)
	}
	w.told("interrupts Spot Instance " + *was.InstanceId)
	w.Eventually("another instance is launched, and the node is drained and ended", func() error {
		if fleets, ended := w.count("CreateFleet"), w.count("TerminateInstances"); fleets != 2 || ended == 0 {
			return fmt.Errorf("%d fleets were launched, and instances ended %d times", fleets, ended)
		}
		return nil
	})
	w.clock.SetRate(rate)
	if now := w.runningOn(1)[0]; now == old {
		t.Errorf("the pod runs on %s as before", now)
	}
	node := w.readyNodes(1)[0]
	kind, zone := node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone]
	if kind == string(was.InstanceType) && zone == *was.Placement.AvailabilityZone {
		t.Errorf("another %s was bought in %s", kind, zone)
	}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.StateReason != nil && strings.HasPrefix(*instance.StateReason.Code, "Server.Spot") {
			t.Errorf("EC2 had to end %s itself: %s", *instance.InstanceId, *instance.StateReason.Code)
		}
	}
}

// TestSpotInterruptionUnheard holds that without a queue an interruption is noticed when the
// instance goes, and that the node is replaced then.
func TestSpotInterruptionUnheard(t *testing.T) {
	w := newWorld(t)
	w.provision("default", spot...)
	w.keepReplicas(1)
	old := w.runningOn(1)[0]
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).InterruptSpotInstance(*w.instances()[0].InstanceId); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the node is gone, and another is there", func() error {
		if nodes := w.Nodes(); len(nodes) != 1 || nodes[0].Name == old {
			return fmt.Errorf("nodes are %d", len(nodes))
		}
		return nil
	})
}

// TestRebalanceRecommendation holds that a node at risk stays, and that new ones are of another kind.
func TestRebalanceRecommendation(t *testing.T) {
	w := newWorldWith(t, options{features: []permissions.Feature{permissions.Events}})
	w.provision("default", spot...)
	w.keepReplicas(1)
	w.runningOn(1)
	w.readyNodes(1)
	was := w.provisioned()[0]
	w.clock.SetRate(1) // the recommendation counts for three minutes
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).RecommendRebalance(was.Status.InstanceID); err != nil {
		t.Fatal(err)
	}
	w.told("may interrupt Spot Instance " + was.Status.InstanceID)
	w.pod("two", asking("1500m", "1Gi"))
	w.Eventually("another node is launched", func() error {
		if len(w.provisioned()) != 2 {
			return fmt.Errorf("%d", len(w.provisioned()))
		}
		return nil
	})
	w.clock.SetRate(rate)
	w.readyNodes(2)
	for _, node := range w.provisioned() {
		if other := node.Name != was.Name; other == (node.Status.InstanceType == was.Status.InstanceType && node.Status.Zone == was.Status.Zone) {
			t.Errorf("%s is an %s in %s, and the one at risk an %s in %s", node.Name, node.Status.InstanceType, node.Status.Zone, was.Status.InstanceType, was.Status.Zone)
		}
	}
}

// TestEndedInstanceIsHeardOf holds that the event alone is enough to notice an instance that was
// terminated outside Slipway: the clock stands still, so no sweep runs.
func TestEndedInstanceIsHeardOf(t *testing.T) {
	w := newWorldWith(t, options{features: []permissions.Feature{permissions.Events}})
	w.provision("default")
	w.bound(w.pod("one"))
	w.readyNodes(1)
	was := w.provisioned()[0]
	w.clock.SetRate(0)
	w.terminate(was.Status.InstanceID)
	w.Eventually("its node goes", func() error {
		for _, node := range w.provisioned() {
			if node.Name == was.Name && node.DeletionTimestamp == nil {
				return fmt.Errorf("%s is there: %+v", node.Name, node.Status.Conditions)
			}
		}
		return nil
	})
	w.clock.SetRate(rate)
}

package nodelifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/meta"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// endOf ends an instance for a reason.
func endOf(w *provisioningtest.World, id, reason string) {
	w.Helper()
	if err := w.Sim.Region(provisioningtest.Account, provisioningtest.Region).EndInstance(id, reason); err != nil {
		w.Fatal(err)
	}
}

// TestInstancesThatEndAtLaunch holds that instances which end before their nodes have started, because
// EC2 cannot create their volumes or their user data shuts them down, hold further launches back, and
// that the Provisioner, the pod and an event say EC2's reason. They were launched again every few
// seconds, without end, and reported as terminated outside Slipway.
func TestInstancesThatEndAtLaunch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code, message string
		// heard has AWS report the end by an event, before a description shows it.
		heard bool
	}{
		{"Client.InternalError", "Client.InternalError: Client error on launch", false},
		{"Client.VolumeLimitExceeded", "Client.VolumeLimitExceeded: Volume limit exceeded", true},
		{"Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown", false},
	} {
		t.Run(row.code, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			w.Pod("one")
			w.Settle()
			for range 180 {
				w.Advance(10 * time.Second)
				for _, instance := range w.Instances() {
					endOf(w, *instance.InstanceId, row.code)
					if row.heard {
						ended := []string{*instance.InstanceId}
						if err := w.Nodes.Heard(t.Context(), "", events.Happened{Instances: ended, Ended: ended}); err != nil {
							t.Fatal(err)
						}
						w.Settle()
					}
				}
			}
			if got := w.Calls("CreateFleet"); got < 2 || got > 4 {
				t.Errorf("%d launches in 30 minutes, want one every 5, 10 and 20 minutes", got)
			}
			why := "its instance was terminated while it started: " + row.message
			starts := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.NodesStartCondition)
			if starts == nil || starts.Reason != provisioningv1.StartTimeoutReason || !strings.Contains(starts.Message, why) {
				t.Errorf("the Provisioner says %+v, want %q", starts, why)
			}
			if len(w.Told("NoNodeLaunched one:", row.message)) == 0 || len(w.Told("Warning InstanceGone default:", "was terminated: "+row.message+".")) == 0 {
				t.Errorf("told %q", w.Events())
			}
		})
	}
}

// TestInstanceThatEndsLater holds that the end of an instance whose node has started holds nothing
// back: the next node is launched at once.
func TestInstanceThatEndsLater(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	pod := w.Pod("one")
	w.Launch()
	w.Bind(pod, w.Members()[0].Name)
	w.Settle()
	endOf(w, *w.Instances()[0].InstanceId, "Client.InstanceInitiatedShutdown")
	w.Advance(10 * time.Second)
	w.Pod("two")
	w.Launch()
	if len(w.Instances()) != 1 || len(w.Provisioner("default").Status.FailedStarts) > 0 {
		t.Errorf("%d instances, told %q", len(w.Instances()), w.Events())
	}
}

// TestInstanceTerminatedByAUser holds that a user who terminates an instance that starts gets another
// at once.
func TestInstanceTerminatedByAUser(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Settle()
	first := *w.Instances()[0].InstanceId
	if _, err := w.EC2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{first}}); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Second)
	if got := w.Instances(); len(got) != 1 || *got[0].InstanceId == first || len(w.Told("InstanceGone", "terminated outside Slipway")) != 1 {
		t.Errorf("%d instances, told %q", len(got), w.Events())
	}
}

// TestInstancesTakenBack holds that an instance that EC2 takes back for lack of capacity, without a notice that
// Slipway hears, is launched elsewhere next, and that the event says so. It was launched again as the
// same offering.
func TestInstancesTakenBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end func(w *provisioningtest.World, id string)
		say string
	}{
		"interruption": {func(w *provisioningtest.World, id string) {
			if err := w.Sim.Region(provisioningtest.Account, provisioningtest.Region).InterruptSpotInstance(id); err != nil {
				w.Fatal(err)
			}
			w.Advance(2 * time.Minute)
		}, "EC2 interrupted Spot Instance"},
		"no capacity": {func(w *provisioningtest.World, id string) { endOf(w, id, "Server.InsufficientInstanceCapacity") },
			"was terminated: Server.InsufficientInstanceCapacity: Insufficient capacity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.Labels = provisioningv1.Labels{provisioningv1.LabelCapacityType: "spot"}
			})
			w.Pod("one")
			w.Settle()
			first := w.Instances()[0]
			row.end(w, *first.InstanceId)
			w.Advance(10 * time.Second)
			now := w.Instances()
			if len(now) != 1 || *now[0].Placement.AvailabilityZone == *first.Placement.AvailabilityZone || len(w.Told("Warning InstanceGone", row.say)) != 1 {
				t.Errorf("%d instances run, the first was in %s, told %q", len(now), *first.Placement.AvailabilityZone, w.Events())
			}
			if got := w.Provisioner("default").Status.FailedStarts; len(got) > 0 {
				t.Errorf("recorded as failed starts: %+v", got)
			}
		})
	}
}

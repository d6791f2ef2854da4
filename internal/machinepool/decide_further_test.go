package machinepool

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// TestMayAdopt decides whether a group that CAPA created under the pool's name is the pool's.
func TestMayAdopt(t *testing.T) {
	t.Parallel()
	candidate := func(change func(*Candidate)) edit {
		return func(in *input) {
			in.Seen.Candidate = &Candidate{Group: &autoscalinggroup.Group{Name: "pool", ARN: poolARN, LaunchTemplateID: "lt-9"}}
			if change != nil {
				change(in.Seen.Candidate)
			}
		}
	}
	for _, row := range []struct {
		reason string
		given  edit
		// refused is a part of the refusal, empty if the group is adopted.
		refused string
	}{
		{"the pool names it by its ARN, and the namespace is proven", candidate(nil), ""},
		{"the annotation names it", all(candidate(nil), func(in *input) {
			in.Object.Spec.ProviderID, in.Object.Annotations[infrav1.AdoptAnnotation] = "", poolARN
		}), ""},
		{"the pool does not name it", all(candidate(nil), func(in *input) { in.Object.Spec.ProviderID = "" }), "nothing shows that it belongs to this pool"},
		{"the annotation names another", all(candidate(nil), func(in *input) {
			in.Object.Spec.ProviderID, in.Object.Annotations[infrav1.AdoptAnnotation] = "", poolARN+"-2"
		}), "nothing shows that it belongs to this pool"},
		{"it is not proven to be the namespace's", candidate(func(c *Candidate) { c.ProofErr = errRefused }), errRefused.Error()},
		{"another pool names it too", candidate(func(c *Candidate) { c.OtherPool = "team/other" }), "AWSMachinePool team/other refers to Auto Scaling group pool too"},
		{"the pool launches from a launch config that is not its own", all(candidate(nil), func(in *input) {
			in.Object.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
		}), "launchConfigRef"},
		{"it launches from no launch template", candidate(func(c *Candidate) { c.Group.LaunchTemplateID = "" }), "does not use a launch template"},
		{"CAPA keeps an AWSMachine for an instance", candidate(func(c *Candidate) { c.AWSMachine = "m-1" }), "AWSMachine m-1"},
		{"which does not matter for a group that is being deleted", candidate(func(c *Candidate) { c.AWSMachine, c.Group.Deleting = "m-1", true }), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest(t)
			row.given(in)
			err := mayAdopt(*in)
			if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
				t.Errorf("error %v, want %q", err, row.refused)
			}
		})
	}
}

// TestDecideDepartures specifies what is reported about instances whose drain does not finish as
// usual.
func TestDecideDepartures(t *testing.T) {
	t.Parallel()
	held, recorded := inState("i-1", "Terminating:Wait"), tried(recordInstances{}, nil)
	watched := func(in *input) { in.Seen.InMotion = true }
	extended := func(in *input) { in.Seen.Holds["i-1"] = Hold{Extended: noon} }
	limited := func(in *input) {
		in.Object.Spec.NodeDrain = &infrav1.NodeDrain{Timeout: &metav1.Duration{Duration: 2 * time.Minute}}
	}
	busy := looked("i-1", Node{Name: "one", Progress: drain.Progress{Node: "one", Ending: 1}})
	machine := func(change func(*Machine)) edit {
		return func(in *input) {
			in.Object.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesEnabled
			one := Machine{Infra: &infrav1.AWSMachinePoolMachine{}, Machine: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}}
			change(&one)
			in.Seen.Machines["i-1"] = one
		}
	}
	specify(t, []row{
		{reason: "the pool's own time limit has passed", given: all(held, busy, limited, drainedSince("i-1", 3*time.Minute)),
			then: "complete the lifecycle action of i-1, because node one (i-1): 1 pod ending"},
		{reason: "less than a look is left of it", given: all(held, busy, limited, drainedSince("i-1", 117*time.Second), extended, recorded, watched), then: "nothing",
			shows: []string{"NodesDrained=False/Draining: node one (i-1)"}, again: 3 * time.Second},
		{reason: "Cluster API has drained it", given: all(held, machine(func(m *Machine) {
			m.Infra.DeletionTimestamp, m.Machine.DeletionTimestamp = ptr.To(metav1.NewTime(noon)), ptr.To(metav1.NewTime(noon))
		})), then: "complete the lifecycle action of i-1, because instance i-1: Cluster API has drained it"},
		{reason: "an instance whose node was drained has ended", given: all(drainedSince("i-9", time.Minute), func(in *input) { in.Seen.Holds["i-9"] = Hold{Completed: true} }),
			then: "record which nodes are being drained, because no node is being drained any longer"},
	})
}

// TestEventsOfDepartures specifies the events about instances that end, or whose root volume is replaced.
func TestEventsOfDepartures(t *testing.T) {
	t.Parallel()
	one := func(state string, change func(*departure)) departure {
		d := departure{Instance: member("i-1", 1), node: "one"}
		d.LifecycleState = state
		change(&d)
		return d
	}
	for _, row := range []struct {
		reason string
		given  edit
		d      departure
		want   string
	}{
		{"the node is empty", nil, one("Terminating:Wait", func(d *departure) { d.empty = true }), "NodeDrained Drained node one; its instance i-1 is being terminated"},
		{"it is not empty", nil, one("Terminating:Wait", func(d *departure) { d.expired = true }), "NodeDrainTimedOut Instance i-1 is terminated after 15m0s although its node was not drained"},
		{"its Node was deleted before it was seen empty", nil, one("Terminating:Wait", func(d *departure) { d.empty, d.gone = true, true }), "NodeNotDrained Instance i-1 was terminated before its node was observed to be empty: another program completed its lifecycle action, or the manager sent no heartbeat for 30m0s"},
		{"and the time is up", nil, one("Terminating:Wait", func(d *departure) { d.empty, d.gone, d.expired = true, true, true }), "NodeDrainTimedOut Instance i-1 was terminated before its node was observed to be empty, because the timeout of 15m0s passed. Increase spec.nodeDrain.timeout if its pods need longer"},
		{"which is usual while a pool is deleted", func(in *input) { in.Object.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) },
			one("Terminating:Wait", func(d *departure) { d.empty, d.gone = true, true }), ""},
		{"there never was a node", nil, one("Terminating:Wait", func(d *departure) { d.empty, d.node = true, "" }), ""},
		{"the pool drains nothing", func(in *input) { in.Object.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true} }, one("Terminating:Wait", func(d *departure) { d.expired = true }), ""},
		{"a root volume is replaced", nil, one("ReplacingRootVolume:Wait", func(d *departure) { d.empty = true }), "NodeDrained Drained node one; the root volume of its instance i-1 is being replaced"},
		{"though its node is not empty", nil, one("ReplacingRootVolume:Wait", func(d *departure) { d.expired = true }), "NodeDrainTimedOut The root volume of instance i-1 is replaced after 15m0s"},
		{"of an instance without a node", nil, one("ReplacingRootVolume:Wait", func(d *departure) { d.empty, d.node = true, "" }), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest(t)
			if row.given != nil {
				row.given(in)
			}
			got := ""
			if event := departureEvent(*in, row.d); event != nil {
				got = event.Reason + " " + event.Note
			}
			if row.want == "" && got != "" || !strings.HasPrefix(got, row.want) {
				t.Errorf("reported %q, want %q", got, row.want)
			}
		})
	}
}

// TestNotesOfDepartures reports once what an unanswered request was about, and names a few nodes of many.
func TestNotesOfDepartures(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	in.Seen.Holds["i-1"] = Hold{Unanswered: ptr.To(reconcile.Eventf("NodeDrained", "it was drained"))}
	notes := notesOf(*in, []departure{{Instance: member("i-1", 1), node: "one", empty: true, gone: true}})
	if len(notes) != 1 || notes[0].Event == nil || notes[0].Event.Note != "it was drained" {
		t.Errorf("notes %+v", notes)
	}
	var waiting []departure
	for range mostShown + 2 {
		waiting = append(waiting, departure{Instance: member("i-1", 1), until: noon, state: "1 pod ending"})
	}
	if text := describe(waiting); !strings.HasSuffix(text, "; and 2 more") || strings.Count(text, "1 pod ending") != mostShown {
		t.Errorf("described as %q", text)
	}
	if text := named([]string{"a", "b", "c", "d", "e", "f", "g"}); text != "a, b, c, d, e and 2 more" {
		t.Errorf("named %q", text)
	}
}

// TestMachinesOfDepartures specifies Machines where the pool says nothing about them, and Machines
// of instances that leave or are held.
func TestMachinesOfDepartures(t *testing.T) {
	t.Parallel()
	both := func(in *input) {
		in.Object.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesEnabled
		for _, instance := range in.Seen.Group.Instances {
			infra := &infrav1.AWSMachinePoolMachine{}
			show(infra, instance)
			in.Seen.Machines[instance.ID] = Machine{Infra: infra, Machine: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "m-" + instance.ID}}}
		}
	}
	specify(t, []row{
		{reason: "the manager's setting holds where the pool does not say", given: func(in *input) { in.Seen.Settings.MachinePoolMachines = true },
			then: "keep AWSMachinePoolMachines: create 2, delete 0, remove 0, update 0, because i-1, i-2 have no Machine yet"},
		{reason: "the pool says that there are none", given: func(in *input) {
			in.Seen.Settings.MachinePoolMachines, in.Object.Spec.MachinePoolMachines = true, infrav1.MachinePoolMachinesDisabled
		}, then: "nothing", again: time.Hour},
		{reason: "an instance leaves, and Cluster API drains its node", given: all(both, inState("i-1", "Terminating:Wait"), drainedSince("i-1", time.Minute), func(in *input) { in.Seen.Holds["i-1"] = Hold{Extended: noon} }),
			then: "keep AWSMachinePoolMachines: create 0, delete 1, remove 0, update 1, because i-1 leave the group; i-1 changed"},
	})
	if name := labelValue("a.name-of.a/machine pool"); !strings.HasPrefix(name, "hash_") || !strings.HasSuffix(name, "_z") {
		t.Errorf("label %q", name)
	}
	unconcernedMachine := Machine{Infra: &infrav1.AWSMachinePoolMachine{}}
	if unconcernedMachine.leaving() {
		t.Error("an instance goes that has no Machine")
	}
	in := atRest(t)
	in.Seen.MachinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: ""}
	if surplus := surplusOf(*in); surplus != 0 {
		t.Errorf("the pool of an autoscaler has %d instances too many", surplus)
	}
	in.Seen.Group = nil
	if count := staying(*in); count != 0 {
		t.Errorf("%d instances stay in a group that does not exist", count)
	}
}

// TestShieldIsLowered holds that the pool names the instances which Slipway has protected until AWS
// has confirmed that they are no longer protected, and that Slipway gives up the protection of
// instances that no refresh needs to spare.
func TestShieldIsLowered(t *testing.T) {
	t.Parallel()
	const lowersBoth, stays = "give up the protection of i-1, i-2 from scale-in, because no instance refresh " +
		"has to skip them any longer", "i-1,i-2"
	var ended edit = func(in *input) { in.Seen.LaunchConfig.Object.Status.Conditions = nil }
	lower := func(ids ...string) edit {
		return func(in *input) { did(in, protectInstances{Group: "pool", Instances: ids}, nil) }
	}
	var isDue edit = func(in *input) {
		due(in)
		in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
	}
	spares := func(id string) edit {
		return func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) {
				for i := range g.Instances {
					if g.Instances[i].ID == id {
						g.Instances[i] = member(id, 3)
					}
				}
			})
		}
	}
	var without edit = func(in *input) {
		changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances = g.Instances[1:] })
	}
	for _, row := range []struct {
		reason     string
		given      edit
		then, left string
	}{
		{reason: "the description may be older than the protection", given: ended, then: lowersBoth, left: stays},
		{reason: "AWS confirmed it", given: all(ended, lower("i-1", "i-2")), then: "nothing", left: ""},
		{reason: "an instance has left", given: all(ended, without, lower("i-2")), then: "record 1 instance, because its instances changed", left: ""},
		{reason: "an instance cannot be changed now", given: all(ended, inState("i-1", "Pending"), lower("i-2")), left: "i-1",
			then: "watch Auto Scaling group pool closely, because its instances are expected to change"},
		{reason: "AWS refused to start the refresh that is to spare one", given: all(isDue, spares("i-2"), lower("i-1"), func(in *input) { did(in, startRefresh{}, errRefused) }),
			then: "record 2 instances, because what it was given changed", left: "i-2"},
		{reason: "the refresh that is due is not to spare one", given: all(isDue, spares("i-2")),
			then: "give up the protection of i-1 from scale-in, because no instance refresh has to skip them " +
				"any longer", left: stays},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest(t)
			in.Object.Annotations[shieldAnnotation] = stays
			in.Seen.Refreshes.Read, in.Seen.Refreshes.List, in.Seen.Fresh = true, []autoscalinggroup.Refresh{{ID: "r-1", Status: "Successful"}}, true
			row.given(in)
			plan := decideOn(t, *in)
			left, changed := plan.Annotations[shieldAnnotation]
			if !changed {
				left = stays
			}
			if then := reconciletest.First(plan.Plan); then != row.then || left != row.left {
				t.Errorf("then %q, and the pool names %q; want %q and %q", then, left, row.then, row.left)
			}
		})
	}
}

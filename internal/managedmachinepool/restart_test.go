package managedmachinepool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestRestartsChangeNothing runs scenarios twice: undisturbed, and with the controller restarted
// before each pass, so that nothing that it remembers is there in the next. Both end in the same
// state of AWS, with the same status, and with the same events.
func TestRestartsChangeNothing(t *testing.T) {
	t.Parallel()
	templated := func(w *world) string {
		template := w.template("t3.large", "m5.large", "m6i.large")
		w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
		})
		w.reconcile("pool")
		w.reconcile("pool")
		w.configured("pool", template, 1)
		w.active("pool")
		return template
	}
	rolledOut := func(w *world) func() bool {
		return func() bool { return w.condition("pool", infrav1.RolledOutCondition).Reason == infrav1.RolledOutReason }
	}
	ended := func(w *world, status string) func() bool {
		return func() bool {
			return ptr.Deref(w.pool("pool").Status.Update, infrav1.NodegroupUpdateStatus{}).Status == status
		}
	}
	nodesJoin := func(w *world, join bool) {
		behavior := w.sim.Behavior()
		behavior.Nodes = []awssim.NodeRule{{NeverReady: !join}}
		w.sim.SetBehavior(behavior)
	}
	for _, row := range []struct {
		reason string
		run    func(w *world)
	}{
		{"a pool without a launch template is created", func(w *world) {
			w.create("pool", nil)
			w.active("pool")
			w.passes("pool", "it is rolled out", rolledOut(w))
		}},
		{"a pool is created", func(w *world) { templated(w); w.passes("pool", "it is rolled out", rolledOut(w)) }},
		{"an edit is rolled out", func(w *world) {
			w.configured("pool", templated(w), 2)
			w.passes("pool", "the update succeeds", ended(w, "Successful"))
			w.passes("pool", "it is rolled out", rolledOut(w))
		}},
		{"a roll-out fails, another update follows, and the roll-out waits", func(w *world) {
			template := templated(w)
			nodesJoin(w, false)
			w.configured("pool", template, 2)
			w.passes("pool", "the update fails", ended(w, "Failed"))
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"a": "b"} })
			w.passes("pool", "the labels are set", ended(w, "Successful"))
			for range 12 { // a minute
				w.reconcile("pool")
			}
		}},
		{"the pool is deleted", func(w *world) { templated(w); w.delete("pool") }},
		{"the pool is deleted before it has a node group", func(w *world) {
			w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "none"}
			})
			w.reconcile("pool")
			w.reconcile("pool")
			w.delete("pool")
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			var outcomes [2]string
			for i := range outcomes {
				w := newWorld(t)
				w.forgetful = i == 1
				row.run(w)
				outcomes[i] = w.outcome("pool")
			}
			if difference := cmp.Diff(outcomes[0], outcomes[1]); difference != "" {
				t.Errorf("undisturbed (-) and restarted (+):\n%s", difference)
			}
		})
	}
}

// outcome describes what a scenario came to: the node groups, the status without times and ids, and
// the events.
func (w *world) outcome(name string) string {
	w.Helper()
	lines := []string{"roles " + strings.Join(w.roles(), " ")}
	for _, name := range w.nodegroups() {
		group := w.nodegroup(name)
		lines = append(lines, fmt.Sprintf("node group %s is %s", name, group.Status))
		if group.LaunchTemplate != nil {
			lines = append(lines, "it has version "+*group.LaunchTemplate.Version)
		}
	}
	pool := &infrav1.AWSManagedMachinePool{}
	if err := w.store.Get(w.Context(), named(name), pool); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	for _, condition := range pool.Status.Conditions {
		lines = append(lines, fmt.Sprintf("condition %s is %s because of %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	update := ptr.Deref(pool.Status.Update, infrav1.NodegroupUpdateStatus{})
	lines = append(lines, fmt.Sprintf("update %s is %s because of %q, %d attempts", update.Type, update.Status, update.Cause, update.Attempts))
	for _, failed := range pool.Status.FailedUpdates {
		lines = append(lines, fmt.Sprintf("%s failed %d times", failed.Type, failed.Attempts))
	}
	slices.Sort(lines)
	var reasons []string
	for _, note := range w.told() {
		reasons = append(reasons, strings.Join(strings.Fields(note)[:2], " "))
	}
	return strings.Join(append(lines, reasons...), "\n")
}

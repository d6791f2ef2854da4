package managedmachinepool

import (
	"strings"
	"testing"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// release asks for a pool to be released to CAPA, or takes that back.
func (w *world) release(name string, released bool) {
	w.Helper()
	w.edit(name, func(pool *infrav1.AWSManagedMachinePool) {
		if delete(pool.Annotations, infrav1.ReleaseAnnotation); released {
			pool.Annotations[infrav1.ReleaseAnnotation] = "true"
		}
	})
}

// ownerOf returns the owner tag of the only node group.
func (w *world) ownerOf() (string, bool) {
	w.Helper()
	names := w.nodegroups()
	if len(names) != 1 {
		w.Fatalf("there are node groups %q", names)
	}
	owner, owned := w.nodegroup(names[0]).Tags[infrav1.TagManagedMachinePool]
	return owner, owned
}

func (w *world) isReleased(name string) bool {
	return w.condition(name, infrav1.ReleasedCondition).Status == "True"
}

// TestRelease holds that a pool that is released leaves its node group and nodes as they are, without
// Slipway's tag, also while calls are lost or refused, and that nothing is written for it afterwards.
func TestRelease(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		fault  *awssim.Fault
	}{
		{"undisturbed", nil},
		{"the answer to the removal of the tag is lost", &lost},
		{"the removal of the tag is denied for a while", &denied},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			w.active("pool")
			if _, owned := w.ownerOf(); !owned {
				t.Fatal("the node group has no owner tag")
			}
			before := *w.nodegroup(w.nodegroups()[0]).NodegroupArn
			if row.fault != nil {
				w.struck("UntagResource", *row.fault, 1)
			}
			w.release("pool", true)
			w.passes("pool", "the pool is released", func() bool { return w.isReleased("pool") })
			if owner, owned := w.ownerOf(); owned {
				t.Errorf("the node group is still owned by %s", owner)
			}
			w.sim.ClearCalls()
			for range 5 {
				w.reconcile("pool")
				w.clock.Step(time.Hour)
			}
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("Slipway called %q for a pool that is released", writes)
			}
			if after := *w.nodegroup(w.nodegroups()[0]).NodegroupArn; after != before {
				t.Errorf("the node group is %s, and was %s", after, before)
			}
		})
	}
}

// TestReleaseIsRefusedUntilItCanBe holds that a pool whose node group CAPA would not find, or on which
// EKS is working, is not released before that has changed.
func TestReleaseIsRefusedUntilItCanBe(t *testing.T) {
	t.Parallel()
	t.Run("EKS is creating the node group", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(options *awssim.Options) { options.Behavior.InstanceTimes.Pending = time.Minute })
		w.create("pool", nil)
		w.passes("pool", "there is a node group", func() bool { return len(w.nodegroups()) == 1 })
		w.release("pool", true)
		w.reconcile("pool")
		if condition := w.condition("pool", infrav1.ReleasedCondition); condition.Reason != infrav1.ReleasingReason || !strings.Contains(condition.Message, "Slipway releases it when the update is complete") {
			t.Errorf("Released is %+v", condition)
		}
		if _, owned := w.ownerOf(); !owned {
			t.Error("a node group that is being created lost its owner tag")
		}
		w.passes("pool", "the pool is released", func() bool { return w.isReleased("pool") })
	})
	t.Run("the tag may not be removed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("pool", nil)
		w.active("pool")
		id := w.struck("UntagResource", denied, 0)
		w.release("pool", true)
		w.passes("pool", "the refusal is shown", func() bool {
			return strings.Contains(w.condition("pool", infrav1.ReleasedCondition).Message, "not authorized to do it")
		})
		if w.isReleased("pool") {
			t.Error("a pool whose node group has the owner tag counts as released")
		}
		w.sim.RemoveFault(id)
		w.passes("pool", "the pool is released", func() bool { return w.isReleased("pool") })
	})
}

// TestReleasedPoolIsDeleted holds that the deletion of a pool that was released deletes nothing that
// is not Slipway's any longer.
func TestReleasedPoolIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	w.release("pool", true)
	w.passes("pool", "the pool is released", func() bool { return w.isReleased("pool") })
	if err := w.store.Delete(t.Context(), w.pool("pool")); err != nil {
		t.Fatal(err)
	}
	w.sim.ClearCalls()
	for range 10 {
		w.reconcile("pool")
	}
	if count := w.made("DeleteNodegroup"); count > 0 || len(w.nodegroups()) != 1 {
		t.Errorf("%d deletions; there are node groups %q", count, w.nodegroups())
	}
}

package launchconfig

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// deletedPool is a pool of the config's name that is being deleted.
func deletedPool(change func(*infrav1.AWSMachinePool)) *infrav1.AWSMachinePool {
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: configName, UID: "pool-1", Finalizers: []string{infrav1.MachinePoolFinalizer}, DeletionTimestamp: &metav1.Time{Time: time.Now()},
	}}
	if change != nil {
		change(pool)
	}
	return pool
}

// ownedByPool makes a config the pool's own.
func ownedByPool(config *infrav1.AWSLaunchConfig) {
	config.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: configName, UID: "pool-1", Controller: ptr.To(true),
	}}
}

// statesOf returns the states of a config that is created and gets its template, as a cache may show
// them, and deletes the config.
func (r *rig) statesOf() (states []*infrav1.AWSLaunchConfig) {
	r.Helper()
	store := r.client
	note := func() {
		state := &infrav1.AWSLaunchConfig{}
		if err := store.Get(r.Context(), types.NamespacedName{Namespace: namespace, Name: configName}, state); err != nil {
			r.Fatal(err)
		}
		states = append(states, state)
	}
	note()
	r.client = interceptor.NewClient(store, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			defer note()
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			defer note()
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	})
	r.restart()
	config := r.reconcile()
	r.client = store
	r.restart()
	r.deleted(config)
	return states
}

// TestNoTemplateForConfigThatIsGone holds that no template is created for a config that is gone,
// whichever state of it a stale cache shows: nothing would delete the template.
func TestNoTemplateForConfigThatIsGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		successor bool
	}{
		{reason: "the config is gone"},
		{reason: "another config has its name", successor: true},
	} {
		r := newRig(t, launchConfig(nil))
		r.sim.SetBehavior(awssim.Behavior{ForgetTokens: true}) // a client token finds no template that was deleted
		states := r.statesOf()
		if row.successor {
			if err := r.client.Create(t.Context(), launchConfig(func(config *infrav1.AWSLaunchConfig) { config.UID = "config-2" })); err != nil {
				t.Fatal(err)
			}
		}
		store := r.client
		r.live = store
		for i, state := range states {
			r.clock.Step(time.Hour)
			r.client = interceptor.NewClient(store, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if config, is := object.(*infrav1.AWSLaunchConfig); is {
						state.DeepCopyInto(config)
						return nil
					}
					return c.Get(ctx, key, object, options...)
				},
			})
			r.restart()
			r.pass()
			r.clock.Step(5 * time.Second)
			if got := r.templates(); len(got) > 0 {
				t.Fatalf("%s, and the cache shows state %d of %d: templates %v exist", row.reason, i+1, len(states), got)
			}
		}
	}
}

// TestDeletionWaitsForNodeGroupsThatAreNotVisible holds the same of the node group that a deleted
// AWSManagedMachinePool may just have created.
func TestDeletionWaitsForNodeGroupsThatAreNotVisible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// deleting is the reason why the pool is still there, and since is when it began.
		deleting string
		since    time.Duration
		stays    bool
	}{
		{reason: "the pool may have created a node group a moment ago", stays: true},
		{reason: "the pool looks for its node group again", deleting: infrav1.DeletingReason, stays: true},
		{reason: "the pool has seen its node group end", deleting: infrav1.NodegroupDeletingReason},
		{reason: "EKS deletes a node group that may not be visible yet", deleting: infrav1.NodegroupDeletingReason, since: time.Hour, stays: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			pool := &infrav1.AWSManagedMachinePool{ObjectMeta: deletedPool(nil).ObjectMeta}
			pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
			if row.deleting != "" {
				began := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC).Add(row.since)
				pool.Status.Conditions = []metav1.Condition{{
					Type: infrav1.DeletingCondition, Status: metav1.ConditionTrue, Reason: row.deleting, LastTransitionTime: metav1.NewTime(began),
				}}
			}
			r := newRig(t, pool, launchConfig(func(config *infrav1.AWSLaunchConfig) {
				ownedByPool(config)
				config.OwnerReferences[0].Kind = "AWSManagedMachinePool"
			}))
			config := r.reconcile()
			r.clock.Step(time.Hour)
			if err := r.client.Delete(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			r.reconcile()
			r.clock.Step(5 * time.Second)
			if stays := len(r.templates()) == 1; stays != row.stays {
				t.Fatalf("the template stays: %t, want %t", stays, row.stays)
			}
			r.clock.Step(usersVisibleAfter)
			r.reconcile()
			r.clock.Step(5 * time.Second)
			if left := r.templates(); len(left) != 0 {
				t.Errorf("half a minute later, templates %v are left", left)
			}
		})
	}
}

// TestDeletionWaitsForGroupsThatAreNotVisible holds that a template is not deleted while a group
// that was made from it right before may not be described yet, whether the controller restarts
// meanwhile or not.
func TestDeletionWaitsForGroupsThatAreNotVisible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason           string
		pool             func(*infrav1.AWSMachinePool)
		grouped, restart bool
		// stays is whether the template is there after the first passes.
		stays bool
	}{
		{reason: "the pool created a group a moment ago", grouped: true, stays: true},
		{reason: "and the controller restarts", grouped: true, restart: true, stays: true},
		{reason: "the pool may have created a group", stays: true},
		{reason: "the pool has seen its group end", pool: func(pool *infrav1.AWSMachinePool) {
			pool.Status.Conditions = []metav1.Condition{{Type: infrav1.DeletingCondition, Status: metav1.ConditionTrue, Reason: infrav1.ASGDeletionInProgressReason}}
		}},
		{reason: "another pool of the name, which the config is not of", pool: func(pool *infrav1.AWSMachinePool) { pool.UID = "pool-2" }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, deletedPool(row.pool), launchConfig(ownedByPool))
			config := r.reconcile()
			r.clock.Step(time.Hour)
			r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
			if row.grouped {
				r.groupOfVersion1(config)
			}
			if err := r.client.Delete(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			if row.restart {
				r.restart()
			}
			r.reconcile()
			r.clock.Step(5 * time.Second)
			if stays := len(r.templates()) == 1; stays != row.stays {
				t.Fatalf("the template stays: %t, want %t", stays, row.stays)
			}
			if row.restart {
				r.restart()
			}
			r.clock.Step(usersVisibleAfter)
			r.reconcile()
			r.clock.Step(5 * time.Second)
			if stays := len(r.templates()) == 1; stays != row.grouped {
				t.Errorf("half a minute later the template stays: %t, want %t", stays, row.grouped)
			}
			if !row.grouped {
				return
			}
			if _, err := r.groups.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: ptr.To("workers"), ForceDelete: ptr.To(true)}); err != nil {
				t.Fatal(err)
			}
			r.clock.Step(time.Minute)
			if config := r.reconcile(); config != nil {
				t.Errorf("the config is still there: %+v", config.Status.Conditions)
			}
			r.clock.Step(5 * time.Second)
			if left := r.templates(); len(left) != 0 {
				t.Errorf("templates %v are left", left)
			}
		})
	}
}

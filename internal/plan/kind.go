package plan

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/forecast"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// kind holds what a plan has to know about a kind of pools.
type kind struct {
	name string
	// empty and emptyList return an object and a list to read pools into, and view what a plan reads of
	// a pool.
	empty     func() client.Object
	emptyList func() client.ObjectList
	view      func(pool client.Object) view
	// controller returns the kind's controller.
	controller func(controllers) ctrlreconcile.Reconciler
	// replaced returns the IDs of the instances that an action replaces, which made some calls.
	replaced func(w *world, pool view, action reconcile.Action, calls []forecast.Call) []string
	// pace returns the pace at which instances are replaced, nil if none are.
	pace func(w *world, pool view, replaced []string) *Rollout
	// drains returns how long drains of a roll-out can be held, nil if no node is drained.
	drains func(pool view, rollout *Rollout) *Drains
}

// read reads a pool.
func (k *kind) read(ctx context.Context, reader client.Reader, name client.ObjectKey) (view, error) {
	pool := k.empty()
	err := reader.Get(ctx, name, pool)
	return k.view(pool), err
}

// list lists the pools of a namespace, or of all namespaces if it is empty.
func (k *kind) list(ctx context.Context, reader client.Reader, namespace string) ([]view, error) {
	pools := k.emptyList()
	if err := reader.List(ctx, pools, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var views []view
	err := meta.EachListItem(pools, func(pool runtime.Object) error {
		views = append(views, k.view(pool.(client.Object)))
		return nil
	})
	return views, err
}

// view holds the parts of a pool that a plan reads, for pools of any kind.
type view struct {
	client.Object
	config     *infrav1.LaunchConfigReference
	template   *infrav1.LaunchConfigTemplateReference
	conditions []metav1.Condition
	// instances are the IDs of the instances that are not on their way out.
	instances []string
}

var kindsOfPools = []*kind{&selfManaged, &managed}

// kindNamed returns the kind of pools of a name, nil if there is none.
func kindNamed(name string) *kind {
	for _, kind := range kindsOfPools {
		if kind.name == name {
			return kind
		}
	}
	return nil
}

// selfManaged is the kind AWSMachinePool.
var selfManaged = kind{
	name:      "AWSMachinePool",
	empty:     func() client.Object { return &infrav1.AWSMachinePool{} },
	emptyList: func() client.ObjectList { return &infrav1.AWSMachinePoolList{} },
	view: func(object client.Object) view {
		pool := object.(*infrav1.AWSMachinePool)
		return view{pool, pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef, pool.Status.Conditions, present(pool.Status.Instances)}
	},
	controller: func(c controllers) ctrlreconcile.Reconciler { return c.pools },
	replaced: func(w *world, _ view, action reconcile.Action, calls []forecast.Call) []string {
		replaces, is := action.(reconcile.Replaces)
		switch {
		case !is:
			return nil
		case calling(calls, "autoscaling:StartInstanceRefresh"):
			return w.refreshed(replaces.Replaced())
		}
		return replaces.Replaced()
	},
	pace: func(w *world, pool view, replaced []string) *Rollout {
		return w.pace(pool.Object.(*infrav1.AWSMachinePool), replaced)
	},
	drains: func(pool view, _ *Rollout) *Drains { return drainsOf(pool.Object.(*infrav1.AWSMachinePool)) },
}

// managed is the kind AWSManagedMachinePool. EKS replaces all nodes of a node group when it updates
// what they are launched from, and when another node group takes its place.
var managed = kind{
	name:      "AWSManagedMachinePool",
	empty:     func() client.Object { return &infrav1.AWSManagedMachinePool{} },
	emptyList: func() client.ObjectList { return &infrav1.AWSManagedMachinePoolList{} },
	view: func(object client.Object) view {
		pool := object.(*infrav1.AWSManagedMachinePool)
		return view{pool, pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef, pool.Status.Conditions, present(pool.Status.Instances)}
	},
	controller: func(c controllers) ctrlreconcile.Reconciler { return c.managed },
	replaced: func(_ *world, pool view, _ reconcile.Action, calls []forecast.Call) []string {
		if calling(calls, "eks:UpdateNodegroupVersion") || calling(calls, createsNodegroup) {
			return pool.instances
		}
		return nil
	},
	pace: func(w *world, _ view, replaced []string) *Rollout {
		return managedPace(w.aws.Nodegroup(), len(replaced), calling(w.aws.Calls(), createsNodegroup))
	},
	drains: func(pool view, rollout *Rollout) *Drains {
		return managedDrains(pool.Object.(*infrav1.AWSManagedMachinePool), rollout)
	},
}

// createsNodegroup is the call that creates a node group.
const createsNodegroup = "eks:CreateNodegroup"

// calling reports whether an API action is among calls.
func calling(calls []forecast.Call, action string) bool {
	return slices.ContainsFunc(calls, func(call forecast.Call) bool { return call.String() == action })
}

// present returns the IDs of instances that are not on their way out.
func present(instances []infrav1.AWSMachinePoolInstanceStatus) []string {
	var ids []string
	for _, instance := range instances {
		if !strings.Contains(instance.LifecycleState, "Terminat") {
			ids = append(ids, instance.InstanceID)
		}
	}
	return ids
}

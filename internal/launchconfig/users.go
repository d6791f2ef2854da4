package launchconfig

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// usage holds what a launch config needs to know about a pool that launches from it.
type usage struct {
	// config is the name of the launch config, empty for a pool without one.
	config string
	user   infrav1.LaunchConfigUser
	uid    types.UID
	paused bool
	// groupEnded is true of a pool that is being deleted and has seen that its group is gone, or going.
	groupEnded bool
	// deletingSince is since when an AWSManagedMachinePool knows that it is being deleted. It has no
	// other proof that its node group is visible.
	deletingSince time.Time
	// named is the name that the pool's awsLaunchTemplate asks for, "" for none.
	named string
	// wanted is the version that the status of the pool wants, 0 for none.
	wanted int64
	// running counts instances by template and version.
	running map[versionOfTemplate]int32
}

// versionOfTemplate identifies the version that an instance was launched from.
type versionOfTemplate struct {
	template string
	version  int64
}

// configOf returns the name of the launch config of a pool of either kind, "" for a pool without one.
func configOf(pool client.Object) string {
	var reference *infrav1.LaunchConfigReference
	own := false // whether it has one of its own, of its name, unless it refers to another
	switch pool := pool.(type) {
	case *infrav1.AWSMachinePool:
		reference, own = pool.Spec.LaunchConfigRef, true
	case *infrav1.AWSManagedMachinePool:
		reference, own = pool.Spec.LaunchConfigRef, pool.Spec.Templated()
	}
	switch {
	case reference != nil:
		return reference.Name
	case own:
		return pool.GetName()
	}
	return ""
}

// usageOf returns the usage of a pool of either kind. The instances of a node group are launched
// from EKS's copy of a version, which the status of the pool has as far as it is known.
func usageOf(pool client.Object) usage {
	_, paused := pool.GetAnnotations()[clusterv1.PausedAnnotation]
	found := usage{config: configOf(pool), uid: pool.GetUID(), paused: paused, running: map[versionOfTemplate]int32{}, user: infrav1.LaunchConfigUser{Name: pool.GetName()}}
	var inline *infrav1.AWSLaunchTemplate
	switch pool := pool.(type) {
	case *infrav1.AWSMachinePool:
		found.user.Kind, inline = kindSelfManaged, pool.Spec.AWSLaunchTemplate
		found.groupEnded = endsGroup(pool, pool.Status.Conditions, infrav1.ASGDeletionInProgressReason)
		found.wanted = pool.Status.WantedVersion
		for _, running := range pool.Status.RunningVersions {
			found.running[versionOfTemplate{running.LaunchTemplateID, running.Version}] += running.Instances
		}
	case *infrav1.AWSManagedMachinePool:
		found.user.Kind, inline = kindManaged, pool.Spec.AWSLaunchTemplate
		found.groupEnded = endsGroup(pool, pool.Status.Conditions, infrav1.NodegroupDeletingReason)
		found.wanted = pool.Status.WantedVersion
		if deleting := meta.FindStatusCondition(pool.Status.Conditions, infrav1.DeletingCondition); deleting != nil {
			found.deletingSince = deleting.LastTransitionTime.Time
		}
		for i := range pool.Status.Instances {
			instance := &pool.Status.Instances[i]
			version, err := strconv.ParseInt(instance.LaunchTemplateVersion, 10, 64)
			leaving := autoscalinggroup.Instance{LifecycleState: instance.LifecycleState}.Leaving()
			if err == nil && !leaving && pool.Status.LaunchTemplateID != "" {
				found.running[versionOfTemplate{pool.Status.LaunchTemplateID, version}]++
			}
		}
	}
	if inline != nil {
		found.named = inline.Name
	}
	for _, instances := range found.running {
		found.user.Instances += instances
	}
	return found
}

// endsGroup reports whether a pool is being deleted, and says by a reason that its group is gone, or
// going.
func endsGroup(pool client.Object, conditions []metav1.Condition, reason string) bool {
	deleting := meta.FindStatusCondition(conditions, infrav1.DeletingCondition)
	return pool.GetDeletionTimestamp() != nil && deleting != nil && deleting.Reason == reason
}

// countedAfter is the time after a change of its instances at which a pool wakes its launch config,
// whose status counts them. Nothing else waits for that, and a pool that grows or rolls changes
// with each of its instances.
const countedAfter = 5 * time.Second

// byUser wakes the launch config that a pool launches from, or launched from before: at once if it
// is another, or the pool is paused or no longer.
var byUser = handler.Funcs{
	CreateFunc: func(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		wakeConfigs(queue, 0, e.Object)
	},
	UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		before, after := usageOf(e.ObjectOld), usageOf(e.ObjectNew)
		switch {
		case before.config != after.config || before.paused != after.paused || before.groupEnded != after.groupEnded:
			wakeConfigs(queue, 0, e.ObjectOld, e.ObjectNew)
		case !maps.Equal(before.running, after.running):
			wakeConfigs(queue, countedAfter, e.ObjectNew)
		}
	},
	DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		wakeConfigs(queue, 0, e.Object)
	},
}

// wakeConfigs wakes the launch configs that pools launch from.
func wakeConfigs(queue workqueue.TypedRateLimitingInterface[reconcile.Request], after time.Duration, pools ...client.Object) {
	for _, pool := range pools {
		if name := configOf(pool); name != "" {
			queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: pool.GetNamespace(), Name: name}}, after)
		}
	}
}

// emptyPool returns an empty pool of a kind, nil for what is no kind of pool.
func emptyPool(kind string) client.Object {
	switch kind {
	case kindSelfManaged:
		return &infrav1.AWSMachinePool{}
	case kindManaged:
		return &infrav1.AWSManagedMachinePool{}
	}
	return nil
}

// owningPool reads the pool that an owner reference of a config names as the controller's, nil if
// there is none.
func owningPool(ctx context.Context, reader client.Reader, config *infrav1.AWSLaunchConfig) (client.Object, error) {
	reference := metav1.GetControllerOf(config)
	if reference == nil {
		return nil, nil
	}
	pool := emptyPool(reference.Kind)
	if pool == nil {
		return nil, nil
	}
	err := reader.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: reference.Name}, pool)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", reference.Kind, reference.Name, err)
	}
	return pool, nil
}

// ownerOf says what matters of the pool whose own launch config a config is.
func (k *kind) ownerOf(ctx context.Context, config *infrav1.AWSLaunchConfig) (ownerPool, error) {
	reference := metav1.GetControllerOf(config)
	if reference == nil || emptyPool(reference.Kind) == nil {
		return ownerPool{}, nil
	}
	found := ownerPool{Kind: reference.Kind, Name: reference.Name}
	pool, err := owningPool(ctx, k.Client, config)
	if pool == nil {
		return found, err
	}
	found.Exists, found.Same, found.Deleting = true, pool.GetUID() == reference.UID, pool.GetDeletionTimestamp() != nil
	switch pool := pool.(type) {
	case *infrav1.AWSMachinePool:
		found.Own = pool.Spec.LaunchConfigRef == nil && pool.Name == config.Name
		if template := pool.Spec.AWSLaunchTemplate; template != nil {
			found.InstanceType = &template.InstanceType
		}
	case *infrav1.AWSManagedMachinePool:
		found.Own = pool.Spec.LaunchConfigRef == nil && pool.Name == config.Name && pool.Spec.Templated()
	}
	return found, nil
}

// usagesOf returns the usages of the pools that launch from a launch config: its owner, or all
// pools that refer to it.
func usagesOf(ctx context.Context, reader client.Reader, config *infrav1.AWSLaunchConfig) ([]usage, error) {
	if metav1.GetControllerOf(config) != nil {
		pool, err := owningPool(ctx, reader, config)
		if pool == nil {
			return nil, err
		}
		return []usage{usageOf(pool)}, nil
	}
	self, managed := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}
	for _, list := range []client.ObjectList{self, managed} {
		if err := reader.List(ctx, list, client.InNamespace(config.Namespace), client.MatchingFields{byConfig: config.Name}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the pools of launch config %q: %w", config.Name, err)
		}
	}
	var found []usage
	for i := range self.Items {
		found = append(found, usageOf(&self.Items[i]))
	}
	for i := range managed.Items {
		found = append(found, usageOf(&managed.Items[i]))
	}
	slices.SortFunc(found, func(a, b usage) int {
		return cmp.Or(cmp.Compare(a.user.Kind, b.user.Kind), cmp.Compare(a.user.Name, b.user.Name))
	})
	return found, nil
}

// pausedWithPool is true for the launch config of a pool that is paused by itself, and shows it.
func pausedWithPool(config *infrav1.AWSLaunchConfig, usages []usage) bool {
	if len(usages) != 1 || !usages[0].paused {
		return false
	}
	reconciling.True(config, infrav1.PausedCondition, infrav1.PausedReason, fmt.Sprintf("%s %q is paused", usages[0].user.Kind, usages[0].user.Name))
	return true
}

// users are the pools, for status, and their names in one line.
func users(usages []usage) ([]infrav1.LaunchConfigUser, string) {
	var listed []infrav1.LaunchConfigUser
	var names []string
	for _, used := range usages[:min(len(usages), infrav1.MaxLaunchConfigUsers)] {
		listed, names = append(listed, used.user), append(names, used.user.Name)
	}
	return listed, report.Shortened(strings.Join(names, ", "))
}

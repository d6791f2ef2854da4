package webhooks

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/pool"
)

// view holds the parts of a pool that decide whether its nodes are replaced, for pools of both kinds.
type view struct {
	client.Object
	kind     string
	config   *infrav1.LaunchConfigReference
	template *infrav1.LaunchConfigTemplateReference
	// spec is what users write of the spec.
	spec any
	// templated is true if nodes are launched from a launch template.
	templated bool
	// wanted returns the pool's own launch config as the pool asks for it.
	wanted func(*clusterv1.MachinePool, *cluster.Facts, *infrav1.AWSLaunchConfig, pool.ReferredTemplate) *infrav1.AWSLaunchConfig
	// imageChanges returns why EKS replaces nodes regardless of the launch template; nil for a group
	// that is not EKS's.
	imageChanges func(*clusterv1.MachinePool, *cluster.Facts) []string
	// overrides identifies the images and templates of overrides.
	overrides string
	// disabled is true if the user replaces nodes, and rootVolumes if AWS may replace their root volumes
	// instead.
	disabled, rootVolumes bool
	// replicas is the number of nodes. Of them, upToDate run what was wanted last, nil if that is not
	// known. Current is true if status describes the spec. Cause is why nodes are replaced that are
	// not up to date.
	replicas int32
	upToDate *int32
	current  bool
	cause    string
}

// emptyPool returns an object of a kind of pools, nil for another kind.
func emptyPool(kind string) client.Object {
	switch kind {
	case "AWSMachinePool":
		return &infrav1.AWSMachinePool{}
	case "AWSManagedMachinePool":
		return &infrav1.AWSManagedMachinePool{}
	}
	return nil
}

// viewOf returns the view of a pool of either kind.
func viewOf(object client.Object) view {
	if object, is := object.(*infrav1.AWSManagedMachinePool); is {
		return managedView(object)
	}
	return selfManagedView(object.(*infrav1.AWSMachinePool))
}

func selfManagedView(object *infrav1.AWSMachinePool) view {
	spec, status := &object.Spec, &object.Status
	preferences := ptr.Deref(spec.RefreshPreferences, infrav1.RefreshPreferences{})
	seen := view{
		Object: object, kind: "AWSMachinePool", config: spec.LaunchConfigRef, template: spec.LaunchConfigTemplateRef, spec: written(object), templated: true,
		wanted: func(machinePool *clusterv1.MachinePool, facts *cluster.Facts, config *infrav1.AWSLaunchConfig, template pool.ReferredTemplate) *infrav1.AWSLaunchConfig {
			return machinepool.WantedConfig(object, machinePool, facts, config, template)
		},
		overrides: machinepool.OverrideSources(object), disabled: preferences.Disable,
		rootVolumes: ptr.Deref(preferences.Strategy, "") == infrav1.RefreshStrategyReplaceRootVolume,
		replicas:    status.Replicas, upToDate: status.UpToDateReplicas, current: status.ObservedGeneration == object.Generation,
	}
	if status.Rollout != nil {
		seen.cause = status.Rollout.Cause
	}
	return seen
}

func managedView(object *infrav1.AWSManagedMachinePool) view {
	spec, status := &object.Spec, &object.Status
	return view{
		Object: object, kind: "AWSManagedMachinePool", config: spec.LaunchConfigRef, template: spec.LaunchConfigTemplateRef, spec: writtenManaged(object), templated: spec.Templated(),
		wanted: func(machinePool *clusterv1.MachinePool, facts *cluster.Facts, config *infrav1.AWSLaunchConfig, template pool.ReferredTemplate) *infrav1.AWSLaunchConfig {
			return managedmachinepool.WantedConfig(object, machinePool, facts, config, template)
		},
		imageChanges: func(machinePool *clusterv1.MachinePool, facts *cluster.Facts) []string {
			return managedmachinepool.ImageChanges(object, machinePool, facts)
		},
		replicas: status.Replicas, upToDate: status.UpToDateReplicas, current: status.ObservedGeneration == object.Generation,
	}
}

// steering are the annotations that decide when nodes are replaced.
var steering = []string{infrav1.ApprovedVersionAnnotation, infrav1.RolloutPausedAnnotation}

// sameSteering reports whether two objects have the same annotations that decide when nodes are
// replaced.
func sameSteering(before, after client.Object) bool {
	return !slices.ContainsFunc(steering, func(key string) bool { return before.GetAnnotations()[key] != after.GetAnnotations()[key] })
}

// asks reports whether a pool asks for the same nodes as before.
func (v view) asks(before view) bool {
	return equality.Semantic.DeepEqual(v.spec, before.spec) && sameSteering(before, v)
}

// configName returns the name of the launch config that the pool launches from, "" for none.
func (v view) configName() string {
	switch {
	case v.config != nil:
		return v.config.Name
	case v.templated:
		return v.GetName()
	}
	return ""
}

// waits returns what a pool's user has the replacement of nodes wait for, "" for nothing.
func (v view) waits() string {
	_, paused := v.GetAnnotations()[clusterv1.PausedAnnotation]
	switch {
	case paused:
		return "once the pool is no longer paused"
	case infrav1.RolloutPaused(v.GetAnnotations()):
		return "once roll-outs are resumed"
	case v.disabled:
		return "disabled"
	}
	return ""
}

// outdated returns the number of nodes that do not run what was wanted last, 0 if that is not known.
func (v view) outdated() int32 { return v.replicas - ptr.Deref(v.upToDate, v.replicas) }

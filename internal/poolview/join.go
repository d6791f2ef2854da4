package poolview

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Join adds to each pool the MachinePool that owns it, and the AWSLaunchConfig that it launches from, and
// sorts the pools by namespace, name and kind.
func Join(pools []Objects, machinePools []clusterv1.MachinePool, configs []infrav1.AWSLaunchConfig) {
	owners := make(map[types.UID]*clusterv1.MachinePool, len(machinePools))
	for i := range machinePools {
		owners[machinePools[i].UID] = &machinePools[i]
	}
	named := make(map[types.NamespacedName]*infrav1.AWSLaunchConfig, len(configs))
	owned := make(map[types.UID]*infrav1.AWSLaunchConfig, len(configs))
	for i := range configs {
		config := &configs[i]
		named[client.ObjectKeyFromObject(config)] = config
		for _, owner := range config.OwnerReferences {
			owned[owner.UID] = config
		}
	}
	for i := range pools {
		object, reference := pools[i].object()
		for _, owner := range object.GetOwnerReferences() {
			if found := owners[owner.UID]; found != nil {
				pools[i].MachinePool = found
			}
		}
		if reference != nil {
			pools[i].Config = named[types.NamespacedName{Namespace: object.GetNamespace(), Name: reference.Name}]
		} else {
			pools[i].Config = owned[object.GetUID()]
		}
	}
	slices.SortFunc(pools, func(a, b Objects) int {
		first, _ := a.object()
		second, _ := b.object()
		return cmp.Or(strings.Compare(first.GetNamespace(), second.GetNamespace()), strings.Compare(first.GetName(), second.GetName()), kindOrder(a)-kindOrder(b))
	})
}

// object returns the pool, and its reference to an AWSLaunchConfig; nil if it has its own.
func (o *Objects) object() (client.Object, *infrav1.LaunchConfigReference) {
	if o.SelfManaged != nil {
		return o.SelfManaged, o.SelfManaged.Spec.LaunchConfigRef
	}
	return o.Managed, o.Managed.Spec.LaunchConfigRef
}

func kindOrder(objects Objects) int {
	if objects.SelfManaged != nil {
		return 0
	}
	return 1
}

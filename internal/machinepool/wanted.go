package machinepool

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/pool"
)

// WantedConfig returns a copy of a pool's own launch config with the spec and the annotations that the
// pool asks for. The pool does not refer to a launch config of another owner. Template is the
// AWSLaunchConfigTemplate that it refers to, the zero value if it refers to none.
func WantedConfig(
	object *infrav1.AWSMachinePool, machinePool *clusterv1.MachinePool, facts *cluster.Facts, config *infrav1.AWSLaunchConfig, template pool.ReferredTemplate,
) *infrav1.AWSLaunchConfig {
	in := input{Object: object, Seen: Observed{
		MachinePool: machinePool, ClusterName: machinePool.Spec.ClusterName, Access: pool.Access{Facts: facts},
		LaunchConfig: pool.LaunchConfig{Object: config, Source: template},
	}}
	wanted, source := config.DeepCopy(), configSource(in)
	wanted.Spec, wanted.Annotations = wantedConfig(in, source, config), configRequest(in).Annotations(config, source)
	return wanted
}

// OverrideSources identifies the images and launch templates that the overrides of a pool name. A
// change replaces the instances that were launched from others.
func OverrideSources(object *infrav1.AWSMachinePool) string {
	if object.Spec.MixedInstancesPolicy == nil {
		return ""
	}
	return autoscalinggroup.Wanted{Overrides: object.Spec.MixedInstancesPolicy.Overrides}.Key()
}

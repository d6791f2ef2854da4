package managedmachinepool

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
)

// WantedConfig returns a copy of a pool's own launch config with the spec and the annotations that the
// pool asks for. The pool does not refer to a launch config of another owner. Template is the
// AWSLaunchConfigTemplate that it refers to, the zero value if it refers to none.
func WantedConfig(
	object *infrav1.AWSManagedMachinePool, machinePool *clusterv1.MachinePool, facts *cluster.Facts, config *infrav1.AWSLaunchConfig, template pool.ReferredTemplate,
) *infrav1.AWSLaunchConfig {
	in := input{Object: object, Seen: Observed{
		MachinePool: machinePool, ClusterName: machinePool.Spec.ClusterName, Access: pool.Access{Facts: facts},
		LaunchConfig: pool.LaunchConfig{Object: config, Source: template},
	}}
	wanted, source := config.DeepCopy(), configSource(in)
	wanted.Spec, wanted.Annotations = wantedConfig(in, source, config), configRequest(in).Annotations(config, source)
	return wanted
}

// ImageChanges returns the reasons for which EKS replaces the nodes of a pool that has an image of
// EKS's: another Kubernetes version, or another release of the image.
func ImageChanges(object *infrav1.AWSManagedMachinePool, machinePool *clusterv1.MachinePool, facts *cluster.Facts) []string {
	present := object.Status.Nodegroup
	if present == nil || object.Spec.OwnImage() {
		return nil
	}
	desired := nodegroup.Desired{
		KubernetesVersion: machinePool.Spec.Template.Spec.Version, ClusterVersion: facts.ControlPlaneVersion,
	}
	if release := object.Spec.AMIVersion; release != nil {
		desired.ReleaseVersion = *release
	}
	seen := nodegroup.Nodegroup{KubernetesVersion: present.KubernetesVersion, ReleaseVersion: present.ReleaseVersion}
	return nodegroup.Next(desired, seen, nil, time.Time{}).Due
}

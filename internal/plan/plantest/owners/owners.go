// Package owners has the objects that the pool of a test belongs to: its MachinePool, Cluster, AWSCluster,
// and bootstrap Secret. It does not need package plan, so that the tests of that package can use it.
package owners

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// Region is the AWS region of the pool.
const Region = "us-east-1"

// The EKS cluster of a managed pool, its Kubernetes version, and the subnet of all pools.
const (
	EKSCluster        = "prod-eks"
	KubernetesVersion = "1.34"
	Subnet            = "subnet-0b2000000000000aa"
)

// Key is the name of the AWSMachinePool, and ManagedKey is the name of the AWSManagedMachinePool.
var (
	Key        = client.ObjectKey{Namespace: "blue", Name: "workers"}
	ManagedKey = client.ObjectKey{Namespace: "blue", Name: "system"}
)

// Kinds returns the kinds that the API server serves. They are compiled once for all tests of a package.
var Kinds = sync.OnceValues(func() (*apiserver.Kinds, error) {
	scheme, err := manager.NewScheme()
	if err != nil {
		return nil, err
	}
	_, here, _, _ := runtime.Caller(0)
	definitions, err := apitest.Load(os.DirFS(filepath.Join(filepath.Dir(here), "..", "..", "..", "..", "config", "crd")), "bases")
	return apiserver.NewKinds(scheme, definitions), err
})

// Named returns the metadata of an object of a name in the pool's namespace.
func Named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: Key.Namespace, Name: name}
}

// networkSpec is the network of the cluster.
var networkSpec = capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: Subnet, AvailabilityZone: Region + "a"}}}

// Create creates what the pool belongs to, with a number of replicas.
func Create(ctx context.Context, c client.Client, replicas int32) error {
	network := &capav1.AWSCluster{ObjectMeta: Named("prod")}
	network.Spec.Region = Region
	network.Spec.NetworkSpec = networkSpec
	cluster := &clusterv1.Cluster{ObjectMeta: Named("prod")}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "prod"}
	machinePool := &clusterv1.MachinePool{ObjectMeta: Named(Key.Name)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "prod", &replicas
	machinePool.Spec.Template.Spec.Version = "v1.36.3"
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap")
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: Key.Name}
	secret := &corev1.Secret{ObjectMeta: Named("bootstrap"), Data: map[string][]byte{"format": []byte("cloud-config"), "value": []byte("#cloud-config\n")}}
	for _, object := range []client.Object{network, cluster, machinePool, secret} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	network.Status.Ready = true
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return errors.Join(c.Status().Update(ctx, network), c.Status().Update(ctx, cluster))
}

// CreateManaged creates what an AWSManagedMachinePool belongs to, with a number of replicas.
func CreateManaged(ctx context.Context, c client.Client, replicas int32) error {
	network := &eksv1.AWSManagedControlPlane{ObjectMeta: Named("prod")}
	network.Spec = eksv1.AWSManagedControlPlaneSpec{EKSClusterName: EKSCluster, Region: Region, Version: ptr.To("v" + KubernetesVersion), NetworkSpec: networkSpec}
	cluster := &clusterv1.Cluster{ObjectMeta: Named("prod")}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: eksv1.GroupVersion.Group, Kind: "AWSManagedControlPlane", Name: "prod"}
	machinePool := &clusterv1.MachinePool{ObjectMeta: Named(ManagedKey.Name)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "prod", &replicas
	machinePool.Spec.Template.Spec.Version = "v" + KubernetesVersion + ".1"
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSManagedMachinePool", Name: ManagedKey.Name}
	for _, object := range []client.Object{network, cluster, machinePool} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	network.Status.Ready = true
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-0c1000000000000ab"},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return errors.Join(c.Status().Update(ctx, network), c.Status().Update(ctx, cluster))
}

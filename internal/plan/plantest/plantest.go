// Package plantest has a management cluster and a simulated AWS with a pool that runs, for tests of
// what plans edits.
package plantest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// Start is the time at which the world begins.
var Start = time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)

// Key is the name of the pool.
var Key = client.ObjectKey{Namespace: "blue", Name: "workers"}

const region = "us-east-1"

// kinds are compiled once for all tests of a package.
var kinds = sync.OnceValues(func() (*apiserver.Kinds, error) {
	scheme, err := manager.NewScheme()
	if err != nil {
		return nil, err
	}
	_, here, _, _ := runtime.Caller(0)
	definitions, err := apitest.Load(os.DirFS(filepath.Join(filepath.Dir(here), "..", "..", "..", "config", "crd")), "bases")
	return apiserver.NewKinds(scheme, definitions), err
})

// World is a management cluster with a pool, and the AWS that the pool runs in.
type World struct {
	testing.TB
	Cluster client.Client
	AWS     awssdk.Config
	Sim     *awssim.Simulator
	Clock   *simclock.Clock
	Planner *plan.Planner
}

// New returns a world with a pool of some replicas in service. Edit changes the spec of the pool before
// it is created.
func New(t testing.TB, replicas int32, edit func(*infrav1.AWSMachinePool)) *World {
	t.Helper()
	all, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	w := &World{TB: t}
	sim, clk, url := awssimtest.Start(t, Start, awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second}}})
	w.Sim, w.Clock, w.AWS = sim, clk, awssimtest.Config(url, region, awssim.DefaultAccount)
	w.Cluster = apiserver.New(all, clk, 1).Client()
	w.Planner = &plan.Planner{Cluster: w.Cluster, AWS: w.AWS, Kinds: all, Clock: clk, SettleWindow: 10 * time.Second}
	w.createOwners(replicas)
	pool := &infrav1.AWSMachinePool{ObjectMeta: named(Key.Name)}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 20
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](60)}
	if edit != nil {
		edit(pool)
	}
	w.run(pool)
	return w
}

// createOwners creates what the pool belongs to.
func (w *World) createOwners(replicas int32) {
	w.Helper()
	network := &capav1.AWSCluster{ObjectMeta: named("prod")}
	network.Spec.Region = region
	network.Spec.NetworkSpec = capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: "subnet-0b2000000000000aa", AvailabilityZone: region + "a"}}}
	cluster := &clusterv1.Cluster{ObjectMeta: named("prod")}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "prod"}
	machinePool := &clusterv1.MachinePool{ObjectMeta: named(Key.Name)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "prod", &replicas
	machinePool.Spec.Template.Spec.Version = "v1.36.3"
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap")
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: Key.Name}
	secret := &corev1.Secret{ObjectMeta: named("bootstrap"), Data: map[string][]byte{"format": []byte("cloud-config"), "value": []byte("#cloud-config\n")}}
	for _, object := range []client.Object{network, cluster, machinePool, secret} {
		w.do(w.Cluster.Create(w.Context(), object))
	}
	network.Status.Ready = true
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.do(errors.Join(w.Cluster.Status().Update(w.Context(), network), w.Cluster.Status().Update(w.Context(), cluster)))
}

// run has the controllers run the pool until its instances are in service. The world then has the
// management cluster that they wrote.
func (w *World) run(pool *infrav1.AWSMachinePool) {
	w.Helper()
	ctx := log.IntoContext(w.Context(), logr.Discard())
	copies, err := w.Planner.Copies(ctx, pool)
	w.do(err)
	copies[0].Start(plan.Surroundings{AWS: w.AWS, Clock: w.Clock})
	w.do(copies[0].Edit(ctx))
	for range 12 {
		_, err := copies[0].Reconcile(ctx)
		w.do(err)
		w.Clock.Step(10 * time.Second)
	}
	w.Cluster = copies[0].Cluster()
	w.Planner.Cluster = w.Cluster
	stored := w.Pool()
	if len(stored.Status.Instances) == 0 || len(stored.Status.Instances) != int(stored.Status.Replicas) {
		w.Fatalf("the pool has instances %v; %v", stored.Status.Instances, stored.Status.Conditions)
	}
	w.Sim.ClearCalls()
}

// Pool returns the pool as the management cluster has it.
func (w *World) Pool() *infrav1.AWSMachinePool {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	w.do(w.Cluster.Get(w.Context(), Key, pool))
	return pool
}

func (w *World) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: Key.Namespace, Name: name}
}

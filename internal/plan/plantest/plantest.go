// Package plantest has a management cluster and a simulated AWS with a pool that runs, for tests of
// what plans edits.
package plantest

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/internal/workload"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// Start is the time at which the world begins.
var Start = time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)

// World is a management cluster with a pool, and the AWS that the pool runs in.
type World struct {
	testing.TB
	Cluster client.Client
	AWS     awssdk.Config
	Sim     *awssim.Simulator
	Clock   *simclock.Clock
	Planner *plan.Planner
	// copy runs the pool.
	copy *plan.Copy
}

// New returns a world with a pool of some replicas in service. Edit changes the spec of the pool before
// it is created.
func New(t testing.TB, replicas int32, edit func(*infrav1.AWSMachinePool)) *World {
	t.Helper()
	w := newWorld(t)
	w.do(owners.Create(t.Context(), w.Cluster, replicas))
	pool := &infrav1.AWSMachinePool{ObjectMeta: owners.Named(owners.Key.Name)}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 20
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](60)}
	if edit != nil {
		edit(pool)
	}
	w.run(pool)
	return w
}

// NewManaged returns a world with an AWSManagedMachinePool of some replicas in service. Edit changes the spec
// of the pool before it is created.
func NewManaged(t testing.TB, replicas int32, edit func(*infrav1.AWSManagedMachinePool)) *World {
	t.Helper()
	w := NewEKS(t, replicas)
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: owners.Named(owners.ManagedKey.Name)}
	pool.Spec.AMIType, pool.Spec.SubnetIDs = ptr.To(infrav1.AMITypeAL2023X86), []string{owners.Subnet}
	pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](20)}
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	if edit != nil {
		edit(pool)
	}
	w.run(pool)
	return w
}

// NewEKS returns a world with an EKS cluster and what an AWSManagedMachinePool of some replicas belongs to, and no
// pool.
func NewEKS(t testing.TB, replicas int32) *World {
	t.Helper()
	w := newWorld(t)
	w.do(w.Sim.Region(awssim.DefaultAccount, owners.Region).SetCluster(awssim.Cluster{Name: owners.EKSCluster, Version: owners.KubernetesVersion, Subnets: []string{owners.Subnet}}))
	w.do(owners.CreateManaged(t.Context(), w.Cluster, replicas))
	return w
}

// newWorld returns a world without objects.
func newWorld(t testing.TB) *World {
	t.Helper()
	all, err := owners.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	w := &World{TB: t}
	sim, clk, url := awssimtest.Start(t, Start, awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second}}})
	w.Sim, w.Clock, w.AWS = sim, clk, awssimtest.Config(url, owners.Region, awssim.DefaultAccount)
	w.Cluster = apiserver.New(all, clk, 1).Client()
	w.Planner = &plan.Planner{Cluster: w.Cluster, AWS: w.AWS, Kinds: all, Clock: clk, SettleWindow: 10 * time.Second}
	return w
}

// run has the controllers run the pool until its instances are in service. The world then has the
// management cluster that they wrote.
func (w *World) run(pool client.Object) {
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
	w.Cluster, w.copy = copies[0].Cluster(), copies[0]
	w.Planner.Cluster = w.Cluster
	state, err := copies[0].State(ctx)
	w.do(err)
	if state.Instances == 0 || state.Instances != state.Replicas {
		w.Fatalf("the pool has %d instances; %v", state.Instances, state.Conditions)
	}
	w.Sim.ClearCalls()
}

// Edit stores an edit of the pool, and has the controllers run a number of times, ten seconds apart.
func (w *World) Edit(edited client.Object, passes int) {
	w.Helper()
	ctx := log.IntoContext(w.Context(), logr.Discard())
	w.do(w.Cluster.Update(ctx, edited))
	for range passes {
		_, err := w.copy.Reconcile(ctx)
		w.do(err)
		w.Clock.Step(10 * time.Second)
	}
}

// RollOut stores an edit of the pool, has the controllers roll it out, and returns how long that takes.
func (w *World) RollOut(edited client.Object) time.Duration {
	w.Helper()
	ctx := log.IntoContext(w.Context(), logr.Discard())
	w.do(w.Cluster.Update(ctx, edited))
	began := w.Clock.Now()
	for range 360 {
		_, err := w.copy.Reconcile(ctx)
		w.do(err)
		w.Clock.Step(10 * time.Second)
		state, err := w.copy.State(ctx)
		w.do(err)
		rolledOut := meta.FindStatusCondition(state.Conditions, infrav1.RolledOutCondition)
		if rolledOut != nil && rolledOut.Status == metav1.ConditionTrue && rolledOut.ObservedGeneration == state.Generation {
			w.Sim.ClearCalls()
			return w.Clock.Since(began)
		}
	}
	w.Fatal("the pool does not roll out within an hour")
	return 0
}

// Workload starts a workload cluster with a Node for each instance of the pool. The planner reads it.
func (w *World) Workload() *workloadtest.Server {
	w.Helper()
	server := workloadtest.NewServer(w.providerIDs()...)
	workloadtest.Serve(w, w.Cluster, client.ObjectKey{Namespace: owners.Key.Namespace, Name: "prod"}, server)
	w.Planner.Workloads = workload.New(w.Cluster, w.Clock)
	w.Planner.Workloads.Loopback = true
	w.Cleanup(w.Planner.Workloads.Close)
	return server
}

// providerIDs returns the provider IDs of the instances of the pool.
func (w *World) providerIDs() []string {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	err := w.Cluster.Get(w.Context(), owners.Key, pool)
	if err == nil {
		return pool.Spec.ProviderIDList
	}
	w.do(client.IgnoreNotFound(err))
	return w.Managed().Spec.ProviderIDList
}

// Pool returns the pool as the management cluster has it.
func (w *World) Pool() *infrav1.AWSMachinePool {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	w.do(w.Cluster.Get(w.Context(), owners.Key, pool))
	return pool
}

// Managed returns the AWSManagedMachinePool as the management cluster has it.
func (w *World) Managed() *infrav1.AWSManagedMachinePool {
	w.Helper()
	pool := &infrav1.AWSManagedMachinePool{}
	w.do(w.Cluster.Get(w.Context(), owners.ManagedKey, pool))
	return pool
}

func (w *World) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	account     = "123456789012"
	namespace   = "blue"
	clusterName = "prod"
	poolName    = "workers"
	secretName  = "workers-bootstrap"
	// subnet and securityGroup are in the simulated AWS's default world.
	subnet        = "subnet-0b2000000000000aa"
	securityGroup = "sg-0c1000000000000ab"
)

const (
	// staleStart is the probability that a process starts from a list that is older than what the last
	// process saw, and staleBy by how many writes at most.
	staleStart = 0.3
	staleBy    = 12
)

// begin is the time at which every schedule begins. It is in the middle of a second, because the
// API server keeps whole ones.
var begin = time.Date(2026, time.November, 23, 10, 0, 0, 700_000_000, time.UTC)

// World is everything that a schedule is about.
type World struct {
	kinds  *apiserver.Kinds
	server *apiserver.Server
	sim    *awssim.Simulator
	clock  *simclock.Clock
	chance chance
	faults Faults
	flaw   Flaw
	// patience is Options.Patience.
	patience time.Duration
	trace    *trace

	// user writes to the API server, and person to AWS. Nothing goes wrong for them.
	user   client.Client
	person *person

	// workload is the cluster that the instances join.
	workload *workloadCluster
	observer *observer

	process *process
	// prepared is the number of the last write before the first process started.
	prepared uint64
	// writes counts the calls of processes that change something, and lastWrite is when the last
	// was sent.
	writes    int
	lastWrite time.Time
}

// person calls AWS with credentials of its own.
type person struct {
	ec2    *ec2.Client
	groups *autoscaling.Client
}

// newWorld returns a world with a cluster, a pool, a foreign group and template that have the name
// that the pool's would get, and a process that has just started.
func newWorld(ctx context.Context, options Options) (*World, error) {
	seed := options.Seed
	w := &World{kinds: options.Kinds, clock: simclock.New(begin, 0), chance: newChance(seed, 0), flaw: options.Flaw, patience: options.Patience}
	w.trace = newTrace(w.clock, options.Trace)
	w.server = apiserver.New(options.Kinds, w.clock, seed)
	w.user = w.server.Client()
	w.sim = awssim.New(awssim.Options{Clock: w.clock, Seed: seed, Behavior: awssim.Behavior{
		InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second, Boot: 5 * time.Second, ShuttingDown: 10 * time.Second},
		ForgetTokens:  w.chance.happens(0.5),
		ReadLag:       pick(w.chance, 0, 0, time.Second, 4*time.Second),
	}})
	config := awssdk.Config{
		Region: region, HTTPClient: &transport{sim: w.sim}, Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("AKIAPERSON00"+account, "secret", ""),
	}
	w.person = &person{ec2: ec2.NewFromConfig(config), groups: autoscaling.NewFromConfig(config)}
	w.workload = newWorkloadCluster(w.clock, 3, pick(w.chance, 1, 1, 1, 0), pick(w.chance, 0, 10*time.Minute, 10*time.Minute, 40*time.Minute))
	w.observer = &observer{
		clock: w.clock, trace: w.trace, server: w.server, user: w.user, aws: holdings{w.sim.Region(account, region)},
		workload: w.workload, joinAfter: pick(w.chance, 5*time.Second, 30*time.Second), facts: newFacts(w.clock),
	}
	w.server.OnChange(w.observer.objectChanged)
	w.sim.OnChange(w.observer.instanceChanged)
	if w.chance.happens(0.5) {
		if err := w.createForeign(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.createObjects(ctx); err != nil {
		return nil, err
	}
	w.sim.ClearCalls()
	w.prepared = w.server.Version()
	process, err := startProcess(ctx, w, w.prepared)
	w.process = process
	return w, err
}

// close stops everything that belongs to the world.
func (w *World) close() {
	if w.process != nil {
		w.process.stop()
	}
	w.clock.Close()
}

// createObjects creates what Cluster API and CAPA would have created, and the pool.
func (w *World) createObjects(ctx context.Context) error {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	network := &capav1.AWSCluster{ObjectMeta: named(clusterName)}
	network.Spec.Region = region
	network.Spec.NetworkSpec = capav1.NetworkSpec{
		VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: subnet, AvailabilityZone: region + "a"}},
	}
	networkStatus := capav1.AWSClusterStatus{Ready: true, Network: capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: securityGroup}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
	}}}
	cluster := &clusterv1.Cluster{ObjectMeta: named(clusterName)}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: clusterName}
	machinePool := &clusterv1.MachinePool{ObjectMeta: named(poolName)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = clusterName, ptr.To(1+w.chance.Int32N(2))
	machinePool.Spec.Template.Spec.Version = "v1.36.3"
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To(secretName)
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: poolName,
	}
	secret := &corev1.Secret{ObjectMeta: named(secretName), Data: bootstrapData(0)}

	for _, object := range []client.Object{network, cluster, machinePool, secret} {
		if err := w.user.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	network.Status = networkStatus
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := errors.Join(w.user.Status().Update(ctx, network), w.user.Status().Update(ctx, cluster)); err != nil {
		return fmt.Errorf("setting the status of the cluster: %w", err)
	}
	pool := &infrav1.AWSMachinePool{ObjectMeta: named(poolName)}
	pool.Labels = map[string]string{clusterv1.ClusterNameLabel: clusterName}
	pool.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: poolName, UID: machinePool.UID, Controller: ptr.To(true),
	}}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 5
	pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: w.workload.timeout == 0}
	if w.workload.timeout != 0 {
		pool.Spec.NodeDrain.Timeout = &metav1.Duration{Duration: w.workload.timeout}
	}
	pool.Spec.AdditionalTags = map[string]string{"team": "blue"}
	pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](20), MinHealthyPercentage: ptr.To[int64](50)}
	pool.Spec.VersionsToKeep = pick(w.chance, nil, ptr.To[int32](1), ptr.To[int32](2))
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	if err := w.user.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating the pool: %w", err)
	}
	return nil
}

// tokenText returns the nth join token.
func tokenText(token int) string { return fmt.Sprintf("abcdef.%016d", token) }

// bootstrapData returns the content of a Secret with the nth join token.
func bootstrapData(token int) map[string][]byte {
	return map[string][]byte{"format": []byte("cloud-config"), "value": fmt.Appendf(nil,
		"#cloud-config\nruncmd:\n- kubeadm join 10.0.0.1:6443 --token %s --discovery-token-unsafe-skip-ca-verification\n", tokenText(token))}
}

// restart starts another process in place of the present one. While there may be faults, the API
// server that it reads from may lag some writes behind what the last process saw.
func (w *World) restart(ctx context.Context) error {
	w.process.stop()
	version := w.server.Version()
	if w.observer.faultless.IsZero() && w.chance.happens(staleStart) {
		behind := min(version-w.prepared, 1+w.chance.Uint64N(staleBy))
		version -= behind
		w.trace.detail("its API server lags %d writes behind", behind)
	}
	process, err := startProcess(ctx, w, version)
	if err != nil {
		return err
	}
	w.process = process
	return nil
}

// advance lets time pass, and has the process do what it does by itself.
func (w *World) advance(to time.Time) {
	w.clock.Step(to.Sub(w.clock.Now()))
	w.process.tick()
}

// next returns when something happens by itself.
func (w *World) next() time.Time {
	soonest := w.process.next()
	if at, any := w.clock.Next(); any && at.Before(soonest) {
		soonest = at
	}
	return soonest
}

// show adds the pool and its launch configs to the trace, as they are.
func (w *World) show(ctx context.Context) {
	pools, configs := &infrav1.AWSMachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	if err := errors.Join(w.user.List(ctx, pools), w.user.List(ctx, configs)); err != nil {
		w.trace.detail("listing objects: %v", err)
		return
	}
	for _, list := range []any{pools.Items, configs.Items} {
		text, err := yaml.Marshal(list)
		w.trace.line(string(text))
		if err != nil {
			w.trace.detail("showing objects: %v", err)
		}
	}
}

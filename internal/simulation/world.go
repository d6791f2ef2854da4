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
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go/middleware"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	account   = "123456789012"
	namespace = "blue"
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

	readings readings

	// verdict holds what happens against the invariants, and scene is what the schedule is about.
	verdict *verdict
	scene   scene

	process *process
	// prepared is the number of the last write before the first process started.
	prepared uint64
	// writes counts the calls of processes that change something, and lastWrite is when the last
	// was sent.
	writes    int
	lastWrite time.Time
	// turns and asked count the passes over each object, and the calls to AWS of these passes, since
	// the last rest began; turn is the object whose pass runs.
	turns, asked map[string]int
	turn         string
	// sent are the actions of AWS that processes did which change something, in order.
	sent []string
}

// person calls AWS with credentials of its own.
type person struct {
	ec2    *ec2.Client
	groups *autoscaling.Client
	eks    *eks.Client
	iam    *iam.Client
}

// newWorld returns a world with what the schedule is about, and a process that has just started.
func newWorld(ctx context.Context, options Options) (*World, error) {
	seed := options.Seed
	w := &World{kinds: options.Kinds, clock: simclock.New(begin, 0), chance: newChance(seed, 0), flaw: options.Flaw, patience: options.Patience,
		turns: map[string]int{}, asked: map[string]int{}}
	w.trace = newTrace(w.clock, options.Trace)
	w.verdict = &verdict{clock: w.clock, trace: w.trace}
	w.server = apiserver.New(options.Kinds, w.clock, seed)
	w.user = w.server.Client()
	var start *world.World
	if options.Kind == Provisioners {
		start = smallWorld()
	}
	w.sim = awssim.New(awssim.Options{Clock: w.clock, Seed: seed, World: start, Behavior: awssim.Behavior{
		InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second, Boot: 5 * time.Second, ShuttingDown: 10 * time.Second},
		ForgetTokens:  w.chance.happens(0.5),
		ReadLag:       pick(w.chance, 0, 0, time.Second, 4*time.Second),
	}})
	config := awssdk.Config{
		Region: region, HTTPClient: &transport{sim: w.sim}, APIOptions: []func(*middleware.Stack) error{w.readings.install}, Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("AKIAPERSON00"+account, "secret", ""),
	}
	w.person = &person{ec2: ec2.NewFromConfig(config), groups: autoscaling.NewFromConfig(config), eks: eks.NewFromConfig(config), iam: iam.NewFromConfig(config)}
	w.scene = newScene(w, options.Kind)
	w.server.OnChange(w.scene.changed)
	if err := w.scene.prepare(ctx); err != nil {
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

// machinePool returns the MachinePool of a pool.
func (o *observer) machinePool(replicas int32, version string) *clusterv1.MachinePool {
	machinePool := &clusterv1.MachinePool{ObjectMeta: named(o.name)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = o.cluster, &replicas
	machinePool.Spec.Template.Spec.Version = version
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: o.kind.name, Name: o.name,
	}
	return machinePool
}

// ownedBy returns the metadata of a pool whose owner is a MachinePool.
func (n poolNames) ownedBy(machinePool *clusterv1.MachinePool) metav1.ObjectMeta {
	meta := named(n.name)
	meta.Labels = map[string]string{clusterv1.ClusterNameLabel: n.cluster}
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: n.name, UID: machinePool.UID, Controller: ptr.To(true),
	}}
	return meta
}

// createOwners creates what Cluster API and CAPA would have created before a pool: the object with
// the network of the cluster, whose status setStatus sets, the cluster, the MachinePool, and the
// Secret with the bootstrap data.
func (w *World) createOwners(ctx context.Context, o *observer, network client.Object, setStatus func(), cluster *clusterv1.Cluster, machinePool *clusterv1.MachinePool) error {
	secret := &corev1.Secret{ObjectMeta: named(o.secret), Data: bootstrapData(0)}
	for _, object := range []client.Object{network, cluster, machinePool, secret} {
		if err := w.user.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	setStatus()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := errors.Join(w.user.Status().Update(ctx, network), w.user.Status().Update(ctx, cluster)); err != nil {
		return fmt.Errorf("setting the status of the cluster: %w", err)
	}
	return nil
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

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
	if w.verdict.faultless.IsZero() && w.chance.happens(staleStart) {
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
	w.process.chores.do()
}

// next returns when something happens by itself.
func (w *World) next() time.Time {
	soonest := w.process.next()
	if at, any := w.clock.Next(); any && at.Before(soonest) {
		soonest = at
	}
	return soonest
}

// show adds the objects that the schedule is about to the trace, as they are.
func (w *World) show(ctx context.Context) {
	for _, list := range w.scene.shown() {
		if err := w.user.List(ctx, list); err != nil {
			w.trace.detail("listing objects: %v", err)
			return
		}
		text, err := yaml.Marshal(list)
		w.trace.line(string(text))
		if err != nil {
			w.trace.detail("showing objects: %v", err)
		}
	}
}

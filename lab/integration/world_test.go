package integration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	awsworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

func TestMain(m *testing.M) { labtest.MainAnd(m, lab.Options{}, policiesAreNoMore) }

const (
	poolName = "capa-mp-0"
	// rate lets simulated minutes pass in fractions of a second: a refresh of two instances waits
	// five minutes for each to warm up.
	rate = 300
)

// world is a test's part of the laboratory with Slipway's manager in it.
type world struct {
	*labtest.Env
	clock   *simclock.Clock
	manager *lab.RunningManager
	// eksCluster is the name of the cluster, if it is one of EKS.
	eksCluster string
	// settings are the manager's.
	settings product.Settings
}

// options change a world from what most journeys want.
type options struct {
	behavior awssim.Behavior
	cluster  lab.ClusterOptions
	// roles are in every account, in addition to the default world's.
	roles []awsworld.Role
	// quotas are of every account, in addition to AWS's defaults.
	quotas map[string]int
	// images are public in the region, in addition to the default world's.
	images []awsworld.Image
	// events have the manager listen to a queue that gets all events.
	events bool
}

// quickly are instance times that keep the order of things and cost little.
var quickly = awssim.InstanceTimes{Pending: 15 * time.Second, Boot: 40 * time.Second, ShuttingDown: 20 * time.Second}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, options{})
}

func newWorldWith(t *testing.T, options options) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	options.behavior.InstanceTimes = quickly
	accounts := *awsworld.Default()
	accounts.Roles = slices.Concat(accounts.Roles, options.roles)
	if _, _, held := policyOf(t); held {
		accounts.Roles = withoutLinkedRoles(accounts.Roles)
	}
	if options.quotas != nil {
		accounts.Quotas = options.quotas
	}
	accounts.Regions = slices.Clone(accounts.Regions)
	accounts.Regions[0].Images = slices.Concat(accounts.Regions[0].Images, options.images)
	if options.events {
		accounts.Regions[0].Queues = []awsworld.Queue{{Name: eventQueue}}
		accounts.Regions[0].EventRules = []awsworld.EventRule{{Name: eventQueue, Sources: []string{"aws.ec2", "aws.autoscaling"}, Queue: eventQueue}}
	}
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock, Behavior: options.behavior, World: &accounts}})
	options.cluster.EKSName = cmp.Or(options.cluster.EKSName, lab.EKSClusterName(env.Namespace, "capa"))
	hold(t, env, options.cluster.EKSName)
	w := &world{Env: env, clock: clock, eksCluster: options.cluster.EKSName}
	if options.events {
		w.settings.Change = func(options *manager.Options) { options.EventQueue = eventQueue }
	}
	env.Cluster(options.cluster)
	w.startManager()
	return w
}

func (w *world) startManager() {
	w.Helper()
	w.manager = w.StartManager(product.Manager(w.settings))
}

func (w *world) stopManager() {
	w.Helper()
	if err := w.manager.Stop(); err != nil {
		w.Fatal(err)
	}
}

// applyExample applies the example of a pool, with pairs of old and new text replaced.
func (w *world) applyExample(replacements ...string) {
	w.Helper()
	w.ApplyFile("../../examples/machinepool.yaml", replacements...)
}

// havePool has the pool of the example at rest, and what led there forgotten.
func (w *world) havePool(replacements ...string) {
	w.Helper()
	w.applyExample(replacements...)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	w.rest()
	w.Cloud.AWS.ClearCalls()
}

func (w *world) key() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: poolName}
}

func (w *world) pool() (*infrav1.AWSMachinePool, error) {
	pool := &infrav1.AWSMachinePool{}
	return pool, w.Client.Get(w.Context(), w.key(), pool)
}

func (w *world) config() (*infrav1.AWSLaunchConfig, error) {
	config := &infrav1.AWSLaunchConfig{}
	return config, w.Client.Get(w.Context(), w.key(), config)
}

// mustConfig and mustPool are for where the object is known to exist.
func (w *world) mustConfig() *infrav1.AWSLaunchConfig {
	w.Helper()
	config, err := w.config()
	if err != nil {
		w.Fatal(err)
	}
	return config
}

func (w *world) mustPool() *infrav1.AWSMachinePool {
	w.Helper()
	pool, err := w.pool()
	if err != nil {
		w.Fatal(err)
	}
	return pool
}

// editPool changes the pool's spec as a user would.
func (w *world) editPool(edit func(*infrav1.AWSMachinePool)) {
	w.Helper()
	edited(w, &infrav1.AWSMachinePool{}, poolName, edit)
}

// editMachinePool changes the MachinePool as a user would.
func (w *world) editMachinePool(edit func(*clusterv1.MachinePool)) {
	w.Helper()
	edited(w, &clusterv1.MachinePool{}, poolName, edit)
}

func edited[T client.Object](w *world, object T, name string, edit func(T)) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	if err := w.Client.Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// wipeStatus empties the status of the pool's objects, as a move to another management cluster does.
func (w *world) wipeStatus() {
	w.Helper()
	w.wiped(func() []client.Object {
		config, pool := w.mustConfig(), w.mustPool()
		config.Status, pool.Status = infrav1.AWSLaunchConfigStatus{}, infrav1.AWSMachinePoolStatus{}
		return []client.Object{config, pool}
	})
}

// wiped writes objects without their status, again if another controller, such as core Cluster API,
// wrote to one meanwhile.
func (w *world) wiped(read func() []client.Object) {
	w.Helper()
	w.Eventually("nothing is left of status", func() error {
		for _, object := range read() {
			if err := w.Client.Status().Update(w.Context(), object); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled is nil once the pool is ready for its current generation, rolled out at the version that
// is wanted of a config that has acted on its spec, and core Cluster API has a Node for every
// replica.
func (w *world) settled(replicas int) error {
	pool, err := w.pool()
	if err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != pool.Generation {
		return fmt.Errorf("generation %d is observed of %d", pool.Status.ObservedGeneration, pool.Generation)
	}
	for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, condition) {
			return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
		}
	}
	if got := ptr.Deref(pool.Status.UpToDateReplicas, -1); int(got) != replicas {
		return fmt.Errorf("%d instances are up to date", got)
	}
	config, err := w.config()
	if err != nil {
		return err
	}
	if ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition); ready == nil || ready.ObservedGeneration != config.Generation {
		return fmt.Errorf("the launch config's Ready condition is %+v of generation %d", ready, config.Generation)
	}
	if got, want := ptr.Deref(pool.Status.LaunchTemplateVersion, ""), fmt.Sprint(config.Status.Version); got != want {
		return fmt.Errorf("the group is at version %s of %s", got, want)
	}
	return w.nodes(replicas)
}

// nodes is nil once there are so many nodes, all ready and all known to core Cluster API.
func (w *world) nodes(replicas int) error {
	machinePool := &clusterv1.MachinePool{}
	if err := w.Client.Get(w.Context(), w.key(), machinePool); err != nil {
		return err
	}
	if len(machinePool.Status.NodeRefs) != replicas {
		return fmt.Errorf("the MachinePool has nodes %v", machinePool.Status.NodeRefs)
	}
	nodes := w.Nodes()
	if len(nodes) != replicas || slices.ContainsFunc(nodes, func(node corev1.Node) bool { return !nodeReady(node) }) {
		return fmt.Errorf("there are %d nodes, and not all are ready", len(nodes))
	}
	return nil
}

func nodeReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// conditioned is an object with conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// awaitCondition waits until the pool has the condition for its current generation, and returns it.
func (w *world) awaitCondition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	w.Helper()
	return awaitCondition(w, &infrav1.AWSMachinePool{}, kind, status, reason)
}

// awaitConfigCondition is awaitCondition for the launch config.
func (w *world) awaitConfigCondition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	w.Helper()
	return awaitCondition(w, &infrav1.AWSLaunchConfig{}, kind, status, reason)
}

func awaitCondition(w *world, object conditioned, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	w.Helper()
	var found metav1.Condition
	w.Eventually(fmt.Sprintf("condition %s is %s for %s", kind, status, reason), func() error {
		if err := w.Client.Get(w.Context(), w.key(), object); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(object.GetConditions(), kind)
		if condition == nil || condition.Status != status || condition.Reason != reason || condition.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("generation %d has conditions %+v", object.GetGeneration(), object.GetConditions())
		}
		found = *condition
		return nil
	})
	return found
}

// machinePool reads the MachinePool.
func (w *world) machinePool() *clusterv1.MachinePool {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.Client.Get(w.Context(), w.key(), machinePool); err != nil {
		w.Fatal(err)
	}
	return machinePool
}

// events are the reasons of the events on the test's objects.
func (w *world) events() []string {
	w.Helper()
	list := &corev1.EventList{}
	if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	var reasons []string
	for _, event := range list.Items {
		reasons = append(reasons, event.Reason)
	}
	return reasons
}

// awaitEvents waits until there was an event of each reason.
func (w *world) awaitEvents(reasons ...string) {
	w.Helper()
	w.Eventually("events have the expected reasons", func() error {
		got := w.events()
		for _, reason := range reasons {
			if !slices.Contains(got, reason) {
				return fmt.Errorf("no event says %s: %q", reason, got)
			}
		}
		return nil
	})
}

// replaced is nil once no instance of before is left and the pool has settled.
func (w *world) replaced(before []string, replicas int) error {
	for _, id := range w.running() {
		if slices.Contains(before, id) {
			return fmt.Errorf("instance %s is still there", id)
		}
	}
	return w.settled(replicas)
}

// touch has the manager reconcile the pool and its config again, as any change of their metadata
// does.
func (w *world) touch() {
	w.Helper()
	for _, object := range []client.Object{&infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}} {
		edited(w, object, poolName, func(object client.Object) {
			annotations := maps.Clone(object.GetAnnotations())
			if annotations == nil {
				annotations = map[string]string{}
			}
			// the simulated clock may stand still
			annotations["touched"] = time.Now().Format(time.RFC3339Nano)
			object.SetAnnotations(annotations)
		})
	}
}

// setVersion asks for a Kubernetes version.
func (w *world) setVersion(version string) {
	w.Helper()
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Template.Spec.Version = version })
}

// equals is nil if the two lists are the same.
func equals[T comparable](got, want []T) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// differs is nil if the two lists are not the same.
func differs[T comparable](got, before []T) error {
	if slices.Equal(got, before) {
		return fmt.Errorf("it is still %v", got)
	}
	return nil
}

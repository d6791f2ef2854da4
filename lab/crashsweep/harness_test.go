package crashsweep

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

const (
	poolName = "capa-mp-0"
	// bucket is the cluster's, for bootstrap data.
	bucket = "cluster-api-provider-aws-bootstrap"
	// rate lets a simulated minute pass in a tenth of a second.
	rate = 600
)

// harness is one run: a world of its own, and the managers that live and die in it.
type harness struct {
	testing.TB
	env     *labtest.Env
	clock   *simclock.Clock
	manager *lab.RunningManager
	crasher *Crasher

	mu sync.Mutex
	// launched are the ids of all instances that there ever were.
	launched map[string]bool
}

func newHarness(t *testing.T, scenario scenario) *harness {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{
		Clock: clock,
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{
			Pending: 5 * time.Second, Boot: 10 * time.Second, ShuttingDown: 5 * time.Second,
		}},
	}})
	scenario.cluster.Bucket = bucket
	if scenario.cluster.Managed {
		scenario.cluster.Bucket = ""
	}
	env.Cluster(scenario.cluster)
	h := &harness{TB: t, env: env, clock: clock, launched: map[string]bool{}}
	t.Cleanup(env.Cloud.AWS.OnChange(h.count))
	t.Cleanup(h.stopManager)
	return h
}

// startManager starts a manager in the place of the last one, which is cleared away if it died.
func (h *harness) startManager() *Crasher {
	h.Helper()
	h.stopManager()
	h.crasher = NewCrasher()
	manager, err := h.env.Lab.StartManager(h.env.Context(), h.env.ManagerEnv(), product.Manager(product.Settings{
		WrapAWS: h.crasher.WrapAWS, WrapKubernetes: h.crasher.WrapKubernetes, WrapWorkloads: h.crasher.WrapKubernetes,
	}))
	if err != nil {
		h.Fatal(err)
	}
	h.manager = manager
	return h.crasher
}

func (h *harness) stopManager() {
	if h.manager == nil {
		return
	}
	h.crasher.Release()
	if err := h.manager.Stop(); err != nil && !errors.Is(err, errDead) && !strings.Contains(err.Error(), errDead.Error()) {
		h.Error(err)
	}
	h.manager = nil
}

// count counts an instance.
func (h *harness) count(event awssim.Event) {
	if event.Kind == "instance" && event.Account == h.env.Account {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.launched[event.ID] = true
	}
}

// act does what the user does, on the scenario's clock.
func (h *harness) act(scenario scenario) {
	h.Helper()
	if scenario.rate != 0 {
		h.clock.SetRate(scenario.rate)
	}
	scenario.act(h)
}

// awaitCrash waits until the manager has died, or all is done without that.
func (h *harness) awaitCrash(scenario scenario, crasher *Crasher) error {
	var err error
	h.env.Eventually("the manager dies, or scenario "+scenario.name+" is done", func() error {
		select {
		case <-crasher.Crashed():
			return nil
		default:
		}
		if notYet := scenario.done(h); notYet != nil {
			return notYet
		}
		select {
		case <-crasher.Crashed():
		case <-time.After(quietTime):
			err = errNoCrash
		}
		return nil
	})
	return err
}

// await waits until the scenario is done and the world has been at rest.
func (h *harness) await(scenario scenario) {
	h.Helper()
	h.env.Eventually("scenario "+scenario.name+" is done", func() error { return scenario.done(h) })
	h.clock.SetRate(rate)
	h.rest()
	h.env.Eventually("it stays done", func() error { return scenario.done(h) })
}

// rest waits until nothing has changed AWS for a while, of simulated time and of the time that a
// busy machine needs to do something.
func (h *harness) rest() {
	h.Helper()
	writes, quiet := -1, h.env.Kept()
	h.env.Eventually("AWS is at rest", func() error {
		calls := h.env.Cloud.AWS.Calls()
		if now := len(h.writes()); now != writes {
			writes, quiet = now, h.env.Kept()
		}
		since := h.clock.Now().Add(-settleTime)
		if h.env.Kept()-quiet < quietTime || slices.ContainsFunc(calls, func(call awssim.Call) bool { return changes(call) && call.Time.After(since) }) {
			return errors.New("a call changed AWS a moment ago")
		}
		return nil
	})
}

// changes is true for a call that changes AWS for longer than a heartbeat does.
func changes(call awssim.Call) bool {
	return call.Action != "RecordLifecycleActionHeartbeat" && !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") &&
		!strings.HasPrefix(call.Action, "Head") && !strings.HasPrefix(call.Action, "List")
}

func (h *harness) writes() []string {
	var writes []string
	for _, call := range h.env.Cloud.AWS.Calls() {
		if changes(call) {
			writes = append(writes, call.Action)
		}
	}
	return writes
}

func (h *harness) pool() (*infrav1.AWSMachinePool, error) {
	pool := &infrav1.AWSMachinePool{}
	return pool, h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: poolName}, pool)
}

// edit changes a pool and its MachinePool as a user would.
func (h *harness) edit(change func(*infrav1.AWSMachinePool, *clusterv1.MachinePool)) {
	h.Helper()
	pool, err := h.pool()
	if err != nil {
		h.Fatal(err)
	}
	machinePool := &clusterv1.MachinePool{}
	if err := h.env.Client.Get(h.env.Context(), client.ObjectKeyFromObject(pool), machinePool); err != nil {
		h.Fatal(err)
	}
	poolBefore, machinePoolBefore := pool.DeepCopy(), machinePool.DeepCopy()
	change(pool, machinePool)
	for _, patch := range []struct{ object, before client.Object }{{pool, poolBefore}, {machinePool, machinePoolBefore}} {
		if err := h.env.Client.Patch(h.env.Context(), patch.object, client.MergeFrom(patch.before)); err != nil {
			h.Fatal(err)
		}
	}
}

// ready is nil for a pool that has acted on its spec, with the given number of instances in
// service, all of them up to date.
func (h *harness) ready(replicas int32) error {
	pool, err := h.pool()
	if err != nil {
		return err
	}
	for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, condition) {
			return fmt.Errorf("%s is not true: %+v", condition, pool.Status.Conditions)
		}
	}
	status := pool.Status
	if status.ObservedGeneration != pool.Generation {
		return fmt.Errorf("generation %d is observed of %d", status.ObservedGeneration, pool.Generation)
	}
	if status.Replicas != replicas || ptr.Deref(status.ReadyReplicas, 0) != replicas || ptr.Deref(status.UpToDateReplicas, 0) != replicas {
		return fmt.Errorf("%d replicas, %v ready, %v up to date", status.Replicas, status.ReadyReplicas, status.UpToDateReplicas)
	}
	if nodes := h.env.Nodes(); len(nodes) != int(replicas) {
		return fmt.Errorf("there are %d nodes", len(nodes))
	}
	if len(pool.Spec.ProviderIDList) != int(replicas) {
		return fmt.Errorf("provider ids are %q", pool.Spec.ProviderIDList)
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := h.env.Client.Get(h.env.Context(), client.ObjectKeyFromObject(pool), config); err != nil {
		return err
	}
	if wanted := strconv.FormatInt(config.Status.Version, 10); ptr.Deref(status.LaunchTemplateVersion, "") != wanted {
		return fmt.Errorf("the group is at version %v, and %s is wanted", status.LaunchTemplateVersion, wanted)
	}
	return nil
}

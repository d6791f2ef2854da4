package managertest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const (
	poolName = "capa-mp-0"
	// rate lets simulated minutes pass in fractions of a second.
	rate    = 300
	example = "../../examples/machinepool.yaml"
)

// world is a test's part of the laboratory, with a ready cluster and no manager yet.
type world struct{ *labtest.Env }

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, lab.ClusterOptions{})
}

// newWorldOf is a world with a cluster of its own kind.
func newWorldOf(t *testing.T, cluster lab.ClusterOptions) *world {
	t.Helper()
	return newWorldAt(t, cluster, rate)
}

// newWorldAt is a world whose AWS goes by another rate.
func newWorldAt(t *testing.T, cluster lab.ClusterOptions, rate float64) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{
		Clock: clock,
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{
			Pending: 10 * time.Second, Boot: 20 * time.Second, ShuttingDown: 10 * time.Second,
		}},
	}})
	env.Cluster(cluster)
	return &world{Env: env}
}

func (w *world) pool(name string) (*infrav1.AWSMachinePool, error) {
	pool := &infrav1.AWSMachinePool{}
	return pool, w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool)
}

// edit changes a pool as a user would.
func (w *world) edit(name string, change func(*infrav1.AWSMachinePool)) {
	w.Helper()
	pool, err := w.pool(name)
	if err != nil {
		w.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := w.Client.Patch(w.Context(), pool, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// settled is nil once a pool is ready and rolled out for its current generation, at the version
// that is wanted of a config that has acted on its spec.
func (w *world) settled(name string) error {
	pool, err := w.pool(name)
	if err != nil {
		return err
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pool), config); err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != pool.Generation || config.Status.ObservedGeneration != config.Generation {
		return fmt.Errorf("generation %d is observed of %d, and of the launch config %d of %d", pool.Status.ObservedGeneration, pool.Generation,
			config.Status.ObservedGeneration, config.Generation)
	}
	for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, condition) {
			return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
		}
	}
	if got, want := ptr.Deref(pool.Status.LaunchTemplateVersion, ""), fmt.Sprint(config.Status.Version); got != want {
		return fmt.Errorf("the group is at version %s of %s", got, want)
	}
	return nil
}

// untouched fails if a manager has done anything with a pool.
func (w *world) untouched(name string) {
	w.Helper()
	pool, err := w.pool(name)
	if err != nil {
		w.Fatal(err)
	}
	if len(pool.Finalizers) > 0 || len(pool.Status.Conditions) > 0 || len(pool.Annotations) > 0 {
		w.Errorf("pool %q was touched: finalizers %v, annotations %v, conditions %v", name, pool.Finalizers, pool.Annotations, pool.Status.Conditions)
	}
	err = w.Client.Get(w.Context(), client.ObjectKeyFromObject(pool), &infrav1.AWSLaunchConfig{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		w.Errorf("pool %q has a launch config, or it is not known: %v", name, err)
	}
}

// deletePool deletes the MachinePool and waits until nothing is left of the pool.
func (w *world) deletePool(name string) {
	w.Helper()
	pool, err := w.pool(name)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.Client.Delete(w.Context(), machinePoolOf(pool)); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(name); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
}

// count returns how often an action was called with success.
func (w *world) count(action string) int {
	count := 0
	for _, call := range w.Cloud.AWS.Calls() {
		if call.Action == action && call.Status == 200 {
			count++
		}
	}
	return count
}

// applyAs applies the example under another name.
func (w *world) applyAs(name string) {
	w.Helper()
	w.ApplyFile(example, poolName, name)
}

// installRoles applies everything in config/rbac as a user would.
func (w *world) installRoles() {
	w.Helper()
	text, err := os.ReadFile("../../config/manager/namespace.yaml")
	if err != nil {
		w.Fatal(err)
	}
	w.Apply(string(text))
	files, err := filepath.Glob("../../config/rbac/*.yaml")
	if err != nil {
		w.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "kustomization.yaml") {
			w.ApplyFile(file)
		}
	}
}

// freeAddress returns an address of this machine without a listener.
func (w *world) freeAddress() string {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestIdleCost holds that five pools at rest cost what one does: a sweep of each kind every four
// minutes, and no write anywhere.
func TestIdleCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{poolName, "pool-1", "pool-2", "pool-3", "pool-4"}
	w.applyExample()
	for _, name := range names[1:] {
		w.applyExample(poolName, name)
	}
	for _, name := range names {
		w.Eventually(name+" is ready", func() error {
			pool := &infrav1.AWSMachinePool{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool); err != nil {
				return err
			}
			if ready := pool.Status.ReadyReplicas; ready == nil || *ready != 2 || pool.Status.ObservedGeneration != pool.Generation {
				return fmt.Errorf("status is %+v", pool.Status)
			}
			return nil
		})
	}
	w.rest()
	w.pass(10 * time.Minute)
	before := w.resourceVersions()
	const hours = 2
	counts := w.countsDuring(hours * time.Hour)
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("at rest, the manager wrote %q", writes)
	}
	const most = hours*60/4 + 1
	for action, count := range counts {
		if !strings.HasPrefix(action, "Describe") || count > most {
			t.Errorf("at rest, %s was called %d times in %d hours, want at most %d of a sweep; all: %v", action, count, hours, most, counts)
		}
	}
	// Hooks have no batched describe.
	if hooks := counts["DescribeLifecycleHooks"]; hooks > hours*len(names) {
		t.Errorf("at rest, hooks were looked at %d times in %d hours for %d pools, want at most once an hour and pool", hooks, hours, len(names))
	}
	delete(counts, "DescribeLifecycleHooks")
	if len(counts) > 2 {
		t.Errorf("at rest, the manager made more than two kinds of calls: %v", counts)
	}
	for name, version := range w.resourceVersions() {
		if before[name] != version {
			t.Errorf("at rest, %s was written", name)
		}
	}
}

// resourceVersions returns the resource versions of our objects.
func (w *world) resourceVersions() map[string]string {
	w.Helper()
	versions := map[string]string{}
	pools, configs := &infrav1.AWSMachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	for _, list := range []client.ObjectList{pools, configs} {
		if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for i := range pools.Items {
		versions["AWSMachinePool "+pools.Items[i].Name] = pools.Items[i].ResourceVersion
	}
	for i := range configs.Items {
		versions["AWSLaunchConfig "+configs.Items[i].Name] = configs.Items[i].ResourceVersion
	}
	return versions
}

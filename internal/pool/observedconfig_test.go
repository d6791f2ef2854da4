package pool_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestCreatedConfig holds that a launch config that was created counts for as long as the cache may
// not show it, for the pool that it was created for.
func TestCreatedConfig(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	owner := &infrav1.AWSMachinePool{}
	owner.Namespace, owner.Name, owner.UID = "team", "pool", "1"
	successor := owner.DeepCopy()
	successor.UID = "2"
	for _, row := range []struct {
		reason    string
		pool      client.Object
		reference *infrav1.LaunchConfigReference
		after     time.Duration
		seen      bool
	}{
		{reason: "the cache does not show it yet", pool: owner, seen: true},
		{reason: "the cache should show it", pool: owner, after: pool.CacheBehind},
		{reason: "another pool of the name", pool: successor},
		{reason: "the pool refers to another by now", pool: owner, reference: &infrav1.LaunchConfigReference{Name: "other"}},
	} {
		cache, store := fake.NewClientBuilder().WithScheme(scheme).Build(), fake.NewClientBuilder().WithScheme(scheme).Build()
		wanted := &infrav1.AWSLaunchConfig{}
		wanted.Namespace, wanted.Name = "team", "pool"
		var created pool.CreatedConfig
		config, err := created.Create(t.Context(), store, owner, wanted, now)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := created.Read(t.Context(), cache, row.pool, row.reference, nil, now.Add(row.after))
		if err != nil || (seen.Object != nil) != row.seen || seen.Recent != row.seen {
			t.Errorf("%s: seen %+v, error %v", row.reason, seen, err)
		}
		if difference := cmp.Diff(config, seen.Object); row.seen && difference != "" {
			t.Errorf("%s: it is seen otherwise than it was created:\n%s", row.reason, difference)
		}
	}
}

// TestAnnotationChanges holds that a change of annotations is written as what it changes.
func TestAnnotationChanges(t *testing.T) {
	t.Parallel()
	before, after := map[string]string{"kept": "1", "changed": "1", "removed": "1"}, map[string]string{"kept": "1", "changed": "2", "added": "1"}
	want := map[string]string{"changed": "2", "added": "1", "removed": ""}
	if difference := cmp.Diff(want, pool.AnnotationChanges(before, after)); difference != "" {
		t.Errorf("changes (-want +got):\n%s", difference)
	}
}

package nodelifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
)

// TestShare holds for every crash between the records of a launch's nodes, and whichever of them
// are gone: no instance has two nodes, what a node knows it keeps, and nodes go without only when
// there are too few instances.
func TestShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		var instances []fleet.Instance
		for i := range rapid.IntRange(0, nodes).Draw(t, "launched") {
			instances = append(instances, fleet.Instance{ID: fmt.Sprintf("i-%d", i)})
		}
		var siblings []provisioningv1.ProvisionedNode
		for i := range nodes {
			siblings = append(siblings, provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i)}})
		}
		// A first process shares out and writes some of it down; some nodes go; a second process is
		// answered the same.
		first := share(instances, slices.Clone(siblings))
		var left []provisioningv1.ProvisionedNode
		for i := range siblings {
			if instance, is := first.instances[siblings[i].Name]; is && rapid.Bool().Draw(t, "recorded") {
				siblings[i].Status.InstanceID = instance.ID
			}
			if !rapid.Bool().Draw(t, "gone") {
				left = append(left, siblings[i])
			}
		}
		second := share(instances, slices.Clone(left))
		owners := map[string]string{}
		without := 0
		for i := range left {
			id := left[i].Status.InstanceID
			if given, is := second.instances[left[i].Name]; is {
				if id != "" {
					t.Fatalf("%s knows %s and is given %s", left[i].Name, id, given.ID)
				}
				id = given.ID
			}
			if id == "" {
				without++
				continue
			}
			if owners[id] != "" {
				t.Fatalf("%s is both %s's and %s's", id, owners[id], left[i].Name)
			}
			owners[id] = left[i].Name
		}
		if without > 0 && len(owners) < len(instances) {
			t.Fatalf("%d nodes go without, and %d of %d instances have one", without, len(owners), len(instances))
		}
	})
}

func TestLife(t *testing.T) {
	t.Parallel()
	now := time.Unix(10_000, 0)
	ago := func(seconds int) *metav1.Time {
		return &metav1.Time{Time: now.Add(-time.Duration(seconds) * time.Second)}
	}
	for _, row := range []struct {
		reason        string
		empty, launch *metav1.Time
		ttl, expiry   *int64
		over, expired bool
		next          time.Duration
	}{
		{"nothing ends it", ago(1000), ago(1000), nil, nil, false, false, 0},
		{"empty for long enough", ago(60), ago(1000), ptr.To[int64](60), nil, true, false, 0},
		{"empty, not for long enough", ago(20), ago(1000), ptr.To[int64](60), nil, false, false, 40 * time.Second},
		{"in use", nil, ago(1000), ptr.To[int64](60), nil, false, false, 0},
		{"the scheduler may still put something there", ago(4), ago(1000), ptr.To[int64](0), nil, false, false, 6 * time.Second},
		{"too old", nil, ago(600), nil, ptr.To[int64](600), false, true, 0},
		{"empty is sooner ended than replaced", ago(60), ago(600), ptr.To[int64](60), ptr.To[int64](600), true, false, 0},
		{"in use and not too old", nil, ago(500), ptr.To[int64](60), ptr.To[int64](600), false, false, 100 * time.Second},
		{"what comes first", ago(10), ago(500), ptr.To[int64](60), ptr.To[int64](600), false, false, 50 * time.Second},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			status := &provisioningv1.ProvisionedNodeStatus{EmptySince: row.empty, LaunchTime: row.launch}
			got := lifeOf(status, &provisioningv1.ProvisionerSpec{TTLSeconds: row.ttl, TTLSecondsUntilExpired: row.expiry}, now)
			if got.over != row.over || got.expired != row.expired || !got.over && !got.expired && got.next != row.next {
				t.Errorf("it is over: %v, expired: %v, else in %v", got.over, got.expired, got.next)
			}
		})
	}
}

package ownership_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/ownership"
)

// Users of a namespace can write every annotation of its pools.

// TestAppliedOf holds what is read from the annotation: what was recorded, and nothing where it
// cannot be read, so that nothing is taken away that may be another's.
func TestAppliedOf(t *testing.T) {
	t.Parallel()
	full := ownership.Applied{
		Hooks: []string{"a", "b"}, HooksDigest: "digest", Settings: "settings", Launches: "launches", Changed: &metav1.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		TargetGroups: []string{"arn:1"}, TrafficSources: []string{"vpc-lattice"}, Processes: []string{"AZRebalance"}, Policies: []string{"arn:2"}, RoleDigest: "role",
	}
	recorded := pool(map[string]string{"other": "stays"})
	full.Record(recorded)
	if diff := cmp.Diff(full, ownership.AppliedOf(recorded)); diff != "" {
		t.Errorf("what is read (-recorded +read):\n%s", diff)
	}
	if fields := reflect.TypeFor[ownership.Applied]().NumField(); fields != 10 {
		t.Errorf("Applied has %d fields: give each a value above", fields)
	}
	(ownership.Applied{}).Record(recorded)
	if diff := cmp.Diff(map[string]string{"other": "stays"}, recorded.Annotations); diff != "" {
		t.Errorf("with nothing recorded, annotations are (-want +got):\n%s", diff)
	}
	for _, row := range []struct{ reason, text string }{
		{"none", ""}, {"no JSON", "hooks"}, {"cut off", `{"hooks":["a"]`}, {"a list", `["a"]`}, {"null", "null"}, {"a string", `"x"`},
		{"hooks that are no list", `{"hooks":"a","settings":"b"}`}, {"hooks that are no strings", `{"settings":"b","hooks":[1]}`}, {"a time that is none", `{"settings":"b","changed":"yesterday"}`},
	} {
		if got := ownership.AppliedOf(pool(map[string]string{ownership.AppliedAnnotation: row.text})); !reflect.DeepEqual(got, ownership.Applied{}) {
			t.Errorf("%s: %+v is known to be ours", row.reason, got)
		}
	}
}

// FuzzAppliedAnnotation holds that any annotation can be read, and that what was read can be
// recorded and read again.
func FuzzAppliedAnnotation(f *testing.F) {
	f.Add(`{"hooks":["a"],"changed":"2026-03-01T12:00:00Z"}`)
	f.Add(`{"changed":"9999-12-31T23:59:59-23:59"}`)
	f.Add(`{"hooks":null,"processes":["\ud800"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		object := pool(map[string]string{ownership.AppliedAnnotation: text})
		before := ownership.AppliedOf(object)
		before.Record(object)
		if before.Changed != nil && before.Changed.UTC().Year() > 9999 {
			return // no such time can be read again
		}
		if after := ownership.AppliedOf(object); !slices.Equal(before.Hooks, after.Hooks) || before.Settings != after.Settings || !slices.Equal(before.Processes, after.Processes) {
			t.Errorf("%q was read as %+v, and after it was recorded as %+v", text, before, after)
		}
	})
}

// FuzzTagsAnnotation holds that any annotation of applied tags can be read, and that tags that are
// wanted are never among those to be removed.
func FuzzTagsAnnotation(f *testing.F) {
	f.Add(`{"team":"a"}`, "team")
	f.Add(`{"team":1}`, "team")
	f.Add(`null`, "")
	f.Fuzz(func(t *testing.T, text, key string) {
		object := pool(map[string]string{ownership.LastAppliedTagsAnnotation: text})
		wanted := map[string]string{key: "wanted"}
		if retired := ownership.RetiredTags(object, wanted); slices.Contains(retired, key) {
			t.Errorf("with %q, the wanted tag %q is to be removed", text, key)
		}
		ownership.AnnounceTags(object, wanted)
		ownership.ConfirmTags(object, wanted)
		if !ownership.TagsApplied(object, wanted) && strings.ToValidUTF8(key, "") == key {
			t.Errorf("after %q, the tag %q is not recorded", text, key)
		}
	})
}

// TestUnion holds that a union is sorted, has nothing twice, and leaves both lists alone.
func TestUnion(t *testing.T) {
	t.Parallel()
	law := func(a, b []string) bool {
		keptA, keptB := slices.Clone(a), slices.Clone(b)
		union := ownership.Union(a, b)
		for _, one := range slices.Concat(a, b) {
			if !slices.Contains(union, one) {
				return false
			}
		}
		return slices.IsSorted(union) && len(slices.Compact(slices.Clone(union))) == len(union) && slices.Equal(a, keptA) && slices.Equal(b, keptB) &&
			slices.Equal(union, ownership.Union(b, a))
	}
	if err := quick.Check(law, nil); err != nil {
		t.Error(err)
	}
}

// TestRecordedIdentity holds which identity is called by for an object whose cluster is gone,
// whatever a user wrote.
func TestRecordedIdentity(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, text string
		want         aws.Identity
	}{
		{"the controller's own credentials", string(aws.IdentityController), aws.Identity{}},
		{"a controller identity of a name", string(aws.IdentityController) + "/default", aws.Identity{Kind: aws.IdentityController, Name: "default"}},
		{"a role", string(aws.IdentityRole) + "/tenant", aws.Identity{Kind: aws.IdentityRole, Name: "tenant"}},
		{"a role without a name is not the controller's own credentials", string(aws.IdentityRole), aws.Identity{Kind: aws.IdentityRole}},
		{"an unknown kind is not the controller's own credentials", "Unknown/name", aws.Identity{Kind: "Unknown", Name: "name"}},
		{"an empty text is not the controller's own credentials", "", aws.Identity{}},
		{"a name with slashes", string(aws.IdentityRole) + "/a/b", aws.Identity{Kind: aws.IdentityRole, Name: "a/b"}},
	} {
		got, recorded := ownership.RecordedIdentity(pool(map[string]string{ownership.IdentityAnnotation: row.text}))
		if got != row.want || !recorded {
			t.Errorf("%s: it is %+v, recorded %t", row.reason, got, recorded)
		}
	}
}

func managedPool(change func(*infrav1.AWSManagedMachinePool)) *infrav1.AWSManagedMachinePool {
	object := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", Annotations: map[string]string{}}}
	if change != nil {
		change(object)
	}
	return object
}

// TestReplacedNodegroups holds which node groups a replacement is between, by the annotation and
// where that was lost by status, and that a name that EKS does not accept is none.
func TestReplacedNodegroups(t *testing.T) {
	t.Parallel()
	names := func(text string) func(*infrav1.AWSManagedMachinePool) {
		return func(pool *infrav1.AWSManagedMachinePool) { pool.Annotations[ownership.NodegroupsAnnotation] = text }
	}
	inStatus := func(pool *infrav1.AWSManagedMachinePool) {
		pool.Status.Nodegroup, pool.Status.Retiring = &infrav1.NodegroupStatus{Name: "new"}, &infrav1.NodegroupStatus{Name: "old"}
	}
	for _, row := range []struct {
		reason          string
		change          func(*infrav1.AWSManagedMachinePool)
		wanted, leaving string
		replaced        bool
	}{
		{"never replaced", nil, "", "", false},
		{"under way", names("new,old"), "new", "old", true},
		{"done", names("new"), "new", "", true},
		{"done, with a comma", names("new,"), "new", "", true},
		{"the annotation is lost, and status has both", inStatus, "new", "old", true},
		{"the annotation counts more than status", func(pool *infrav1.AWSManagedMachinePool) { inStatus(pool); names("newer,new")(pool) }, "newer", "new", true},
		{"status has only a node group", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "new"}
		}, "", "", false},
		{"a name that is none", names("../new,old"), "", "", false},
		{"a name that is too long", names(strings.Repeat("x", 64)), "", "", false},
		{"what leaves has a name that is none", names("new,o ld"), "new", "", true},
		{"three names", names("new,old,older"), "new", "", true},
		{"only what leaves", names(",old"), "", "", false},
	} {
		wanted, leaving, replaced := ownership.ReplacedNodegroups(managedPool(row.change))
		if wanted != row.wanted || leaving != row.leaving || replaced != row.replaced {
			t.Errorf("%s: from %q to %q, %t", row.reason, leaving, wanted, replaced)
		}
	}
}

// TestNodegroupNames holds under which names the node group of a pool is looked for, and in which
// order: none twice, and none that EKS would refuse.
func TestNodegroupNames(t *testing.T) {
	t.Parallel()
	derived := ownership.DerivedNodegroupNames(managedPool(nil), "blue")
	if len(derived) != 2 || derived[0] != "team_pool" || !strings.HasPrefix(derived[1], "team_pool-") {
		t.Fatalf("a pool without records has %q", derived)
	}
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSManagedMachinePool)
		first  []string
		more   int
	}{
		{"no records", nil, derived, 0},
		{"a name in the spec", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = "mine" }, []string{"mine"}, 3},
		{"a name in status that is CAPA's default", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "team_pool"}
		}, derived, 0},
		{"another name in status", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "recorded"}
		}, []string{"recorded", "team_pool"}, 1},
		{"a name in status that EKS refuses", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "-x"}
		}, derived, 0},
		{"a replacement", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Annotations[ownership.NodegroupsAnnotation] = "new,old"
		}, []string{"new", "team_pool", derived[1], "old"}, 0},
		{"a replacement back to the first name", func(pool *infrav1.AWSManagedMachinePool) {
			pool.Annotations[ownership.NodegroupsAnnotation] = "team_pool," + derived[1]
		}, derived, 0},
	} {
		got := ownership.NodegroupNames(managedPool(row.change), "blue")
		if len(got) != len(row.first)+row.more || !slices.Equal(got[:len(row.first)], row.first) {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

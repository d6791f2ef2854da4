package managedmachinepool

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestDesiredRole holds where roles are created and what bounds them: the manager's boundary is not
// the pool's to choose.
func TestDesiredRole(t *testing.T) {
	t.Parallel()
	const bound, other = "arn:aws:iam::111122223333:policy/bound", "arn:aws:iam::111122223333:policy/other"
	for _, row := range []struct {
		reason         string
		path, boundary string // the manager's
		rolePath, asks string // the pool's
		wantPath       string
		wantBoundary   string
		refused        bool
	}{
		{reason: "a path of the cluster's own, and no boundary", wantPath: "/slipway/blue/"},
		{reason: "the manager's path", path: "/teams/nodes/", wantPath: "/teams/nodes/blue/"},
		{reason: "the pool's path", path: "/teams/nodes/", rolePath: "/own/", wantPath: "/own/"},
		{reason: "the pool's boundary", asks: other, wantPath: "/slipway/blue/", wantBoundary: other},
		{reason: "the manager's boundary", boundary: bound, wantPath: "/slipway/blue/", wantBoundary: bound},
		{reason: "the manager's boundary, which the spec of the pool requests too", boundary: bound, asks: bound, wantPath: "/slipway/blue/", wantBoundary: bound},
		{reason: "another boundary than the manager's", boundary: bound, asks: other, wantPath: "/slipway/blue/", wantBoundary: bound, refused: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool"}}
			object.Spec.RolePath, object.Spec.RolePermissionsBoundary = row.rolePath, row.asks
			in := input{Object: object, Seen: Observed{
				Settings: Settings{NodeRolePath: row.path, NodeRoleBoundary: row.boundary}, ClusterName: "blue", EKSCluster: "team_blue",
				Access: pool.Access{Facts: &cluster.Facts{}, Location: ownership.Location{Region: "us-east-1"}},
			}}
			desired := desiredRole(in)
			if desired.Path != row.wantPath || desired.Boundary != row.wantBoundary {
				t.Errorf("path %q, boundary %q; want %q and %q", desired.Path, desired.Boundary, row.wantPath, row.wantBoundary)
			}
			var plan reconcile.Plan
			ensureRole(in, &plan)
			condition := meta.FindStatusCondition(object.Status.Conditions, infrav1.NodeRoleReadyCondition)
			if refused := len(plan.Needs) == 0; refused != row.refused {
				t.Errorf("refused: %t, want %t", refused, row.refused)
			}
			if row.refused && (condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, bound)) {
				t.Errorf("the condition is %+v", condition)
			}
		})
	}
}

// TestRoleCheckAtRest holds that the daily check of a node role writes nothing to the API server,
// whether or not the role was changed in AWS.
func TestRoleCheckAtRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	for range 5 {
		w.reconcile("pool")
	}
	check := func(what string) {
		t.Helper()
		before, looks := w.pool("pool"), w.made("GetRole")
		w.clock.Step(2 * roleCheck)
		w.reconcile("pool")
		if w.made("GetRole") == looks {
			t.Fatalf("%s: the role was not looked at", what)
		}
		if after := w.pool("pool"); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("%s: the pool was written to: resource version %s, then %s", what, before.ResourceVersion, after.ResourceVersion)
		}
	}
	check("the role is unchanged")

	name := w.roles()[0]
	policies := func() []iamtypes.AttachedPolicy {
		t.Helper()
		out, err := w.iam.ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return out.AttachedPolicies
	}
	want := policies()
	if _, err := w.iam.DetachRolePolicy(t.Context(), &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: want[0].PolicyArn}); err != nil {
		t.Fatal(err)
	}
	check("another client detached a policy")
	if got := policies(); len(got) != len(want) {
		t.Errorf("the role has %d policies, want %d", len(got), len(want))
	}
}

// TestRoleIsNotHandedToAnotherNamespace holds that a pool which names the node role of another
// namespace's pool never becomes the owner of it: naming a role proves nothing, and the owner of a
// role chooses its policies. The role stays, because nodes may have it.
func TestRoleIsNotHandedToAnotherNamespace(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		deleting bool
	}{
		{reason: "the other namespace's pool stays"},
		{reason: "the other namespace's pool is being deleted, and never ends", deleting: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			w.active("pool")
			pool, role := w.pool("pool"), w.roles()[0]
			thief := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{
				Namespace: "other", Name: "thief", UID: "thief", Annotations: pool.Annotations, Labels: pool.Labels, Finalizers: []string{"example.com/stays"},
			}}
			thief.Spec.RoleName = role
			if err := w.store.Create(t.Context(), thief); err != nil {
				t.Fatal(err)
			}
			if row.deleting {
				if err := w.store.Delete(t.Context(), thief); err != nil {
					t.Fatal(err)
				}
			}
			w.delete("pool")
			seen, err := w.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: &role})
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range seen.Role.Tags {
				if *tag.Key == infrav1.TagManagedMachinePool && *tag.Value != "team/blue/pool" {
					t.Errorf("the role's owner tag is %s", *tag.Value)
				}
			}
			if told := w.told(); !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, "NodeRoleLeft") }) {
				t.Errorf("events are %q", told)
			}
		})
	}
}

package managedmachinepool

import (
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestNamesTaken holds that the error names every node group that is in the way.
func TestNamesTaken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		names  []string
		says   string
	}{
		{"one name", []string{"team_pool"}, `node group "team_pool" exists in the EKS cluster, but this pool does not own it. ` +
			"Slipway does not change it or create another one. Set spec.eksNodegroupName to another name, or delete the node group"},
		{"two names", []string{"team_pool", "other"}, "node groups team_pool and other exist in the EKS cluster, but this pool does " +
			"not own them. Slipway does not change them or create another one. Set spec.eksNodegroupName to another name, or " +
			"delete one of the node groups"},
	} {
		if got := (&namesTakenError{names: row.names}).Error(); got != row.says {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

// TestNodegroupIsFoundWithoutItsName holds that a pool keeps its one node group when the name is
// taken out of the spec, whichever records of it are lost, and that its deletion leaves neither a
// node group nor a role.
func TestNodegroupIsFoundWithoutItsName(t *testing.T) {
	t.Parallel()
	forgetStatus := func(pool *infrav1.AWSManagedMachinePool) { pool.Status = infrav1.AWSManagedMachinePoolStatus{} }
	for _, row := range []struct {
		reason, pool, name string
		lose               func(*infrav1.AWSManagedMachinePool)
	}{
		{reason: "a name that ends in the pool's", pool: "pool", name: "other_pool"},
		{reason: "a name of its own", pool: "pool", name: "golden"},
		{reason: "CAPA's default for a name with dots", pool: "a.b", name: "team_a_b"},
		{reason: "status is lost too, as after a move", pool: "pool", name: "other_pool", lose: forgetStatus},
		{reason: "status names another pool's", pool: "pool", name: "golden", lose: func(pool *infrav1.AWSManagedMachinePool) {
			pool.Status = infrav1.AWSManagedMachinePoolStatus{Nodegroup: &infrav1.NodegroupStatus{Name: "team_neighbour"}}
		}},
		{reason: "the annotation names another pool's", pool: "pool", name: "golden", lose: func(pool *infrav1.AWSManagedMachinePool) {
			forgetStatus(pool)
			pool.Annotations[ownership.NodegroupsAnnotation] = "team_neighbour,golden"
		}},
	} {
		for _, deleted := range []bool{false, true} {
			t.Run(row.reason+map[bool]string{true: ", then deleted"}[deleted], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.create("neighbour", nil)
				w.active("neighbour")
				w.create(row.pool, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = row.name })
				w.active(row.pool)
				neighbour := w.nodegroup("team_neighbour")
				groups := w.nodegroups()
				w.edit(row.pool, func(pool *infrav1.AWSManagedMachinePool) {
					pool.Spec.EKSNodegroupName = ""
					if row.lose != nil {
						row.lose(pool)
					}
				})
				w.restart()
				if !deleted {
					for range 10 {
						w.reconcile(row.pool)
					}
					w.expectNodegroups(groups...)
					if ready := w.condition(row.pool, infrav1.ReadyCondition); ready.Status != metav1.ConditionTrue {
						t.Errorf("the pool is not ready: %+v", ready)
					}
				}
				w.delete(row.pool)
				w.expectNodegroups("team_neighbour")
				if roles := w.roles(); !slices.Equal(roles, []string{infrav1.DefaultNodeRoleName(testEKSCluster, "team_neighbour")}) {
					t.Errorf("there are roles %q", roles)
				}
				if after := w.nodegroup("team_neighbour"); *after.ModifiedAt != *neighbour.ModifiedAt || after.Tags[infrav1.TagManagedMachinePool] != "team/blue/neighbour" {
					t.Errorf("the neighbour's node group was changed: %+v", after)
				}
			})
		}
	}
}

// TestNodegroupNameIsRecordedFirst holds that status has the name before EKS is called with it: an
// answer that is lost loses nothing.
func TestNodegroupNameIsRecordedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = "golden" })
	if err := w.sim.SetPolicies("AKIA"+testAccount, `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},
		{"Effect":"Deny","Action":"eks:CreateNodegroup","Resource":"*"}]}`); err != nil {
		t.Fatal(err)
	}
	w.passes("pool", "EKS was called", func() bool {
		return slices.ContainsFunc(w.sim.Calls(), func(call awssim.Call) bool { return call.Action == "CreateNodegroup" })
	})
	if group := w.pool("pool").Status.Nodegroup; group == nil || group.Name != "golden" {
		t.Errorf("status has node group %+v", group)
	}
}

// TestOwnerTagMissing holds that a node group without its owner tag is neither changed, nor
// deleted, nor made a second time, and that the condition says so until the tag is back.
func TestOwnerTagMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	group := w.nodegroup("team_pool")
	if _, err := w.eks.UntagResource(t.Context(), &eks.UntagResourceInput{
		ResourceArn: group.NodegroupArn, TagKeys: []string{infrav1.TagManagedMachinePool, infrav1.KubernetesClusterTagKey(testEKSCluster)},
	}); err != nil {
		t.Fatal(err)
	}
	w.told()
	w.restart()
	w.passes("pool", "the condition says it", func() bool {
		return w.condition("pool", infrav1.NodegroupReadyCondition).Reason == infrav1.OwnerTagMissingReason
	})
	w.restart()
	w.reconcile("pool")
	w.expectNodegroups("team_pool")
	if message := w.condition("pool", infrav1.ReadyCondition).Message; !strings.Contains(message, *group.NodegroupArn) {
		t.Errorf("Ready says %q", message)
	}
	for _, note := range w.told() {
		if strings.Contains(note, "outside Slipway") {
			t.Errorf("an event says %q", note)
		}
	}
	if err := w.store.Delete(t.Context(), w.pool("pool")); err != nil {
		t.Fatal(err)
	}
	w.passes("pool", "the deletion waits", func() bool {
		return w.condition("pool", infrav1.DeletingCondition).Reason == infrav1.OwnerTagMissingReason
	})
	w.expectNodegroups("team_pool")
	if _, err := w.eks.TagResource(t.Context(), &eks.TagResourceInput{
		ResourceArn: group.NodegroupArn, Tags: map[string]string{infrav1.TagManagedMachinePool: "team/blue/pool"},
	}); err != nil {
		t.Fatal(err)
	}
	w.passes("pool", "the node group is gone", func() bool { return len(w.nodegroups()) == 0 })
}

// TestRecreatedPool holds that a pool that is made again under its name, or whose node group is
// lost, gets a node group at once: EKS answers a client token that it has seen before with the node
// group of then.
func TestRecreatedPool(t *testing.T) {
	t.Parallel()
	t.Run("the pool is made again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("pool", nil)
		w.active("pool")
		w.delete("pool")
		w.told()
		w.sim.ClearCalls()
		w.create("pool", nil)
		w.active("pool")
		if calls := w.made("CreateNodegroup"); calls != 1 {
			t.Errorf("the node group was created with %d calls", calls)
		}
		for _, note := range w.told() {
			if strings.Contains(note, "outside Slipway") {
				t.Errorf("an event says %q", note)
			}
		}
	})
	t.Run("the node group is deleted outside", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("pool", nil)
		w.active("pool")
		for range 2 { // the second loss is of another node group
			w.sim.ClearCalls()
			if _, err := w.eks.DeleteNodegroup(t.Context(), &eks.DeleteNodegroupInput{ClusterName: awssdk.String(testEKSCluster), NodegroupName: awssdk.String("team_pool")}); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.passes("pool", "the node group is made again", func() bool { return w.made("CreateNodegroup") > 0 })
			w.active("pool")
			if calls := w.made("CreateNodegroup"); calls != 1 {
				t.Errorf("the node group was created with %d calls", calls)
			}
		}
	})
}

// TestLostNodegroupKeepsItsNames holds that a node group that was deleted outside gets its name and
// its role again, though the spec no longer has the name.
func TestLostNodegroupKeepsItsNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = "golden" })
	w.active("pool")
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.EKSNodegroupName = "" })
	if _, err := w.eks.DeleteNodegroup(t.Context(), &eks.DeleteNodegroupInput{ClusterName: awssdk.String(testEKSCluster), NodegroupName: awssdk.String("golden")}); err != nil {
		t.Fatal(err)
	}
	w.sim.ClearCalls()
	w.restart()
	w.passes("pool", "the node group is made again", func() bool { return w.made("CreateNodegroup") > 0 })
	w.active("pool")
	w.expectNodegroups("golden")
	if roles := w.roles(); !slices.Equal(roles, []string{infrav1.DefaultNodeRoleName(testEKSCluster, "golden")}) {
		t.Errorf("there are roles %q", roles)
	}
}

// TestNodeRoleTagMissing holds that a node role without its owner tag is neither changed nor
// deleted, and that the condition and an event say so.
func TestNodeRoleTagMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	name := infrav1.DefaultNodeRoleName(testEKSCluster, "team_pool")
	role, err := w.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, tag := range role.Role.Tags {
		keys = append(keys, *tag.Key)
	}
	if _, err := w.iam.UntagRole(t.Context(), &iam.UntagRoleInput{RoleName: &name, TagKeys: keys}); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(2 * roleCheck)
	w.sim.ClearCalls()
	w.reconcile("pool")
	if got := w.condition("pool", infrav1.NodeRoleReadyCondition); got.Reason != infrav1.OwnerTagMissingReason || !strings.Contains(got.Message, name) {
		t.Errorf("IAMNodegroupRolesReady is %+v", got)
	}
	w.told()
	w.delete("pool")
	if told := w.told(); !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, "NodeRoleLeft") }) {
		t.Errorf("events are %q", told)
	}
	for _, action := range []string{"TagRole", "DeleteRole", "DetachRolePolicy", "CreateRole"} {
		if calls := w.made(action); calls > 0 {
			t.Errorf("%s was called %d times", action, calls)
		}
	}
	w.expectNodegroups()
}

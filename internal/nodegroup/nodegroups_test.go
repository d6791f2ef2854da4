package nodegroup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
)

// TestCallsWithFaults holds what each call makes of the answers of AWS: which of them are no error,
// and that an error names the operation and the node group.
func TestCallsWithFaults(t *testing.T) {
	t.Parallel()
	group := Nodegroup{Cluster: "blue", Name: "pool", ARN: "arn:aws:eks:us-east-1:123456789012:nodegroup/blue/pool/1", Tags: map[string]string{infrav1.TagManagedMachinePool: testOwner, "old": "1"}}
	calls := map[string]func(*world) (any, error){
		"DescribeNodegroup": func(w *world) (any, error) {
			found, err := w.groups.Describe(w.Context(), "blue", "pool")
			return found != nil, err
		},
		"ListNodegroups": func(w *world) (any, error) {
			found, err := w.groups.OwnedBy(w.Context(), "blue", testOwner, func(string) bool { return false })
			return len(found) > 0, err
		},
		"CreateNodegroup": func(w *world) (any, error) {
			made, err := w.groups.Create(w.Context(), w.plain(nil), "pool", "")
			return made != nil, err
		},
		"UpdateNodegroupConfig": func(w *world) (any, error) {
			update, err := w.groups.UpdateConfig(w.Context(), ConfigChange{Sizes: &Scaling{Max: 2}}, group)
			return update.ID != "", err
		},
		"UpdateNodegroupVersion": func(w *world) (any, error) {
			update, err := w.groups.UpdateVersion(w.Context(), VersionChange{KubernetesVersion: "1.34"}, group)
			return update.ID != "", err
		},
		"DescribeUpdate": func(w *world) (any, error) {
			update, err := w.groups.Update(w.Context(), group, "12345678-1234-1234-1234-123456789012")
			return update != nil, err
		},
		"ListUpdates": func(w *world) (any, error) {
			update, err := w.groups.Running(w.Context(), group)
			return update != nil, err
		},
		"TagResource": func(w *world) (any, error) {
			return w.groups.EnsureTags(w.Context(), Desired{Tags: map[string]string{infrav1.TagManagedMachinePool: testOwner, "new": "1"}}, group)
		},
		"UntagResource": func(w *world) (any, error) {
			return w.groups.EnsureTags(w.Context(), Desired{RetiredTags: []string{"old"}}, group)
		},
		"DeleteNodegroup": func(w *world) (any, error) { return false, w.groups.Delete(w.Context(), group) },
	}
	for _, row := range []struct {
		reason, action, code string
		status               int
		want                 string
	}{
		{"a group that is gone is described as none", "DescribeNodegroup", "ResourceNotFoundException", 404, ""},
		{"a description that is denied", "DescribeNodegroup", "AccessDeniedException", 403, `describing node group "pool" of EKS cluster "blue"`},
		{"a cluster that is gone has no node groups", "ListNodegroups", "ResourceNotFoundException", 404, ""},
		{"a list that is denied must not read as no node groups", "ListNodegroups", "AccessDeniedException", 403, `listing the node groups of EKS cluster "blue"`},
		{"a creation over the quota", "CreateNodegroup", "ResourceLimitExceededException", 400, `creating node group "pool" of EKS cluster "blue"`},
		{"a creation in a cluster that is gone is a failure", "CreateNodegroup", "ResourceNotFoundException", 404, `creating node group "pool"`},
		{"a change while another runs", "UpdateNodegroupConfig", "ResourceInUseException", 409, `updating the configuration of node group "pool"`},
		{"a change of a group that is gone is a failure", "UpdateNodegroupConfig", "ResourceNotFoundException", 404, `updating the configuration of node group "pool"`},
		{"a version that EKS refuses", "UpdateNodegroupVersion", "InvalidParameterException", 400, `updating the version of node group "pool"`},
		{"an update that EKS has forgotten", "DescribeUpdate", "ResourceNotFoundException", 404, ""},
		{"an update that may not be read must not read as forgotten", "DescribeUpdate", "AccessDeniedException", 403, `describing update 12345678-1234-1234-1234-123456789012 of node group "pool"`},
		{"updates that may not be listed must not read as none", "ListUpdates", "AccessDeniedException", 403, `listing the updates of node group "pool"`},
		{"a tag that is denied", "TagResource", "AccessDeniedException", 403, `tagging node group "pool"`},
		{"the removal of a tag that is denied", "UntagResource", "AccessDeniedException", 403, `removing tags ["old"] of node group "pool"`},
		{"a deletion of what is gone", "DeleteNodegroup", "ResourceNotFoundException", 404, ""},
		{"a deletion while EKS updates it", "DeleteNodegroup", "ResourceInUseException", 409, `deleting node group "pool"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fault(awssim.Fault{Action: row.action, Code: row.code, Message: "a fault", Status: row.status})
			found, err := calls[row.action](w)
			if found != false {
				t.Errorf("the call returned %v beside the fault", found)
			}
			switch {
			case row.want == "" && err != nil:
				t.Errorf("the error is %v, want none", err)
			case row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)):
				t.Errorf("the error is %v, want %s: …", err, row.want)
			case row.want != "" && aws.Code(err) != row.code:
				t.Errorf("the code %q is lost: %v", row.code, err)
			}
		})
	}
}

// TestLostAnswers holds that a request whose answer was lost is repeated without a second effect,
// although the first one was done.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(awssim.Fault{Action: "CreateNodegroup", Place: awssim.AfterEffect, Code: "Lost", Message: "the answer is lost", Status: 400})
	want := w.plain(nil)
	if _, err := w.groups.Create(t.Context(), want, "pool", ""); err == nil {
		t.Error("the creation did not fail")
	}
	made, err := w.groups.Create(t.Context(), want, "pool", "")
	if err != nil || made.Status != StatusCreating {
		t.Fatalf("the repeated creation returned %+v, %v", made, err)
	}
	if diff := cmp.Diff([]string{"pool"}, w.names()); diff != "" {
		t.Errorf("node groups (-want +got):\n%s", diff)
	}

	group := w.settled("pool")
	change := Next(w.plain(func(d *Desired) { d.Settings.Labels = map[string]string{"a": "b"} }), group, nil, w.clock.Now()).Config
	w.fault(awssim.Fault{Action: "UpdateNodegroupConfig", Place: awssim.AfterEffect, Code: "Lost", Message: "the answer is lost", Status: 400})
	if _, err := w.groups.UpdateConfig(t.Context(), *change, group); err == nil {
		t.Error("the update did not fail")
	}
	first, err := w.groups.UpdateConfig(t.Context(), *change, group)
	if err != nil {
		t.Fatal(err)
	}
	running, err := w.groups.Running(t.Context(), group)
	if err != nil || running == nil || running.ID != first.ID || running.Type != ConfigUpdate {
		t.Errorf("the update that runs is %+v, %v, want %s", running, err, first.ID)
	}
	updates, err := w.eks.ListUpdates(t.Context(), &eks.ListUpdatesInput{Name: awssdk.String("blue"), NodegroupName: awssdk.String("pool")})
	if err != nil || len(updates.UpdateIds) != 1 {
		t.Errorf("the repeated request began updates %v, %v", updates, err)
	}
}

// TestCreatedAgain holds that a group that was deleted can be created again under its name by the
// same object, once the creation counts the lost group, and by another object without that.
func TestCreatedAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		uid    string
		lost   bool
	}{
		{"the same object after its group was lost", "first", true},
		{"another object of the same name", "second", false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.create("pool", w.plain(nil))
			if err := w.groups.Delete(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if w.describe("pool") == nil {
					break
				}
				w.clock.Step(time.Minute)
			}
			lost := ""
			if row.lost {
				lost = first.ARN
			}
			made, err := w.groups.Create(t.Context(), w.plain(func(d *Desired) { d.UID = row.uid }), "pool", lost)
			if err != nil || made.ARN == first.ARN {
				t.Fatalf("the group is %+v, %v", made, err)
			}
			if again := w.settled("pool"); again.ARN != made.ARN || !again.Works() {
				t.Errorf("the group that is there is %+v", again)
			}
		})
	}
}

// TestOwnedBy holds which node groups are found for an owner: the oldest first, and neither node
// groups of other owners nor known ones.
func TestOwnedBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, group := range []struct{ name, owner string }{{"zebra", testOwner}, {"other", "team/blue/other"}, {"aardvark", testOwner}, {"known", testOwner}, {"untagged", ""}} {
		want := w.plain(func(d *Desired) {
			d.UID, d.Capacity = group.name, ptr.To[int32](0)
			if d.Tags = nil; group.owner != "" {
				d.Tags = map[string]string{infrav1.TagManagedMachinePool: group.owner}
			}
		})
		w.create(group.name, want)
		w.clock.Step(time.Minute)
	}
	owned, err := w.groups.OwnedBy(t.Context(), "blue", testOwner, func(name string) bool { return name == "known" })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, group := range owned {
		names = append(names, group.Name)
	}
	if diff := cmp.Diff([]string{"zebra", "aardvark"}, names); diff != "" {
		t.Errorf("owned (-want +got):\n%s", diff)
	}
	if none, err := w.groups.OwnedBy(t.Context(), "no-such-cluster", testOwner, func(string) bool { return false }); err != nil || len(none) > 0 {
		t.Errorf("a cluster that does not exist has %v, %v", none, err)
	}
	w.fault(awssim.Fault{Action: "DescribeNodegroup", Code: "AccessDeniedException", Status: 403, Message: "denied"})
	if some, err := w.groups.OwnedBy(t.Context(), "blue", testOwner, func(string) bool { return false }); err == nil {
		t.Errorf("a group that may not be described is left out: %v", some)
	}
	w.fault(awssim.Fault{Action: "DescribeNodegroup", Code: "ResourceNotFoundException", Status: 404, Message: "gone since it was listed"})
	some, err := w.groups.OwnedBy(t.Context(), "blue", testOwner, func(string) bool { return false })
	if err != nil || len(some) != 2 {
		t.Errorf("beside a group that went since it was listed, %d are found, %v", len(some), err)
	}
}

// TestRunningIsBounded holds that a long history of updates is not read completely, and that an
// update which EKS forgets while it is read is skipped.
func TestRunningIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.create("pool", w.plain(nil))
	for i := range mostUpdates + 3 {
		change := ConfigChange{Settings: &Settings{Labels: map[string]string{"edit": fmt.Sprint(i)}, Update: DefaultSettings().Update}}
		if _, err := w.groups.UpdateConfig(t.Context(), change, group); err != nil {
			t.Fatal(err)
		}
		group = w.settled("pool")
	}
	w.sim.ClearCalls()
	running, err := w.groups.Running(t.Context(), group)
	if err != nil || running != nil {
		t.Errorf("the update that runs is %+v, %v", running, err)
	}
	described := 0
	for _, call := range w.sim.Calls() {
		if call.Action == "DescribeUpdate" {
			described++
		}
	}
	if described > mostUpdates {
		t.Errorf("%d updates were described, want %d at most", described, mostUpdates)
	}
	w.fault(awssim.Fault{Action: "DescribeUpdate", Code: "ResourceNotFoundException", Status: 404, Message: "forgotten"})
	if running, err := w.groups.Running(t.Context(), group); err != nil || running != nil {
		t.Errorf("with a forgotten update there is %+v, %v", running, err)
	}
	w.fault(awssim.Fault{Action: "DescribeUpdate", Code: "AccessDeniedException", Status: 403, Message: "denied"})
	if _, err := w.groups.Running(t.Context(), group); err == nil {
		t.Error("an update that may not be described is passed over")
	}
}

// TestTags holds that tags of others stay, and that nothing is written when nothing differs.
func TestTags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", w.plain(func(d *Desired) { d.Tags["team"], d.Tags["retired"] = "a", "1" }))
	if _, err := w.eks.TagResource(t.Context(), &eks.TagResourceInput{ResourceArn: &w.describe("pool").ARN, Tags: map[string]string{"cost-center": "7"}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason  string
		tags    map[string]string
		retired []string
		writes  []string
		want    map[string]string
	}{
		{"nothing differs", map[string]string{"team": "a"}, nil, nil, map[string]string{"team": "a", "retired": "1", "cost-center": "7"}},
		{"a value changes", map[string]string{"team": "b"}, nil, []string{"TagResource"}, map[string]string{"team": "b", "retired": "1", "cost-center": "7"}},
		{"a tag that the pool set earlier goes", map[string]string{"team": "b"}, []string{"retired"}, []string{"UntagResource"}, map[string]string{"team": "b", "cost-center": "7"}},
		{"a retired tag that is wanted again stays", map[string]string{"team": "b"}, []string{"team"}, nil, map[string]string{"team": "b", "cost-center": "7"}},
		{"a retired tag that is gone already", map[string]string{"team": "b"}, []string{"retired"}, []string{"UntagResource"}, map[string]string{"team": "b", "cost-center": "7"}},
		{"one comes and one goes", map[string]string{"new": "1"}, []string{"team"}, []string{"TagResource", "UntagResource"}, map[string]string{"new": "1", "cost-center": "7"}},
	} {
		w.writes()
		changed, err := w.groups.EnsureTags(t.Context(), Desired{Tags: row.tags, RetiredTags: row.retired}, *w.describe("pool"))
		if err != nil || changed != (len(row.writes) > 0) {
			t.Errorf("%s: it returned %v, %v", row.reason, changed, err)
		}
		if writes := w.writes(); !slices.Equal(writes, row.writes) {
			t.Errorf("%s: calls %q, want %q", row.reason, writes, row.writes)
		}
		row.want[infrav1.TagManagedMachinePool] = testOwner
		if diff := cmp.Diff(row.want, w.describe("pool").Tags); diff != "" {
			t.Errorf("%s: tags (-want +got):\n%s", row.reason, diff)
		}
	}
	w.writes()
	for _, writes := range [][]string{{"UntagResource"}, nil} { // the second time there is nothing to take away
		if err := w.groups.Disown(t.Context(), *w.describe("pool")); err != nil {
			t.Fatal(err)
		}
		if got := w.writes(); !slices.Equal(got, writes) {
			t.Errorf("disowning called %q, want %q", got, writes)
		}
	}
	if w.describe("pool").OwnedBy(testOwner) {
		t.Error("the node group is still owned")
	}
	w.fault(awssim.Fault{Action: "UntagResource", Code: "AccessDeniedException", Status: 403, Message: "denied"})
	if err := w.groups.Disown(t.Context(), Nodegroup{Name: "pool", ARN: w.describe("pool").ARN, Tags: map[string]string{infrav1.TagManagedMachinePool: ""}}); err == nil {
		t.Error("an ownership tag that could not be removed counts as removed")
	}
}

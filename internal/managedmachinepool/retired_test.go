package managedmachinepool

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
)

// given says which tags, policy, and hook of a pool AWS holds.
type given struct {
	nodegroupTag, groupTag, roleTag, policy, hook bool
}

// TestRetiredIsRemovedThoughUnseen holds that what a pool gave its node group, its Auto Scaling group,
// and its node role is taken from them when the spec no longer asks for it, though AWS does not show
// yet that they have it.
func TestRetiredIsRemovedThoughUnseen(t *testing.T) {
	t.Parallel()
	const policy = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"
	for _, row := range []struct {
		reason string
		give   func(*infrav1.AWSManagedMachinePool)
		want   given
	}{
		{reason: "a tag", give: func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} }, want: given{nodegroupTag: true, groupTag: true, roleTag: true}},
		{reason: "a policy", give: func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.RoleAdditionalPolicies = []string{policy} }, want: given{policy: true}},
		{reason: "a lifecycle hook", give: func(pool *infrav1.AWSManagedMachinePool) {
			pool.Spec.AWSLifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "notice", LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching}}
		}, want: given{hook: true}},
	} {
		for _, forgetful := range []bool{false, true} {
			reason := row.reason
			if forgetful {
				reason += ", with a process that remembers nothing"
			}
			t.Run(reason, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.forgetful = forgetful
				w.create("pool", nil)
				w.active("pool")
				for range 5 {
					w.reconcile("pool")
				}
				w.clock.Step(time.Hour)
				w.reconcile("pool")
				before := w.pool("pool").Spec
				awssimtest.SetReadLag(w.sim, 20*time.Second)
				w.edit("pool", row.give)
				w.reconcile("pool")
				awssimtest.SetReadLag(w.sim, 0)
				if got := w.given(policy); got != row.want {
					t.Fatalf("AWS holds %+v, want %+v", got, row.want)
				}
				awssimtest.SetReadLag(w.sim, 20*time.Second)
				w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec = before })
				w.reconcile("pool")
				awssimtest.SetReadLag(w.sim, 0)
				for range 10 {
					w.reconcile("pool")
				}
				if got := w.given(policy); got != (given{}) {
					t.Errorf("AWS still holds %+v", got)
				}
				if ready := w.condition("pool", infrav1.ReadyCondition); ready.Status != "True" {
					t.Errorf("the pool shows %q", ready.Message)
				}
			})
		}
	}
}

// given returns which tags, policy, and hook of the pool AWS shows.
func (w *world) given(policy string) given {
	w.Helper()
	name := w.roles()[0]
	group := w.nodegroup("team_pool")
	role, err := w.iam.GetRole(w.Context(), &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		w.Fatal(err)
	}
	policies, err := w.iam.ListAttachedRolePolicies(w.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil {
		w.Fatal(err)
	}
	members := group.Resources.AutoScalingGroups[0].Name
	groups, err := w.asg.DescribeAutoScalingGroups(w.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{*members}})
	if err != nil {
		w.Fatal(err)
	}
	hooks, err := w.asg.DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: members})
	if err != nil {
		w.Fatal(err)
	}
	_, tagged := group.Tags["team"]
	return given{
		nodegroupTag: tagged,
		groupTag:     slices.ContainsFunc(groups.AutoScalingGroups[0].Tags, func(tag asgtypes.TagDescription) bool { return *tag.Key == "team" }),
		roleTag:      slices.ContainsFunc(role.Role.Tags, func(tag iamtypes.Tag) bool { return *tag.Key == "team" }),
		policy:       slices.ContainsFunc(policies.AttachedPolicies, func(attached iamtypes.AttachedPolicy) bool { return *attached.PolicyArn == policy }),
		hook:         slices.ContainsFunc(hooks.LifecycleHooks, func(hook asgtypes.LifecycleHook) bool { return *hook.LifecycleHookName == "notice" }),
	}
}

package machinepool

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// protect gives the pool, and its group in AWS, levels of deletion protection.
func (r *rig) protect(level infrav1.DeletionProtection, inAWS asgtypes.DeletionProtection) {
	r.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: victim, Name: poolName}, pool); err != nil {
		r.Fatal(err)
	}
	pool.Spec.DeletionProtection = level
	if err := r.Update(r.Context(), pool); err != nil {
		r.Fatal(err)
	}
	if inAWS == "" {
		return
	}
	if _, err := r.asg.UpdateAutoScalingGroup(r.Context(), &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: awssdk.String(poolName), DeletionProtection: inAWS}); err != nil {
		r.Fatal(err)
	}
}

// protectedRig has a pool, whose group has an instance, that was deleted under a level of deletion
// protection.
func protectedRig(t *testing.T, level infrav1.DeletionProtection, inAWS asgtypes.DeletionProtection) *rig {
	t.Helper()
	r := newRig(t)
	arn := r.group(poolName, r.template(poolName, nil, nil), 1, slipwayTags(victim))
	if err := r.Create(t.Context(), poolIn(victim, arn)); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(5 * time.Minute)
	r.protect(level, inAWS)
	r.remove(victim)
	r.sim.ClearCalls()
	return r
}

// TestProtectedGroupIsKept holds that a pool whose group is protected from deletion waits with its
// nodes, changes nothing in AWS, and is deleted once the spec allows it.
func TestProtectedGroupIsKept(t *testing.T) {
	t.Parallel()
	const all = asgtypes.DeletionProtectionPreventAllDeletion
	for _, row := range []struct {
		reason string
		spec   infrav1.DeletionProtection
		inAWS  asgtypes.DeletionProtection
	}{
		{"spec and group have the level", infrav1.DeletionProtectionPreventAllDeletion, all},
		{"another client lowered the level of the group", infrav1.DeletionProtectionPreventAllDeletion, asgtypes.DeletionProtectionNone},
		{"another client raised the level of the group, and the spec names none", "", all},
	} {
		t.Log(row.reason)
		r := protectedRig(t, row.spec, row.inAWS)
		r.condition(r.pass(victim), infrav1.DeletingCondition, infrav1.ASGDeletionProtectedReason, poolName, "with 1 instance, and the pool remain", "Set spec.deletionProtection to none")
		if group := r.find(poolName); group == nil || len(group.Instances) != 1 || *group.DesiredCapacity != 1 {
			t.Fatalf("the group is %+v", group)
		}
		if writes := r.writes(); len(writes) != 0 {
			t.Errorf("writes to AWS: %q", writes)
		}
		r.protect(infrav1.DeletionProtectionNone, "")
		if pool := r.pass(victim); pool != nil || r.find(poolName) != nil {
			t.Errorf("after the protection ended, the pool is %+v", pool)
		}
	}
}

// TestEmptiedBeforeDeletion holds that a group that may not be deleted by force is scaled to zero
// first, so that its instances leave by its hooks, and that its warm pool goes too.
func TestEmptiedBeforeDeletion(t *testing.T) {
	t.Parallel()
	r := protectedRig(t, infrav1.DeletionProtectionPreventForceDeletion, asgtypes.DeletionProtectionPreventForceDeletion)
	if _, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: awssdk.String(poolName), LifecycleHookName: awssdk.String("of-others"), LifecycleTransition: awssdk.String("autoscaling:EC2_INSTANCE_TERMINATING"),
		HeartbeatTimeout: awssdk.Int32(1800), DefaultResult: awssdk.String("CONTINUE"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.asg.PutWarmPool(t.Context(), &autoscaling.PutWarmPoolInput{AutoScalingGroupName: awssdk.String(poolName), MinSize: awssdk.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	r.condition(r.pass(victim), infrav1.DeletingCondition, infrav1.ASGDeletionProtectedReason, poolName, "it has 1 instance left")
	group := r.find(poolName)
	if group == nil || len(group.Instances) != 1 || group.Instances[0].LifecycleState != asgtypes.LifecycleStateTerminatingWait {
		t.Fatalf("the instance does not leave by the hook: %+v", group)
	}
	r.clock.Step(time.Hour) // the hook's time is up
	if pool := r.pass(victim); pool != nil || r.find(poolName) != nil {
		t.Fatalf("the pool is %+v", pool)
	}
	for _, call := range r.sim.Calls() {
		if call.Action == "DeleteAutoScalingGroup" && call.Code != "" {
			t.Errorf("AWS refused the deletion: %s", call.Code)
		}
	}
	if writes := r.writes(); slices.Contains(writes, "CreateOrUpdateTags") {
		t.Errorf("writes to AWS: %q", writes)
	}
}

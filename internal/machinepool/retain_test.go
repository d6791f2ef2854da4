package machinepool

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/workload"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// retainingRig returns a rig with a pool that retains instances. Its group has one instance and a
// desired capacity of zero, and its workload cluster does not answer.
func retainingRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	workloads := workload.New(r.Client, r.clock)
	workloads.Loopback = true
	r.pools.kind.Workloads = workloads
	arn := r.group(poolName, r.template(poolName, nil, nil), 1, slipwayTags(victim))
	pool := poolIn(victim, arn)
	pool.Spec.InstanceLifecyclePolicy = &infrav1.InstanceLifecyclePolicy{RetentionTriggers: infrav1.RetentionTriggers{TerminateHookAbandon: infrav1.RetentionActionRetain}}
	if err := r.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, hook := range drainHooks(input{Object: pool}) {
		if hook.Result != "ABANDON" {
			t.Errorf("the drain hook's default result is %s: an instance that was not drained would be lost", hook.Result)
		}
		if _, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
			AutoScalingGroupName: awssdk.String(poolName), LifecycleHookName: &hook.Name, LifecycleTransition: &hook.Transition,
			DefaultResult: &hook.Result, HeartbeatTimeout: &hook.Heartbeat,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.asg.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: awssdk.String(poolName), DesiredCapacity: awssdk.Int32(0),
		InstanceLifecyclePolicy: &asgtypes.InstanceLifecyclePolicy{RetentionTriggers: &asgtypes.RetentionTriggers{TerminateHookAbandon: asgtypes.RetentionActionRetain}},
	}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	return r
}

// drainFor has the nodes of the pool's group drained again and again for as long as given, and
// returns the pool.
func (r *rig) drainFor(limit time.Duration) *infrav1.AWSMachinePool {
	r.Helper()
	cloud, err := r.pools.kind.Clouds.For(r.Context(), aws.Identity{}, victim, "us-east-1")
	if err != nil {
		r.Fatal(err)
	}
	pool := &infrav1.AWSMachinePool{}
	for range int(limit / time.Minute) {
		if err := r.Get(r.Context(), client.ObjectKey{Namespace: victim, Name: poolName}, pool); err != nil {
			r.Fatal(err)
		}
		found, err := cloud.Groups.Describe(r.Context(), []string{poolName})
		if err != nil {
			r.Fatal(err)
		}
		group := found[poolName]
		r.drainOnce(pool, cloud, Observed{
			ClusterName: clusterName, Group: &group, Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: clusterName}},
		})
		r.clock.Step(time.Minute)
	}
	return pool
}

// drainOnce decides about draining, and does so, until nothing is left to do. The pool is then as
// it was decided.
func (r *rig) drainOnce(pool *infrav1.AWSMachinePool, cloud *clouds.Cloud, seen Observed) {
	r.Helper()
	r.memory.cloud = cloud
	subject := pass{Object: pool, Seen: &seen, Memory: &r.memory}
	(observer{Kind: r.pools.kind, pass: subject}).rememberNodes()
	var done []reconcile.Done
	for {
		in, plan := input{Object: pool.DeepCopy(), Seen: seen, Done: done, Now: r.clock.Now()}, reconcile.Plan{}
		drainNodes(in, &plan)
		if err := reconciling.Patch(r.Context(), r.Client, pool, func(pool *infrav1.AWSMachinePool) {
			for key, value := range plan.Annotations {
				reconciling.SetAnnotation(pool, key, value)
			}
		}); err != nil {
			r.Fatal(err)
		}
		if len(plan.Actions) == 0 {
			pool.Status = in.Object.Status
			return
		}
		_, err := r.pools.kind.Act(r.Context(), subject, plan.Actions[0].Action)
		done = append(done, reconcile.Done{Step: plan.Actions[0], Err: err})
	}
}

// states returns the life cycle states of the group's instances.
func (r *rig) states() []string {
	r.Helper()
	var states []string
	for _, instance := range r.find(poolName).Instances {
		states = append(states, string(instance.LifecycleState))
	}
	return states
}

// answerWithoutNodes has the workload cluster answer. It has no Nodes, so that all that were
// drained are empty.
func (r *rig) answerWithoutNodes() {
	r.Helper()
	workloadtest.Serve(r, r.Client, client.ObjectKey{Namespace: victim, Name: clusterName}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[]}`)
	}))
}

// TestDrainThatRanOutIsRetained holds that an instance whose node was not drained in time keeps
// running, and is terminated once its node is empty.
func TestDrainThatRanOutIsRetained(t *testing.T) {
	t.Parallel()
	r := retainingRig(t)
	r.drainFor(10 * time.Minute)
	if difference := cmp.Diff([]string{"Terminating:Wait"}, r.states()); difference != "" {
		t.Fatalf("within the time limit (-want +got):\n%s", difference)
	}
	pool := r.drainFor(time.Hour)
	if difference := cmp.Diff([]string{"Terminating:Retained"}, r.states()); difference != "" {
		t.Fatalf("after the time limit (-want +got):\n%s", difference)
	}
	r.condition(pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, "its instance is retained until the node is empty")
	r.answerWithoutNodes()
	pool = r.drainFor(10 * time.Minute)
	if left := r.states(); len(left) > 0 {
		t.Errorf("once the node was empty, the group has instances in %q", left)
	}
	if pool.Annotations[RetainedAnnotation] != "" {
		t.Errorf("instances are recorded that are gone: %s", pool.Annotations[RetainedAnnotation])
	}
}

// TestOthersRetainedInstancesAreKept holds that an instance which another hook had retained is
// reported, and neither drained nor terminated.
func TestOthersRetainedInstancesAreKept(t *testing.T) {
	t.Parallel()
	r := retainingRig(t)
	r.answerWithoutNodes()
	instance := *r.find(poolName).Instances[0].InstanceId
	if _, err := r.asg.CompleteLifecycleAction(t.Context(), &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: awssdk.String(poolName), LifecycleHookName: awssdk.String("slipway-drain"), InstanceId: &instance, LifecycleActionResult: awssdk.String("ABANDON"),
	}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	pool := r.drainFor(time.Hour)
	if difference := cmp.Diff([]string{"Terminating:Retained"}, r.states()); difference != "" {
		t.Errorf("an instance that another hook retained (-want +got):\n%s", difference)
	}
	r.condition(pool, infrav1.NodesDrainedCondition, infrav1.InstancesRetainedReason, instance, "TerminateInstanceInAutoScalingGroup")
}

// TestRetainingGroupIsDeleted holds that a pool that retains instances can be deleted with them,
// although AWS refuses to delete its group as it is.
func TestRetainingGroupIsDeleted(t *testing.T) {
	t.Parallel()
	r := retainingRig(t)
	r.drainFor(time.Hour)
	if _, err := r.asg.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: awssdk.String(poolName), ForceDelete: awssdk.Bool(true)}); err == nil {
		t.Fatal("the simulated AWS deletes a group that retains instances")
	}
	r.remove(victim)
	r.pass(victim)
	if r.find(poolName) != nil {
		t.Error("the group is still there")
	}
}

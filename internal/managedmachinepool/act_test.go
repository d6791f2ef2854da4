package managedmachinepool

import (
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// must stops the test if an error is not nil.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// hooks returns the lifecycle hooks of the Auto Scaling group of the pool's node group.
func (w *world) hooks(asg *autoscaling.Client, name string) []string {
	w.Helper()
	group := w.nodegroup(w.pool(name).Status.Nodegroup.Name).Resources.AutoScalingGroups[0].Name
	out, err := asg.DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: group})
	w.must(err)
	var names []string
	for _, hook := range out.LifecycleHooks {
		names = append(names, *hook.LifecycleHookName)
	}
	slices.Sort(names)
	return names
}

// autoscaling returns a client of Auto Scaling that reaches the same simulated AWS as the other
// clients.
func (w *world) autoscaling() *autoscaling.Client {
	options := w.eks.Options()
	return autoscaling.New(autoscaling.Options{Region: options.Region, Credentials: options.Credentials, BaseEndpoint: options.BaseEndpoint, HTTPClient: options.HTTPClient})
}

// TestHooksOfANodegroup holds that the hooks that a pool asks for are put on the Auto Scaling group
// of its node group, that EKS's own hooks stay, and that a hook goes that is no longer asked for.
func TestHooksOfANodegroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asg := w.autoscaling()
	w.create("pool", nil)
	w.active("pool")
	own := w.hooks(asg, "pool")
	mine := infrav1.AWSLifecycleHook{Name: "mine", LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching, DefaultResult: ptr.To(infrav1.LifecycleHookDefaultResultContinue)}
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.AWSLifecycleHooks = []infrav1.AWSLifecycleHook{mine}
	})
	w.passes("pool", "the hook is there", func() bool { return slices.Contains(w.hooks(asg, "pool"), "mine") })
	if told := w.told(); !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, infrav1.ASGHooksChangedEvent) }) {
		t.Errorf("events are %q", told)
	}
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLifecycleHooks = nil })
	w.passes("pool", "the hook is gone", func() bool { return !slices.Contains(w.hooks(asg, "pool"), "mine") })
	if difference := cmp.Diff(own, w.hooks(asg, "pool")); difference != "" {
		t.Errorf("EKS's own hooks differ:\n%s", difference)
	}
}

// TestReplicasFollowAnAutoscaler holds that the MachinePool gets the size that an external
// autoscaler gave the group, and that EKS is not asked for another.
func TestReplicasFollowAnAutoscaler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](5)}
	})
	machinePool := &clusterv1.MachinePool{}
	w.must(w.store.Get(t.Context(), named("pool"), machinePool))
	machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
	w.must(w.store.Update(t.Context(), machinePool))
	w.active("pool")
	group := w.nodegroup(w.pool("pool").Status.Nodegroup.Name).Resources.AutoScalingGroups[0].Name
	asg, updates := w.autoscaling(), w.made("UpdateNodegroupConfig")
	for _, size := range []int32{3, 0, 5} {
		_, err := asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: group, DesiredCapacity: &size})
		w.must(err)
		cloud, err := w.controller.kind.Clouds.For(t.Context(), aws.Identity{}, testNamespace, testRegion)
		w.must(err)
		w.passes("pool", "the MachinePool follows", func() bool {
			cloud.SeenManagedGroups.Invalidate(*group) // no sweep runs here
			w.must(w.store.Get(t.Context(), named("pool"), machinePool))
			return ptr.Deref(machinePool.Spec.Replicas, -1) == size
		})
	}
	if made := w.made("UpdateNodegroupConfig"); made != updates {
		t.Errorf("EKS was asked for another size %d times", made-updates)
	}
}

// TestRoleIsHandedOver holds that a node role that another pool of the namespace uses becomes that
// pool's when its owner is deleted, and is deleted with the last of them.
func TestRoleIsHandedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	role := w.roles()[0]
	w.create("heir", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.RoleName = role })
	w.active("heir")
	w.delete("pool")
	seen, err := w.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: &role})
	w.must(err)
	owner := ""
	for _, tag := range seen.Role.Tags {
		if *tag.Key == infrav1.TagManagedMachinePool {
			owner = *tag.Value
		}
	}
	if owner != "team/blue/heir" {
		t.Errorf("the role's owner tag is %q", owner)
	}
	if told := w.told(); !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, infrav1.NodeRoleHandedOverEvent) }) {
		t.Errorf("events are %q", told)
	}
	w.expectNodegroups(w.pool("heir").Status.Nodegroup.Name)
}

// TestSubnetsAreFound holds that a pool that names no subnets gets the subnets of its cluster, and
// that one whose subnets do not exist waits for its user.
func TestSubnetsAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.SubnetIDs, pool.Spec.AvailabilityZones = nil, []string{"us-east-1a"}
	})
	w.create("nowhere", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.SubnetIDs, pool.Spec.AvailabilityZones = nil, []string{"us-east-1z"}
	})
	w.active("pool")
	if subnets := w.nodegroup(w.pool("pool").Status.Nodegroup.Name).Subnets; !slices.Equal(subnets, []string{testSubnet}) {
		t.Errorf("the node group is in %v", subnets)
	}
	for range 5 {
		w.reconcile("nowhere")
	}
	if condition := w.condition("nowhere", infrav1.NodegroupReadyCondition); condition.Status != metav1.ConditionFalse || condition.Reason != infrav1.SubnetsNotFoundReason {
		t.Errorf("the condition is %+v", condition)
	}
	w.expectNodegroups(w.pool("pool").Status.Nodegroup.Name)
}

// TestPausedPoolIsLeftAlone holds that AWS is not called for a paused pool, not even to delete it,
// and that what was asked for meanwhile is done afterwards.
func TestPausedPoolIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Annotations[clusterv1.PausedAnnotation] = ""
		pool.Spec.Labels = map[string]string{"a": "b"}
	})
	w.must(w.store.Delete(t.Context(), w.pool("pool")))
	w.sim.ClearCalls()
	for range 5 {
		w.reconcile("pool")
	}
	if calls := w.sim.Calls(); len(calls) > 0 {
		t.Errorf("AWS was called: %v", calls)
	}
	if condition := w.condition("pool", infrav1.PausedCondition); condition.Status != metav1.ConditionTrue {
		t.Errorf("the condition is %+v", condition)
	}
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { delete(pool.Annotations, clusterv1.PausedAnnotation) })
	for range 60 {
		if w.reconcile("pool"); client.IgnoreNotFound(w.store.Get(t.Context(), named("pool"), &infrav1.AWSManagedMachinePool{})) == nil && len(w.nodegroups()) == 0 {
			break
		}
	}
	w.expectNodegroups()
}

// TestActionsOnObjects does actions on the objects of the management cluster twice: each can be
// repeated after a crash. One that was decided from an object that has changed since is refused.
func TestActionsOnObjects(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		action reconcile.Action
		holds  func(w *world, config *infrav1.AWSLaunchConfig) bool
	}{
		{"an edit", updateLaunchConfig{Spec: infrav1.AWSLaunchConfigSpec{ClusterName: "blue"}, Labels: map[string]string{"a": "b"}}, func(_ *world, config *infrav1.AWSLaunchConfig) bool {
			return config.Spec.ClusterName == "blue" && config.Spec.InstanceType == "" && config.Labels["a"] == "b"
		}},
		{"a release", markReleased{}, func(_ *world, config *infrav1.AWSLaunchConfig) bool {
			return config.Annotations[infrav1.ReleaseAnnotation] == "true" && config.Spec.InstanceType == "m5.large"
		}},
		{"a size", followAutoscaler{Replicas: 7}, func(w *world, _ *infrav1.AWSLaunchConfig) bool {
			machinePool := &clusterv1.MachinePool{}
			w.must(w.store.Get(w.Context(), named("pool"), machinePool))
			return *machinePool.Spec.Replicas == 7
		}},
		{"the name of a node group", recordName{Name: "team_pool"}, func(w *world, _ *infrav1.AWSLaunchConfig) bool {
			return w.pool("pool").Status.Nodegroup.Name == "team_pool"
		}},
		{"instances", recordInstances{ProviderIDs: []string{"aws:///a/i-1"}}, func(w *world, _ *infrav1.AWSLaunchConfig) bool {
			return slices.Equal(w.pool("pool").Spec.ProviderIDList, []string{"aws:///a/i-1"})
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pool", nil)
			config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "pool"}}
			config.Spec.InstanceType = "m5.large"
			w.must(w.store.Create(t.Context(), config))
			machinePool := &clusterv1.MachinePool{}
			var stale Observed
			for i := range 2 {
				w.must(w.store.Get(t.Context(), named("pool"), config))
				w.must(w.store.Get(t.Context(), named("pool"), machinePool))
				seen := Observed{MachinePool: machinePool.DeepCopy()}
				seen.LaunchConfig.Object = config.DeepCopy()
				if i == 0 {
					stale = seen
					stale.MachinePool, stale.LaunchConfig.Object = machinePool.DeepCopy(), config.DeepCopy()
				}
				if _, err := w.controller.kind.Act(t.Context(), pass{Object: w.pool("pool"), Seen: &seen, Memory: &Memory{}}, row.action); err != nil {
					t.Fatal(err)
				}
				w.must(w.store.Get(t.Context(), named("pool"), config))
				if !row.holds(w, config) {
					t.Errorf("it does not hold for %+v", config)
				}
			}
			edited := stale.LaunchConfig.Object.ResourceVersion != config.ResourceVersion
			_, err := w.controller.kind.Act(t.Context(), pass{Object: w.pool("pool"), Seen: &stale, Memory: &Memory{}}, markReleased{})
			if edited != (err != nil) {
				t.Errorf("the launch config was edited: %t, and the action on it as it was before ends with %v", edited, err)
			}
		})
	}
}

// TestNodegroupsOfOthersAreNotActedOn holds that an action on a node group or a role that was not
// seen to be the pool's is refused, before AWS is called.
func TestNodegroupsOfOthersAreNotActedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pool", nil)
	w.active("pool")
	name := w.nodegroups()[0]
	w.sim.ClearCalls()
	for _, action := range []reconcile.Action{
		deleteNodegroup{Group: name}, deleteRole{Name: "nodes"}, handOverRole{Name: "nodes", Owner: "team/blue/other"}, watchedBy("pool"),
	} {
		if _, err := w.controller.kind.Act(t.Context(), pass{Object: w.pool("pool"), Seen: &Observed{}, Memory: &Memory{}}, action); err == nil {
			t.Errorf("done: %s", action)
		}
	}
	if calls := w.sim.Calls(); len(calls) > 0 {
		t.Errorf("AWS was called: %v", calls)
	}
	if _, err := w.eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: awssdk.String(testEKSCluster), NodegroupName: &name}); err != nil {
		t.Errorf("the node group is gone: %v", err)
	}
}

// watchedBy is no action on an AWSManagedMachinePool.
type watchedBy string

func (w watchedBy) String() string { return "have it watched by " + string(w) }

func TestTagsAfterACall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason       string
		present, set map[string]string
		removed      []string
		want         map[string]string
	}{
		{"nothing", nil, nil, nil, map[string]string{}},
		{"the first tag of a group that has none", nil, map[string]string{"a": "1"}, nil, map[string]string{"a": "1"}},
		{"a tag that is removed and one that stays", map[string]string{"a": "1", "b": "2"}, nil, []string{"a"}, map[string]string{"b": "2"}},
		{"a tag that is not there is removed", map[string]string{"b": "2"}, nil, []string{"a"}, map[string]string{"b": "2"}},
		{"a tag that is removed and set is set", map[string]string{"a": "1"}, map[string]string{"a": "2"}, []string{"a"}, map[string]string{"a": "2"}},
	} {
		before := cmp.Diff(row.present, nil)
		if difference := cmp.Diff(row.want, withTags(row.present, row.set, row.removed)); difference != "" {
			t.Errorf("%s:\n%s", row.reason, difference)
		}
		if cmp.Diff(row.present, nil) != before {
			t.Errorf("%s: the tags that were seen are changed", row.reason)
		}
	}
}

// TestNothingIsPlannedBlindly holds that nothing in AWS is changed for a pool without an owner,
// without access to AWS, or whose node group is not known to be its own, whatever else is the
// matter with it.
func TestNothingIsPlannedBlindly(t *testing.T) {
	t.Parallel()
	disturbances := map[string]edit{
		"nothing":               func(*input) {},
		"another configuration": func(in *input) { wantVersion(in, 2) },
		"another size":          func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](9) },
		"another role":          func(in *input) { in.Object.Spec.RoleAdditionalPolicies = []string{"arn:aws:iam::aws:policy/x"} },
		"no node group":         gone,
		"no launch config":      func(in *input) { in.Seen.LaunchConfig.Object = nil },
		"an unhealthy group":    func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Status = "DEGRADED" }) },
		"a release":             func(in *input) { in.Object.Annotations[infrav1.ReleaseAnnotation] = "true" },
		"stale observations":    func(in *input) { in.Seen.LookDue, in.Seen.RoleDue, in.Seen.HooksDue = 0, noon, noon },
	}
	obstacles := map[string]edit{
		"no MachinePool": func(in *input) { in.Seen.MachinePool, in.Seen.Access = nil, pool.Access{} },
		"no cluster":     func(in *input) { in.Seen.Access.Exists = false },
		"no answer":      func(in *input) { in.Seen.Group, in.Seen.Members, in.Seen.GroupErr = nil, nil, errLater },
		"no owner tag": func(in *input) {
			in.Seen.GroupErr = &ownerTagMissingError{group: in.Seen.Group, wanted: "team/blue/pool"}
			in.Seen.Group, in.Seen.Members = nil, nil
		},
	}
	for disturbance, disturb := range disturbances {
		for obstacle, block := range obstacles {
			if disturbance == "no node group" && obstacle == "no owner tag" {
				continue // there is none to lack a tag
			}
			for _, fresh := range []bool{false, true} {
				in := atRest(t)
				in.Seen.Fresh = fresh
				disturb(in)
				block(in)
				decided := *in
				decided.Object = in.Object.DeepCopy()
				if plan := Decide(decided); len(plan.Actions) > 0 || plan.Release {
					t.Errorf("%s and %s: the plan is %s", disturbance, obstacle, reconciletest.First(plan))
				}
			}
		}
	}
}

// TestDecisionSurvivesTheAPIServer holds that a decision from what the API server stores, which has
// no parts of seconds, is the one that is made from what a process has.
func TestDecisionSurvivesTheAPIServer(t *testing.T) {
	t.Parallel()
	for since := range 14 {
		in := atRest(t)
		wantVersion(in, 2)
		in.Object.Status.WantedSince, in.Now = nil, noon.Add(700*time.Millisecond)
		first := *in
		first.Object = in.Object.DeepCopy()
		Decide(first)
		in.Object.Status = first.Object.Status
		stored := in.Object.DeepCopy()
		if since := stored.Status.WantedSince; since != nil {
			stored.Status.WantedSince = ptr.To(metav1.NewTime(since.Truncate(time.Second)))
		}
		in.Now = in.Now.Add(time.Duration(since) * time.Second)
		kept, restarted := *in, *in
		kept.Object, restarted.Object = in.Object.DeepCopy(), stored
		before, after := Decide(kept), Decide(restarted)
		if reconciletest.First(before) != reconciletest.First(after) || before.Again != after.Again {
			t.Errorf("after %d s: %s in %v, and after a restart %s in %v", since, reconciletest.First(before), before.Again, reconciletest.First(after), after.Again)
		}
	}
}

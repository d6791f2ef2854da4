package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/plan"
)

// planned is the number of edits that a schedule plans and then applies.
const planned = 3

// ComparePlans runs a schedule without faults in which each edit of a pool is planned
// before it is made. It is a violation if something else happens than what the plan says.
func ComparePlans(ctx context.Context, options Options) (Result, error) {
	w, err := newWorld(ctx, options)
	if err != nil {
		return Result{}, fmt.Errorf("preparing a schedule: %w", err)
	}
	defer w.close()
	w.verdict.faultless = w.clock.Now()
	// A call is repeated if a read does not show its effect yet. No plan foresees that.
	behavior := w.sim.Behavior()
	behavior.ReadLag = 0
	w.sim.SetBehavior(behavior)
	if err := w.scene.calm(ctx); err != nil {
		return Result{}, fmt.Errorf("calming AWS: %w", err)
	}
	if err := w.settle(ctx); err != nil {
		return Result{}, err
	}
	for number := range planned {
		if w.verdict.violation != nil {
			break
		}
		w.chance = newChance(options.Seed, number+1)
		if err := comparePlan(ctx, w, w.scene.(*pools).observers[0]); err != nil {
			return Result{}, err
		}
	}
	return Result{Hash: w.trace.sum(), Events: w.trace.lines, Passed: w.clock.Since(begin), Violation: w.verdict.violation}, nil
}

// comparePlan plans an edit, makes it, and compares what happens.
func comparePlan(ctx context.Context, w *World, o *observer) error {
	pool, machinePool := o.kind.empty(), &clusterv1.MachinePool{}
	for _, object := range []client.Object{pool, machinePool} {
		if err := w.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, object); err != nil {
			return err
		}
	}
	replicas, before := *machinePool.Spec.Replicas, pool.DeepCopyObject().(client.Object)
	for range 1 + w.chance.IntN(3) {
		w.trace.event("the edit %s", pick(w.chance, plannedEdits[o.kind.name]...)(w.chance, pool, machinePool))
	}
	made, err := planner(w).Plan(ctx, pool, machinePool)
	if err != nil {
		return fmt.Errorf("planning an edit: %w", err)
	}
	tracePlan(w, made)
	compareWarning(ctx, w, o, before, pool, made)
	surplus := int(max(0, replicas-*machinePool.Spec.Replicas))
	o.facts.surplus += surplus
	running, sent, newest := o.facts.running(), len(w.sent), newestVersion(o)
	if err := makeEdit(ctx, w, machinePool, pool); err != nil || w.verdict.violation != nil {
		return err
	}
	compareOutcome(o, made, running, surplus, w.sent[sent:])
	compareVersions(o, made, newest)
	return nil
}

// tracePlan adds a plan to the trace.
func tracePlan(w *World, made plan.Plan) {
	for _, pool := range made.Pools {
		for _, step := range pool.Steps {
			w.trace.detail("plan: %s %v: %s", step.Action, step.Calls, step.Reason)
		}
		for _, problem := range pool.Problems {
			w.trace.detail("plan: problem %s: %s", problem.Reason, problem.Message)
		}
	}
}

// makeEdit updates objects, and runs until everything is as it must be.
func makeEdit(ctx context.Context, w *World, objects ...client.Object) error {
	for _, object := range objects {
		if err := w.user.Update(ctx, object); err != nil {
			return fmt.Errorf("making the edit: %w", err)
		}
	}
	// A process that saw only one of the objects would change AWS in two steps.
	for pending := w.pending(); len(pending) > 0; pending = w.pending() {
		if err := w.deliver(pending[0], w.trace.event); err != nil {
			return err
		}
	}
	return w.settle(ctx)
}

// compareVersions compares the versions that a plan creates with the versions that were created
// since.
func compareVersions(o *observer, made plan.Plan, newest int64) {
	created := int64(0)
	for _, name := range callsOf(made) {
		if name == "CreateLaunchTemplateVersion" {
			created++
		}
	}
	if after := newestVersion(o); after != newest+created {
		o.violate(PlansComeTrue, "the plan creates %d versions, and the newest was %d and is %d", created, newest, after)
	}
}

// newestVersion returns the number of the newest version of the pool's template.
func newestVersion(o *observer) int64 {
	var newest int64
	for _, template := range o.aws.ownedTemplates() {
		newest = max(newest, *template.LatestVersionNumber)
	}
	return newest
}

// planner returns a planner that reads the API server and AWS as they are.
func planner(w *World) *plan.Planner {
	return &plan.Planner{
		Cluster: w.user, Kinds: w.kinds, Clock: w.clock, SecretNamespace: identity.DefaultSecretNamespace, SettleWindow: settleWindow,
		AWS: awssdk.Config{
			Region: region, HTTPClient: &transport{sim: w.sim},
			Credentials: credentials.NewStaticCredentialsProvider("AKIAPLANNER0"+account, "secret", ""),
		},
	}
}

// uncounted are the calls by which a roll-out that has begun goes on, and the call that creates a
// version. EC2 may answer the latter with a version that was deleted since, and the process then
// repeats it.
var uncounted = []string{
	"CompleteLifecycleAction", "RecordLifecycleActionHeartbeat", "DeleteLaunchTemplateVersions", "SetInstanceProtection", "CreateLaunchTemplateVersion",
}

// compareOutcome compares a plan with the terminations since, among the instances that ran, and
// with the calls since. Surplus is the number of instances by which the pool was asked to scale in:
// AWS chooses which ones.
func compareOutcome(o *observer, made plan.Plan, running []string, surplus int, sent []string) {
	var replaced, ended []string
	for _, pool := range made.Pools {
		replaced = append(replaced, pool.Replaced()...)
	}
	for _, id := range running {
		if o.facts.instances[id].ended {
			ended = append(ended, id)
		}
	}
	slices.Sort(replaced)
	unplanned := slices.DeleteFunc(slices.Clone(ended), func(id string) bool { return slices.Contains(replaced, id) })
	if len(ended)-len(unplanned) != len(replaced) || len(unplanned) > surplus {
		o.violate(PlansComeTrue, "the plan replaces %v, and %v were replaced", replaced, ended)
	}
	if at := slices.Index(sent, "StartInstanceRefresh"); at >= 0 {
		sent = sent[:at+1]
	}
	if diff := cmp.Diff(counted(callsOf(made)), counted(sent)); diff != "" {
		o.violate(PlansComeTrue, "the plan has other calls than were sent: -plan +sent\n%s", diff)
	}
}

// callsOf returns the actions of the calls of a plan.
func callsOf(made plan.Plan) []string {
	var actions []string
	for _, pool := range made.Pools {
		for _, step := range pool.Steps {
			for _, call := range step.Calls {
				actions = append(actions, call[strings.Index(call, ":")+1:])
			}
		}
	}
	return actions
}

// counted counts calls by action, except for the uncounted actions.
func counted(actions []string) map[string]int {
	counts := map[string]int{}
	for _, action := range actions {
		if !slices.Contains(uncounted, action) {
			counts[action]++
		}
	}
	return counts
}

// plannedEdit changes a pool and its MachinePool, and describes itself for the trace.
type plannedEdit func(chance chance, pool client.Object, machinePool *clusterv1.MachinePool) string

// plannedEdits are the edits that are planned, by the kind of the pool. Only the first three replace
// instances.
var plannedEdits = map[string][]plannedEdit{
	selfManaged.name: slices.Concat(launchEdits(selfManaged.template), []plannedEdit{
		onSelfManaged(func(c chance, pool *infrav1.AWSMachinePool) string {
			pool.Spec.MaxSize = 5 + c.Int32N(3)
			return fmt.Sprintf("sets maxSize %d", pool.Spec.MaxSize)
		}),
		onSelfManaged(func(c chance, pool *infrav1.AWSMachinePool) string {
			pool.Spec.CapacityRebalance = c.happens(0.5)
			return fmt.Sprintf("sets capacityRebalance %t", pool.Spec.CapacityRebalance)
		}),
		onSelfManaged(func(c chance, pool *infrav1.AWSMachinePool) string {
			pool.Spec.VersionsToKeep = pick(c, nil, ptr.To[int32](1), ptr.To[int32](2))
			return "sets versionsToKeep"
		}),
		onSelfManaged(func(c chance, pool *infrav1.AWSMachinePool) string {
			pool.Spec.RefreshPreferences.MinHealthyPercentage = pick(c, nil, ptr.To[int64](0), ptr.To[int64](90))
			return "sets refreshPreferences.minHealthyPercentage"
		}),
		onSelfManaged(func(c chance, pool *infrav1.AWSMachinePool) string {
			pool.Spec.SuspendProcesses = pick(c, nil, &infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{AZRebalance: ptr.To(true)}})
			return "sets suspendProcesses"
		}),
	}),
	managed.name: slices.Concat(launchEdits(managed.template), []plannedEdit{
		onManaged(func(c chance, pool *infrav1.AWSManagedMachinePool) string {
			pool.Spec.Labels = pick(c, nil, map[string]string{"tier": "a"}, map[string]string{"tier": "b"})
			return fmt.Sprintf("sets labels %v", pool.Spec.Labels)
		}),
		onManaged(func(c chance, pool *infrav1.AWSManagedMachinePool) string {
			pool.Spec.Taints = pick(c, nil, []infrav1.Taint{{Key: "tier", Value: "a", Effect: infrav1.TaintEffectNoSchedule}})
			return fmt.Sprintf("sets taints %v", pool.Spec.Taints)
		}),
		onManaged(func(c chance, pool *infrav1.AWSManagedMachinePool) string {
			pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To(1 + c.Int32N(2))}
			return fmt.Sprintf("sets updateConfig.maxUnavailable %d", *pool.Spec.UpdateConfig.MaxUnavailable)
		}),
	}),
}

func onSelfManaged(edit func(chance, *infrav1.AWSMachinePool) string) plannedEdit {
	return func(c chance, pool client.Object, _ *clusterv1.MachinePool) string {
		return edit(c, pool.(*infrav1.AWSMachinePool))
	}
}

func onManaged(edit func(chance, *infrav1.AWSManagedMachinePool) string) plannedEdit {
	return func(c chance, pool client.Object, _ *clusterv1.MachinePool) string { return edit(c, managedPool(pool)) }
}

// launchEdits are the edits of all kinds.
func launchEdits(template func(pool client.Object) *infrav1.AWSLaunchTemplate) []plannedEdit {
	return []plannedEdit{
		func(c chance, pool client.Object, _ *clusterv1.MachinePool) string {
			template(pool).InstanceType = pick(c, "m5.large", "m5.xlarge", "c5.large")
			return "sets instanceType " + template(pool).InstanceType
		},
		func(c chance, pool client.Object, _ *clusterv1.MachinePool) string {
			template(pool).RootVolume = &infrav1.Volume{Size: pick(c, int64(50), 60)}
			return fmt.Sprintf("sets rootVolume.size %d", template(pool).RootVolume.Size)
		},
		func(_ chance, pool client.Object, _ *clusterv1.MachinePool) string {
			template(pool).RootVolume = nil
			return "removes rootVolume"
		},
		func(c chance, pool client.Object, _ *clusterv1.MachinePool) string {
			labels := pool.GetLabels()
			labels["example.com/label"] = fmt.Sprint(c.IntN(100))
			pool.SetLabels(labels)
			return "labels the pool"
		},
		func(c chance, _ client.Object, machinePool *clusterv1.MachinePool) string {
			if machinePool.Annotations[clusterv1.ReplicasManagedByAnnotation] == "" {
				machinePool.Spec.Replicas = ptr.To(1 + c.Int32N(4))
			}
			return fmt.Sprintf("sets replicas %d", *machinePool.Spec.Replicas)
		},
	}
}

package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	simworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
)

// countingReader counts the reads of a management cluster.
type countingReader struct {
	client.Reader
	gets, lists atomic.Int64
}

// Get implements client.Reader.
func (c *countingReader) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.gets.Add(1)
	return c.Reader.Get(ctx, name, object, options...)
}

// List implements client.Reader.
func (c *countingReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists.Add(1)
	return c.Reader.List(ctx, list, options...)
}

// runMany creates a template and a number of pools that launch from it, each with one instance, and runs the
// controllers until their instances are in service. It returns the template.
func (r *rig) runMany(count int) *infrav1.AWSLaunchConfigTemplate {
	r.Helper()
	template := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: owners.Named("nodes")}
	template.Spec.Template.Spec.InstanceType = "m5.large"
	r.runManyFrom(count, template, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.LaunchConfigTemplateRef = &infrav1.LaunchConfigTemplateReference{Name: template.Name}
	})
	return template
}

// runManyOfConfig does the same with an AWSLaunchConfig that all pools launch from.
func (r *rig) runManyOfConfig(count int) *infrav1.AWSLaunchConfig {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: owners.Named("nodes")}
	config.Spec.ClusterName, config.Spec.InstanceType, config.Spec.KubernetesVersion = "prod", "m5.large", "v1.36.3"
	config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
	r.runManyFrom(count, config, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: config.Name}
	})
	return config
}

// runManyFrom creates an object and a number of pools that refer to it, each with one instance, and runs the
// controllers until their instances are in service.
func (r *rig) runManyFrom(count int, shared client.Object, refer func(*infrav1.AWSMachinePool)) {
	r.Helper()
	ctx := log.IntoContext(r.Context(), logr.Discard())
	r.sim.World().Quotas = map[string]int{simworld.QuotaAutoScalingGroups: 2 * count}
	r.do(r.cluster.Create(ctx, shared))
	targets := make([]target, count)
	for i := range targets {
		name := fmt.Sprintf("pool-%d", i)
		targets[i] = target{&selfManaged, client.ObjectKey{Namespace: key.Namespace, Name: name}}
		r.do(r.cluster.Create(ctx, r.manyPool(name)))
		object := pool()
		object.Name, object.Spec.AWSLaunchTemplate = name, nil
		refer(object)
		r.do(r.cluster.Create(ctx, object))
		r.do((&world{cluster: newCluster(r.cluster, r.server)}).own(ctx, targets[i]))
	}
	for range 5 {
		controllers := r.planner.newControllers(indexed{r.cluster}, aws.NewSessions(r.planner.AWS, aws.WithClock(r.clock), aws.WithLimits(nil)), r.clock, noWorkloads{})
		for _, target := range targets {
			_, err := controllers.round(ctx, r.cluster, target)
			r.do(err)
		}
		r.clock.Step(30 * time.Second)
	}
	for _, target := range targets {
		stored := &infrav1.AWSMachinePool{}
		r.do(r.cluster.Get(ctx, target.name, stored))
		if len(stored.Status.Instances) != 1 {
			r.Fatalf("pool %s has instances %v, want 1; %v", target.name.Name, stored.Status.Instances, stored.Status.Conditions)
		}
	}
	r.sim.ClearCalls()
}

// TestPlanAtOnce holds that a plan is the same, however many pools are planned at the same time.
func TestPlanAtOnce(t *testing.T) {
	r := newRig(t)
	edited := r.runMany(20)
	r.do(r.cluster.Get(t.Context(), client.ObjectKeyFromObject(edited), edited))
	edited.Spec.Template.Spec.InstanceType = "m5.xlarge"
	edited.Spec.Template.Spec.AdditionalTags = map[string]string{"team": "blue"}
	r.planner.CheckPermissions = true
	texts := map[int]string{}
	for _, atOnce := range []int{0, 1, 7, 100} {
		r.planner.AtOnce = atOnce
		made, err := r.planner.Plan(t.Context(), edited)
		r.do(err)
		encoded, err := json.Marshal(made)
		r.do(err)
		texts[atOnce] = string(encoded)
		if len(made.Pools) != 20 || made.Failed() {
			t.Fatalf("Plan: got %+v, want 20 pools that reach their spec", made)
		}
	}
	for atOnce, text := range texts {
		if diff := cmp.Diff(texts[0], text); diff != "" {
			t.Errorf("plan of %d pools at once: -one after the other +got:\n%s", atOnce, diff)
		}
	}
}

// TestPlanReadsOnce holds that the plan of many pools asks AWS nothing twice, and reads their objects in lists.
func TestPlanReadsOnce(t *testing.T) {
	r := newRig(t)
	edited := r.runMany(10)
	r.do(r.cluster.Get(t.Context(), client.ObjectKeyFromObject(edited), edited))
	edited.Spec.Template.Spec.InstanceType = "m5.xlarge"
	reads := &countingReader{Reader: r.cluster}
	r.planner.Cluster = reads
	counts := map[string]int{}
	r.planner.AWS.APIOptions = append(r.planner.AWS.APIOptions, func(stack *middleware.Stack) error {
		// An answer that is lost is asked for again in a later step.
		return stack.Build.Add(middleware.BuildMiddlewareFunc("Sent", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			counts[middleware.GetOperationName(ctx)]++
			return next.HandleBuild(ctx, in)
		}), middleware.Before)
	})
	if _, err := r.planner.Plan(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	// The template, the Cluster, the AWSCluster, the identity, and the Secret.
	if gets := reads.gets.Load(); gets != 5 {
		t.Errorf("got %d reads of single objects, want 5, however many pools there are", gets)
	}
	want := map[string]int{
		"DescribeImages": 1, "DescribeInstanceTypes": 2, "GetProducts": 2, // of the edited, and of the present instance type
		"DescribeLaunchTemplates": 1, "DescribeLaunchTemplateVersions": 10, "DescribeAutoScalingGroups": 1, "DescribeInstanceRefreshes": 10,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("calls: -want +got:\n%s", diff)
	}
}

// planAlone plans one pool as if it were the only one: in a world of its own that reads the management cluster, with
// all objects that its controllers list, and in which the edits are made.
func (r *rig) planAlone(target target, edits []edit) Pool {
	r.Helper()
	planner := r.planner.once()
	planner.Cluster = r.cluster // shares nothing
	w, ctx := planner.newWorld(r.Context(), r.cluster)
	r.do(w.apply(ctx, edits))
	r.do(w.own(ctx, target))
	planned, after, err := w.planned(ctx, target)
	r.do(err)
	if len(planned.Steps) > 0 {
		r.do(planner.detail(ctx, w, target, after, &planned, &details{}))
	}
	return planned
}

// TestPlanManyAlone holds that the plan of a pool among many is the plan of it alone, byte for byte, and that all
// pools of the edit are in the plan.
func TestPlanManyAlone(t *testing.T) {
	const count = 12
	for name, edit := range map[string]func(*rig) []client.Object{
		"Template": func(r *rig) []client.Object { return []client.Object{r.editedTemplate(count)} },
		"Machines": func(r *rig) []client.Object {
			r.planner.MachinePoolMachines = true
			return []client.Object{r.editedTemplate(count)}
		},
		"Config": func(r *rig) []client.Object { return []client.Object{r.editedConfig(count)} },
		"ConfigAndPools": func(r *rig) []client.Object {
			objects := []client.Object{r.editedConfig(count)}
			for i := range count {
				stored := &infrav1.AWSMachinePool{}
				r.do(r.cluster.Get(r.Context(), client.ObjectKey{Namespace: key.Namespace, Name: fmt.Sprintf("pool-%d", i)}, stored))
				stored.Spec.MaxSize = 7
				objects = append(objects, stored)
			}
			return objects
		},
		"NewPools": func(r *rig) []client.Object {
			objects := []client.Object{r.editedConfig(count)}
			for i := range count {
				name := fmt.Sprintf("new-%d", i)
				owner, object := r.manyPool(name), pool()
				object.Name, object.Spec.AWSLaunchTemplate = name, nil
				object.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "nodes"}
				objects = append(objects, owner, object)
			}
			return objects
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			edited := edit(r)
			r.planner.AtOnce = 4
			made := r.plan(edited...)
			if len(made.Pools) < count || made.Failed() {
				t.Fatalf("Plan: got %d pools, want at least %d that reach their spec: %+v", len(made.Pools), count, made.Pools)
			}
			edits, err := r.planner.compare(t.Context(), edited)
			r.do(err)
			for _, planned := range made.Pools {
				for i := range planned.Steps {
					planned.Steps[i].SharedWith = ""
				}
				alone := r.planAlone(target{kindNamed(planned.Kind), client.ObjectKey{Namespace: planned.Namespace, Name: planned.Name}}, edits)
				want, err := json.MarshalIndent(alone, "", " ")
				r.do(err)
				got, err := json.MarshalIndent(planned, "", " ")
				r.do(err)
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("plan of %s among many: -alone +got:\n%s", planned.Name, diff)
				}
			}
		})
	}
}

// manyPool returns the MachinePool of a pool of a name, with one replica.
func (r *rig) manyPool(name string) *clusterv1.MachinePool {
	r.Helper()
	present := &clusterv1.MachinePool{}
	r.do(r.cluster.Get(r.Context(), key, present))
	one := int32(1)
	owner := &clusterv1.MachinePool{ObjectMeta: owners.Named(name), Spec: *present.Spec.DeepCopy()}
	owner.Spec.Replicas, owner.Spec.Template.Spec.InfrastructureRef.Name = &one, name
	return owner
}

// editedTemplate runs pools that launch from a template, and returns the template with another instance type.
func (r *rig) editedTemplate(count int) client.Object {
	r.Helper()
	edited := r.runMany(count)
	r.do(r.cluster.Get(r.Context(), client.ObjectKeyFromObject(edited), edited))
	edited.Spec.Template.Spec.InstanceType = "m5.xlarge"
	return edited
}

// editedConfig runs pools that launch from a launch config, and returns the config with another instance type.
func (r *rig) editedConfig(count int) client.Object {
	r.Helper()
	edited := r.runManyOfConfig(count)
	r.do(r.cluster.Get(r.Context(), client.ObjectKeyFromObject(edited), edited))
	edited.Spec.InstanceType = "m5.xlarge"
	return edited
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkPlanMany plans edits that affect many pools: the edit of a template that they launch from, the same with an
// object for each instance, and the edit of a launch config that they share.
func BenchmarkPlanMany(b *testing.B) {
	for _, shared := range []struct {
		name   string
		counts []int
		edit   func(r *rig, count int) client.Object
	}{
		{"template", []int{10, 100, 1000}, (*rig).editedTemplate},
		{"machines", []int{100, 300, 1000}, func(r *rig, count int) client.Object {
			r.planner.MachinePoolMachines = true
			return r.editedTemplate(count)
		}},
		{"config", []int{100, 300, 1000}, (*rig).editedConfig},
	} {
		for _, count := range shared.counts {
			b.Run(fmt.Sprintf("%s/pools=%d", shared.name, count), func(b *testing.B) {
				r := newRig(b)
				r.benchmarkMany(b, count, shared.edit(r, count))
			})
		}
	}
}

// benchmarkMany plans an edit of something that all pools use.
func (r *rig) benchmarkMany(b *testing.B, count int, edited ...client.Object) {
	b.Helper()
	reads := &countingReader{Reader: r.cluster}
	r.planner.Cluster = reads
	r.planner.AtOnce = runtime.GOMAXPROCS(0)
	began := processorTime(b)
	for b.Loop() {
		made, err := r.planner.Plan(b.Context(), edited...)
		if err != nil || len(made.Pools) != count || made.Failed() {
			b.Fatalf("Plan: got %d pools and error %v, want %d", len(made.Pools), err, count)
		}
	}
	each := float64(b.N * count)
	b.ReportMetric(b.Elapsed().Seconds()*1e3/each, "ms/pool")
	// With what the simulated AWS takes, which runs in this process.
	b.ReportMetric((processorTime(b)-began).Seconds()*1e3/each, "CPU-ms/pool")
	b.ReportMetric(float64(len(r.sim.Calls()))/each, "AWS-calls/pool")
	b.ReportMetric(float64(reads.gets.Load())/each, "gets/pool")
	b.ReportMetric(float64(reads.lists.Load())/each, "lists/pool")
}

// TestPrintBegins holds that the text of a plan without changes of fields begins with a pool, and not with an empty line.
func TestPrintBegins(t *testing.T) {
	t.Parallel()
	text := &strings.Builder{}
	waiting := Plan{Pools: []Pool{{
		Kind: "AWSMachinePool", Namespace: "blue", Name: "workers",
		Problems: []Problem{{Condition: infrav1.RolloutApprovedCondition, Reason: infrav1.WaitingForApprovalReason, Message: "version 3 waits"}},
	}}}
	if err := Print(text, waiting); err != nil {
		t.Fatal(err)
	}
	if want := "AWSMachinePool blue/workers\n  WaitingForApproval: version 3 waits\n"; text.String() != want {
		t.Errorf("Print: got %q, want %q", text, want)
	}
}

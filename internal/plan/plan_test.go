package plan

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	account = "123456789012"
	region  = owners.Region
)

// key is the name of the pool.
var key = owners.Key

// rig is a management cluster and a simulated AWS with which plans are made.
type rig struct {
	testing.TB
	server  *apiserver.Server
	cluster client.Client
	sim     *awssim.Simulator
	clock   *simclock.Clock
	planner *Planner
}

// newRig returns a rig with a cluster and a MachinePool of three replicas, and no pool.
func newRig(t testing.TB) *rig {
	t.Helper()
	all, err := owners.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	sim, clk, url := awssimtest.Start(t, time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC), awssim.Options{
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second, ShuttingDown: 10 * time.Second}},
	})
	server := apiserver.New(all, clk, 1)
	r := &rig{TB: t, server: server, cluster: server.Client(), sim: sim, clock: clk}
	r.planner = &Planner{Cluster: r.cluster, AWS: awssimtest.Config(url, region, account), Kinds: all, Clock: clk}
	r.do(owners.Create(t.Context(), r.cluster, 3))
	return r
}

func (r *rig) do(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// pool returns a pool as a user writes it.
func pool() *infrav1.AWSMachinePool {
	object := &infrav1.AWSMachinePool{ObjectMeta: owners.Named(key.Name)}
	object.Spec.MinSize, object.Spec.MaxSize = 1, 5
	object.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true}
	object.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](60)}
	return object
}

// indexed is a client that has the indexes of the manager's cache.
type indexed struct{ client.Client }

// List implements client.Reader.
func (i indexed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, err := i.GroupVersionKindFor(list)
	var wanted client.ListOptions
	if wanted.ApplyOptions(options); err != nil || wanted.FieldSelector == nil {
		return errors.Join(err, i.Client.List(ctx, list, options...))
	}
	return listByIndex(ctx, i.Client, strings.TrimSuffix(gvk.Kind, "List"), list, wanted)
}

// running creates the pool, and runs the controllers until its instances are in service.
func (r *rig) running() {
	r.Helper()
	r.run(pool())
}

// run creates a pool, and runs the controllers until its instances are in service.
func (r *rig) run(object *infrav1.AWSMachinePool) {
	r.Helper()
	ctx := log.IntoContext(r.Context(), logr.Discard())
	r.do(r.cluster.Create(ctx, object))
	owner := &world{cluster: newCluster(r.cluster, r.server)}
	r.do(owner.own(ctx, target{&selfManaged, key}))
	r.settle()
	if stored := r.stored(); len(stored.Status.Instances) != 3 {
		r.Fatalf("the pool has instances %v, want 3; %v", stored.Status.Instances, stored.Status.Conditions)
	}
	r.sim.ClearCalls()
}

// settle runs the controllers for two minutes.
func (r *rig) settle() {
	r.Helper()
	ctx := log.IntoContext(r.Context(), logr.Discard())
	for range 12 {
		// New controllers know nothing, and read AWS as it is.
		controllers := r.planner.newControllers(indexed{r.cluster}, aws.NewSessions(r.planner.AWS, aws.WithClock(r.clock), aws.WithLimits(nil)), r.clock, noWorkloads{})
		_, err := controllers.round(ctx, r.cluster, target{&selfManaged, key})
		r.do(err)
		r.clock.Step(10 * time.Second)
	}
}

func (r *rig) stored() *infrav1.AWSMachinePool {
	r.Helper()
	object := &infrav1.AWSMachinePool{}
	r.do(r.cluster.Get(r.Context(), key, object))
	return object
}

// plan plans an edit, and fails if anything was changed.
func (r *rig) plan(objects ...client.Object) Plan {
	r.Helper()
	before := r.server.Version()
	made, err := r.planner.Plan(r.Context(), objects...)
	r.do(err)
	if after := r.server.Version(); after != before {
		r.Errorf("planning wrote %d times to the management cluster", after-before)
	}
	for _, call := range r.sim.Calls() {
		if action.Changes(call.Action) && call.Action != "AssumeRole" {
			r.Errorf("planning called %s", call.Action)
		}
	}
	return made
}

// printed returns a plan as text, with the IDs of resources replaced.
func (r *rig) printed(made Plan) string {
	r.Helper()
	text := &strings.Builder{}
	r.do(Print(text, made))
	replacer := []string{}
	for i, instance := range r.instances() {
		replacer = append(replacer, instance, "INSTANCE-"+string(rune('A'+i)))
	}
	result := strings.NewReplacer(replacer...).Replace(text.String())
	if config, err := configOf(r.Context(), r.cluster, target{&selfManaged, key}); err == nil && config != nil {
		stored := &infrav1.AWSLaunchConfig{}
		r.do(r.cluster.Get(r.Context(), *config, stored))
		result = strings.ReplaceAll(result, stored.Status.LaunchTemplateID, "TEMPLATE")
	}
	return result
}

// instances returns the IDs of the pool's instances, sorted.
func (r *rig) instances() []string {
	var ids []string
	object := &infrav1.AWSMachinePool{}
	if r.cluster.Get(r.Context(), key, object) == nil {
		for _, instance := range object.Status.Instances {
			ids = append(ids, instance.InstanceID)
		}
	}
	slices.Sort(ids)
	return ids
}

// replaced is the text that the plan of another instance type shows below the fields.
const replaced = `
AWSMachinePool blue/workers
  1. create a version of launch template TEMPLATE
     because: instance type m5.large → m5.xlarge
  2. make version 2 the default of launch template TEMPLATE
     because: instance type m5.large → m5.xlarge
  3. update the Auto Scaling group: launch template version 1 → 2
  4. start an instance refresh of Auto Scaling group workers
     because: instance type m5.large → m5.xlarge; 3 of 3 instances run version 1
  Replaces 3 of 3 instances: INSTANCE-A, INSTANCE-B, INSTANCE-C
  At most 1 at a time, in at least 3 batches. AWS chooses the order.
  The roll-out takes at least 3m0s, and about 18m0s if drains and starts take as long as they may.
` + dearer

// dearer holds the lines about the price in the plan of another instance type.
const dearer = `  Price of instances: 0.2880 → 0.5760 USD (+0.2880) per hour, and 210.24 → 420.48 USD (+210.24) per month,
  by On-Demand list prices of 2026-01-15.
`

func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(*infrav1.AWSMachinePool)
		want   string
		failed bool
	}{
		"Nothing": {
			reason: "An edit that changes nothing has an empty plan.",
			edit:   func(*infrav1.AWSMachinePool) {},
			want:   "Nothing changes in AWS, and no node is replaced.\n",
		},
		"Label": {
			reason: "A field that AWS does not know changes nothing in it.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Labels["team"] = "blue" },
			want: `Nothing changes in AWS, and no node is replaced.
AWSMachinePool/workers
  metadata.labels.team  set to blue  no effect
`,
		},
		"InstanceType": {
			reason: "An edit of the instance type replaces all instances, with a version that has it.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge" },
			want: `AWSMachinePool/workers
  spec.awsLaunchTemplate.instanceType  m5.large → m5.xlarge  replaces nodes
` + replaced,
		},
		"Tag": {
			reason: "Instances get their tags when they are launched, so that another tag replaces them.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Spec.AdditionalTags = map[string]string{"team": "blue"} },
			want: `AWSMachinePool/workers
  spec.additionalTags  set to {"team":"blue"}  replaces nodes

AWSMachinePool blue/workers
  1. tag the Auto Scaling group: team
     because: the tags team of the group differ from the spec
  2. create a version of launch template TEMPLATE
     because: tag team added
  3. make version 2 the default of launch template TEMPLATE
     because: tag team added
  4. set tags team of launch template TEMPLATE
     because: the spec requests them
  5. update the Auto Scaling group: launch template version 1 → 2
  6. start an instance refresh of Auto Scaling group workers
     because: tag team added; 3 of 3 instances run version 1
  Replaces 3 of 3 instances: INSTANCE-A, INSTANCE-B, INSTANCE-C
  At most 1 at a time, in at least 3 batches. AWS chooses the order.
  The roll-out takes at least 3m0s, and about 18m0s if drains and starts take as long as they may.
`,
		},
		"Size": {
			reason: "A size is changed in place.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 7 },
			want: `AWSMachinePool/workers
  spec.maxSize  5 → 7  changes in place

AWSMachinePool blue/workers
  1. update the Auto Scaling group: max size 5 → 7
`,
		},
		"Several": {
			reason: "Each field of an edit has its own effect.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
				pool.Spec.RefreshPreferences.InstanceWarmup = ptr.To[int64](60)
				pool.Labels["team"] = "blue"
			},
			want: `AWSMachinePool/workers
  metadata.labels.team                 set to blue           no effect
  spec.awsLaunchTemplate.instanceType  m5.large → m5.xlarge  replaces nodes
` + replaced,
		},
		"UnknownImage": {
			reason: "An edit that AWS could not launch is reported, and replaces nothing.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.AMI.ID = ptr.To("ami-0123456789abcdef0")
			},
			want: `AWSMachinePool/workers
  spec.awsLaunchTemplate.ami  set to {"id":"ami-0123456789abcdef0"}  fails

AWSMachinePool blue/workers
  ImageNotFound: no image found for ami-0123456789abcdef0: it does not exist in this region, or is not shared with this account. Running nodes are kept, but no new node can be launched. Set ami.id to an image that exists, or remove it to have Slipway look up an image
`,
			failed: true,
		},
		"Approval": {
			reason: "A version that waits for approval replaces nothing, and no field of the edit does.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
				pool.Spec.Rollout = infrav1.LaunchConfigRolloutManual
			},
			want: `AWSMachinePool/workers
  spec.awsLaunchTemplate.instanceType  m5.large → m5.xlarge  changes in place
  spec.rollout                         set to Manual         no effect

AWSMachinePool blue/workers
  1. create a version of launch template TEMPLATE
     because: instance type m5.large → m5.xlarge
` + dearer + `  WaitingForApproval: version 2 waits for approval by annotation infrastructure.cluster.x-k8s.io/approved-version: "2": instance type m5.large → m5.xlarge
`,
		},
		"Paused": {
			reason: "A paused pool is not planned as one that nothing happens to.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Annotations[clusterv1.PausedAnnotation] = ""
				pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			},
			want: `AWSMachinePool/workers
  metadata.annotations.cluster.x-k8s.io/paused  set to                no effect
  spec.awsLaunchTemplate.instanceType           m5.large → m5.xlarge  no effect

AWSMachinePool blue/workers
  Paused: the pool is paused, so that an edit changes nothing until it is unpaused. Plan it again then
`,
		},
		"RefreshDisabled": {
			reason: "A pool whose user replaces instances gets a version, and no refresh.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
				pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
			},
			want: `AWSMachinePool/workers
  spec.awsLaunchTemplate.instanceType     m5.large → m5.xlarge  changes in place
  spec.refreshPreferences.disable         set to true           no effect
  spec.refreshPreferences.instanceWarmup  removed, was 60       no effect

AWSMachinePool blue/workers
  1. create a version of launch template TEMPLATE
     because: instance type m5.large → m5.xlarge
  2. make version 2 the default of launch template TEMPLATE
     because: instance type m5.large → m5.xlarge
  3. update the Auto Scaling group: launch template version 1 → 2
` + dearer + `  RefreshDisabled: instance type m5.large → m5.xlarge; 3 of 3 instances run version 1. refreshPreferences.disable is true, so you must replace them yourself
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			edited := r.stored()
			tc.edit(edited)
			made := r.plan(edited)
			if diff := cmp.Diff(tc.want, r.printed(made)); diff != "" {
				t.Errorf("%s Print(plan): -want +got:\n%s", tc.reason, diff)
			}
			if made.Failed() != tc.failed {
				t.Errorf("%s Failed: got %t, want %t", tc.reason, made.Failed(), tc.failed)
			}
		})
	}
}

func TestPlanOfNewPool(t *testing.T) {
	r := newRig(t)
	made := r.plan(pool())
	var actions []string
	for _, step := range made.Pools[0].Steps {
		actions = append(actions, step.Action)
	}
	want := []string{"create launch template workers", "create Auto Scaling group workers"}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Errorf("A pool that does not exist yet is created with its launch template. Steps: -want +got:\n%s", diff)
	}
	if made.Failed() {
		t.Errorf("Problems: got %v, want none", made.Pools[0].Problems)
	}
}

func TestPlanOfMachinePool(t *testing.T) {
	r := newRig(t)
	r.running()
	machinePool := &clusterv1.MachinePool{}
	r.do(r.cluster.Get(t.Context(), key, machinePool))
	machinePool.Spec.Replicas = ptr.To[int32](5)
	want := `MachinePool/workers
  spec.replicas  3 → 5  changes in place

AWSMachinePool blue/workers
  1. update the Auto Scaling group: desired capacity 3 → 5
  Price of instances: 0.2880 → 0.4800 USD (+0.1920) per hour, and 210.24 → 350.40 USD (+140.16) per month,
  by On-Demand list prices of 2026-01-15.
`
	if diff := cmp.Diff(want, r.printed(r.plan(machinePool))); diff != "" {
		t.Errorf("The replicas of a MachinePool are a size of its pool. Print(plan): -want +got:\n%s", diff)
	}
}

// TestPlanOfDuePool holds that what a pool is about to do anyway is no effect of an edit.
func TestPlanOfDuePool(t *testing.T) {
	r := newRig(t)
	r.running()
	due := r.stored()
	due.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	r.do(r.cluster.Update(t.Context(), due))
	edited := r.stored()
	edited.Labels["team"] = "blue"
	want := `AWSMachinePool/workers
  metadata.labels.team  set to blue  no effect
` + replaced
	if diff := cmp.Diff(want, r.printed(r.plan(edited))); diff != "" {
		t.Errorf("Print(plan): -want +got:\n%s", diff)
	}
}

// TestPlanForMachines holds that a plan is written as JSON with the names that programs read.
func TestPlanForMachines(t *testing.T) {
	r := newRig(t)
	r.running()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	encoded, err := json.Marshal(r.plan(edited))
	r.do(err)
	var got struct {
		Changes []struct{ Path, Effect string }
		Pools   []struct {
			Instances int
			Steps     []struct{ Replaces, Calls []string }
			Rollout   struct {
				AtOnce          int
				AtLeast, AtMost string
			}
		}
	}
	r.do(json.Unmarshal(encoded, &got))
	if len(got.Changes) != 1 || got.Changes[0].Effect != "replaces nodes" {
		t.Errorf("changes: got %v, want one that replaces nodes", got.Changes)
	}
	last := got.Pools[0].Steps[len(got.Pools[0].Steps)-1]
	slices.Sort(last.Replaces)
	if diff := cmp.Diff(r.instances(), last.Replaces); diff != "" {
		t.Errorf("replaces of the last step: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"autoscaling:StartInstanceRefresh"}, last.Calls); diff != "" {
		t.Errorf("calls of the last step: -want +got:\n%s", diff)
	}
	if rollout := got.Pools[0].Rollout; rollout.AtOnce != 1 || rollout.AtLeast != "3m0s" || rollout.AtMost != "18m0s" {
		t.Errorf("rollout: got %+v, want one at a time in 3m0s to 18m0s", rollout)
	}
}

func BenchmarkPlan(b *testing.B) {
	r := newRig(b)
	r.running()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	for b.Loop() {
		if _, err := r.planner.Plan(b.Context(), edited); err != nil {
			b.Fatal(err)
		}
	}
}

// TestUnplannedKinds holds that an edit of another kind is an error, and not an empty plan.
func TestUnplannedKinds(t *testing.T) {
	r := newRig(t)
	if _, err := r.planner.Plan(t.Context(), &corev1.Secret{ObjectMeta: owners.Named("bootstrap")}); err == nil || !strings.Contains(err.Error(), "cannot be planned") {
		t.Errorf("Plan(Secret): got error %v, want that it cannot be planned", err)
	}
}

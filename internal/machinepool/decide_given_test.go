package machinepool

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// noon is the time at which these tables are decided.
var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

const poolARN = "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:1:autoScalingGroupName/pool"

// atRest returns what is decided from for a pool of two instances with which everything is as its
// spec asks for.
func atRest(t *testing.T) *input {
	t.Helper()
	in := &input{Object: &infrav1.AWSMachinePool{}, Now: noon}
	in.Object.Namespace, in.Object.Name, in.Object.UID, in.Object.Generation = "team", "pool", "pool", 1
	in.Object.Finalizers = []string{infrav1.MachinePoolFinalizer}
	in.Object.Spec = infrav1.AWSMachinePoolSpec{MinSize: 1, MaxSize: 4, AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}}
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "workers"}}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "blue", ptr.To[int32](2)
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("data")
	in.Seen = Observed{
		Settings: Settings{SettleWindow: 10 * time.Second}, MachinePool: machinePool, ClusterName: "blue",
		Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"}},
		Access: pool.Access{
			Cluster: "blue", Exists: true, Facts: &cluster.Facts{Namespace: "team", Name: "blue", KubernetesName: "blue", Region: "us-east-1"},
			Location: ownership.Location{Region: "us-east-1", Cluster: "blue"},
		},
		Subnets: Subnets{Read: true, IDs: []string{"subnet-1"}}, Shape: Shape{Known: true}, HooksDue: noon.Add(time.Hour),
		Nodes: map[string]Node{}, Holds: map[string]Hold{}, Machines: map[string]Machine{},
	}
	in.Seen.LaunchConfig.Object = configOf(*in)
	group := &autoscalinggroup.Group{Name: "pool", ARN: poolARN, LaunchTemplateID: "lt-1", Version: "1"}
	in.Seen.Group = group
	desired := launchedGroup(*in)
	autoscalinggroup.Apply(desired, group)
	group.Tags, group.Settings.DeletionProtection = desired.Tags, autoscalinggroup.Unprotected
	group.Instances = []autoscalinggroup.Instance{member("i-1", 1), member("i-2", 1)}
	in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
	settleDown(t, in)
	in.Seen.Hooks, in.Done = Hooks{}, nil
	return in
}

// configOf returns the launch config of a pool, which is ready at version 1.
func configOf(in input) *infrav1.AWSLaunchConfig {
	request, source := configRequest(in), configSource(in)
	config := &infrav1.AWSLaunchConfig{Spec: wantedConfig(in, source, nil)}
	config.Namespace, config.Name, config.Generation = "team", "pool", 1
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: "pool", UID: "pool", Controller: ptr.To(true)}}
	config.Labels, config.Annotations = request.Labels(config, source), request.Annotations(config, source)
	config.Status = infrav1.AWSLaunchConfigStatus{LaunchTemplateID: "lt-1", LaunchTemplateName: "pool"}
	versionsOf(config, 1)
	return config
}

// versionsOf has a launch config want a version. Each has a configuration of its own.
func versionsOf(config *infrav1.AWSLaunchConfig, version int64) {
	config.Status.Version, config.Status.CurrentVersions, config.Status.ConfigFingerprint = version, []int64{version}, fmt.Sprint("config-", version)
	config.Status.Versions = nil
	for number := version; number > 0; number-- {
		config.Status.Versions = append(config.Status.Versions, infrav1.LaunchTemplateVersionStatus{Number: number, ConfigFingerprint: fmt.Sprint("config-", number)})
	}
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: config.Generation}}
}

func member(id string, version int64) autoscalinggroup.Instance {
	return autoscalinggroup.Instance{
		ID: id, AvailabilityZone: "us-east-1a", InstanceType: "m5.large", LifecycleState: "InService", HealthStatus: "Healthy", LaunchTemplateID: "lt-1", Version: version, Weight: 1,
	}
}

// settleDown applies the records that are due until nothing is left to do.
func settleDown(t *testing.T, in *input) {
	t.Helper()
	for range 10 {
		decided := *in
		decided.Object = in.Object.DeepCopy()
		plan := Decide(decided)
		for key, value := range plan.Annotations {
			reconciling.SetAnnotation(in.Object, key, value)
		}
		if len(plan.Actions)+len(plan.Needs) == 0 {
			in.Object.Status = decided.Object.Status
			return
		}
		step := plan.Actions[0]
		switch action := step.Action.(type) {
		case recordInstances:
			for key, value := range action.Annotations {
				reconciling.SetAnnotation(in.Object, key, value)
			}
			in.Object.Spec.ProviderID, in.Object.Spec.ProviderIDList = action.ProviderID, action.ProviderIDs
		case watchInstances:
			in.Seen.InMotion = action.Closely
		default:
			t.Fatalf("a pool at rest is to %s, because %s", step.Action, step.Reason)
		}
		in.Done = append(in.Done, reconcile.Done{Step: step})
	}
	t.Fatal("a pool at rest does not come to rest")
}

// edit changes a pool at rest for a row.
type edit func(in *input)

// row is one line of a specification: given a pool at rest with something changed, this is needed,
// done, or shown.
type row struct {
	reason string
	given  edit
	// then is the first action and why, or what must be observed, or nothing.
	then string
	// shows are conditions, as type=status/reason, each with a part of the message after a colon if
	// there is one.
	shows []string
	// again is when the pool is checked again, zero for never.
	again time.Duration
	// tells are the reasons of events.
	tells string
}

func specify(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			in := atRest(t)
			if row.given != nil {
				row.given(in)
			}
			before := in.Object.DeepCopy()
			plan := decideOn(t, *in)
			if got := reconciletest.First(plan.Plan); got != row.then {
				t.Errorf("then %q, want %q", got, row.then)
			}
			for _, want := range row.shows {
				reconciletest.Shows(t, plan.object, want)
			}
			if row.then == "nothing" && plan.Again != row.again {
				t.Errorf("checked again after %v, want %v", plan.Again, row.again)
			}
			if got := reconciletest.Told(plan.Plan); row.then == "nothing" && got != row.tells {
				t.Errorf("tells %q, want %q", got, row.tells)
			}
			if difference := cmp.Diff(before.Spec, plan.object.Spec); difference != "" {
				t.Errorf("the decision changed the spec:\n%s", difference)
			}
		})
	}
}

// decided is a plan with the object that status was written into.
type decided struct {
	reconcile.Plan
	object *infrav1.AWSMachinePool
}

func decideOn(t *testing.T, in input) decided {
	t.Helper()
	object, plan := reconciletest.Decide(t, Decide, in)
	return decided{plan, object}
}

// did notes that an action was tried in the pass.
func did(in *input, action reconcile.Action, err error) {
	in.Done = append(in.Done, reconcile.Done{Step: reconcile.Step{Action: action}, Err: err})
}

var (
	errRefused = &smithy.GenericAPIError{Code: "ValidationError", Message: "AWS does not take it"}
	errLater   = errors.New("no answer")
)

// pause has the user pause roll-outs; the launch config has the annotation already.
func pause(in *input) {
	in.Object.Annotations[infrav1.RolloutPausedAnnotation] = "true"
	config := in.Seen.LaunchConfig.Object.DeepCopy()
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.RolloutPausedAnnotation, "true")
	in.Seen.LaunchConfig.Object = config
}

// due has an instance refresh be due, and all be known that it takes to start it.
func due(in *input) {
	pointAt(in, 2)
	in.Seen.Fresh, in.Seen.LaunchConfig.Checked, in.Seen.Hooks, in.Seen.Refreshes = true, true, Hooks{Read: true, List: wantedHooks(*in)}, Refreshes{Read: true}
}

// wantVersion has the launch config ask for another version since long ago.
func wantVersion(in *input, version int64) {
	config := in.Seen.LaunchConfig.Object.DeepCopy()
	versionsOf(config, version)
	in.Seen.LaunchConfig.Object = config
	in.Object.Status.WantedConfig, in.Object.Status.WantedSince = fmt.Sprint("config-", version), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	in.Seen.Differences = map[int64]string{1: "instance type m5.large → m6i.large"}
}

// pointAt has the group launch from a version that is wanted.
func pointAt(in *input, version int64) {
	wantVersion(in, version)
	changeGroup(in, func(group *autoscalinggroup.Group) { group.Version = fmt.Sprint(version) })
}

func changeGroup(in *input, change func(group *autoscalinggroup.Group)) {
	group := *in.Seen.Group
	group.Instances = slices.Clone(group.Instances)
	change(&group)
	in.Seen.Group = &group
}

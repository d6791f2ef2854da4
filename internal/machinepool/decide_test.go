package machinepool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"

	"github.com/slipway-project/slipway/internal/launchtemplate"
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
			if got := firstOf(plan.Plan); got != row.then {
				t.Errorf("then %q, want %q", got, row.then)
			}
			for _, want := range row.shows {
				check(t, plan.object, want)
			}
			if row.then == "nothing" && plan.Again != row.again {
				t.Errorf("checked again after %v, want %v", plan.Again, row.again)
			}
			if got := strings.Join(reasonsOf(plan.Events), " "); row.then == "nothing" && got != row.tells {
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

func firstOf(plan reconcile.Plan) string {
	switch {
	case len(plan.Needs) > 0:
		var needs []string
		for _, need := range plan.Needs {
			needs = append(needs, string(need))
		}
		return "needs " + strings.Join(needs, ", ")
	case len(plan.Actions) > 0:
		return fmt.Sprintf("%s, because %s", plan.Actions[0].Action, plan.Actions[0].Reason)
	case plan.Release:
		return "let the pool go"
	}
	return "nothing"
}

func check(t *testing.T, object *infrav1.AWSMachinePool, want string) {
	t.Helper()
	what, message, _ := strings.Cut(want, ": ")
	kind, rest, _ := strings.Cut(what, "=")
	condition := meta.FindStatusCondition(object.Status.Conditions, kind)
	if condition == nil {
		if rest != "absent" {
			t.Errorf("there is no condition %s", kind)
		}
		return
	}
	if got := string(condition.Status) + "/" + condition.Reason; got != rest || !strings.Contains(condition.Message, message) {
		t.Errorf("condition %s is %s: %s; want %s", kind, got, condition.Message, want)
	}
}

func reasonsOf(events []reconcile.Event) []string {
	var reasons []string
	for _, event := range events {
		reasons = append(reasons, event.Reason)
	}
	return reasons
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

func TestDecideAccess(t *testing.T) {
	t.Parallel()
	specify(t, []row{
		{reason: "everything is as the spec asks for", then: "nothing", again: time.Hour, shows: []string{"RolledOut=True/RolledOut", "ASGReady=True/Ready", "CapacityAvailable=True/CapacityAvailable"}},
		{reason: "it was paused", given: func(in *input) { reconciling.True(in.Object, infrav1.PausedCondition, infrav1.PausedReason, "") }, then: "nothing",
			shows: []string{"Paused=False/NotPaused"}, again: time.Hour},
		{reason: "no MachinePool owns it", given: func(in *input) { in.Seen.MachinePool = nil }, then: "nothing", shows: []string{"ClusterInfrastructureReady=False/WaitingForOwner"}},
		{reason: "the cluster is gone", given: func(in *input) { in.Seen.Access.Exists = false }, then: "nothing", shows: []string{"ClusterInfrastructureReady=False/WaitingForCluster"}},
		{reason: "AWS does not say which group it is", given: func(in *input) {
			in.Seen.Group, in.Seen.GroupErr = nil, &autoscalinggroup.NamesTakenError{Names: []string{"pool"}}
		}, then: "nothing",
			shows: []string{"ASGReady=False/NameTaken"}, again: aws.FateOf(&autoscalinggroup.NamesTakenError{}).After},
		{reason: "the group lacks its owner tag", given: func(in *input) {
			in.Seen.GroupErr, in.Seen.Group = &ownerTagMissingError{group: *in.Seen.Group, owner: "team/blue/pool"}, nil
		}, then: "nothing", shows: []string{"ASGReady=False/OwnerTagMissing: clear spec.providerID"}, again: aws.FateOf(&ownerTagMissingError{}).After},
		{reason: "the tag is back", given: func(in *input) {
			reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.OwnerTagMissingReason, "it lacks the tag")
			in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName = nil
		}, then: "nothing", shows: []string{"ASGReady=absent", "BootstrapDataReady=False/WaitingForBootstrapData"}},
		{reason: "what a node is could not be found out", given: func(in *input) { in.Seen.Shape = Shape{Err: errLater}; launchedIs(in, "m5.large") }, then: "nothing", again: time.Hour},
		{reason: "what a node is must be found out", given: func(in *input) { in.Seen.Shape = Shape{}; launchedIs(in, "m5.large") }, then: "needs what a node is"},
	})
}

// launchedIs has the launch config say what it launches.
func launchedIs(in *input, instanceType string) {
	config := in.Seen.LaunchConfig.Object.DeepCopy()
	config.Status.Resolved = &infrav1.ResolvedLaunchConfig{InstanceType: instanceType, ImageID: "ami-1", ImageArchitecture: "x86_64"}
	in.Seen.LaunchConfig.Object = config
}

func TestDecideLaunchConfig(t *testing.T) {
	t.Parallel()
	none := func(in *input) { in.Seen.LaunchConfig.Object = nil }
	invalid := apierrors.NewInvalid(infrav1.GroupVersion.WithKind("AWSLaunchConfig").GroupKind(), "pool", nil)
	exists := apierrors.NewAlreadyExists(infrav1.GroupVersion.WithResource("awslaunchconfigs").GroupResource(), "pool")
	foreign := func(in *input) { in.Seen.LaunchConfig.Object.OwnerReferences = nil }
	template := func(problem string) edit {
		return func(in *input) {
			in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigTemplateRef = nil, &infrav1.LaunchConfigTemplateReference{Name: "base"}
			in.Seen.LaunchConfig.Source = pool.ReferredTemplate{Problem: problem, Reason: infrav1.LaunchConfigTemplateNotFoundReason, Template: &infrav1.AWSLaunchConfigTemplate{}}
			in.Seen.LaunchConfig.Source.Template.Spec.Template.Spec.InstanceType = "m5.large"
		}
	}
	reference := func(change func(config *infrav1.AWSLaunchConfig)) edit {
		return func(in *input) {
			in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "shared"}
			if change == nil {
				none(in)
				return
			}
			config := in.Seen.LaunchConfig.Object.DeepCopy()
			config.Name, config.OwnerReferences = "shared", nil
			change(config)
			in.Seen.LaunchConfig.Object = config
		}
	}
	specify(t, []row{
		{reason: "there is none", given: none, then: "create AWSLaunchConfig pool, because the pool has no launch config"},
		{reason: "the cache does not show it yet", given: func(in *input) { none(in); did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, exists) }, then: "nothing"},
		{reason: "it was created in an earlier pass, and the cache does not show it yet", given: func(in *input) { in.Seen.LaunchConfig.Recent = true }, then: "nothing", again: pool.CacheBehind},
		{reason: "the API server does not take it", given: func(in *input) { none(in); did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, invalid) }, then: "nothing",
			shows: []string{"LaunchTemplateReady=False/InvalidSpec", "RolledOut=Unknown/WaitingForLaunchConfig"}, again: time.Hour},
		{reason: "the spec was edited", given: func(in *input) { in.Object.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" }, then: "update AWSLaunchConfig pool, because " +
			"the spec of the pool requests instanceType m5.large → m6i.large"},
		{reason: "something was added, and something that has parts edited", given: func(in *input) {
			in.Object.Spec.AWSLaunchTemplate.SSHKeyName, in.Object.Spec.AWSLaunchTemplate.RootVolume = ptr.To("key"), &infrav1.Volume{Size: 80}
		}, then: "update AWSLaunchConfig pool, because the spec of the pool requests another rootVolume, " +
			"sshKeyName none → key"},
		{reason: "a version was approved", given: func(in *input) {
			in.Object.Annotations[infrav1.ApprovedVersionAnnotation] = "1"
		}, then: "update AWSLaunchConfig pool, because the spec of the pool requests other annotations"},
		{reason: "the labels differ", given: func(in *input) { in.Seen.LaunchConfig.Object.Labels = nil }, then: "update AWSLaunchConfig pool, because " +
			"the spec of the pool requests other labels"},
		{reason: "the API server does not take the edit", given: func(in *input) {
			in.Object.Spec.AWSLaunchTemplate.InstanceType = "x"
			did(in, updateLaunchConfig{Name: "pool"}, invalid)
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/InvalidSpec"}, again: time.Hour},
		{reason: "the API server does not respond", given: func(in *input) {
			in.Object.Spec.AWSLaunchTemplate.InstanceType = "x"
			did(in, updateLaunchConfig{Name: "pool"}, errLater)
		}, then: "nothing"},
		{reason: "another object's has the name", given: foreign, then: "nothing", shows: []string{"LaunchTemplateReady=False/LaunchConfigNotOwned"}},
		{reason: "another object's has the name, and is being deleted", given: func(in *input) {
			foreign(in)
			in.Seen.LaunchConfig.Object.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
		}, then: "nothing", shows: []string{"LaunchTemplateReady=Unknown/WaitingForLaunchConfig"}, again: pool.ConfigEnding},
		{reason: "it is not ready", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Status.Conditions[0].Status, in.Seen.LaunchConfig.Object.Status.Conditions[0].Reason = metav1.ConditionFalse, "ImageNotFound"
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/ImageNotFound", "RolledOut=Unknown/WaitingForLaunchConfig"}, again: time.Hour},
		{reason: "its template cannot be followed", given: func(in *input) { template("it does not exist")(in); none(in) }, then: "nothing", shows: []string{"LaunchTemplateReady=False/LaunchConfigTemplateNotFound"}, again: time.Hour},
		{reason: "its template cannot be followed any longer", given: template("it does not exist"), then: "nothing",
			shows: []string{"LaunchTemplateReady=False/LaunchConfigTemplateNotFound: the pool continues to use its current configuration"}, again: time.Hour},
		{reason: "its template is not for this pool", given: func(in *input) {
			template("")(in)
			in.Seen.LaunchConfig.Source.Template.Spec.Template.Spec.InstanceType = ""
			none(in)
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/InvalidSpec: no instance type"}, again: time.Hour},
		{reason: "its template is not for this pool any longer", given: func(in *input) {
			template("")(in)
			in.Seen.LaunchConfig.Source.Template.Spec.Template.Spec.InstanceType = ""
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/InvalidSpec: no instance type"}, again: time.Hour},
		{reason: "the pool refers to one that does not exist", given: reference(nil), then: "nothing", shows: []string{"LaunchTemplateReady=False/WaitingForLaunchConfig"}, again: time.Hour},
		{reason: "the pool refers to one of another cluster", given: reference(func(config *infrav1.AWSLaunchConfig) { config.Spec.ClusterName = "red" }), then: "nothing",
			shows: []string{"LaunchTemplateReady=False/InvalidSpec: it belongs to Cluster \"red\""}, again: time.Hour},
		{reason: "the pool refers to one", given: reference(func(*infrav1.AWSLaunchConfig) {}),
			then: "tag the Auto Scaling group: " + infrav1.TagLaunchConfig + ", because the tags " + infrav1.TagLaunchConfig + " of the group differ from the spec"},
		{reason: "its status names another template", given: func(in *input) { in.Seen.LaunchConfig.Object.Status.LaunchTemplateID = "lt-2" }, then: "needs whose the launch template is"},
		{reason: "which another owner has", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Status.LaunchTemplateID, in.Seen.LaunchConfig.TemplateID = "lt-2", "lt-2"
			in.Seen.LaunchConfig.Template = &launchtemplate.Template{ID: "lt-2"}
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/OwnerTagMissing: no node is launched from it"}, again: pool.CacheBehind},
		{reason: "AWS does not say whose it is", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Status.LaunchTemplateID, in.Seen.LaunchConfig.TemplateID, in.Seen.LaunchConfig.TemplateErr = "lt-2", "lt-2", errRefused
		}, then: "nothing", shows: []string{"LaunchTemplateReady=False/LaunchTemplateReconcileFailed"}, again: aws.FateOf(errRefused).After},
	})
}

func TestDecideGroup(t *testing.T) {
	t.Parallel()
	gone := func(in *input) {
		in.Seen.Group, in.Seen.FreeName, in.Seen.Fresh, in.Seen.LaunchConfig.TemplateID = nil, "pool", true, "lt-1"
	}
	exists := &smithy.GenericAPIError{Code: "AlreadyExists"}
	larger := func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3) }
	update := updateGroup{Desired: autoscalinggroup.Desired{Capacity: ptr.To[int32](3)}}
	specify(t, []row{
		{reason: "the pool had a group", given: func(in *input) { gone(in); in.Seen.Fresh = false }, then: "needs the Auto Scaling group as it is now"},
		{reason: "the group is gone", given: gone, then: "create Auto Scaling group pool, because Auto Scaling group pool was deleted outside Slipway"},
		{reason: "the pool is new", given: func(in *input) { gone(in); in.Object.Status.AutoScalingGroup = nil }, then: "create Auto Scaling group pool, because the pool has no Auto Scaling group"},
		{reason: "it was created just now, and cannot be seen yet", given: func(in *input) { gone(in); did(in, createGroup{}, nil) }, then: "nothing", again: lookAgain},
		{reason: "another pass created it", given: func(in *input) { gone(in); did(in, createGroup{}, exists) }, then: "nothing", again: lookAgain},
		{reason: "AWS creates none", given: func(in *input) { gone(in); did(in, createGroup{}, errRefused) }, then: "nothing", shows: []string{"ASGReady=False/ASGProvisionFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "there is no launch template yet", given: func(in *input) { gone(in); in.Seen.LaunchConfig.Object.Status.Conditions = nil }, then: "nothing", shows: []string{"ASGReady=False/WaitingForLaunchTemplate"}},
		{reason: "it is being deleted", given: func(in *input) { changeGroup(in, func(g *autoscalinggroup.Group) { g.Deleting = true }) },
			then: "watch Auto Scaling group pool closely, because its instances are expected to change"},
		{reason: "it is being deleted, and watched", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Deleting = true })
			in.Seen.InMotion = true
		}, then: "nothing", shows: []string{"ASGReady=False/ASGDeletionInProgress"}, again: lookAgain},
		{reason: "the pool grows", given: larger, then: "update the Auto Scaling group: desired capacity 2 → 3, because desired capacity 2 → 3"},
		{reason: "the group cannot shrink before hooks are checked", given: func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](1) }, then: "needs lifecycle hooks"},
		{reason: "AWS shows the group as it was", given: func(in *input) { larger(in); did(in, update, nil) }, then: "nothing", again: lookAgain},
		{reason: "the group changed meanwhile", given: func(in *input) {
			in.Seen.Earlier = in.Seen.Group
			changeGroup(in, func(g *autoscalinggroup.Group) { g.MaxSize = 9 })
		}, then: "nothing", again: lookAgain},
		{reason: "AWS does not take the update", given: func(in *input) { larger(in); did(in, update, errRefused) }, then: "nothing",
			shows: []string{"ASGReady=False/ASGUpdateFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "a tag differs", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Tags = maps.Clone(g.Tags); g.Tags[infrav1.TagLaunchConfig] = "x" })
		}, then: "tag the Auto Scaling group: " + infrav1.TagLaunchConfig + ", because the tags " + infrav1.TagLaunchConfig + " of the group differ from the spec"},
		{reason: "AWS does not take the tag", given: func(in *input) { did(in, tagGroup{}, errRefused) }, then: "nothing", shows: []string{"ASGReady=False/ASGUpdateFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "the MachinePool asks for too many", given: func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](5) }, then: "nothing", shows: []string{"ASGReady=False/ReplicasOutOfBounds"}},
		{reason: "subnets are not known", given: func(in *input) { in.Seen.Subnets = Subnets{} }, then: "needs subnets"},
		{reason: "there are no subnets", given: func(in *input) { in.Seen.Subnets = Subnets{Err: errRefused} }, then: "nothing", shows: []string{"ASGReady=False/SubnetsNotFound"}, again: aws.FateOf(errRefused).After},
		{reason: "an external autoscaler decides about the size", given: func(in *input) {
			in.Seen.MachinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Capacity = 3; g.Instances = append(g.Instances, member("i-3", 1)) })
		}, then: "record 3 instances, because its instances, what it was given changed"},
		{reason: "the MachinePool follows an external autoscaler", given: func(in *input) {
			in.Seen.MachinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Capacity = 3 })
			did(in, recordInstances{Generation: 1}, nil)
		}, then: "set the replicas of MachinePool workers to 3, because an external autoscaler set the desired capacity of Auto Scaling group pool: 2 → 3"},
		{reason: "an instance came", given: func(in *input) {
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances = append(g.Instances[:1], member("i-3", 1)) })
		}, then: "record 2 instances, because its instances changed"},
	})
}

func TestDecideOverrides(t *testing.T) {
	t.Parallel()
	overridden := func(overrides ...Override) edit {
		return func(in *input) {
			in.Object.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}}}
			launchedIs(in, "m5.large")
			in.Seen.Overrides, in.Seen.OverridesRead = overrides, overrides != nil
		}
	}
	specify(t, []row{
		{reason: "they are looked up first", given: overridden(), then: "needs overrides"},
		{reason: "one does not exist", given: overridden(Override{Reason: infrav1.InstanceTypeNotFoundReason, Err: errRefused}), then: "nothing",
			shows: []string{"ASGReady=False/InstanceTypeNotFound: overrides[0]"}, again: aws.FateOf(errRefused).After},
		{reason: "one cannot run its image", given: overridden(Override{ImageID: "ami-1", Architecture: "arm64", InstanceType: "m5.large", Architectures: []string{"x86_64"}}), then: "nothing",
			shows: []string{"ASGReady=False/ArchitectureMismatch: image ami-1 is built for arm64, but instance type m5.large of an override is x86_64"}},
		{reason: "all are fine", given: overridden(Override{InstanceType: "m5.large", Architecture: "x86_64", Architectures: []string{"x86_64"}}),
			then: "update the Auto Scaling group: mixed instances policy none → set; instance type overrides [] → [m5.large], because mixed instances policy none → set; instance type overrides [] → [m5.large]"},
	})
}

func TestDecideHooks(t *testing.T) {
	t.Parallel()
	checked := func(in *input) { in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)} }
	specify(t, []row{
		{reason: "they have their turn", given: func(in *input) { in.Seen.HooksDue = noon }, then: "needs lifecycle hooks"},
		{reason: "they were edited", given: func(in *input) {
			in.Object.Spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "mine", LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching}}
		}, then: "needs lifecycle hooks"},
		{reason: "one is missing", given: func(in *input) { in.Seen.Hooks = Hooks{Read: true} },
			then: "change 1 lifecycle hooks, because the lifecycle hooks of the group differ from the spec"},
		{reason: "AWS does not take one", given: func(in *input) { in.Seen.Hooks = Hooks{Read: true}; did(in, changeHooks{}, errRefused) }, then: "nothing",
			shows: []string{"ASGReady=False/ASGUpdateFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "AWS does not describe them", given: func(in *input) { in.Seen.Hooks.Err = errRefused }, then: "nothing", shows: []string{"ASGReady=False/ASGUpdateFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "they are as wanted", given: checked, then: "nothing", again: time.Hour},
		{reason: "the group was changed outside", given: func(in *input) { did(in, updateGroup{Outside: true}, nil) }, then: "needs lifecycle hooks"},
		{reason: "a tag was changed outside", given: func(in *input) { did(in, tagGroup{Outside: true}, nil) }, then: "needs lifecycle hooks"},
		{reason: "the group was created with them", given: func(in *input) { did(in, createGroup{}, nil) }, then: "watch Auto Scaling group pool closely, because its instances are expected to change"},
		{reason: "there are none", given: func(in *input) {
			in.Object.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true}
			in.Object.Annotations[ownership.AppliedAnnotation] = `{}`
		}, then: "record 2 instances, because what it was given changed"},
		{reason: "Cluster API says that Machines are not drained", given: func(in *input) {
			in.Seen.MachinePool.Spec.Template.Annotations = map[string]string{clusterv1.ExcludeNodeDrainingAnnotation: ""}
		}, then: "needs lifecycle hooks"},
	})
}

func TestDecideRollout(t *testing.T) {
	t.Parallel()
	history := func(refreshes ...autoscalinggroup.Refresh) Refreshes {
		return Refreshes{Read: true, List: refreshes, Again: noon.Add(15 * time.Second)}
	}
	active := autoscalinggroup.Refresh{ID: "r-1", Status: "InProgress", Strategy: "Rolling"}
	recorded := func(in *input) {
		in.Object.Status.Rollout = &infrav1.RolloutStatus{RefreshID: "r-1", Status: "InProgress", StartedID: "r-1", StartedFor: "config-2", StartedTemplateID: "lt-1", AttemptsFor: "config-2@lt-1"}
	}
	pending := active
	pending.Status = "Pending"
	// rotated has a roll-out to version 2 go on, and the join token be rotated just now.
	rotated := func(in *input) {
		pointAt(in, 3)
		changeGroup(in, func(group *autoscalinggroup.Group) { group.Version, group.Instances[0].Version = "2", 2 })
		config := in.Seen.LaunchConfig.Object
		config.Status.CurrentVersions, config.Status.ConfigFingerprint = []int64{3, 2}, "config-2"
		config.Status.Versions[0].ConfigFingerprint, config.Status.Versions[0].Created = "config-2", metav1.NewTime(noon)
		in.Object.Status.WantedConfig = "config-2"
		in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
	}
	const startNow = "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"
	specify(t, []row{
		{reason: "another configuration is wanted since just now", given: func(in *input) { wantVersion(in, 2); in.Object.Status.WantedSince = ptr.To(metav1.NewTime(noon)) }, then: "nothing",
			shows: []string{"RolledOut=False/Settling: instance type m5.large → m6i.large; the roll-out " +
				"starts when the spec has not changed for 10s"}, again: 10 * time.Second},
		{reason: "what differs is read first", given: func(in *input) { wantVersion(in, 2); in.Seen.Differences = nil }, then: "needs differences of launch template versions"},
		{reason: "hooks are checked before instances are replaced", given: func(in *input) { wantVersion(in, 2) }, then: "needs lifecycle hooks"},
		{reason: "it has settled", given: func(in *input) { wantVersion(in, 2); in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)} },
			then: "update the Auto Scaling group: launch template version 1 → 2, because launch template version 1 → 2"},
		{reason: "the launch template was lost: there is nothing to wait for", given: func(in *input) {
			wantVersion(in, 2)
			in.Object.Status.WantedSince = ptr.To(metav1.NewTime(noon))
			config := in.Seen.LaunchConfig.Object
			config.Status.LaunchTemplateID, config.Status.LastLostTemplateID, in.Seen.LaunchConfig.TemplateID = "lt-2", "lt-1", "lt-2"
			in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
		}, then: "update the Auto Scaling group: launch template lt-1 → lt-2, because launch template lt-1 → lt-2"},
		{reason: "the group is at the version: refreshes are read", given: func(in *input) { pointAt(in, 2) }, then: "needs instance refreshes"},
		{reason: "AWS does not list them", given: func(in *input) { pointAt(in, 2); in.Seen.Refreshes.Err = errRefused; did(in, recordInstances{}, nil) }, then: "nothing",
			shows: []string{"RolledOut=False/RefreshStartFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "a refresh cannot be undone: the group is described first", given: func(in *input) { pointAt(in, 2); in.Seen.Refreshes = history() }, then: "needs the Auto Scaling group as it is now"},
		{reason: "and the launch config is read past the cache", given: func(in *input) { due(in); in.Seen.LaunchConfig.Checked = false }, then: "needs whether the cache shows the present launch config"},
		{reason: "the cache shows an earlier launch config", given: func(in *input) {
			due(in)
			in.Seen.LaunchConfig.Behind = true
			did(in, recordInstances{}, nil)
		}, then: "nothing", again: lookAgain},
		{reason: "and hooks are checked", given: func(in *input) { due(in); in.Seen.Hooks = Hooks{} }, then: "needs lifecycle hooks"},
		{reason: "a refresh is due", given: due, then: startNow},
		{reason: "only a token rotated", given: func(in *input) {
			pointAt(in, 2)
			config := in.Seen.LaunchConfig.Object
			config.Status.CurrentVersions, config.Status.ConfigFingerprint = []int64{2, 1}, "config-1"
			in.Object.Status.WantedConfig = "config-1"
		}, then: "record 2 instances, because what it was given changed"},
		{reason: "one instance runs it already, and is spared", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0] = member("i-1", 3) })
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
		}, then: "protect i-1 from scale-in, because they run the desired configuration, and the instance " +
			"refresh must skip them"},
		{reason: "one that is to be spared is not in service yet", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) {
				g.Instances[0] = member("i-1", 3)
				g.Instances[0].LifecycleState = "Pending"
			})
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
		}, then: "record 2 instances, because what it was given changed", shows: []string{"RolledOut=False/WaitingForRefresh: instance i-1 runs the desired configuration"}},
		{reason: "AWS does not protect it", given: func(in *input) {
			due(in)
			did(in, protectInstances{Protect: true}, errRefused)
			did(in, recordInstances{}, nil)
		},
			then: "nothing", shows: []string{"RolledOut=False/RefreshStartFailed: correct spec.refreshPreferences, or the AWS resource that it refers to"}, again: aws.FateOf(errRefused).After},
		{reason: "AWS takes no such refresh", given: func(in *input) { due(in); did(in, startRefresh{}, errRefused); did(in, recordInstances{}, nil) }, then: "nothing",
			shows: []string{"RolledOut=False/RefreshStartFailed: correct spec.refreshPreferences, or the AWS resource that it refers to"}, again: aws.FateOf(errRefused).After},
		{reason: "an earlier refresh is in progress", given: func(in *input) {
			due(in)
			in.Seen.Refreshes.UnderWay, in.Seen.Refreshes.Again, in.Seen.InMotion = true, noon.Add(15*time.Second), true
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/WaitingForRefresh: an earlier refresh is in progress"}, again: 15 * time.Second},
		{reason: "it goes on", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, recordInstances{}, nil)
		}, then: "nothing",
			shows: []string{"RolledOut=False/RollingOut: instance refresh r-1 is InProgress; 2 of 2 instances run version 1"}, again: 15 * time.Second},
		{reason: "AWS has not started it: the group keeps the version that matching instances run", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(pending), true
			did(in, recordInstances{}, nil)
		}, then: "nothing",
			shows: []string{"RolledOut=False/RollingOut: instance refresh r-1 is Pending; 1 of 2 instances run version 1"}, again: 15 * time.Second},
		{reason: "AWS has started it: new instances get the new join token", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.Refreshes = history(active)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "AWS does not start it: the new join token is not kept back for long", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.LaunchConfig.Object.Status.Versions[0].Created = metav1.NewTime(noon.Add(-tokenWaitsAtMost))
			in.Seen.Refreshes = history(pending)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "the refresh was of a group that is gone", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Object.Status.Rollout.Status, in.Seen.Refreshes = "Pending", history()
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "a process that crashed may have started it: refreshes are read first", given: rotated, then: "needs instance refreshes"},
		{reason: "AWS does not list them: the new join token is not kept back", given: func(in *input) { rotated(in); in.Seen.Refreshes.Err = errRefused },
			then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "another configuration is wanted before AWS has started it: the refresh is to bring that", given: func(in *input) {
			pointAt(in, 2)
			wantVersion(in, 3)
			recorded(in)
			in.Seen.Hooks, in.Seen.Refreshes = Hooks{Read: true, List: wantedHooks(*in)}, history(pending)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "another configuration is wanted meanwhile, and its instances are there: Slipway checks again, because a new group may not be visible yet", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes = history(active)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Version = 2 })
			in.Seen.Differences[2] = "key pair none → a"
		}, then: "needs the newest instance refreshes"},
		{reason: "and it is cancelled", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.Fresh = history(active), true
			in.Seen.Refreshes.Latest = true
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Version = 2 })
			in.Seen.Differences[2] = "key pair none → a"
		}, then: "cancel instance refresh r-1, because key pair none → a; instance type m5.large → " +
			"m6i.large; a newer configuration is desired"},
		{reason: "it was cancelled", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, cancelRefresh{ID: "r-1"}, nil)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/Superseded"}, again: lookAgain},
		{reason: "AWS does not cancel it", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = Refreshes{Read: true, List: []autoscalinggroup.Refresh{active}, Again: noon.Add(24 * time.Hour)}, true
			did(in, cancelRefresh{ID: "r-1"}, errRefused)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshStartFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "it failed", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Status.Rollout.AttemptsAfter = "r-0"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed", Reason: "no capacity."}, autoscalinggroup.Refresh{ID: "r-0", Status: "Successful"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshFailed: instance refresh r-1 finished with " +
			"status Failed: no capacity. The next one starts automatically"},
			again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshEnded"},
		{reason: "it was cancelled by a user", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Cancelled"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshCancelled"}, again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshEnded"},
		{reason: "it succeeded and left instances behind", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/WaitingForRefresh"}, again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshSucceeded"},
		{reason: "it failed, and the user wants to go back", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Object.Status.LastGood = &infrav1.GoodConfiguration{ConfigFingerprint: "config-1", Version: 1}
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
		}, then: "go back to version 1, because instance refresh r-1 finished with status Failed (instance type " +
			"m5.large → m6i.large)"},
		{reason: "and status was lost: what the instances ran before is taken", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences, in.Object.Status.LastGood = &infrav1.RefreshPreferences{Rollback: true}, nil
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
		}, then: "go back to version 1, because instance refresh r-1 finished with status Failed (instance type " +
			"m5.large → m6i.large)"},
		{reason: "the API server does not let it go back", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences, in.Object.Status.LastGood = &infrav1.RefreshPreferences{Rollback: true}, nil
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
			did(in, rollBack{}, errLater)
			did(in, recordInstances{}, nil)
		}, then: "nothing", again: time.Hour, tells: "InstanceRefreshEnded"},
		{reason: "it went back", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack: Edit the spec, or set refreshPreferences.rollback to false to retry"}, again: time.Hour},
		{reason: "it goes back now", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
			did(in, rollBack{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack"}, again: time.Hour},
		{reason: "and is on its way back", given: func(in *input) {
			due(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true, Disable: true}
			config := in.Seen.LaunchConfig.Object
			config.Spec.Rollback, config.Status.RolledBackFrom = &infrav1.Rollback{From: "config-3", Version: 2, Reason: "it failed"}, "config-3"
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack: 2 of 2 instances run version 1"}, again: time.Hour},
		{reason: "the user wants no refreshes", given: func(in *input) {
			pointAt(in, 2)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
		}, then: "needs instance refreshes"},
		{reason: "the user wants no refreshes, and knows", given: func(in *input) {
			pointAt(in, 2)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
			reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RefreshDisabledReason, "")
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshDisabled: refreshPreferences.disable is true, so you must replace them yourself"}, again: time.Hour},
		{reason: "roll-outs are paused", given: func(in *input) { pointAt(in, 2); pause(in) }, then: "needs instance refreshes"},
		{reason: "roll-outs are paused, and the user knows", given: func(in *input) {
			pointAt(in, 2)
			pause(in)
			reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RolloutPausedReason, "")
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolloutPaused: rollout-paused pauses roll-outs"}, again: time.Hour},
		{reason: "roll-outs are paused while a refresh is under way: it is read whether it still is", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes = history(active)
		}, then: "needs the newest instance refreshes"},
		{reason: "roll-outs are paused while a refresh is under way", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes, in.Seen.Fresh = history(active), true
			in.Seen.Refreshes.Latest = true
		}, then: "cancel instance refresh r-1, because annotation infrastructure.cluster.x-k8s.io/rollout-paused pauses roll-outs"},
		{reason: "the refresh of a paused roll-out was cancelled", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, cancelRefresh{ID: "r-1", Paused: true}, nil)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolloutPaused: instance refresh r-1 is being canceled"}, again: lookAgain},
		{reason: "a paused roll-out is resumed: what the pause stopped delays nothing", given: func(in *input) {
			due(in)
			recorded(in)
			in.Object.Status.Rollout.AttemptsAfter, in.Object.Status.Rollout.AttemptsFor = "r-1", wanted(*in).Key()+"@lt-1"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Cancelled"})
			in.Seen.Refreshes.Latest = true
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"},
		{reason: "it failed, and the user retries it", given: func(in *input) {
			due(in)
			recorded(in)
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
			in.Seen.Refreshes.Latest = true
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"},
		{reason: "it went back, and the user retries it", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
		}, then: "update AWSLaunchConfig pool, because the spec of the pool requests another rollback"},
		{reason: "the user retries where nothing failed: refreshes are read to record it", given: func(in *input) {
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
		}, then: "needs instance refreshes"},
		{reason: "what is left is protected", given: func(in *input) {
			due(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{ScaleInProtectedInstances: "Ignore"}
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Protected, g.Instances[1].Protected = true, true })
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/InstancesLeft: they are protected from scale in"}, again: time.Hour},
		{reason: "the group is not at the version", given: func(in *input) { wantVersion(in, 2); did(in, updateGroup{}, errRefused) }, then: "needs lifecycle hooks"},
		{reason: "the group could not be brought to the version", given: func(in *input) {
			wantVersion(in, 2)
			in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
			did(in, updateGroup{}, errRefused)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=Unknown/WaitingForASG"}, again: aws.FateOf(errRefused).After},
		{reason: "instances run a template of before", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) {
				g.Instances[0].LaunchTemplateID, g.Instances[1].LaunchTemplateID = "", "lt-0"
			})
		}, then: "start an instance refresh of Auto Scaling group pool, because no launch template → launch template lt-1; launch template lt-0 → lt-1; 1 of 2 instances run launch template lt-0, 1 of 2 instances run no launch template"},
		{reason: "a refresh is under way, and the launch config is not ready", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.LaunchConfig.Object.Status.Conditions = nil
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=Unknown/WaitingForLaunchConfig: instance refresh r-1 is InProgress"}, again: 15 * time.Second},
		{reason: "a refresh ended that spared instances: the group is described first", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"})
		}, then: "needs the Auto Scaling group as it is now"},
		{reason: "and their protection is given up", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes, in.Seen.Fresh = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"}), true
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Protected = true })
		}, then: "give up the protection of i-1 from scale-in, because no instance refresh has to skip them any " +
			"longer"},
		{reason: "instances were protected for a refresh that is started now", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0] = member("i-1", 3); g.Instances[0].Protected = true })
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
			in.Object.Annotations[shieldAnnotation] = "i-1"
			did(in, protectInstances{Group: "pool", Instances: []string{"i-1"}, Protect: true}, nil)
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 1 of 2 instances run version 1"},
		{reason: "which AWS refuses", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes, in.Seen.Fresh = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"}), true
			did(in, protectInstances{}, errRefused)
		}, then: "nothing", again: aws.FateOf(errRefused).After},
	})
}

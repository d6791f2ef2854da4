package managedmachinepool

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// noon is the time at which these tables are decided.
var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

const (
	groupARN = "arn:aws:eks:us-east-1:123456789012:nodegroup/blue/team_pool/1"
	roleARN  = "arn:aws:iam::123456789012:role/slipway/blue/nodes"
)

// atRest returns what is decided from for a pool of two instances with which everything is as its
// spec asks for.
func atRest(t *testing.T) *input {
	t.Helper()
	in := &input{Object: &infrav1.AWSManagedMachinePool{}, Now: noon}
	in.Object.Namespace, in.Object.Name, in.Object.UID, in.Object.Generation = "team", "pool", "pool", 1
	in.Object.Finalizers = []string{infrav1.ManagedMachinePoolFinalizer}
	in.Object.Spec = infrav1.AWSManagedMachinePoolSpec{
		AMIType: ptr.To(infrav1.AMITypeAL2023X86), SubnetIDs: []string{"subnet-1"}, AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"},
	}
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "workers"}}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "blue", ptr.To[int32](2)
	machinePool.Spec.Template.Spec.Version = "v1.34.1"
	in.Seen = Observed{
		Settings: Settings{SettleWindow: 10 * time.Second}, MachinePool: machinePool, ClusterName: "blue", EKSCluster: "blue",
		Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"}},
		Access: pool.Access{
			Cluster: "blue", Exists: true, Location: ownership.Location{Region: "us-east-1", Cluster: "blue"},
			Facts: &cluster.Facts{Namespace: "team", Name: "blue", KubernetesName: "blue", Region: "us-east-1", EKS: true, ControlPlane: "blue", ControlPlaneVersion: "v1.34"},
		},
		Nodegroups: Nodegroups{At: noon.Add(-time.Minute)}, LookDue: time.Hour,
		Shape: Shape{Known: true}, RoleDue: noon.Add(time.Hour), HooksDue: noon.Add(time.Hour),
		Members: &autoscalinggroup.Group{Name: "eks-pool", LaunchTemplateID: "lt-eks", Version: "1", Capacity: 2, Tags: map[string]string{}},
	}
	in.Seen.LaunchConfig.Object = configOf(*in)
	in.Seen.Group = &nodegroup.Nodegroup{
		Cluster: "blue", Name: "team_pool", ARN: groupARN, Status: nodegroup.StatusActive, LaunchTemplateID: "lt-1", LaunchTemplateName: "blue-pool", Version: 1,
		KubernetesVersion: "1.34", ReleaseVersion: "1.34.0-20251101", AMIType: string(infrav1.AMITypeAL2023X86), CapacityType: "ON_DEMAND", RoleARN: roleARN, SubnetIDs: []string{"subnet-1"},
		Sizes: nodegroup.Sizes{Min: 2, Max: 2, Desired: 2}, Settings: nodegroup.DefaultSettings(), AutoScalingGroup: "eks-pool", Tags: map[string]string{},
	}
	maps.Copy(in.Seen.Group.Tags, desiredNodegroup(*in).Tags)
	in.Seen.Members.Instances = []autoscalinggroup.Instance{member("i-1", 1), member("i-2", 1)}
	in.Object.Status.NodeRole = &infrav1.NodeRoleStatus{Name: "nodes", ARN: roleARN, Managed: true}
	role := desiredRole(*in).Applied(noderole.Role{Name: "nodes", ARN: roleARN})
	in.Seen.Role = Role{Read: true, Name: "nodes", Role: &role}
	in.Object.Status.WantedConfig, in.Object.Status.WantedSince = desiredNodegroup(*in).Key(), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	settleDown(t, in)
	in.Seen.Role, in.Done = Role{}, nil
	return in
}

// configOf returns the launch config of a pool, which is ready at version 1.
func configOf(in input) *infrav1.AWSLaunchConfig {
	request, source := configRequest(in), configSource(in)
	config := &infrav1.AWSLaunchConfig{Spec: wantedConfig(in, source, nil)}
	config.Namespace, config.Name, config.Generation = "team", "pool", 1
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSManagedMachinePool", Name: "pool", UID: "pool", Controller: ptr.To(true)}}
	config.Labels, config.Annotations = request.Labels(config, source), request.Annotations(config, source)
	config.Status = infrav1.AWSLaunchConfigStatus{LaunchTemplateID: "lt-1", LaunchTemplateName: "blue-pool", Resolved: &infrav1.ResolvedLaunchConfig{InstanceType: "m5.large"}}
	versionsOf(config, 1)
	return config
}

// versionsOf has a launch config want a version. Each has a configuration of its own.
func versionsOf(config *infrav1.AWSLaunchConfig, version int64) {
	config.Status.Version, config.Status.CurrentVersions, config.Status.ConfigFingerprint = version, []int64{version}, fmt.Sprint("config-", version)
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: config.Generation}}
}

func member(id string, version int64) autoscalinggroup.Instance {
	return autoscalinggroup.Instance{
		ID: id, AvailabilityZone: "us-east-1a", InstanceType: "m5.large", LifecycleState: "InService", HealthStatus: "Healthy", LaunchTemplateID: "lt-eks", Version: version, Weight: 1,
	}
}

// settleDown records what the plans ask for until nothing is left to do.
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
		if len(plan.Needs) > 0 {
			t.Fatalf("a pool at rest needs %v", plan.Needs)
		}
		step := plan.Actions[0]
		record, is := step.Action.(recordInstances)
		if !is {
			t.Fatalf("a pool at rest is to %s, because %s", step.Action, step.Reason)
		}
		in.Object.Spec.ProviderIDList = record.ProviderIDs
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
	// then is the first action and why, or the observation that is needed, or nothing.
	then string
	// shows are conditions, as type=status/reason, each with a part of the message after a colon if
	// there is one.
	shows []string
	// again is when the pool is checked again, zero for never.
	again time.Duration
	// tells are the reasons of events.
	tells string
	// fails is a part of the error that the pass returns.
	fails string
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
			object, plan := reconciletest.Decide(t, Decide, *in)
			if got := reconciletest.First(plan); got != row.then {
				t.Errorf("then %q, want %q", got, row.then)
			}
			for _, want := range row.shows {
				reconciletest.Shows(t, object, want)
			}
			if row.then == "nothing" && plan.Again != row.again {
				t.Errorf("checked again after %v, want %v", plan.Again, row.again)
			}
			if got := reconciletest.Told(plan); row.then == "nothing" && got != row.tells {
				t.Errorf("tells %q, want %q", got, row.tells)
			}
			if failed := fmt.Sprint(plan.Err); (plan.Err != nil) != (row.fails != "") || !strings.Contains(failed, row.fails) {
				t.Errorf("the error is %v, want %q", plan.Err, row.fails)
			}
			if difference := cmp.Diff(before.Spec, object.Spec); difference != "" {
				t.Errorf("the decision changed the spec:\n%s", difference)
			}
		})
	}
}

// did notes that an action was tried in the pass.
func did(in *input, action reconcile.Action, err error) {
	in.Done = append(in.Done, reconcile.Done{Step: reconcile.Step{Action: action}, Err: err})
}

// Failures that only a user can resolve, and failures that may pass by themselves.
var (
	errRefused      = &smithy.GenericAPIError{Code: "InvalidParameterException", Message: "EKS does not take it"}
	errInUse        = &smithy.GenericAPIError{Code: "ResourceInUseException", Message: "it is being updated"}
	errLater        = errors.New("no answer")
	errEntityExists = &smithy.GenericAPIError{Code: "EntityAlreadyExists", Message: "it exists"}
)

// refusedAgain is the time until Slipway retries what AWS refused.
const refusedAgain = 2 * time.Minute

// group changes the observed node group.
func group(in *input, change func(*nodegroup.Nodegroup)) {
	copied := *in.Seen.Group
	copied.Tags = maps.Clone(copied.Tags)
	change(&copied)
	in.Seen.Group = &copied
}

// fresh has EKS asked in the pass, and the launch config be read past the cache.
func fresh(in *input) {
	in.Seen.Fresh, in.Seen.LaunchConfig.Checked, in.Seen.Sizes.Checked = true, true, true
}

// gone takes the node group away, which EKS has none of by any name.
func gone(in *input) {
	in.Seen.Group, in.Seen.Members, in.Seen.FreeName = nil, nil, "team_pool"
	in.Seen.Strays, in.Seen.Fresh, in.Seen.Sizes.Checked = Strays{Read: true}, true, true
	in.Object.Status.NodeRole = nil
	in.Object.Status.Conditions = nil
	role := Role{Read: true, Name: roleName(*in), Role: &noderole.Role{Name: roleName(*in), ARN: roleARN}}
	in.Seen.Role = role
	in.Object.Status.NodeRole = &infrav1.NodeRoleStatus{Name: role.Name, ARN: roleARN}
	in.Object.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "team_pool", ARN: groupARN}
	in.Seen.LaunchConfig.TemplateID = "lt-1"
}

// untemplated takes the launch template from the pool and its node group.
func untemplated(in *input) {
	in.Object.Spec.AWSLaunchTemplate, in.Seen.LaunchConfig = nil, pool.LaunchConfig{}
	group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateID, g.Version = "", 0 })
	in.Object.Status.WantedConfig = desiredNodegroup(*in).Key()
}

// wantVersion has the launch config ask for another version since long ago.
func wantVersion(in *input, version int64) {
	config := in.Seen.LaunchConfig.Object.DeepCopy()
	versionsOf(config, version)
	in.Seen.LaunchConfig.Object = config
	in.Object.Status.WantedConfig, in.Object.Status.WantedSince = desiredNodegroup(*in).Key(), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	in.Seen.Differences = map[int64]string{1: "instance type m5.large → m6i.large"}
}

// condition sets a condition in status.
func condition(in *input, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&in.Object.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1})
}

func TestDecideRest(t *testing.T) {
	t.Parallel()
	ready, roll := infrav1.NodegroupReadyCondition, infrav1.RolledOutCondition
	specify(t, []row{
		{reason: "nothing to do", then: "nothing", again: time.Hour, shows: []string{ready + "=True/Ready", roll + "=True/RolledOut", infrav1.DeprecatedFieldsCondition + "=absent"}},
		{reason: "no MachinePool owns the pool", given: func(in *input) { in.Seen.MachinePool = nil }, then: "nothing",
			shows: []string{infrav1.ClusterInfrastructureReadyCondition + "=False/WaitingForOwner"}},
		{reason: "the cluster is not EKS's", given: func(in *input) { in.Seen.Access.Facts = &cluster.Facts{} }, then: "nothing",
			shows: []string{infrav1.ClusterInfrastructureReadyCondition + "=False/InvalidSpec: has no EKS control plane"}},
		{reason: "AWS cannot be reached", given: func(in *input) { in.Seen.Access.Err = errLater }, then: "nothing", fails: "no answer"},
		{reason: "EKS does not answer", given: func(in *input) { in.Seen.GroupErr = errLater }, then: "nothing", fails: "no answer", shows: []string{ready + "=True/Ready"}},
		{reason: "other owners have all names", given: func(in *input) { in.Seen.GroupErr = &namesTakenError{names: []string{"team_pool"}} }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/NameTaken: Slipway does not change it or create another one"}},
		{reason: "another owner's tag is on the node group", given: func(in *input) {
			group(in, func(g *nodegroup.Nodegroup) { g.Tags[infrav1.TagManagedMachinePool] = "other/blue/pool" })
			in.Seen.GroupErr = &ownerTagMissingError{group: in.Seen.Group, wanted: "team/blue/pool"}
		}, then: "nothing", again: refusedAgain, shows: []string{ready + "=False/OwnerTagMissing: Slipway neither changes it nor creates another one, and its nodes keep running"}},
		{reason: "fields are deprecated, without a launch template", given: func(in *input) { in.Object.Spec.AMIVersion = ptr.To("1.34.0-20251101"); untemplated(in) },
			then: "nothing", again: time.Hour, shows: []string{infrav1.DeprecatedFieldsCondition + "=True/DeprecatedFieldsInUse: amiVersion", infrav1.LaunchTemplateReadyCondition + "=True/Ready: no launch template"}},
		{reason: "the bootstrap provider has named no Secret", given: func(in *input) {
			in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "EKSConfig", Name: "pool", APIGroup: "b"}
		}, then: "nothing", again: time.Hour, shows: []string{infrav1.BootstrapDataReadyCondition + "=False/WaitingForBootstrapData", roll + "=Unknown/WaitingForLaunchConfig"}},
		{reason: "a write to Kubernetes failed", given: func(in *input) { in.Object.Spec.ProviderIDList = nil; did(in, recordInstances{}, errLater) }, then: "nothing", again: time.Hour,
			fails: "record 0 instances: no answer"},
		{reason: "what a node is is not known", given: func(in *input) { in.Seen.Shape = Shape{} }, then: "needs what a node is"},
		{reason: "what a node is cannot be found out", given: func(in *input) { in.Seen.Shape = Shape{Err: errLater} }, then: "nothing", again: time.Hour, fails: "no answer"},
	})
}

// pause has the user pause roll-outs; the launch config has the annotation already.
func pause(in *input) {
	metav1.SetMetaDataAnnotation(&in.Object.ObjectMeta, infrav1.RolloutPausedAnnotation, "true")
	config := in.Seen.LaunchConfig.Object.DeepCopy()
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.RolloutPausedAnnotation, "true")
	in.Seen.LaunchConfig.Object = config
}

func TestDecideUpdate(t *testing.T) {
	t.Parallel()
	ready, roll := infrav1.NodegroupReadyCondition, infrav1.RolledOutCondition
	running := func(kind string) *infrav1.NodegroupUpdateStatus {
		return &infrav1.NodegroupUpdateStatus{ID: "u-1", Type: kind, Status: nodegroup.UpdateInProgress, Cause: "instance type m5.large → m6i.large", StartedFor: "x"}
	}
	updating := func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusUpdating }) }
	const update = "update node group team_pool: instance type m5.large → m6i.large, because instance type m5.large → m6i.large"
	versionUpdate := func(in *input) updateNodegroup {
		step := nextStep(*in)
		return updateNodegroup{Group: "team_pool", Version: step.Version, Cause: causeOf(step.Version.Reasons)}
	}
	labeled := func(in *input) {
		in.Object.Spec.Labels = map[string]string{"team": "a"}
		in.Object.Status.WantedConfig, in.Object.Status.WantedSince = desiredNodegroup(*in).Key(), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	}
	failedConfig := func(in *input) {
		fresh(in)
		in.Object.Status.Update = running(nodegroup.ConfigUpdate)
		in.Object.Status.Update.StartedFor = nextStep(*in).Config.For
		in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateFailed, Reason: "ClusterUnreachable"}}
	}
	specify(t, []row{
		{reason: "another version is wanted, and its differences are not read", given: func(in *input) { wantVersion(in, 2); in.Seen.Differences = nil }, then: "needs differences of launch template versions"},
		{reason: "another version is wanted", given: func(in *input) { wantVersion(in, 2) }, then: "needs the node groups as they are now"},
		{reason: "another version is wanted, and EKS was asked", given: func(in *input) { wantVersion(in, 2); fresh(in) }, then: update},
		{reason: "and the launch config is read past the cache", given: func(in *input) { wantVersion(in, 2); fresh(in); in.Seen.LaunchConfig.Checked = false },
			then: "needs whether the cache shows the present launch config"},
		{reason: "the cache shows an earlier launch config", given: func(in *input) { wantVersion(in, 2); fresh(in); in.Seen.LaunchConfig.Behind = true }, then: "nothing", again: lookAgain},
		{reason: "EKS cannot be asked", given: func(in *input) { wantVersion(in, 2); in.Seen.FreshErr = errRefused }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/EKSNodegroupReconciliationFailed", roll + "=False/WaitingForUpdate: instance type"}},
		{reason: "the spec changed just now", given: func(in *input) { wantVersion(in, 2); in.Object.Status.WantedConfig = "another" }, then: "nothing", again: 10 * time.Second,
			shows: []string{roll + "=False/Settling: instance type m5.large → m6i.large"}},
		{reason: "roll-outs are paused", given: func(in *input) { wantVersion(in, 2); fresh(in); pause(in) }, then: "nothing", again: time.Hour,
			shows: []string{roll + "=False/RolloutPaused: rollout-paused pauses roll-outs"}},
		{reason: "roll-outs are paused, and another size is wanted", given: func(in *input) {
			wantVersion(in, 2)
			fresh(in)
			pause(in)
			in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3)
		}, then: "update node group team_pool: min size 2 → 3; max size 2 → 3; desired size 2 → 3, because min size 2 → 3; max size 2 → 3; desired size 2 → 3"},
		{reason: "EKS started it", given: func(in *input) {
			wantVersion(in, 2)
			fresh(in)
			did(in, versionUpdate(in), nil)
			in.Seen.Started = &nodegroup.Update{ID: "u-1"}
		}, then: "observe the node group often, because its instances are expected to change"},
		{reason: "EKS started it, and the group is observed often", given: func(in *input) {
			wantVersion(in, 2)
			fresh(in)
			did(in, versionUpdate(in), nil)
			in.Seen.Started, in.Seen.InMotion = &nodegroup.Update{ID: "u-1"}, true
		}, then: "nothing", again: lookAgain, shows: []string{ready + "=True/NodegroupUpdating: instance type", roll + "=False/RollingOut: instance type m5.large → m6i.large"}},
		{reason: "EKS refused it", given: func(in *input) { wantVersion(in, 2); fresh(in); did(in, versionUpdate(in), errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/EKSNodegroupReconciliationFailed"}},
		{reason: "it failed a short while ago", given: func(in *input) {
			wantVersion(in, 2)
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: nodegroup.VersionUpdate, StartedFor: nextStep(*in).Version.For, Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon)), Refusal: "pods stay"}}
			in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{Type: nodegroup.ConfigUpdate, Status: nodegroup.UpdateSuccessful, EndTime: ptr.To(metav1.NewTime(noon))}
		}, then: "nothing", again: 5 * time.Minute, shows: []string{roll + "=False/NodegroupUpdateFailed: EKS gave up: pods stay. Slipway retries the update after 5m, or"}},
		{reason: "it failed a short while ago, and the user retries it", given: func(in *input) {
			wantVersion(in, 2)
			fresh(in)
			purpose := nextStep(*in).Version.For
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: nodegroup.VersionUpdate, StartedFor: purpose, Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon))}}
			in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{Type: nodegroup.VersionUpdate, Status: nodegroup.UpdateFailed, StartedFor: purpose, Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon))}
			metav1.SetMetaDataAnnotation(&in.Object.ObjectMeta, infrav1.RetryRolloutAnnotation, "now")
		}, then: update},
		{reason: "the cache may show an earlier size", given: func(in *input) {
			in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3)
			fresh(in)
			in.Seen.Sizes.Checked = false
		}, then: "needs whether the cache shows the present size"},
		{reason: "the cache shows an earlier size", given: func(in *input) {
			in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3)
			fresh(in)
			in.Seen.Sizes.Behind = true
		}, then: "nothing", again: pool.CacheBehind},
		{reason: "another size is wanted", given: func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3); fresh(in) },
			then: "update node group team_pool: min size 2 → 3; max size 2 → 3; desired size 2 → 3, because min size 2 → 3; max size 2 → 3; desired size 2 → 3"},
		{reason: "EKS started to change the size", given: func(in *input) {
			in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3)
			fresh(in)
			did(in, updateNodegroup{Group: "team_pool", Config: nextStep(*in).Config, Cause: "more"}, nil)
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: "SizesUpdate", StartedFor: nextStep(*in).Config.For, Attempts: 2}}
			in.Seen.Started, in.Seen.InMotion = &nodegroup.Update{ID: "u-1"}, true
		}, then: "nothing", again: lookAgain, shows: []string{ready + "=True/NodegroupUpdating: more", roll + "=True/RolledOut"}},
		{reason: "the size is out of bounds", given: func(in *input) {
			in.Object.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](3), MaxSize: ptr.To[int32](4)}
		}, then: "nothing", again: time.Hour, shows: []string{ready + "=False/ReplicasOutOfBounds"}},
		{reason: "the node group has another launch template", given: func(in *input) {
			group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateID = "lt-0" })
			in.Seen.LaunchConfig.TemplateID = "lt-1"
		}, then: "nothing", again: time.Hour, shows: []string{ready + "=False/TemplateLost: set spec.templateLossPolicy to Replace", roll + "=False/TemplateLost"}},
		{reason: "EKS updates the node group", given: func(in *input) {
			updating(in)
			in.Seen.InMotion = true
			in.Object.Status.Update = running(nodegroup.ConfigUpdate)
		}, then: "nothing", again: time.Hour,
			shows: []string{ready + "=True/NodegroupUpdating: EKS is changing the node group: instance type"}},
		{reason: "EKS updates the node group, for which status has no update", given: func(in *input) { updating(in); fresh(in) }, then: "needs the update that is under way"},
		{reason: "the update cannot be found", given: func(in *input) {
			updating(in)
			fresh(in)
			in.Seen.InMotion = true
			in.Seen.Running = Update{Err: errLater}
		}, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "another user updates the node group", given: func(in *input) {
			updating(in)
			fresh(in)
			in.Seen.InMotion = true
			in.Seen.Running = Update{Read: true, Update: &nodegroup.Update{ID: "u-9", Type: nodegroup.VersionUpdate, Status: nodegroup.UpdateInProgress}}
		}, then: "nothing", again: time.Hour, shows: []string{ready + "=True/NodegroupUpdating: EKS is changing the node group", roll + "=False/RollingOut: no cause of the update " +
			"is recorded"}},
		{reason: "another version is wanted while another user changes labels", given: func(in *input) {
			wantVersion(in, 2)
			updating(in)
			in.Seen.InMotion = true
			in.Seen.Members = nil
			in.Object.Status.Update = running(nodegroup.ConfigUpdate)
		}, then: "nothing", again: time.Hour, shows: []string{roll + "=False/WaitingForUpdate: an earlier one is in progress"}},
		{reason: "the update is over", given: func(in *input) { in.Object.Status.Update = running(nodegroup.VersionUpdate) }, then: "needs the update of the node group"},
		{reason: "the update is about to end", given: func(in *input) {
			in.Object.Status.Update = running(nodegroup.VersionUpdate)
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateInProgress}}
		}, then: "nothing", again: lookAgain},
		{reason: "how the update ended cannot be found out", given: func(in *input) {
			in.Object.Status.Update, in.Seen.Update = running(nodegroup.VersionUpdate), Update{Err: errLater}
		}, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "EKS does not know the update any longer", given: func(in *input) {
			in.Object.Status.Update, in.Seen.Update = running(nodegroup.VersionUpdate), Update{Read: true}
		}, then: "nothing", again: time.Hour},
		{reason: "EKS does not know the update yet", given: func(in *input) {
			in.Object.Status.Update, in.Seen.Update = running(nodegroup.VersionUpdate), Update{Read: true}
			in.Object.Status.Update.StartTime = ptr.To(metav1.NewTime(noon.Add(-59 * time.Second)))
		}, then: "nothing", again: lookAgain},
		{reason: "the update ended after EKS was asked about the node group", given: func(in *input) {
			in.Object.Status.Update = running(nodegroup.VersionUpdate)
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateSuccessful}}
		}, then: "needs the node groups as they are now"},
		{reason: "the update succeeded", given: func(in *input) {
			fresh(in)
			in.Object.Status.Update = running(nodegroup.VersionUpdate)
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateSuccessful}}
		}, then: "nothing", again: time.Hour, tells: "NodegroupUpdated"},
		{reason: "the update failed", given: func(in *input) {
			fresh(in)
			in.Object.Status.Update = running(nodegroup.ConfigUpdate)
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateFailed, Reason: "pods stay"}}
		}, then: "nothing", again: time.Hour, tells: "NodegroupUpdateFailed"},
		{reason: "a change of the labels failed", given: func(in *input) { labeled(in); failedConfig(in) }, then: "nothing", again: 5 * time.Minute, tells: "NodegroupUpdateFailed",
			shows: []string{ready + "=False/EKSNodegroupReconciliationFailed: EKS did not change the settings of node group team_pool: ClusterUnreachable. Slipway goes on", roll + "=True/RolledOut"}},
		{reason: "a change of the labels failed a while ago, and the size was changed since", given: func(in *input) {
			labeled(in)
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{
				{Type: "SettingsUpdate", StartedFor: nextStep(*in).Config.For, Attempts: 2, EndTime: ptr.To(metav1.NewTime(noon.Add(-time.Minute))), Refusal: "ClusterUnreachable"},
			}
		}, then: "nothing", again: 9 * time.Minute, shows: []string{ready + "=False/EKSNodegroupReconciliationFailed: ClusterUnreachable"}},
		{reason: "a change of the labels failed long ago", given: func(in *input) {
			labeled(in)
			fresh(in)
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: "SettingsUpdate", StartedFor: nextStep(*in).Config.For, Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon.Add(-time.Hour)))}}
		}, then: "update node group team_pool: label team=a added, because label team=a added"},
		{reason: "a change of the labels and the size failed", given: func(in *input) { labeled(in); in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3); failedConfig(in) },
			then: "update node group team_pool: min size 2 → 3; max size 2 → 3; desired size 2 → 3, because min size 2 → 3; max size 2 → 3; desired size 2 → 3"},
		{reason: "another user's change of the labels failed", given: func(in *input) {
			labeled(in)
			failedConfig(in)
			in.Object.Status.Update.StartedFor = ""
		}, then: "update node group team_pool: label team=a added, because label team=a added"},
		{reason: "an update failed a short while ago, and another user's since", given: func(in *input) {
			wantVersion(in, 2)
			fresh(in)
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: nodegroup.VersionUpdate, StartedFor: nextStep(*in).Version.For, Attempts: 2, EndTime: ptr.To(metav1.NewTime(noon))}}
			in.Object.Status.Update = running(nodegroup.VersionUpdate)
			in.Object.Status.Update.StartedFor = ""
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateFailed, Reason: "pods stay"}}
		}, then: "nothing", again: 10 * time.Minute, tells: "NodegroupUpdateFailed"},
		{reason: "the node group that was created is active", given: func(in *input) {
			in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{Type: creation, Status: nodegroup.UpdateInProgress}
		}, then: "nothing", again: time.Hour, tells: "NodegroupActive"},
	})
}

// TestDecideRollback covers steps back to an earlier Kubernetes version.
func TestDecideRollback(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodegroupReadyCondition
	back := func(in *input) {
		in.Seen.MachinePool.Spec.Template.Spec.Version = "v1.33.4"
		fresh(in)
		in.Object.Status.WantedConfig, in.Object.Status.WantedSince = desiredNodegroup(*in).Key(), ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	}
	refused := func(in *input) {
		back(in)
		step := nextStep(*in)
		did(in, updateNodegroup{Group: "team_pool", Version: step.Version, Cause: causeOf(step.Version.Reasons)}, errRefused)
	}
	specify(t, []row{
		{reason: "an earlier version is wanted", given: back, then: "update node group team_pool: Kubernetes 1.34 → 1.33, because Kubernetes 1.34 → 1.33"},
		{reason: "EKS refuses to go back", given: refused, then: "nothing", again: 5 * time.Minute, shows: []string{ready + "=False/ImmutableField: EKS does not take it"}},
		{reason: "EKS refuses to go back, and another version of the template is wanted", given: func(in *input) { wantVersion(in, 2); refused(in) },
			then: "update node group team_pool: instance type m5.large → m6i.large, because instance type m5.large → m6i.large"},
	})
	for reason, version := range map[string]string{"an earlier version is wanted": "v1.33.4", "it no longer is": "v1.34.1"} {
		in := atRest(t)
		in.Seen.MachinePool.Spec.Template.Spec.Version = version
		in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{Type: nodegroup.Rollback, StartedFor: "Kubernetes 1.34 → 1.33", Attempts: 1, EndTime: ptr.To(metav1.NewTime(noon))}}
		object, _ := reconciletest.Decide(t, Decide, *in)
		if kept := len(object.Status.FailedUpdates) == 1; kept != (version == "v1.33.4") {
			t.Errorf("%s: the refusal is kept: %t", reason, kept)
		}
	}
}

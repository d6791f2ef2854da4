package machinepool

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconciling"
)

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
		in.Seen.Sizes.Checked = true
	}
	exists := &smithy.GenericAPIError{Code: "AlreadyExists"}
	asksForMore := func(in *input) { in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](3) }
	larger := func(in *input) { asksForMore(in); in.Seen.Sizes.Checked = true }
	update := updateGroup{Desired: autoscalinggroup.Desired{Capacity: ptr.To[int32](3)}}
	specify(t, []row{
		{reason: "the pool had a group", given: func(in *input) { gone(in); in.Seen.Fresh = false }, then: "needs the Auto Scaling group as it is now"},
		{reason: "the cache may show the size that was asked for earlier", given: func(in *input) { gone(in); in.Seen.Sizes.Checked = false }, then: "needs whether the cache shows the present size"},
		{reason: "the cache shows the size that was asked for earlier", given: func(in *input) { gone(in); in.Seen.Sizes.Behind = true }, then: "nothing", again: pool.CacheBehind},
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
		{reason: "the cache may show an earlier size", given: asksForMore, then: "needs whether the cache shows the present size"},
		{reason: "the cache shows an earlier size", given: func(in *input) { larger(in); in.Seen.Sizes.Behind = true }, then: "nothing", again: pool.CacheBehind},
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

// TestApprovalOfALostTemplate holds that a pool gives up a void approval of its own launch config.
func TestApprovalOfALostTemplate(t *testing.T) {
	t.Parallel()
	for approved, want := range map[string]map[string]string{"1": nil, "2": {infrav1.ApprovedVersionAnnotation: "", infrav1.ApprovedByAnnotation: ""}} {
		in := atRest(t)
		in.Object.Annotations[infrav1.ApprovedVersionAnnotation], in.Object.Annotations[infrav1.ApprovedByAnnotation] = approved, "alice"
		in.Seen.LaunchConfig.Object, in.Seen.LaunchConfig.Checked = in.Seen.LaunchConfig.Object.DeepCopy(), true
		in.Seen.LaunchConfig.Object.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 1}}
		if got := Decide(*in).Annotations; !maps.Equal(got, want) {
			t.Errorf("with an approval of version %s, the annotations to write are %v, want %v", approved, got, want)
		}
	}
}

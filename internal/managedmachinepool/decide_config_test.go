package managedmachinepool

import (
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/pool"
)

// The API server's answers.
var (
	errInvalid = apierrors.NewInvalid(schema.GroupKind{Kind: "AWSLaunchConfig"}, "pool", nil)
	errExists  = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "awslaunchconfigs"}, "pool")
)

// adopting has the node group be one that CAPA created, and that is not taken over yet.
func adopting(in *input) {
	group(in, func(g *nodegroup.Nodegroup) { delete(g.Tags, infrav1.TagManagedMachinePool) })
	in.Seen.Adopting = true
	config := in.Seen.LaunchConfig.Object
	config.Annotations = configRequest(*in).Annotations(config, configSource(*in))
}

func TestDecideAdopt(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodegroupReadyCondition
	otherTemplate := func(in *input) {
		group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateID = "lt-0" })
		in.Seen.LaunchConfig.TemplateID = "lt-1"
		adopting(in)
	}
	updating := func(in *input) {
		in.Seen.InMotion = true
		adopting(in)
		group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusUpdating })
	}
	const adopt = "take over node group team_pool, because Cluster API Provider AWS created node group team_pool, and it is proven to be this pool's"
	specify(t, []row{
		{reason: "its template was taken over", given: func(in *input) { adopting(in); fresh(in) }, then: adopt, shows: []string{infrav1.AdoptedCondition + "=False/" + infrav1.AdoptingReason}},
		{reason: "EKS was not asked in this pass", given: adopting, then: "needs the node groups as they are now"},
		{reason: "EKS cannot be asked", given: func(in *input) { adopting(in); in.Seen.FreshErr = errLater }, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "it cannot be tagged", given: func(in *input) { adopting(in); fresh(in); did(in, adoptNodegroup{}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.NodegroupReconcileFailedReason}},
		{reason: "its template is not taken over yet", given: otherTemplate, then: "nothing", again: time.Hour, shows: []string{ready + "=False/" + infrav1.WaitingForLaunchTemplateReason}},
		{reason: "EKS updates it for another user", given: updating, then: "nothing", again: time.Hour, tells: infrav1.AdoptionDeferredEvent,
			shows: []string{ready + "=False/" + infrav1.AdoptionDeferredReason + ": aws eks list-updates --name blue", infrav1.AdoptedCondition + "=False/" + infrav1.AdoptingReason}},
		{reason: "which was reported", given: func(in *input) {
			updating(in)
			condition(in, ready, metav1.ConditionFalse, infrav1.AdoptionDeferredReason, "")
		}, then: "nothing", again: time.Hour},
		{reason: "EKS updates it, and its template is not taken over yet", given: func(in *input) { otherTemplate(in); updating(in) }, then: "nothing", again: time.Hour, tells: infrav1.AdoptionDeferredEvent,
			shows: []string{ready + "=False/" + infrav1.AdoptionDeferredReason}},
		{reason: "EKS updates it as Slipway asked before it released the node group", given: func(in *input) {
			updating(in)
			in.Seen.Fresh = true
			in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{ID: "u-1", Type: nodegroup.VersionUpdate, Status: nodegroup.UpdateInProgress, StartedFor: "config-1"}
			in.Seen.Update = Update{Read: true, Update: &nodegroup.Update{Status: nodegroup.UpdateInProgress}}
		}, then: adopt},
		{reason: "its template is among the accepted ones", given: func(in *input) {
			otherTemplate(in)
			fresh(in)
			in.Seen.LaunchConfig.Object.Status.AcceptedVersions = []infrav1.AcceptedVersions{{LaunchTemplateID: "lt-0"}}
		}, then: adopt},
		{reason: "it was taken over", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Status.Conditions = append(in.Seen.LaunchConfig.Object.Status.Conditions, metav1.Condition{Type: infrav1.AdoptedCondition, Status: metav1.ConditionTrue, Reason: "Adopted"})
		}, then: "nothing", again: time.Hour, shows: []string{infrav1.AdoptedCondition + "=True/Adopted"}},
	})
}

func TestDecideConfig(t *testing.T) {
	t.Parallel()
	template := infrav1.LaunchTemplateReadyCondition
	none := func(in *input) { in.Seen.LaunchConfig.Object = nil }
	foreign := func(in *input) { in.Seen.LaunchConfig.Object.OwnerReferences = nil }
	edited := func(in *input) { in.Object.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" }
	referring := func(in *input) {
		in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "shared"}
		in.Seen.LaunchConfig.Object.Name = "shared"
	}
	templated := func(in *input) {
		in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigTemplateRef = nil, &infrav1.LaunchConfigTemplateReference{Name: "shared"}
		in.Seen.LaunchConfig.Source = pool.ReferredTemplate{Key: client.ObjectKey{Namespace: "team", Name: "shared"}, Problem: "it does not exist", Reason: infrav1.LaunchConfigTemplateNotFoundReason}
	}
	enclaves := func(in *input) {
		in.Object.Spec.AWSLaunchTemplate.EnclaveOptions = &infrav1.EnclaveOptions{Enabled: ptr.To(true)}
		in.Seen.Access.Facts.Subnets = []cluster.Subnet{{ID: "subnet-1", AvailabilityZone: "us-east-1-bos-1a", Edge: true}}
	}
	other := func(in *input) { in.Seen.LaunchConfig.Object.Status.LaunchTemplateID = "lt-2" }
	specify(t, []row{
		{reason: "there is none", given: none, then: "create AWSLaunchConfig pool, because the pool has no launch config"},
		{reason: "it was created just now", given: func(in *input) { none(in); did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, errExists) }, then: "nothing", again: time.Hour},
		{reason: "the API server does not take it", given: func(in *input) { none(in); did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, errInvalid) }, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.InvalidSpecReason}},
		{reason: "the API server does not respond", given: func(in *input) { none(in); did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, errLater) }, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "it would ask for what the pool's zone does not have", given: func(in *input) { none(in); enclaves(in) }, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.NitroEnclaveEdgeZoneUnsupportedReason}},
		{reason: "it exists, and the spec asks for what the pool's zone does not have", given: enclaves, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.NitroEnclaveEdgeZoneUnsupportedReason}},
		{reason: "its template does not exist", given: func(in *input) { none(in); templated(in) }, then: "nothing", again: time.Hour, shows: []string{template + "=False/" + infrav1.LaunchConfigTemplateNotFoundReason}},
		{reason: "this process created it, and the cache does not show it", given: func(in *input) { in.Seen.LaunchConfig.Recent = true }, then: "nothing", again: pool.CacheBehind},
		{reason: "another object's has its name", given: foreign, then: "nothing", again: time.Hour, shows: []string{template + "=False/" + infrav1.LaunchConfigNotOwnedReason}},
		{reason: "another object's has its name, and is being deleted", given: func(in *input) { foreign(in); in.Seen.LaunchConfig.Object.DeletionTimestamp = &metav1.Time{Time: noon} },
			then: "nothing", again: pool.ConfigEnding, shows: []string{template + "=Unknown/" + infrav1.WaitingForLaunchConfigReason}},
		{reason: "the spec was edited", given: edited, then: "update AWSLaunchConfig pool, because the spec of " +
			"the pool requests instanceType m5.large → m6i.large"},
		{reason: "the API server does not take the edit", given: func(in *input) { edited(in); did(in, updateLaunchConfig{Name: "pool"}, errInvalid) }, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.InvalidSpecReason}},
		{reason: "the one that is named does not exist", given: func(in *input) { referring(in); none(in) }, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.WaitingForLaunchConfigReason + ": which spec.launchConfigRef names, does not exist"}},
		{reason: "the one that is named is used", given: referring, then: "nothing", again: time.Hour, shows: []string{template + "=True/" + infrav1.ReadyReason}},
		{reason: "the one that is named is not for the pool", given: func(in *input) { referring(in); in.Seen.LaunchConfig.Object.Spec.IamInstanceProfile = "nodes" }, then: "nothing", again: time.Hour,
			shows: []string{template + "=False/" + infrav1.InvalidSpecReason + ": this pool cannot use AWSLaunchConfig \"shared\""}},
		{reason: "status names another template", given: other, then: "needs whose the launch template is"},
		{reason: "whose the template is cannot be found out", given: func(in *input) { other(in); in.Seen.LaunchConfig.TemplateErr = errLater }, then: "nothing", again: time.Hour, fails: "no answer"},
		{reason: "the template is another cluster's", given: func(in *input) {
			other(in)
			in.Seen.LaunchConfig.TemplateID, in.Seen.LaunchConfig.Template = "lt-2", &launchtemplate.Template{ID: "lt-2"}
		}, then: "nothing", again: pool.CacheBehind, shows: []string{template + "=False/" + infrav1.OwnerTagMissingReason}},
	})
}

// TestUnfit holds which launch configs a node group cannot be created from.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		want   string
		change func(in *input, spec *infrav1.AWSLaunchConfigSpec)
	}{
		{"", func(*input, *infrav1.AWSLaunchConfigSpec) {}},
		{"specifies an image", func(in *input, spec *infrav1.AWSLaunchConfigSpec) {
			in.Object.Spec.LaunchConfigTemplateRef, in.Object.Spec.AWSLaunchTemplate, spec.AMI.ID = &infrav1.LaunchConfigTemplateReference{}, nil, ptr.To("ami-1")
		}},
		{"it belongs to Cluster", func(_ *input, spec *infrav1.AWSLaunchConfigSpec) { spec.ClusterName = "other" }},
		{"spec.nodegroup is not set", func(_ *input, spec *infrav1.AWSLaunchConfigSpec) { spec.Nodegroup = nil }},
		{"Spot Instances", func(_ *input, spec *infrav1.AWSLaunchConfigSpec) { spec.MarketType = infrav1.MarketTypeSpot }},
		{"must be set together", func(_ *input, spec *infrav1.AWSLaunchConfigSpec) { spec.MarketType = infrav1.MarketTypeCapacityBlock }},
	} {
		in := atRest(t)
		spec := in.Seen.LaunchConfig.Object.Spec.DeepCopy()
		row.change(in, spec)
		if got := unfit(*in, spec); !strings.Contains(got, row.want) || (got == "") != (row.want == "") {
			t.Errorf("unfit because %q, want %q", got, row.want)
		}
	}
}

// TestComplete holds what is added to the launch config of a managed pool.
func TestComplete(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	adopting(in)
	group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateName = "capas" })
	in.Object.Spec.AMIType = ptr.To(infrav1.AMITypeCustom)
	in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigTemplateRef = nil, &infrav1.LaunchConfigTemplateReference{Name: "shared"}
	in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("data")
	var wanted infrav1.AWSLaunchConfigSpec
	complete(*in, &wanted, nil)
	if wanted.LaunchTemplateName != "capas" || wanted.Nodegroup.AMIType != infrav1.AMITypeCustom || wanted.KubernetesVersion != "v1.34.1" || wanted.Bootstrap.DataSecretName != "data" {
		t.Errorf("the launch config is %+v", wanted)
	}
}

// TestDesiredSettings holds how fields of the spec become a node group's.
func TestDesiredSettings(t *testing.T) {
	t.Parallel()
	settings := settingsOf(&infrav1.AWSManagedMachinePoolSpec{
		Labels: map[string]string{"a": "b"}, Taints: []infrav1.Taint{{Key: "k", Value: "v", Effect: infrav1.TaintEffectNoExecute}},
		UpdateConfig: &infrav1.UpdateConfig{UpdateStrategy: "minimal"},
		NodeRepairConfig: &infrav1.NodeRepairConfig{Enabled: ptr.To(true), NodeRepairConfigOverrides: []infrav1.NodeRepairConfigOverride{{
			NodeMonitoringCondition: "DiskPressure", NodeUnhealthyReason: "Full", MinRepairWaitTimeMins: 5, RepairAction: "Replace",
		}}},
		WarmPool: &infrav1.WarmPool{MinSize: 1, State: "running"},
	})
	if settings.Update.MaxUnavailable != 1 || settings.Update.Strategy != "MINIMAL" || settings.Taints[0].Effect != "NO_EXECUTE" || !settings.Repair.Enabled ||
		settings.Repair.Overrides[0].WaitMinutes != 5 || settings.WarmPool.State != "RUNNING" || settings.Labels["a"] != "b" {
		t.Errorf("the settings are %+v", settings)
	}
	if got := subnetIDs([]discovery.Subnet{{ID: "subnet-2"}, {ID: "subnet-1"}}); strings.Join(got, " ") != "subnet-1 subnet-2" {
		t.Errorf("the subnets are %q", got)
	}
	in := atRest(t)
	in.Object.Spec.UpdateConfig = &infrav1.UpdateConfig{Force: true}
	in.Object.Spec.AvailabilityZones = []string{"us-east-1a"}
	if !desiredNodegroup(*in).Force {
		t.Error("pods that cannot be evicted hold up the update")
	}
	if query := subnetQuery(*in); query.AvailabilityZones[0] != "us-east-1a" || query.Type != infrav1.AZSubnetTypePrivate {
		t.Errorf("the query is %+v", query)
	}
}

// TestOwnImage holds whose the image of nodes is.
func TestOwnImage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change edit
		want   bool
	}{
		{"an inline template without an image", nil, false},
		{"an existing template with an image", func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Existing = &infrav1.ExistingLaunchTemplate{}
			in.Seen.LaunchConfig.Object.Status.Resolved = &infrav1.ResolvedLaunchConfig{ImageID: "ami-1"}
		}, true},
		{"a launch config for images of its own", func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: infrav1.AMITypeCustom}
		}, true},
		{"a launch config that is not ready", func(in *input) {
			in.Seen.LaunchConfig.Object = nil
			group(in, func(g *nodegroup.Nodegroup) { g.AMIType = "CUSTOM" })
		}, true},
	} {
		in := atRest(t)
		if row.change != nil {
			in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "pool"}
			row.change(in)
		}
		if got := ownImage(*in); got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
}

// TestNodeShape holds what a node is without a node of it.
func TestNodeShape(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	untemplated(in)
	in.Object.Spec.AMIType = ptr.To(infrav1.ManagedMachineAMIType("WINDOWS_CORE_2022_x86_64"))
	if got := nodeShape(*in); got.InstanceType != defaultInstanceType || got.OperatingSystem != "windows" || got.EphemeralStorageGiB != defaultWindowsDiskGiB {
		t.Errorf("the shape of a Windows node is %+v", got)
	}
	in.Object.Spec.InstanceTypes, in.Object.Spec.DiskSize = []string{"m5.large", "m6i.large"}, ptr.To[int32](100)
	if got := nodeShape(*in); got.InstanceType != "m5.large" || got.EphemeralStorageGiB != 100 {
		t.Errorf("the shape is %+v", got)
	}
}

// TestRoleNames holds which roles may be a pool's.
func TestRoleNames(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	in.Seen.Group, in.Seen.Retiring = nil, &nodegroup.Nodegroup{RoleARN: "arn:aws:iam::1:role/old"}
	if got := roleName(*in); got != "old" {
		t.Errorf("while a node group is replaced the role is %q", got)
	}
	in.Seen.Retiring = nil
	if got := roleName(*in); got != "nodes" {
		t.Errorf("the role that was created is %q", got)
	}
	in.Object.Spec.RoleName = "given"
	if got := roleName(*in); got != "given" {
		t.Errorf("the role that is given is %q", got)
	}
	in.Object.Spec.RoleName, in.Object.Status.NodeRole = "", nil
	if got := roleName(*in); got != infrav1.DefaultNodeRoleName("blue", "team_pool") {
		t.Errorf("the role is %q by default", got)
	}
	in.Seen.EKSCluster = ""
	if got := roleNames(*in); len(got) != 1 {
		t.Errorf("without a cluster the roles are %q", got)
	}
	for arn, want := range map[string]string{groupARN: "blue", "": "", "arn:aws:eks:us-east-1:1:cluster/blue": ""} {
		if got := clusterOf(arn); got != want {
			t.Errorf("the cluster of %q is %q", arn, got)
		}
	}
}

func TestDecideRole(t *testing.T) {
	t.Parallel()
	ready := infrav1.NodeRoleReadyCondition
	due := func(in *input) { in.Seen.RoleDue = noon }
	missing := func(in *input) { due(in); in.Seen.Role = Role{Read: true, Name: "nodes"} }
	seen := func(change func(*noderole.Role)) edit {
		return func(in *input) {
			due(in)
			withRole(in)
			change(in.Seen.Role.Role)
		}
	}
	const policy = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
	unattached := seen(func(role *noderole.Role) { role.Policies = role.Policies[:2] })
	specify(t, []row{
		{reason: "it has its turn", given: due, then: "needs the node role"},
		{reason: "it cannot be read", given: func(in *input) { due(in); in.Seen.Role.Err = errRefused }, then: "nothing", again: refusedAgain, shows: []string{ready + "=False/" + infrav1.NodeRoleReconcileFailedReason}},
		{reason: "there is none", given: missing, then: "create IAM role nodes, because no role with this name exists"},
		{reason: "it was created just now", given: func(in *input) { missing(in); did(in, createRole{}, errEntityExists) }, then: "nothing", again: lookAgain},
		{reason: "IAM refuses it", given: func(in *input) { missing(in); did(in, createRole{}, errRefused) }, then: "nothing", again: refusedAgain},
		{reason: "it is as desired", given: seen(func(*noderole.Role) {}), then: "nothing", again: time.Hour},
		{reason: "it lacks a policy", given: unattached, then: "change IAM role nodes, because policy " + policy + " is attached"},
		{reason: "the policy cannot be attached", given: func(in *input) { unattached(in); did(in, changeRole{}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{ready + "=False/" + infrav1.NodeRoleReconcileFailedReason}},
		{reason: "something else is asked for", given: func(in *input) { in.Object.Spec.RoleAdditionalPolicies = []string{"arn:aws:iam::aws:policy/Another"} }, then: "needs the node role"},
		{reason: "it has lost the pool's tag", given: seen(func(role *noderole.Role) { role.Tags = nil }), then: "nothing", again: refusedAgain, shows: []string{ready + "=False/" + infrav1.OwnerTagMissingReason}},
		{reason: "it is another pool's", given: func(in *input) {
			seen(func(role *noderole.Role) { role.Tags[infrav1.TagManagedMachinePool] = "team/blue/other" })(in)
			in.Object.Status.NodeRole.Managed = false
		}, then: "nothing", again: time.Hour},
		{reason: "another boundary than the manager's is asked for", given: func(in *input) {
			in.Seen.Settings.NodeRoleBoundary, in.Object.Spec.RolePermissionsBoundary = "arn:bound", "arn:other"
		}, then: "nothing", again: time.Hour, shows: []string{ready + "=False/" + infrav1.InvalidSpecReason}},
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

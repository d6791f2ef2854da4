package webhooks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// fleet has an EKS cluster with pools that run what their specs ask for.
type fleet struct {
	cluster      *clusterv1.Cluster
	controlPlane *eksv1.AWSManagedControlPlane
	// managed has its own launch config, ownConfig, and group refers to shared.
	managed             *infrav1.AWSManagedMachinePool
	group               *infrav1.AWSMachinePool
	machinePools        map[string]*clusterv1.MachinePool
	ownConfig, shared   *infrav1.AWSLaunchConfig
	others              []client.Object
	before, after       client.Object
	templated           *infrav1.AWSMachinePool
	templatedConfig     *infrav1.AWSLaunchConfig
	template, template2 *infrav1.AWSLaunchConfigTemplate
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "blue", Name: name, Generation: 1, Annotations: map[string]string{}}
}

// launched returns a launch config whose status says that version 2 of its template is launched.
func launched(name string, spec infrav1.AWSLaunchConfigSpec) *infrav1.AWSLaunchConfig {
	config := &infrav1.AWSLaunchConfig{ObjectMeta: named(name), Spec: spec}
	config.Status = infrav1.AWSLaunchConfigStatus{
		ObservedGeneration: 1, LaunchTemplateID: "lt-" + name, Version: 2, ConfigFingerprint: "two",
		Versions: []infrav1.LaunchTemplateVersionStatus{
			{Number: 3, ConfigFingerprint: "three", Reason: "instance type m5.large → c5.large"}, {Number: 2, ConfigFingerprint: "two"},
			{Number: 1, ConfigFingerprint: "one"},
		},
	}
	meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: 1})
	return config
}

// newFleet returns a fleet in which every pool has twelve nodes.
func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{cluster: &clusterv1.Cluster{ObjectMeta: named("prod")}, controlPlane: &eksv1.AWSManagedControlPlane{ObjectMeta: named("prod")}, machinePools: map[string]*clusterv1.MachinePool{}}
	f.controlPlane.Spec.EKSClusterName, f.controlPlane.Spec.NetworkSpec.VPC.ID, f.controlPlane.Spec.Version = "prod", "vpc-1", ptr.To("v1.35")
	f.controlPlane.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-1"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-2"},
	}
	f.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: "AWSManagedControlPlane", Name: "prod"}
	f.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	for name, kind := range map[string]string{"managed": "AWSManagedMachinePool", "group": "AWSMachinePool", "templated": "AWSMachinePool"} {
		machinePool := &clusterv1.MachinePool{ObjectMeta: named(name)}
		machinePool.Spec.ClusterName, machinePool.Spec.Template.Spec.Version = "prod", "v1.34.2"
		machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
		f.machinePools[name] = machinePool
	}
	f.managed = &infrav1.AWSManagedMachinePool{ObjectMeta: named("managed")}
	f.managed.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	f.managed.Status.ObservedGeneration, f.managed.Status.Replicas, f.managed.Status.UpToDateReplicas = 1, 12, ptr.To[int32](12)
	f.managed.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "managed", KubernetesVersion: "1.34", ReleaseVersion: "1.34.1-20260101"}
	f.group, f.shared = f.groupOf("group"), launched("shared", infrav1.AWSLaunchConfigSpec{ClusterName: "prod", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}})
	f.template, f.template2 = &infrav1.AWSLaunchConfigTemplate{ObjectMeta: named("small")}, &infrav1.AWSLaunchConfigTemplate{ObjectMeta: named("large")}
	f.template.Spec.Template.Spec.InstanceType, f.template2.Spec.Template.Spec.InstanceType = "m5.large", "m5.4xlarge"
	f.templated = f.groupOf("templated")
	f.templated.Spec.LaunchConfigRef, f.templated.Spec.LaunchConfigTemplateRef = nil, &infrav1.LaunchConfigTemplateReference{Name: "small"}
	f.ownConfig, f.templatedConfig = f.asked(t, f.managed, pool.ReferredTemplate{}), f.asked(t, f.templated, pool.ReferredTemplate{Key: client.ObjectKeyFromObject(f.template), Template: f.template})
	f.templatedConfig.Labels = pool.TemplateLabels(client.ObjectKeyFromObject(f.template))
	return f
}

// groupOf returns an AWSMachinePool of a name that refers to the shared launch config.
func (f *fleet) groupOf(name string) *infrav1.AWSMachinePool {
	group := &infrav1.AWSMachinePool{ObjectMeta: named(name)}
	group.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
	group.Status.ObservedGeneration, group.Status.Replicas, group.Status.UpToDateReplicas = 1, 12, ptr.To[int32](12)
	return group
}

// asked returns the launch config of a pool as the pool asks for it.
func (f *fleet) asked(t testing.TB, object client.Object, template pool.ReferredTemplate) *infrav1.AWSLaunchConfig {
	t.Helper()
	facts, _, err := factsOf(t.Context(), f.reader(t), "blue", "prod")
	if err != nil {
		t.Fatal(err)
	}
	config := launched(object.GetName(), infrav1.AWSLaunchConfigSpec{})
	config.OwnerReferences = []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: object.GetName(), Controller: ptr.To(true)}}
	return viewOf(object).wanted(f.machinePools[object.GetName()], facts, config, template)
}

// reader returns a reader of the fleet.
func (f *fleet) reader(t testing.TB) client.Reader {
	t.Helper()
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme)
	objects := append([]client.Object{f.cluster, f.controlPlane}, f.others...)
	for _, machinePool := range f.machinePools {
		objects = append(objects, machinePool)
	}
	if f.ownConfig != nil {
		objects = append(objects, f.managed, f.group, f.templated, f.ownConfig, f.templatedConfig, f.shared, f.template, f.template2)
	}
	return indexed(scheme).WithObjects(objects...).Build()
}

// edit is an edit of one object of a fleet. It may change the fleet before that, and returns the object.
func edit[T client.Object](object func(*fleet) T, prepare func(*fleet), change func(T)) func(*fleet) {
	return func(f *fleet) {
		if prepare != nil {
			prepare(f)
		}
		f.before = object(f)
		after := f.before.DeepCopyObject().(T)
		change(after)
		after.SetGeneration(after.GetGeneration() + 1) // by the API server, before it asks webhooks
		f.after = after
	}
}

var (
	ofManaged   = func(f *fleet) *infrav1.AWSManagedMachinePool { return f.managed }
	ofGroup     = func(f *fleet) *infrav1.AWSMachinePool { return f.group }
	ofTemplated = func(f *fleet) *infrav1.AWSMachinePool { return f.templated }
	ofTemplate  = func(f *fleet) *infrav1.AWSLaunchConfigTemplate { return f.template }
	ofShared    = func(f *fleet) *infrav1.AWSLaunchConfig { return f.shared }
	largeConfig = func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" }
)

// elsewhere has the template in another namespace, which allows the one of the pools.
func elsewhere(f *fleet) {
	f.template.Namespace, f.template.Spec.AllowedNamespaces = "templates", &infrav1.AllowedNamespaces{NamespaceList: []string{"blue"}}
	f.templated.Spec.LaunchConfigTemplateRef.Namespace = "templates"
	f.templatedConfig.Labels = pool.TemplateLabels(client.ObjectKeyFromObject(f.template))
}

// pending has a version of the shared launch config wait for approval.
func pending(f *fleet) {
	f.shared.Spec.Rollout, f.shared.Status.PendingVersion = infrav1.LaunchConfigRolloutManual, 3
	meta.SetStatusCondition(&f.shared.Status.Conditions, metav1.Condition{Type: infrav1.RolloutApprovedCondition, Status: metav1.ConditionFalse, Reason: infrav1.WaitingForApprovalReason})
}

func TestReplacements(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*fleet)
		want   string
	}{
		{
			"EKS replaces the nodes of another version of the launch template.",
			edit(ofManaged, nil, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge" }),
			"AWSManagedMachinePool/managed will replace 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"Labels of a node group are changed in place.",
			edit(ofManaged, nil, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "a"} }), "",
		},
		{
			"Another release of EKS's image replaces nodes.",
			edit(ofManaged, nil, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AMIVersion = ptr.To("1.34.2-20260301") }),
			"AWSManagedMachinePool/managed will replace 12 of 12 nodes: image release 1.34.1-20260101 → 1.34.2-20260301",
		},
		{
			"Another Kubernetes version replaces the nodes of a node group.",
			edit(func(f *fleet) *clusterv1.MachinePool { return f.machinePools["managed"] }, nil, func(machinePool *clusterv1.MachinePool) {
				machinePool.Spec.Template.Spec.Version = "v1.35.1"
			}),
			"AWSManagedMachinePool/managed will replace 12 of 12 nodes: Kubernetes 1.34 → 1.35",
		},
		{
			"The image of another Kubernetes version is looked up later.",
			edit(func(f *fleet) *clusterv1.MachinePool { return f.machinePools["templated"] }, nil, func(machinePool *clusterv1.MachinePool) {
				machinePool.Spec.Template.Spec.Version = "v1.35.1"
			}),
			"AWSMachinePool/templated may replace up to 12 of 12 nodes: image looked up for Kubernetes 1.34.2 → looked up for Kubernetes 1.35.1",
		},
		{
			"Replicas replace nothing.",
			edit(func(f *fleet) *clusterv1.MachinePool { return f.machinePools["templated"] }, nil, func(machinePool *clusterv1.MachinePool) {
				machinePool.Spec.Replicas = ptr.To[int32](3)
			}), "",
		},
		{
			"A pool comes to refer to another template.",
			edit(ofTemplated, nil, func(pool *infrav1.AWSMachinePool) { pool.Spec.LaunchConfigTemplateRef.Name = "large" }),
			"AWSMachinePool/templated will replace 12 of 12 nodes: instance type m5.large → m5.4xlarge",
		},
		{
			"A template that does not exist leaves nodes as they are.",
			edit(ofTemplated, nil, func(pool *infrav1.AWSMachinePool) { pool.Spec.LaunchConfigTemplateRef.Name = "absent" }), "",
		},
		{
			"The launch config that a pool refers to has another launch template.",
			edit(ofGroup, func(f *fleet) { f.others = []client.Object{launched("other", f.shared.Spec)} }, func(pool *infrav1.AWSMachinePool) { pool.Spec.LaunchConfigRef.Name = "other" }),
			"AWSMachinePool/group will replace 12 of 12 nodes: launch template of AWSLaunchConfig shared → other",
		},
		{
			"A launch config that does not exist yet may come to.",
			edit(ofGroup, nil, func(pool *infrav1.AWSMachinePool) { pool.Spec.LaunchConfigRef.Name = "absent" }),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: launch template of AWSLaunchConfig shared → absent",
		},
		{
			"An edit of a launch config replaces the nodes of its pools.", edit(ofShared, nil, largeConfig),
			"AWSMachinePool/group will replace 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"Only some pools of a launch config are named.",
			edit(ofShared, func(f *fleet) {
				f.others = []client.Object{f.groupOf("a"), f.groupOf("b"), f.groupOf("c"), f.groupOf("d")}
			}, largeConfig),
			`AWSMachinePool/a will replace 12 of 12 nodes: instance type m5.large → m5.xlarge
AWSMachinePool/b will replace 12 of 12 nodes: instance type m5.large → m5.xlarge
AWSMachinePool/c will replace 12 of 12 nodes: instance type m5.large → m5.xlarge
and nodes of 2 more pools of AWSLaunchConfig/shared`,
		},
		{
			"Nodes of an earlier configuration may already be what is wanted now.",
			edit(ofShared, func(f *fleet) { f.group.Status.UpToDateReplicas = ptr.To[int32](5) }, largeConfig),
			"AWSMachinePool/group will replace at least 5 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"So may all of them.", edit(ofShared, func(f *fleet) { f.group.Status.UpToDateReplicas = ptr.To[int32](0) }, largeConfig),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"It may not be known what nodes run.", edit(ofShared, func(f *fleet) { f.group.Status.UpToDateReplicas = nil }, largeConfig),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"The edit before may not have been launched.", edit(ofShared, func(f *fleet) { f.shared.Generation = 2 }, largeConfig),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{"A pool without nodes replaces none.", edit(ofShared, func(f *fleet) { f.group.Status.Replicas = 0 }, largeConfig), ""},
		{"A launch config without a launch template replaces none.", edit(ofShared, func(f *fleet) { f.shared.Status = infrav1.AWSLaunchConfigStatus{} }, largeConfig), ""},
		{
			"A paused Cluster's pools wait.", edit(ofShared, func(f *fleet) { f.cluster.Spec.Paused = ptr.To(true) }, largeConfig),
			"AWSMachinePool/group will replace 12 of 12 nodes once the Cluster is no longer paused: instance type m5.large → m5.xlarge",
		},
		{
			"A refresh may replace root volumes.",
			edit(ofShared, func(f *fleet) {
				f.group.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Strategy: ptr.To(infrav1.RefreshStrategyReplaceRootVolume)}
				f.group.Status.Replicas, f.group.Status.UpToDateReplicas = 1, ptr.To[int32](1)
			}, largeConfig),
			"AWSMachinePool/group will replace 1 of 1 node, or the root volumes: instance type m5.large → m5.xlarge",
		},
		{
			"What waited for approval is launched without it.",
			edit(ofShared, pending, func(config *infrav1.AWSLaunchConfig) { config.Spec.Rollout = infrav1.LaunchConfigRolloutAutomatic }),
			"AWSMachinePool/group will replace 12 of 12 nodes: instance type m5.large → c5.large",
		},
		{
			"What waited for approval is approved.",
			edit(ofShared, pending, func(config *infrav1.AWSLaunchConfig) { config.Annotations[infrav1.ApprovedVersionAnnotation] = "3" }),
			"AWSMachinePool/group will replace 12 of 12 nodes: instance type m5.large → c5.large",
		},
		{
			"The approval of another version launches nothing.",
			edit(ofShared, pending, func(config *infrav1.AWSLaunchConfig) { config.Annotations[infrav1.ApprovedVersionAnnotation] = "1" }), "",
		},
		{
			"An edit of what waits may be what is launched already.", edit(ofShared, pending, largeConfig),
			"AWSMachinePool/group may replace up to 12 of 12 nodes once the new version is approved: instance type m5.large → m5.xlarge",
		},
		{
			"A pinned version is another node.", edit(ofShared, nil, func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](1) }),
			"AWSMachinePool/group will replace 12 of 12 nodes: pinnedVersion none → 1",
		},
		{
			"What the spec asks for beside a pinned version is not in status.",
			edit(ofShared, func(f *fleet) { f.shared.Spec.PinnedVersion = ptr.To[int64](2) }, func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = nil }),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: pinnedVersion 2 → none",
		},
		{
			"Another version of a launch template of another owner is followed.",
			edit(ofShared, func(f *fleet) { f.shared.Spec.Existing = &infrav1.ExistingLaunchTemplate{ID: "lt-shared"} }, func(config *infrav1.AWSLaunchConfig) {
				config.Spec.Existing.Version = "1"
			}),
			"AWSMachinePool/group will replace 12 of 12 nodes: existing.version default → 1",
		},
		{
			"It may be the same one.",
			edit(ofShared, func(f *fleet) { f.shared.Spec.Existing = &infrav1.ExistingLaunchTemplate{ID: "lt-shared"} }, func(config *infrav1.AWSLaunchConfig) {
				config.Spec.Existing.Version = "2"
			}), "",
		},
		{
			"A pool follows its template.",
			edit(ofTemplate, nil, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType = "m5.xlarge"
			}),
			"AWSMachinePool/templated will replace 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"Other versions to keep replace nothing.",
			edit(ofTemplate, nil, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.VersionsToKeep = ptr.To[int32](5)
			}), "",
		},
		{
			"Nobody follows the template.",
			edit(func(f *fleet) *infrav1.AWSLaunchConfigTemplate { return f.template2 }, nil, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType = "m5.xlarge"
			}), "",
		},
		{
			"The pool has come to refer to another template, and its launch config has yet to follow.",
			edit(ofTemplate, func(f *fleet) { f.templated.Spec.LaunchConfigTemplateRef.Name = "large" }, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType = "m5.xlarge"
			}), "",
		},
		{
			"A pool of another namespace follows the template. Its name is not shown.",
			edit(ofTemplate, elsewhere, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType = "m5.xlarge"
			}),
			"An AWSMachinePool of another namespace will replace 12 of 12 nodes: instance type m5.large → m5.xlarge",
		},
		{
			"A pool of a namespace that the template no longer allows keeps its configuration.",
			edit(ofTemplate, elsewhere, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType, template.Spec.AllowedNamespaces = "m5.xlarge", nil
			}), "",
		},
		{
			"A configuration that failed is tried again.",
			edit(ofShared, func(f *fleet) {
				f.shared.Spec.Rollback, f.shared.Status.RolledBackFrom = &infrav1.Rollback{From: "three", Version: 2}, "three"
			}, func(config *infrav1.AWSLaunchConfig) { config.Spec.Rollback = nil }),
			"AWSMachinePool/group will replace 12 of 12 nodes: the configuration that failed is tried again",
		},
		{
			"Refreshes are enabled where nodes wait for one.",
			edit(ofGroup, func(f *fleet) {
				f.group.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
				f.group.Status.UpToDateReplicas, f.group.Status.Rollout = ptr.To[int32](5), &infrav1.RolloutStatus{Cause: "instance type m5.large → c5.large"}
			}, func(pool *infrav1.AWSMachinePool) { pool.Spec.RefreshPreferences = nil }),
			"AWSMachinePool/group will replace 7 of 12 nodes: instance type m5.large → c5.large",
		},
		{
			"Other bootstrap data is not read.",
			edit(ofShared, nil, func(config *infrav1.AWSLaunchConfig) {
				config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "join"}
			}),
			"AWSMachinePool/group may replace up to 12 of 12 nodes: bootstrap data of Secret none → join",
		},
		{
			"Other filters may find the same security groups.",
			edit(ofShared, nil, func(config *infrav1.AWSLaunchConfig) {
				config.Spec.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "tag:team", Values: []string{"a"}}}}}
			}),
			`AWSMachinePool/group may replace up to 12 of 12 nodes: security group of filters [{"name":"tag:team","values":["a"]}] added`,
		},
	} {
		f := newFleet(t)
		row.edit(f)
		got := strings.Join(Replacements(t.Context(), f.reader(t), f.before, f.after), "\n")
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s Replacements: -want +got:\n%s", row.reason, diff)
		}
	}
}

// TestReplacementsAreShort holds that no value of a tenant makes a warning long, or writes to a terminal.
func TestReplacementsAreShort(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	edit(ofShared, nil, func(config *infrav1.AWSLaunchConfig) {
		config.Spec.AdditionalTags = infrav1.Tags{}
		for i := range 40 {
			config.Spec.AdditionalTags[fmt.Sprintf("\x1b[31mred\r\n%d", i)] = strings.Repeat("x", 200)
		}
	})(f)
	said := Replacements(t.Context(), f.reader(t), f.before, f.after)
	if len(said) != 1 || len([]rune(said[0])) > 256 || strings.ContainsFunc(said[0], func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("Replacements: got %q, want one warning of at most 256 printable characters", said)
	}
}

// blocked is a reader of a cache that is never filled.
type blocked struct{ client.Reader }

// Get implements client.Reader.
func (blocked) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestReplacementsDoNotWait holds that a cache that is not filled does not hold up an edit.
func TestReplacementsDoNotWait(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	edit(ofShared, nil, largeConfig)(f)
	synctest.Test(t, func(t *testing.T) {
		if said := Replacements(t.Context(), blocked{}, f.before, f.after); len(said) > 0 {
			t.Errorf("Replacements: got %q, want none", said)
		}
	})
}

package adversary

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
)

// edit patches a hostile object of any kind.
func (a *attacker) edit(change func(client.Object)) error {
	object := a.any()
	if object == nil {
		return a.createPool()
	}
	a.say("%s", describe(object))
	before := object.DeepCopyObject().(client.Object)
	change(object)
	return a.user.Patch(a.Context(), object, client.MergeFrom(before))
}

func (a *attacker) annotate() error {
	return a.edit(func(object client.Object) {
		annotations := maps.Clone(object.GetAnnotations())
		if annotations == nil || a.chance(10) {
			annotations = map[string]string{}
		}
		lies := a.lies()
		maps.Copy(annotations, lies)
		object.SetAnnotations(annotations)
		a.say("%v", lies)
	})
}

func (a *attacker) own() error {
	return a.edit(func(object client.Object) {
		references := []metav1.OwnerReference{a.owner()}
		if a.chance(50) {
			references = append(slices.DeleteFunc(object.GetOwnerReferences(), func(reference metav1.OwnerReference) bool {
				return ptr.Deref(reference.Controller, false)
			}), references...)
		}
		object.SetOwnerReferences(references)
	})
}

func (a *attacker) finalize() error {
	return a.edit(func(object client.Object) {
		switch a.random.IntN(3) {
		case 0:
			object.SetFinalizers(nil)
		case 1:
			withFinalizer(object)
		case 2:
			object.SetFinalizers(append(object.GetFinalizers(), pick(a, finalizers)))
		}
		a.say("%v", object.GetFinalizers())
	})
}

// lie writes a status that claims what belongs to others.
func (a *attacker) lie() error {
	object := a.any()
	if object == nil {
		return a.createPool()
	}
	a.say("%s", describe(object))
	before := object.DeepCopyObject().(client.Object)
	switch object := object.(type) {
	case *infrav1.AWSLaunchConfig:
		a.lieAboutConfig(object)
	case *infrav1.AWSMachinePool:
		status := &object.Status
		status.LaunchTemplateID, status.LaunchTemplateVersion, status.WantedVersion = a.foreign(kindTemplate), ptr.To("1"), 1
		status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: a.foreign(kindGroup), ARN: a.groupARN()}
		status.Instances = []infrav1.AWSMachinePoolInstanceStatus{{InstanceID: a.instance(), LifecycleState: pick(a, []string{"InService", "Terminating:Wait"})}}
		status.Rollout = &infrav1.RolloutStatus{StartedID: "x", StartedFor: "y", Status: pick(a, []string{"InProgress", "Failed"})}
	case *infrav1.AWSManagedMachinePool:
		status := &object.Status
		status.LaunchTemplateID = a.foreign(kindTemplate)
		status.Nodegroup = &infrav1.NodegroupStatus{Name: a.nodegroup(), ARN: a.victim.nodegroupARN, AutoScalingGroup: a.foreign(kindGroup), Status: "ACTIVE"}
		status.NodeRole = &infrav1.NodeRoleStatus{Name: a.foreign(kindRole), Managed: true}
		if a.chance(50) {
			status.Retiring = &infrav1.NodegroupStatus{Name: a.nodegroup()}
		}
	default:
		return nil
	}
	return a.user.Status().Patch(a.Context(), object, client.MergeFrom(before))
}

func (a *attacker) lieAboutConfig(config *infrav1.AWSLaunchConfig) {
	status := &config.Status
	status.LaunchTemplateID, status.LaunchTemplateName, status.Version = a.foreign(kindTemplate), a.foreign(kindTemplateName), int64(1+a.random.IntN(3))
	status.ObservedGeneration = config.Generation
	status.AcceptedVersions = []infrav1.AcceptedVersions{{LaunchTemplateID: a.foreign(kindTemplate), First: 1, Last: 9}}
	if a.chance(50) {
		status.BootstrapDataLocation = pick(a, []string{"ssm://" + a.foreign(kindParameter), "s3://" + a.foreign(kindObject)})
	}
	if a.chance(50) {
		status.LastLostTemplateID = a.foreign(kindTemplate)
	}
	if a.chance(50) {
		status.Conditions = []metav1.Condition{{
			Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: config.Generation, LastTransitionTime: metav1.Now(),
		}}
	}
}

func (a *attacker) editConfig() error {
	config, err := hostileOf[*infrav1.AWSLaunchConfig](a, &infrav1.AWSLaunchConfigList{})
	if err != nil {
		return err
	}
	if config == nil {
		return a.createConfig()
	}
	a.say("%s", describe(config))
	return change(a.tenant, &infrav1.AWSLaunchConfig{}, config.Name, func(config *infrav1.AWSLaunchConfig) {
		switch a.random.IntN(4) {
		case 0:
			config.Spec.LaunchTemplateName = a.foreign(kindTemplateName)
		case 1:
			config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: config.Spec.ClusterName, Existing: a.existing()}
		case 2:
			config.Spec.InstanceType = pick(a, []string{"t3.large", "m5.large", "m6i.large"})
		case 3:
			config.Spec.AdditionalTags = infrav1.Tags{pick(a, []string{"team", infrav1.TagLaunchConfig, infrav1.ClusterTagKey(third)}): a.other().namespace + "/" + self + "/" + config.Name}
		}
	})
}

func (a *attacker) editPool() error {
	pool, err := hostileOf[*infrav1.AWSMachinePool](a, &infrav1.AWSMachinePoolList{})
	if err != nil {
		return err
	}
	if pool == nil {
		return a.createPool()
	}
	return change(a.tenant, &infrav1.AWSMachinePool{}, pool.Name, func(pool *infrav1.AWSMachinePool) {
		switch a.random.IntN(3) {
		case 0:
			a.bend(pool)
		case 1:
			withTemplate(pool).Spec.AWSLaunchTemplate.InstanceType = pick(a, []string{"t3.large", "m5.large", "m6i.large"})
		case 2:
			pool.Spec.AdditionalTags = infrav1.Tags{pick(a, []string{"team", infrav1.TagMachinePool, infrav1.ClusterTagKey(third)}): a.other().namespace + "/" + self + "/" + pool.Name}
		}
		a.say("%s with providerID %q", pool.Name, pool.Spec.ProviderID)
	})
}

func (a *attacker) editManagedPool() error {
	pool, err := hostileOf[*infrav1.AWSManagedMachinePool](a, &infrav1.AWSManagedMachinePoolList{})
	if err != nil {
		return err
	}
	if pool == nil {
		return a.createManagedPool()
	}
	return change(a.tenant, &infrav1.AWSManagedMachinePool{}, pool.Name, func(pool *infrav1.AWSManagedMachinePool) {
		a.bendManaged(pool)
		a.say("%s with node group %q and role %q", pool.Name, pool.Spec.EKSNodegroupName, pool.Spec.RoleName)
	})
}

// editCluster has the cluster that is not the honest one name other identities, regions and EKS clusters.
func (a *attacker) editCluster() error {
	// Most edits put the cluster right again: attacks need one that works.
	chosen, works := a.identity, a.chance(70)
	if !works {
		chosen = pick(a, []*capav1.AWSIdentityReference{a.other().identity, {Kind: capav1.ControllerIdentityKind, Name: "default"}, nil})
	}
	a.say("identity %v", chosen)
	if a.chance(50) {
		return change(a.tenant, &eksv1.AWSManagedControlPlane{}, rogueManaged+"-control-plane", func(controlPlane *eksv1.AWSManagedControlPlane) {
			controlPlane.Spec.IdentityRef = chosen
			if !works && a.chance(50) {
				controlPlane.Spec.EKSClusterName = a.eksCluster()
			} else if works {
				controlPlane.Spec.EKSClusterName = lab.EKSClusterName(a.namespace, rogueManaged)
			}
		})
	}
	return change(a.tenant, &capav1.AWSCluster{}, rogue, func(cluster *capav1.AWSCluster) {
		cluster.Spec.IdentityRef = chosen
		cluster.Spec.AdditionalTags = nil
		if !works && a.chance(50) {
			cluster.Spec.Region = pick(a, []string{a.Cloud.Region(), "eu-west-1", "x"})
		} else {
			cluster.Spec.Region = a.Cloud.Region()
		}
		if a.chance(20) {
			cluster.Spec.AdditionalTags = capav1.Tags{pick(a, []string{"team", infrav1.TagLaunchConfig, infrav1.TagMachinePool}): a.other().namespace + "/" + self + "/" + fleet.Name(0)}
		}
	})
}

func (a *attacker) editSecret() error {
	name := pick(a, []string{rogue + "-kubeconfig", "h-0", "h-1", "h-2", "h-3"})
	value := pick(a, []string{"", "x", "#cloud-config\n", "apiVersion: v1\nkind: Config\nclusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: x, context: {cluster: x}}]\ncurrent-context: x\n"})
	a.say("%s", name)
	return change(a.tenant, &corev1.Secret{}, name, func(secret *corev1.Secret) { secret.Data = map[string][]byte{"value": []byte(value)} })
}

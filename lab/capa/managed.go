package capa

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	capaeks "sigs.k8s.io/cluster-api-provider-aws/v2/pkg/eks"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// NodeRole is the role that CAPA gives the nodes of managed pools that name none, without its
// feature gate EKSEnableIAM.
const NodeRole = "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"

// Managed is CAPA for one AWSManagedMachinePool (pkg/cloud/services/eks/nodegroup.go,
// exp/controllers/awsmanagedmachinepool_controller.go,
// exp/webhooks/awsmanagedmachinepool_webhook.go).
type Managed struct {
	Provider

	// Change changes the node group that CAPA creates, as if the pool had been edited since with
	// CAPA's webhook switched off. It may be nil.
	Change func(*eks.CreateNodegroupInput)
}

// managedObjects are all that CAPA reads for a node group.
type managedObjects struct {
	objects

	pool *infrav1.AWSManagedMachinePool
}

func (m Managed) read(ctx context.Context) (managedObjects, error) {
	o := managedObjects{pool: &infrav1.AWSManagedMachinePool{}, objects: objects{machinePool: &clusterv1.MachinePool{}}}
	if err := m.Client.Get(ctx, m.Key, o.pool); err != nil {
		return o, err
	}
	if err := m.Client.Get(ctx, m.Key, o.machinePool); err != nil {
		return o, err
	}
	cluster, controlPlane := &clusterv1.Cluster{}, &eksv1.AWSManagedControlPlane{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: m.Key.Namespace, Name: o.machinePool.Spec.ClusterName}, cluster); err != nil {
		return o, err
	}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: m.Key.Namespace, Name: cluster.Spec.ControlPlaneRef.Name}, controlPlane); err != nil {
		return o, err
	}
	o.spec, o.name, o.clusterName = o.pool.Spec.AWSLaunchTemplate, controlPlane.Name+"-"+o.pool.Name, controlPlane.Spec.EKSClusterName
	o.annotations, o.asked = o.pool.Annotations, over(controlPlane.Spec.AdditionalTags, o.pool.Spec.AdditionalTags)
	groups := controlPlane.Status.Network.SecurityGroups
	o.groups = []string{groups[capav1.SecurityGroupNode].ID, groups[capav1.SecurityGroupEKSNodeAdditional].ID}
	if o.spec == nil {
		return o, nil
	}
	var err error
	o.objects, err = m.withSecret(ctx, o.objects)
	return o, err
}

// nodegroupTags returns the tags of the node group itself.
func (o managedObjects) nodegroupTags() map[string]string {
	tags := maps.Clone(o.asked)
	tags["kubernetes.io/cluster/"+o.clusterName] = "owned"
	return tags
}

// Create creates the resources that CAPA creates for the pool, its launch template first if it has
// one, and leaves its marks on the pool.
func (m Managed) Create(ctx context.Context, subnets ...string) error {
	o, err := m.read(ctx)
	if err != nil {
		return err
	}
	if err := m.applyDefaults(ctx, o.pool); err != nil {
		return err
	}
	spec := &o.pool.Spec
	role, err := iam.NewFromConfig(m.AWS).GetRole(ctx, &iam.GetRoleInput{RoleName: &spec.RoleName})
	if err != nil {
		return err
	}
	input := &eks.CreateNodegroupInput{
		ClusterName: &o.clusterName, NodegroupName: &spec.EKSNodegroupName, NodeRole: role.Role.Arn, Subnets: subnets, Labels: spec.Labels, Tags: o.nodegroupTags(),
		UpdateConfig: &ekstypes.NodegroupUpdateConfig{MaxUnavailable: spec.UpdateConfig.MaxUnavailable}, DiskSize: spec.DiskSize,
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: spec.Scaling.MinSize, MaxSize: spec.Scaling.MaxSize, DesiredSize: o.machinePool.Spec.Replicas},
	}
	if spec.AMIType != nil && (o.spec == nil || o.spec.AMI.ID == nil) {
		input.AmiType = ekstypes.AMITypes(*spec.AMIType)
	}
	if spec.InstanceType != nil {
		input.InstanceTypes = []string{*spec.InstanceType}
	}
	before := o.pool.DeepCopy()
	if o.spec != nil {
		id, err := m.createTemplate(ctx, o.objects)
		if err != nil {
			return err
		}
		o.pool.Status.LaunchTemplateID, o.pool.Status.LaunchTemplateVersion = id, ptr.To("1")
		input.LaunchTemplate = &ekstypes.LaunchTemplateSpecification{Id: &id, Version: awssdk.String("1")}
	}
	if m.Change != nil {
		m.Change(input)
	}
	if _, err := eks.NewFromConfig(m.AWS).CreateNodegroup(ctx, input); err != nil {
		return err
	}
	o.pool.Status.Ready = true
	return m.Client.Status().Patch(ctx, o.pool, client.MergeFrom(before))
}

// applyDefaults writes what CAPA's webhook and its controller write into the pool.
func (m Managed) applyDefaults(ctx context.Context, pool *infrav1.AWSManagedMachinePool) error {
	o, err := m.read(ctx)
	if err != nil {
		return err
	}
	applied, err := json.Marshal(o.asked)
	if err != nil {
		return err
	}
	name, err := capaeks.GenerateEKSName(pool.Name, pool.Namespace, 64)
	if err != nil {
		return err
	}
	before := pool.DeepCopy()
	controllerutil.AddFinalizer(pool, "awsmanagedmachinepools.infrastructure.cluster.x-k8s.io")
	if pool.Annotations == nil {
		pool.Annotations = map[string]string{}
	}
	pool.Annotations[lastAppliedTags] = string(applied)
	orDefault(&pool.Spec.EKSNodegroupName, name)
	orDefault(&pool.Spec.RoleName, NodeRole)
	if pool.Spec.UpdateConfig == nil {
		pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](1)}
	}
	return m.Client.Patch(ctx, pool, client.MergeFrom(before))
}

// Nodegroup returns the node group that CAPA takes for the pool's.
func (m Managed) Nodegroup(ctx context.Context) (*ekstypes.Nodegroup, error) {
	o, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	name := o.pool.Spec.EKSNodegroupName
	if name == "" {
		if name, err = capaeks.GenerateEKSName(o.pool.Name, o.pool.Namespace, 64); err != nil {
			return nil, err
		}
	}
	out, err := eks.NewFromConfig(m.AWS).DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &o.clusterName, NodegroupName: &name})
	if err != nil {
		return nil, err
	}
	return out.Nodegroup, nil
}

// Decide reads the newest version of the template with CAPA's name, the node group, and the pool,
// as CAPA does. With a managed pool every version that CAPA creates replaces the instances, because
// it updates the node group to it.
func (m Managed) Decide(ctx context.Context) (Decision, error) {
	var decision Decision
	o, err := m.read(ctx)
	if err != nil {
		return decision, err
	}
	group, err := m.Nodegroup(ctx)
	if err != nil {
		return decision, err
	}
	if _, owned := group.Tags["kubernetes.io/cluster/"+o.clusterName]; !owned {
		return decision, fmt.Errorf("CAPA considers node group %s as owned by another party", *group.NodegroupName)
	}
	if o.spec != nil {
		refresh, version, err := m.decideTemplate(ctx, o.objects)
		if err != nil {
			return decision, err
		}
		decision.Refresh = slices.Concat(refresh, version)
		if err := m.decideVersion(ctx, o, group, &decision); err != nil {
			return decision, err
		}
	}
	if wanted := o.pool.Spec.AMIVersion; wanted != nil && *wanted != awssdk.ToString(group.ReleaseVersion) {
		decision.Refresh = append(decision.Refresh, "release version")
	}
	sizes, scaling := group.ScalingConfig, o.pool.Spec.Scaling
	if *sizes.DesiredSize != ptr.Deref(o.machinePool.Spec.Replicas, 1) || scaling != nil && (*sizes.MinSize != *scaling.MinSize || *sizes.MaxSize != *scaling.MaxSize) {
		decision.Group = append(decision.Group, "sizes")
	}
	if !maps.Equal(group.Labels, o.pool.Spec.Labels) {
		decision.Group = append(decision.Group, "labels")
	}
	if !maps.Equal(group.Tags, o.nodegroupTags()) {
		decision.Group = append(decision.Group, fmt.Sprintf("tags are %v", group.Tags))
	}
	return decision, nil
}

// decideVersion compares the version that the pool's status has, or else the newest, with the node group's.
func (m Managed) decideVersion(ctx context.Context, o managedObjects, group *ekstypes.Nodegroup, decision *Decision) error {
	known := ptr.Deref(o.pool.Status.LaunchTemplateVersion, "")
	if known == "" {
		found, err := ec2.NewFromConfig(m.AWS).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{o.name}})
		if err != nil {
			return err
		}
		known = fmt.Sprint(*found.LaunchTemplates[0].LatestVersionNumber)
	}
	if group.LaunchTemplate == nil || known != awssdk.ToString(group.LaunchTemplate.Version) {
		decision.Refresh = append(decision.Refresh, "version "+known+" of the launch template")
	}
	return nil
}

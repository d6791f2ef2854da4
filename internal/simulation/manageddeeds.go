package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/noderole"
)

func labelNodes(ctx context.Context, w *World, o *observer) (string, error) {
	value := pick(w.chance, "", "front", "back")
	return "the user labels the nodes " + value, o.edit(ctx, func(pool client.Object) {
		managedPool(pool).Spec.Labels = nil
		if value != "" {
			managedPool(pool).Spec.Labels = map[string]string{"example.com/tier": value}
		}
	})
}

func taintNodes(ctx context.Context, w *World, o *observer) (string, error) {
	value := pick(w.chance, "", "web", "batch")
	return "the user taints the nodes " + value, o.edit(ctx, func(pool client.Object) {
		managedPool(pool).Spec.Taints = nil
		if value != "" {
			managedPool(pool).Spec.Taints = []infrav1.Taint{{Key: "example.com/for", Value: value, Effect: infrav1.TaintEffectNoSchedule}}
		}
	})
}

func changeUpdateConfig(ctx context.Context, w *World, o *observer) (string, error) {
	most := 1 + w.chance.Int32N(2)
	return fmt.Sprintf("the user sets updateConfig.maxUnavailable %d", most), o.edit(ctx, func(pool client.Object) {
		managedPool(pool).Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: &most}
	})
}

// scaleManaged has the user set the replicas, or the external autoscaler the size of the Auto Scaling
// group. The autoscaler leaves a node group alone that EKS is changing.
func scaleManaged(ctx context.Context, w *World, o *observer) (string, error) {
	if !o.facts.managed.autoscaled {
		return changeReplicas(ctx, w, o)
	}
	owned := o.aws.ownedNodegroups()
	if len(owned) != 1 || owned[0].Status != ekstypes.NodegroupStatusActive {
		return "", nil
	}
	wanted := 1 + w.chance.Int32N(4)
	o.facts.surplus += int(max(0, *owned[0].ScalingConfig.DesiredSize-wanted))
	o.facts.managed.scaled = &wanted
	_, err := w.person.groups.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: ptr.To(autoScalingGroup(owned[0])), DesiredCapacity: &wanted,
	})
	return fmt.Sprintf("the autoscaler sets the desired capacity %d", wanted), err
}

// condemn notes that the nodes of a node group terminate without Slipway's doing.
func (f *facts) condemn(group string) {
	f.managed.condemned[group], f.managed.scaled = true, nil
	for _, instance := range f.instances {
		if instance.group == group {
			instance.excused = true
		}
	}
}

// failUpdate has the next update of a kind fail, for a reason that EKS documents.
func failUpdate(_ context.Context, w *World, _ *observer) (string, error) {
	fault := awssim.Fault{
		ID: "update", Place: awssim.InUpdate, Action: pick(w.chance, "UpdateNodegroupConfig", "UpdateNodegroupVersion", "UpdateNodegroupVersion"), Nth: 1,
		Code:    pick(w.chance, "AsgInstanceLaunchFailures", "InsufficientFreeAddresses", "IamNodeRoleNotFound", "ClusterUnreachable"),
		Message: "EKS says no more.", Delay: time.Duration(w.chance.IntN(10)) * time.Minute,
	}
	_, err := w.sim.AddFault(fault)
	return fmt.Sprintf("the next %s fails after %s: %s", fault.Action, fault.Delay, fault.Code), err
}

func deleteNodegroup(ctx context.Context, w *World, o *observer) (string, error) {
	owned := o.aws.ownedNodegroups()
	if len(owned) == 0 {
		return "", nil
	}
	_, err := w.person.eks.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: ptr.To(eksCluster), NodegroupName: owned[0].NodegroupName})
	var inUse *ekstypes.ResourceInUseException
	if errors.As(err, &inUse) {
		return "", nil // it is being updated
	}
	if err == nil {
		o.facts.condemn(*owned[0].NodegroupName)
	}
	return "an operator deletes node group " + *owned[0].NodegroupName, err
}

// deleteTemplate deletes the launch template of a pool that then replaces its node group.
func deleteTemplate(ctx context.Context, w *World, o *observer) (string, error) {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, pool); err != nil {
		return "", err
	}
	owned := o.aws.ownedTemplates()
	if pool.Spec.TemplateLossPolicy != infrav1.TemplateLossReplace || len(owned) == 0 || !w.chance.happens(0.5) {
		return "", nil
	}
	id := *owned[0].LaunchTemplateId
	o.facts.managed.lost[id] = true
	for _, group := range o.aws.ownedNodegroups() {
		if group.LaunchTemplate != nil && *group.LaunchTemplate.Id == id {
			o.facts.condemn(*group.NodegroupName)
		}
	}
	_, err := w.person.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	return "an operator deletes launch template " + id, err
}

// foreignRole is the role of the foreign node group.
const foreignRole = "foreign-role"

// createForeignNodegroup creates a foreign node group and launch template with the names that the
// pool's would get, and perhaps such a role.
func createForeignNodegroup(ctx context.Context, w *World, o *observer) error {
	name := infrav1.DefaultNodegroupName(namespace, o.name)
	roles := &o.facts.managed.foreignRoles
	*roles = []string{foreignRole}
	if w.chance.happens(0.5) {
		*roles = append(*roles, infrav1.DefaultNodeRoleName(eksCluster, name))
	}
	var arn *string
	for _, role := range *roles {
		created, err := w.person.createRole(ctx, role)
		if err != nil {
			return err
		}
		if role == foreignRole {
			arn = created
		}
	}
	template, err := w.person.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr.To(o.cluster + "-" + o.name), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "t3.micro"},
	})
	if err != nil {
		return fmt.Errorf("creating the foreign launch template: %w", err)
	}
	_, err = w.person.eks.CreateNodegroup(ctx, &eks.CreateNodegroupInput{
		ClusterName: ptr.To(eksCluster), NodegroupName: &name, NodeRole: arn, Subnets: []string{subnet}, AmiType: ekstypes.AMITypesAl2023X8664Standard,
		ScalingConfig:  &ekstypes.NodegroupScalingConfig{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](1), DesiredSize: ptr.To[int32](1)},
		LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Id: template.LaunchTemplate.LaunchTemplateId, Version: ptr.To("1")},
		Tags:           map[string]string{"owner": "another team"},
	})
	if err != nil {
		return fmt.Errorf("creating the foreign node group: %w", err)
	}
	return nil
}

// createRole creates a role that nodes can have, and returns its ARN.
func (p *person) createRole(ctx context.Context, name string) (*string, error) {
	created, err := p.iam.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: &name, Tags: []iamtypes.Tag{{Key: ptr.To("owner"), Value: ptr.To("another team")}},
		AssumeRolePolicyDocument: ptr.To(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["ec2.amazonaws.com"]},"Action":["sts:AssumeRole"]}]}`),
	})
	if err != nil {
		return nil, fmt.Errorf("creating role %s: %w", name, err)
	}
	for _, policy := range noderole.NodePolicies("aws") {
		if _, err := p.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &name, PolicyArn: &policy}); err != nil {
			return nil, fmt.Errorf("attaching a policy to role %s: %w", name, err)
		}
	}
	return created.Role.Arn, nil
}

// describeForeignNodegroup describes the foreign node group, its template, and the roles. Whether the
// node group is well, which depends on its nodes, is not Slipway's doing.
func describeForeignNodegroup(ctx context.Context, w *World, o *observer) (string, error) {
	var described strings.Builder
	name := infrav1.DefaultNodegroupName(namespace, o.name)
	for _, group := range o.aws.Nodegroups() {
		if *group.NodegroupName != name {
			continue
		}
		fmt.Fprintf(&described, "%s %d %d %d %s %v %v %v", *group.NodegroupArn, *group.ScalingConfig.MinSize, *group.ScalingConfig.MaxSize,
			*group.ScalingConfig.DesiredSize, *group.LaunchTemplate.Version, group.Labels, group.Taints, group.Tags)
		if group.Status == ekstypes.NodegroupStatusDeleting || len(group.Updates) > 0 {
			fmt.Fprintf(&described, " %s after %d updates", group.Status, len(group.Updates))
		}
	}
	if described.Len() == 0 {
		return "", errors.New("there is no node group " + name)
	}
	for _, template := range o.aws.LaunchTemplates() {
		if *template.LaunchTemplateName != o.cluster+"-"+o.name {
			continue
		}
		for _, version := range o.aws.LaunchTemplateVersions(*template.LaunchTemplateId) {
			fmt.Fprintf(&described, "\n%s %d %t", *version.LaunchTemplateId, *version.VersionNumber, *version.DefaultVersion)
		}
		fmt.Fprintf(&described, " %d tags", len(template.Tags))
	}
	for _, role := range o.facts.managed.foreignRoles {
		found, err := w.person.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &role})
		if err != nil {
			return "", fmt.Errorf("reading the foreign role: %w", err)
		}
		attached, err := w.person.iam.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &role})
		if err != nil {
			return "", fmt.Errorf("listing the policies of the foreign role: %w", err)
		}
		fmt.Fprintf(&described, "\n%s %d policies", role, len(attached.AttachedPolicies))
		for _, tag := range found.Role.Tags {
			fmt.Fprintf(&described, " %s=%s", *tag.Key, *tag.Value)
		}
	}
	return described.String(), nil
}

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/examples"
)

type managedSpec = infrav1.AWSManagedMachinePoolSpec

// inEKS holds AWS's description of a managed pool.
type inEKS struct {
	ekstypes.Nodegroup
	// asg is EKS's Auto Scaling group, and launches what that launches from: a copy of the pool's template.
	asg      asgtypes.AutoScalingGroup
	hooks    map[string]asgtypes.LifecycleHook
	launches *ec2types.ResponseLaunchTemplateData
	role     iamtypes.Role
	policies []string
}

// managedNamed is a managed pool by its name.
func (w *world) managedNamed(name string) (*infrav1.AWSManagedMachinePool, error) {
	pool := &infrav1.AWSManagedMachinePool{}
	return pool, w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool)
}

// makeManaged creates a managed pool with a spec, and the example's MachinePool for it.
func (w *world) makeManaged(name string, spec *managedSpec) {
	w.Helper()
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Spec: *spec.DeepCopy()}
	pool.Spec.ProviderIDList = nil
	if err := w.Client.Create(w.Context(), pool); err != nil {
		w.Fatal(err)
	}
	machinePool, _, _ := strings.Cut(examples.ManagedMachinePool, "\n---\napiVersion: infrastructure.")
	w.Apply(strings.ReplaceAll(machinePool, managedName, name))
}

// seenInEKS returns AWS's description of the managed pool of that name, or why it is not complete
// yet.
func (w *world) seenInEKS(name string) (seen inEKS, err error) {
	pool, err := w.managedNamed(name)
	if err != nil {
		return seen, err
	}
	if pool.Status.Nodegroup == nil {
		return seen, fmt.Errorf("there is no node group; conditions %+v", pool.Status.Conditions)
	}
	// The status names a node group before EKS has it.
	nodegroup, err := w.describeNodegroup(pool.Status.Nodegroup.Name)
	if err != nil {
		return seen, err
	}
	seen.Nodegroup = *nodegroup
	if seen.Resources == nil || len(seen.Resources.AutoScalingGroups) == 0 {
		return seen, errors.New("there is no Auto Scaling group")
	}
	group := seen.Resources.AutoScalingGroups[0].Name
	groups, groupErr := w.asg().DescribeAutoScalingGroups(w.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{*group}})
	hooks, hookErr := w.asg().DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: group})
	role, roleErr := w.iam().GetRole(w.Context(), &iam.GetRoleInput{RoleName: aws.String(roleIn(*seen.NodeRole))})
	policies, policyErr := w.iam().ListAttachedRolePolicies(w.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(roleIn(*seen.NodeRole))})
	if err := errors.Join(groupErr, hookErr, roleErr, policyErr); err != nil {
		return seen, err
	}
	seen.asg, seen.role, seen.hooks = groups.AutoScalingGroups[0], *role.Role, map[string]asgtypes.LifecycleHook{}
	for _, hook := range hooks.LifecycleHooks {
		seen.hooks[*hook.LifecycleHookName] = hook
	}
	for _, policy := range policies.AttachedPolicies {
		seen.policies = append(seen.policies, *policy.PolicyArn)
	}
	slices.Sort(seen.policies)
	seen.launches, err = w.launchedBy(&seen.asg)
	return seen, err
}

// launchedBy returns the data that an Auto Scaling group launches from.
func (w *world) launchedBy(group *asgtypes.AutoScalingGroup) (*ec2types.ResponseLaunchTemplateData, error) {
	template := group.LaunchTemplate
	if group.MixedInstancesPolicy != nil {
		template = group.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	}
	versions, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: template.LaunchTemplateId, Versions: []string{*template.Version},
	})
	if err != nil {
		return nil, err
	}
	return versions.LaunchTemplateVersions[0].LaunchTemplateData, nil
}

// managedActed is nil once a managed pool is ready and rolled out for its current spec, whatever
// its instances do.
func (w *world) managedActed(name string) error {
	pool, err := w.managedNamed(name)
	if err != nil {
		return err
	}
	for _, kind := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		condition := meta.FindStatusCondition(pool.Status.Conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != pool.Generation {
			return fmt.Errorf("conditions of generation %d are %+v", pool.Generation, pool.Status.Conditions)
		}
	}
	if pool.Status.Nodegroup == nil || pool.Status.Nodegroup.Status != "ACTIVE" {
		return fmt.Errorf("the node group is %+v", pool.Status.Nodegroup)
	}
	return nil
}

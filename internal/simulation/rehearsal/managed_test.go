package rehearsal

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/plan/plantest"
)

// simulatedManaged edits the AWSManagedMachinePool of a world in a simulation. It fails if AWS was changed.
func simulatedManaged(t *testing.T, w *plantest.World, options Options, edit func(*infrav1.AWSManagedMachinePool)) Result {
	t.Helper()
	edited := w.Managed()
	edit(edited)
	result, err := Run(t.Context(), w.Planner, options, edited)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, w, edited.ResourceVersion, w.Managed().ResourceVersion)
	return result
}

func otherManagedType(pool *infrav1.AWSManagedMachinePool) {
	pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
}

// TestManagedOutcomes holds how an update of a node group of three nodes ends.
func TestManagedOutcomes(t *testing.T) {
	expect(t, map[string]outcomeOf[*infrav1.AWSManagedMachinePool]{
		"RolledOut": {
			reason: "EKS adds nodes before it replaces one.", options: usual, edit: otherManagedType,
			want: Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"Minimal": {
			reason: "With the strategy MINIMAL, EKS adds no nodes.", options: usual, edit: otherManagedType,
			created: func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2), UpdateStrategy: infrav1.NodegroupUpdateStrategyMinimal}
			},
			want: Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 1}, last: infrav1.RolledOutReason,
		},
		"InPlace": {
			reason: "Labels replace no node.", options: usual, edit: func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.Labels = map[string]string{"example.com/tier": "front"}
			},
			want: Pool{Outcome: RolledOut, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"NoneStart": {
			reason: "If no new node joins, EKS gives up before it drains one.", options: failingAt(0), edit: otherManagedType,
			want: Pool{Outcome: Stopped, Versions: 1, Failed: 2, FewestUp: 3}, last: infrav1.NodegroupUpdateFailedReason,
		},
		"SomeStart": {
			reason: "EKS leaves the new nodes that replaced old ones.", options: failingAt(30), edit: otherManagedType,
			want: Pool{Outcome: Stopped, Versions: 1, Replaced: 1, Failed: 1, FewestUp: 3}, last: infrav1.NodegroupUpdateFailedReason,
		},
		"Drains": {
			reason: "EKS gives up if the pods of a node stay for 15 minutes.", options: Options{NodeStart: time.Minute, DrainTime: 20 * time.Minute, Limit: 24 * time.Hour}, edit: otherManagedType,
			want: Pool{Outcome: Stopped, Versions: 1, FewestUp: 3}, last: infrav1.NodegroupUpdateFailedReason,
		},
		"Force": {
			reason: "With force, EKS terminates the node with its pods.", options: Options{NodeStart: time.Minute, DrainTime: 20 * time.Minute, Limit: 24 * time.Hour}, edit: otherManagedType,
			created: func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](1), Force: true}
			},
			want: Pool{Outcome: RolledOut, Versions: 1, Replaced: 3, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
		"Limit": {
			reason: "A limit of time ends a simulation.", options: Options{NodeStart: time.Minute, DrainTime: time.Minute, Limit: 3 * time.Minute}, edit: otherManagedType,
			want: Pool{Outcome: Unfinished, Versions: 1, FewestUp: 3}, last: infrav1.RollingOutReason,
		},
		"Paused": {
			reason: "A version that waits for a user is not waited for, and no node runs it.", options: usual,
			edit: func(pool *infrav1.AWSManagedMachinePool) {
				otherManagedType(pool)
				pool.Annotations[infrav1.RolloutPausedAnnotation] = "true"
			},
			want: Pool{Outcome: Stopped, Versions: 1, FewestUp: 3}, last: infrav1.RolledOutReason,
		},
	}, func(t *testing.T, tc outcomeOf[*infrav1.AWSManagedMachinePool]) Result {
		t.Helper()
		return simulatedManaged(t, plantest.NewManaged(t, 3, tc.created), tc.options, tc.edit)
	})
}

// TestManagedDetails holds what a copy takes over of a node group that the standard world of the simulated AWS
// lacks: its Kubernetes version, the build of its image, its SSH key, and its role.
func TestManagedDetails(t *testing.T) {
	t.Parallel()
	facts := newFacts(nil)
	facts.note("EKS", "eu-west-1", &eks.DescribeNodegroupInput{}, &eks.DescribeNodegroupOutput{Nodegroup: &ekstypes.Nodegroup{
		ClusterName: ptr.To("blue"), Version: ptr.To("1.99"), ReleaseVersion: ptr.To("1.99.4-20991231"), Subnets: []string{"subnet-1"},
		RemoteAccess: &ekstypes.RemoteAccessConfig{Ec2SshKey: ptr.To("key"), SourceSecurityGroups: []string{"sg-1"}},
	}})
	role := func(name string, tags ...iamtypes.Tag) {
		facts.note("IAM", "us-east-1", &iam.GetRoleInput{}, &iam.GetRoleOutput{Role: &iamtypes.Role{RoleName: &name, Path: ptr.To("/"), Tags: tags}})
		facts.note("IAM", "us-east-1", &iam.ListAttachedRolePoliciesInput{RoleName: &name}, &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: []iamtypes.AttachedPolicy{
			{PolicyArn: ptr.To("arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy")}, {PolicyArn: ptr.To("arn:aws:iam::123456789012:policy/own")},
		}})
	}
	role("users")
	role("slipways", iamtypes.Tag{Key: ptr.To(infrav1.TagManagedMachinePool), Value: ptr.To("blue/system")})
	made, err := facts.world()
	if err != nil {
		t.Fatal(err)
	}
	region := made.Regions[0]
	if region.Name != "eu-west-1" || len(region.Clusters) != 1 || region.Clusters[0].Version != "1.99" || len(region.KeyPairs) != 1 || len(region.SecurityGroups) != 1 || len(region.Subnets) != 1 {
		t.Errorf("region: got name %s, clusters %v, keys %v, groups %v, and subnets %v", region.Name, region.Clusters, region.KeyPairs, region.SecurityGroups, region.Subnets)
	}
	for _, name := range []string{"amazon-eks-node-al2023-x86_64-standard-1.99-v20991231", "amazon-eks-node-al2023-x86_64-standard-1.34-v20250903"} {
		if !slices.ContainsFunc(region.Images, func(image world.Image) bool { return image.Name == name }) {
			t.Errorf("images: there is no %s", name)
		}
	}
	find := func(name string) int {
		return slices.IndexFunc(made.Roles, func(role world.Role) bool { return role.Name == name })
	}
	if at := find("users"); at < 0 || !slices.Equal(made.Roles[at].Policies, []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}) {
		t.Errorf("roles: got %v, want role users with the policy of AWS's", made.Roles)
	}
	if find("slipways") >= 0 {
		t.Error("roles: the copy must create the role that Slipway created")
	}
}

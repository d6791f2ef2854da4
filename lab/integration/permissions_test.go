package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/underpolicy"
)

// underPolicy are journeys that together do all that Slipway does, and the features that each needs
// in addition to the default ones. Their managers have no more than the policy of these.
var underPolicy = map[string][]permissions.Feature{
	"TestEveryField":                   {permissions.HookNotifications, permissions.ExistingTemplates},
	"TestEveryManagedField":            {permissions.HookNotifications},
	"TestBootstrapStorageChanges":      {permissions.SSMBootstrapData, permissions.S3BootstrapData},
	"TestPruning":                      nil,
	"TestTerminatedInstanceIsHeardOf":  {permissions.Events},
	"TestManagedSharedRole":            nil,
	"TestManagedImageLookedUp":         nil,
	"TestManagedCapacityBlock":         nil,
	"TestReleaseOfPoolsOfSlipwaysOwn":  {permissions.Adoption},
	"TestManagedReleaseOfSlipwaysOwn":  {permissions.Adoption},
	"TestManagedAdopted":               {permissions.Adoption},
	"TestManagedRoleOfCAPA":            {permissions.Adoption},
	"TestScaleOfAnAdoptedPool":         {permissions.Adoption},
	"TestRoleChain":                    {permissions.RoleIdentities},
	"TestDeletingAMachine":             nil,
	"TestNewerEditSupersedes":          nil,
	"TestNothingIsReplacedTwice":       nil,
	"TestWarmInstancesAreLetGo":        nil,
	"TestScaleInDrains":                nil,
	"TestWantOfCapacity":               nil,
	"TestManagedUpdateByAnotherClient": nil,
}

// TestManagedRoleOfCAPA has a managed pool take over the node role that CAPA left.
func TestManagedRoleOfCAPA(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	name := infrav1.DefaultNodeRoleName(w.eksCluster, infrav1.DefaultNodegroupName(w.Namespace, managedName))
	if _, err := w.iam().CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name, Tags: []iamtypes.Tag{{Key: aws.String(infrav1.KubernetesClusterTagKey(w.eksCluster)), Value: aws.String(infrav1.TagValueOwned)}},
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
	}); err != nil {
		t.Fatal(err)
	}
	w.applyManaged()
	w.Eventually("the pool is made", func() error { return w.managedActed(managedName) })
	if role := w.mustManaged().Status.NodeRole; role == nil || role.Name != name || !role.Managed {
		t.Errorf("the node role is %+v", role)
	}
	w.remove(&infrav1.AWSManagedMachinePool{}, managedName)
	w.Eventually("the role is gone", func() error {
		if role, err := w.iam().GetRole(t.Context(), &iam.GetRoleInput{RoleName: &name}); err == nil {
			return fmt.Errorf("role %s is there", *role.Role.Arn)
		}
		return nil
	})
}

// TestWantOfCapacity has a pool say why it stays below its size.
func TestWantOfCapacity(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "t3.large", Zone: "us-east-1a", Available: 1}}}})
	w.applyExample()
	w.awaitCondition(infrav1.CapacityAvailableCondition, metav1.ConditionFalse, infrav1.InsufficientCapacityReason)
}

// TestManagedUpdateByAnotherClient updates a node group as another client, so that the manager
// describes the update in progress.
func TestManagedUpdateByAnotherClient(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.images = []awsworld.Image{newerImage(t)}
	options.behavior.Nodes = []awssim.NodeRule{{NeverDrained: true}} // so that the update lasts
	w := newWorldWith(t, options)
	w.applyManaged("  scaling:\n", "  amiVersion: "+olderRelease+"\n  scaling:\n")
	w.Eventually("the pool is made", func() error { return w.managedActed(managedName) })
	group := w.mustManaged().Status.Nodegroup
	w.clock.SetRate(rate / 10)
	if _, err := w.eks().UpdateNodegroupVersion(t.Context(), &eks.UpdateNodegroupVersionInput{
		ClusterName: aws.String(w.eksCluster), NodegroupName: &group.Name, ReleaseVersion: aws.String(newerRelease),
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the update is looked for", func() error {
		if w.count("ListUpdates") == 0 {
			return fmt.Errorf("status is %+v", w.mustManaged().Status.Update)
		}
		return nil
	})
}

// asked holds what the managers of journeys asked for, and the EKS clusters of the journeys, by the
// name of the journey.
var asked = struct {
	sync.Mutex
	questions map[string][]awssim.Authorization
	clusters  map[string][]string
}{questions: map[string][]awssim.Authorization{}, clusters: map[string][]string{}}

// ordinary are the default features of a policy that names an EKS cluster.
func ordinary() []permissions.Feature { return permissions.Defaults(namedByTests("", "any")) }

// policyOf returns the features that the manager of a journey may use. It reports false if it may do
// everything.
func policyOf(t *testing.T) (journey string, features []permissions.Feature, held bool) {
	journey, _, _ = strings.Cut(t.Name(), "/")
	more, held := underPolicy[journey]
	return journey, slices.Concat(ordinary(), more), held
}

// policies returns the policies of features, in the account and region of a test.
func policies(t *testing.T, scope permissions.Scope, features []permissions.Feature) []string {
	t.Helper()
	documents, err := underpolicy.Documents(scope, features)
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// namedByTests returns the scope of policies with the names that journeys use, as a user would have
// to give them.
func namedByTests(region string, eksClusters ...string) permissions.Scope {
	return permissions.Scope{
		Partition: "aws", Region: region, Clusters: []string{"capa"}, EKSClusters: eksClusters,
		// Names of pools that specify them, and names that follow from the namespaces of tests.
		Nodegroups: []string{"*_*", givenGroup}, RolePaths: []string{noderole.PathOf(noderole.DefaultPath, "capa"), "/nodes/"},
		NodeRoles: []string{"shared-nodes", givenRole, infrav1.HashedNamePrefix + "*"}, HookRoles: []string{"one"}, NodePolicies: []string{ssmPolicy},
		Bucket: bucket, Queue: eventQueue, IdentityRoles: []string{hubRole, tenantRole},
	}
}

// hold has the manager of a journey under policy do no more than its policy allows, and collects
// what it asked for.
func hold(t *testing.T, env *labtest.Env, eksCluster string) {
	t.Helper()
	journey, features, held := policyOf(t)
	if !held {
		return
	}
	documents := policies(t, namedByTests(env.Cloud.Region(), eksCluster), features)
	underpolicy.Hold(env, documents, func(questions []awssim.Authorization) {
		asked.Lock()
		defer asked.Unlock()
		asked.clusters[journey] = append(asked.clusters[journey], eksCluster)
		asked.questions[journey] = append(asked.questions[journey], questions...)
	})
}

// withoutLinkedRoles returns the roles of an account that has no group yet.
func withoutLinkedRoles(roles []awsworld.Role) []awsworld.Role {
	return slices.DeleteFunc(slices.Clone(roles), func(role awsworld.Role) bool { return strings.HasPrefix(role.Path, "/aws-service-role/") })
}

// policiesAreNoMore is nil if some call of the journeys under policy is denied without any single
// action of any statement. TestMain calls it after the journeys.
func policiesAreNoMore() error {
	var problems []error
	needed := map[string]bool{}
	for journey, more := range underPolicy {
		if len(asked.questions[journey]) == 0 {
			problems = append(problems, fmt.Errorf("journey %s asked for nothing", journey))
			continue
		}
		scope := namedByTests(awsworld.Default().Regions[0].Name, asked.clusters[journey]...)
		needs, err := underpolicy.Needed(scope, slices.Concat(ordinary(), more), asked.questions[journey])
		if err != nil {
			return err
		}
		for what, need := range needs {
			needed[what] = needed[what] || need
		}
	}
	problems = append(problems, underpolicy.Unneeded(needed))
	permitted := slices.Collect(maps.Keys(needed))
	var features []permissions.Feature
	for _, purpose := range permissions.Features {
		// lab/provisioner has the first two, and no controller does what the commands preflight and plan do
		if !slices.Contains([]permissions.Feature{permissions.JustInTimeNodes, permissions.ClusterEndpoints, permissions.Preflight, permissions.Prices}, purpose.Feature) {
			features = append(features, purpose.Feature)
		}
	}
	for _, action := range permissions.Actions(features...) {
		if !slices.ContainsFunc(permitted, func(what string) bool { return strings.HasSuffix(what, " "+action) }) {
			problems = append(problems, fmt.Errorf("no journey has a feature with %s", action))
		}
	}
	return errors.Join(problems...)
}

// TestPermissionsThatAreMissing removes one permission after another while a pool is created. The
// pool reports which is missing, and goes on when it is there.
func TestPermissionsThatAreMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	without := func(action string) {
		documents := policies(t, namedByTests(w.Cloud.Region(), w.eksCluster), ordinary())
		for i, document := range documents {
			documents[i] = strings.ReplaceAll(document, strconv.Quote(action), strconv.Quote("cloudwatch:PutMetricData"))
		}
		if err := w.Cloud.AWS.SetPolicies(lab.AccessKeyID(w.Account), documents...); err != nil {
			t.Fatal(err)
		}
	}
	without("ec2:DescribeSubnets")
	w.applyExample()
	for _, row := range []struct{ missing, says string }{
		{"ec2:DescribeImages", "not authorized to perform: ec2:DescribeImages"},
		{"ec2:CreateLaunchTemplate", "not authorized to perform: ec2:CreateLaunchTemplate"},
		{"ec2:CreateTags", "not authorized to perform: ec2:CreateTags"},
		{"autoscaling:CreateAutoScalingGroup", "not authorized to perform: autoscaling:CreateAutoScalingGroup"},
		{"ec2:RunInstances", "You are not authorized to use launch template"},
	} {
		without(row.missing)
		w.Eventually("the pool says that "+row.missing+" is missing", func() error {
			pool, err := w.pool()
			if err != nil {
				return err
			}
			for _, condition := range pool.Status.Conditions {
				if condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, row.says) {
					return nil
				}
			}
			return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
		})
	}
	without("nothing")
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
}

package integration

import (
	"encoding/json"
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
	"github.com/slipway-project/slipway/awssim/iampolicy"
	awsworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/underpolicy"
)

// journeyUnderPolicy is a journey whose manager has the policy of the default features and of the
// features that it needs in addition.
type journeyUnderPolicy struct {
	name     string
	journey  func(*testing.T)
	features []permissions.Feature
}

// underPolicy are journeys that together do all that Slipway does.
var underPolicy = []journeyUnderPolicy{
	{"EveryField", TestEveryField, []permissions.Feature{permissions.HookNotifications, permissions.ExistingTemplates}},
	{"EveryManagedField", TestEveryManagedField, []permissions.Feature{permissions.HookNotifications}},
	{"BootstrapStorageChanges", TestBootstrapStorageChanges, []permissions.Feature{permissions.SSMBootstrapData, permissions.S3BootstrapData}},
	{"Pruning", TestPruning, nil},
	{"TerminatedInstanceIsHeardOf", TestTerminatedInstanceIsHeardOf, []permissions.Feature{permissions.Events}},
	{"ManagedSharedRole", TestManagedSharedRole, nil},
	{"ManagedImageLookedUp", TestManagedImageLookedUp, nil},
	{"ManagedCapacityBlock", TestManagedCapacityBlock, nil},
	{"ReleaseOfPoolsOfSlipwaysOwn", TestReleaseOfPoolsOfSlipwaysOwn, []permissions.Feature{permissions.Adoption}},
	{"ManagedReleaseOfSlipwaysOwn", TestManagedReleaseOfSlipwaysOwn, []permissions.Feature{permissions.Adoption}},
	{"ManagedAdopted", TestManagedAdopted, []permissions.Feature{permissions.Adoption}},
	{"RoleOfCAPA", roleOfCAPA, []permissions.Feature{permissions.Adoption}},
	{"ScaleOfAnAdoptedPool", TestScaleOfAnAdoptedPool, []permissions.Feature{permissions.Adoption}},
	{"RoleChain", TestRoleChain, []permissions.Feature{permissions.RoleIdentities}},
	{"DeletingAMachine", TestDeletingAMachine, nil},
	{"NewerEditSupersedes", TestNewerEditSupersedes, nil},
	{"NothingIsReplacedTwice", TestNothingIsReplacedTwice, nil},
	{"WarmInstancesAreLetGo", TestWarmInstancesAreLetGo, nil},
	{"ScaleInDrains", TestScaleInDrains, nil},
	{"WantOfCapacity", wantOfCapacity, nil},
	{"UpdateByAnotherClient", updateByAnotherClient, nil},
}

// roleOfCAPA has a managed pool take over the node role that CAPA left.
func roleOfCAPA(t *testing.T) {
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

// wantOfCapacity has a pool say why it stays below its size.
func wantOfCapacity(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "t3.large", Zone: "us-east-1a", Available: 1}}}})
	w.applyExample()
	w.awaitCondition(infrav1.CapacityAvailableCondition, metav1.ConditionFalse, infrav1.InsufficientCapacityReason)
}

// updateByAnotherClient updates a node group as another client, so that the manager describes the
// update in progress.
func updateByAnotherClient(t *testing.T) {
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

// held has what managers may do, the EKS clusters that they have, and what they asked for, by the
// name of the journey.
var held = struct {
	sync.Mutex
	features map[string][]permissions.Feature
	clusters map[string][]string
	asked    map[string][]awssim.Authorization
}{features: map[string][]permissions.Feature{}, clusters: map[string][]string{}, asked: map[string][]awssim.Authorization{}}

// ordinary are the default features of a policy that names an EKS cluster.
func ordinary() []permissions.Feature { return permissions.Defaults(namedByTests("", "any")) }

// policyOf returns what the manager of a journey may do, and the name under which it is held; nil
// if it may do everything.
func policyOf(t *testing.T) (string, []permissions.Feature) {
	held.Lock()
	defer held.Unlock()
	for name, features := range held.features {
		if t.Name() == name || strings.HasPrefix(t.Name(), name+"/") {
			return name, slices.Concat(ordinary(), features)
		}
	}
	return "", nil
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
	name, features := policyOf(t)
	if features == nil {
		return
	}
	documents := policies(t, namedByTests(env.Cloud.Region(), eksCluster), features)
	if err := env.Cloud.AWS.SetPolicies(lab.AccessKeyID(env.Account), documents...); err != nil {
		t.Fatal(err)
	}
	held.Lock()
	held.clusters[name] = append(held.clusters[name], eksCluster)
	held.Unlock()
	t.Cleanup(func() {
		held.Lock()
		defer held.Unlock()
		held.asked[name] = append(held.asked[name], env.Cloud.AWS.Authorizations()...)
	})
}

// withoutLinkedRoles returns the roles of an account that has no group yet.
func withoutLinkedRoles(roles []awsworld.Role) []awsworld.Role {
	return slices.DeleteFunc(slices.Clone(roles), func(role awsworld.Role) bool { return strings.HasPrefix(role.Path, "/aws-service-role/") })
}

// TestPolicyIsEnoughAndNoMore runs journeys with a manager that has the policy that is printed for
// what they do: no call is denied. Without any single action of any statement, some call of theirs
// is.
func TestPolicyIsEnoughAndNoMore(t *testing.T) {
	t.Parallel()
	t.Run("journeys", func(t *testing.T) {
		for _, row := range underPolicy {
			held.Lock()
			held.features[t.Name()+"/"+row.name] = row.features
			held.Unlock()
			t.Run(row.name, row.journey)
		}
	})
	needed := map[string]bool{}
	every := map[string]bool{}
	for _, row := range underPolicy {
		asked := held.asked[t.Name()+"/journeys/"+row.name]
		if len(asked) == 0 {
			t.Errorf("journey %s asked for nothing", row.name)
			continue
		}
		features := slices.Concat(ordinary(), row.features)
		reduced, err := underpolicy.Reductions(namedByTests(awsworld.Default().Regions[0].Name, held.clusters[t.Name()+"/journeys/"+row.name]...), features)
		if err != nil {
			t.Fatal(err)
		}
		for what, documents := range reduced {
			every[what] = true
			if !needed[what] {
				needed[what] = slices.ContainsFunc(asked, func(question awssim.Authorization) bool {
					return iampolicy.Evaluate(documents, question.Request) != iampolicy.Allowed
				})
			}
		}
		for _, question := range asked {
			if question.Decision != iampolicy.Allowed {
				text, _ := json.Marshal(question)
				t.Errorf("journey %s: %s", row.name, text)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(every)) {
		if !needed[what] {
			t.Errorf("no journey needs %s", what)
		}
	}
	var features []permissions.Feature
	for _, purpose := range permissions.Features {
		// lab/provisioner has the first two, and no controller does what the commands preflight and plan do
		if !slices.Contains([]permissions.Feature{permissions.JustInTimeNodes, permissions.ClusterEndpoints, permissions.Preflight, permissions.Prices}, purpose.Feature) {
			features = append(features, purpose.Feature)
		}
	}
	for _, action := range permissions.Actions(features...) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(every)), func(what string) bool { return strings.HasSuffix(what, " "+action) }) {
			t.Errorf("no journey has a feature with %s", action)
		}
	}
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

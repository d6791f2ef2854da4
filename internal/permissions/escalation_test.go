package permissions

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/fleet"
)

// depth limits the number of calls in a sequence.
const depth = 4

// search looks for sequences of calls that reach a goal, the shortest first.
type search struct {
	policies []iampolicy.Policy
	goal     func(call) bool
	// tried has the calls that are allowed on each thing.
	tried map[string][]call
}

func (f *search) allowed(candidates []call) []call {
	return slices.DeleteFunc(candidates, func(c call) bool {
		return slices.ContainsFunc(c.requests, func(request iampolicy.Request) bool {
			return iampolicy.Evaluate(f.policies, request) != iampolicy.Allowed
		})
	})
}

// on returns the calls that are allowed on a thing. Calls on a thing that does not exist create it.
func (f *search) on(t thing) []call {
	key := t.kind + t.key()
	found, known := f.tried[key]
	if !known {
		if t.name == "" {
			found = f.allowed(creations(t.kind))
		} else {
			found = f.allowed(calls(t))
		}
		f.tried[key] = found
	}
	return found
}

// from returns the names of the calls of a shortest sequence that reaches the goal, nil if there is
// none. A thing without a name is one that can be created.
func (f *search) from(start []thing) []string {
	type node struct {
		things []thing
		path   []string
	}
	key := func(things []thing) string {
		keys := make([]string, len(things))
		for i, t := range things {
			keys[i] = t.key()
		}
		return strings.Join(keys, ";")
	}
	seen, level := map[string]bool{key(start): true}, []node{{things: start}}
	for range depth {
		var next []node
		for _, at := range level {
			for i, t := range at.things {
				for _, c := range f.on(t) {
					path := append(slices.Clone(at.path), c.name+" on "+c.on.name)
					if f.goal(c) {
						return path
					}
					things := slices.Clone(at.things)
					if things[i] = c.then; c.then.name == "" {
						things[i] = thing{kind: t.kind}
					}
					if key := key(things); !seen[key] {
						seen[key] = true
						next = append(next, node{things, path})
					}
				}
			}
		}
		level = next
	}
	return nil
}

// harms reports whether a call changes, uses, or deletes a foreign resource, or leaves an outside
// principal with a role that may do more than nodes may. Nodes' permissions are the holder's
// anyway, because it starts nodes.
func harms(required string) func(call) bool {
	return func(c call) bool {
		if c.on.foreign && !slices.ContainsFunc(c.on.may, func(action string) bool { return strings.HasPrefix(c.name, action) }) {
			return true
		}
		beyond := slices.ContainsFunc(c.then.policies, func(policy string) bool { return policy != cni })
		return c.then.trusted && (beyond || len(c.then.policies) > 0 && required != "" && c.then.boundary != required)
	}
}

// deletes reports whether a call deletes what is foreign.
func deletes(c call) bool { return c.on.foreign && c.deletes }

// world is an account with things of others of every kind. A resource that can be adopted is
// foreign unless the policy is for Adoption, and a resource that another cluster's Slipway owns is
// foreign if the policy names its cluster.
func world(scope Scope, features []Feature) []thing {
	adopting, scoped := slices.Contains(features, Adoption), len(scope.Clusters) > 0
	capa := func(cluster string) map[string]string {
		return map[string]string{
			infrav1.TagProviderClusterPrefix + cluster: "owned", infrav1.TagKubernetesClusterPrefix + cluster: "owned", infrav1.TagRole: "node",
		}
	}
	var all []thing
	add := func(kind, arn string, foreign bool, tags map[string]string, may ...string) {
		all = append(all, thing{name: fmt.Sprint(kind, " ", len(all), " ", arn), kind: kind, arn: arn, foreign: foreign, tags: tags, may: may})
	}
	resources := map[string]string{
		"template": arnOf("ec2", "launch-template/lt-%d"), "group": arnOf("autoscaling", "autoScalingGroup:%d:autoScalingGroupName/pool"),
		"nodegroup": arnOf("eks", "nodegroup/blue-eks/default_pool/%d"), "role": "arn:aws:iam::" + account + ":role/blue-eks-default_pool%d_nodegroup-iam-service-role",
	}
	for _, kind := range slices.Sorted(maps.Keys(resources)) {
		marked := func(tags map[string]string, more ...string) map[string]string {
			for _, value := range more {
				tags[owners[kind]] = value
			}
			return tags
		}
		for i, row := range []struct {
			foreign bool
			tags    map[string]string
		}{
			{true, capa("red")},
			{!adopting, capa("blue-eks")},
			{scoped, marked(capa("red"), "default/red/x")},
			{scoped, marked(map[string]string{}, "blue/red/x")}, // a namespace of the cluster's name
			{scoped, marked(map[string]string{}, "default/red/blue")},
			{scoped, marked(capa("blue-eks"), "default/red/x")},
			{false, marked(capa("blue-eks"), "default/blue/x")},
		} {
			arn := fmt.Sprintf(resources[kind], i)
			if kind == "role" && row.tags[owners[kind]] != "" {
				cluster := strings.Split(row.tags[owners[kind]], "/")[1]
				// where Slipway creates them
				arn = fmt.Sprintf("arn:aws:iam::%s:role/slipway/%s/%d", account, cluster, i)
			}
			if kind == "nodegroup" && row.tags[infrav1.TagKubernetesClusterPrefix+"red"] != "" {
				// EKS's name is a part of it
				arn = arnOf("eks", fmt.Sprintf("nodegroup/red/default_pool/%d", i))
			}
			add(kind, arn, row.foreign, row.tags, launches(kind, row.tags)...)
		}
	}
	// Default launch templates of Provisioners: of this cluster, and of another one whose
	// Provisioner has the name of this cluster.
	add("template", arnOf("ec2", "launch-template/lt-p1"), false, map[string]string{infrav1.TagLaunchConfig: "provisioner/blue/default/x86_64"})
	add("template", arnOf("ec2", "launch-template/lt-p2"), scoped, map[string]string{infrav1.TagLaunchConfig: "provisioner/red/blue/x86_64"})
	// Without any tag. A node group is distinguished from a new one by its name, or by its cluster.
	add("template", arnOf("ec2", "launch-template/lt-plain"), true, nil, launches("template", nil)...)
	add("group", arnOf("autoscaling", "autoScalingGroup:plain:autoScalingGroupName/plain"), true, nil)
	add("nodegroup", arnOf("eks", "nodegroup/blue-eks/plain/id"), true, nil)
	add("nodegroup", arnOf("eks", "nodegroup/red/default_a/id"), true, nil)
	add("role", "arn:aws:iam::"+account+":role/capa_0123", true, nil)
	add("role", "arn:aws:iam::"+account+":role/admin", true, nil)
	add("role", "arn:aws:iam::"+account+":role/team/slipway/admin", true, nil)
	add("role", "arn:aws:iam::444455556666:role/slipway/elsewhere", scope.Account != "", nil)
	// EKS's groups of node groups: of Slipway's name, whose hooks and tags are declared to be
	// Slipway's; of another; of another cluster.
	eks := func(cluster, nodegroup string) map[string]string {
		return map[string]string{tagEKSCluster: cluster, tagEKSNodegroup: nodegroup}
	}
	add("group", arnOf("autoscaling", "autoScalingGroup:e1:autoScalingGroupName/eks-default_a"), true, eks("blue-eks", "default_a"),
		"autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags", "autoscaling:PutLifecycleHook", "autoscaling:DeleteLifecycleHook")
	add("group", arnOf("autoscaling", "autoScalingGroup:e2:autoScalingGroupName/eks-plain"), true, eks("blue-eks", "plain"))
	add("group", arnOf("autoscaling", "autoScalingGroup:e3:autoScalingGroupName/eks-default_a"), true, eks("red", "default_a"))
	add("instance", arnOf("ec2", "instance/i-plain"), true, nil)
	add("instance", arnOf("ec2", "instance/i-red"), scoped, map[string]string{fleet.TagCluster: "red"})
	add("instance", arnOf("ec2", "instance/i-owned"), true, map[string]string{infrav1.TagMachinePool: "default/blue/x"})
	// Bootstrap data of another cluster, of a config that has the name of this one, and of another
	// owner; foreign messages.
	for kind, prefix := range map[string]string{"parameter": arnOf("ssm", "parameter/slipway/"), "object": "arn:aws:s3:::data/node/slipway/"} {
		hash := strings.Repeat("0", 32)
		add(kind, prefix+"default/red/x/"+hash, scoped, nil)
		add(kind, prefix+"default/red/blue/"+hash, scoped, nil)
		add(kind, prefix+"blue/red/x/"+hash, scoped, nil)
		add(kind, strings.Replace(prefix, "slipway/", "other/", 1)+"default/blue/x/"+hash, true, nil)
	}
	add("object", "arn:aws:s3:::other/node/slipway/default/blue/x/"+strings.Repeat("0", 32), true, nil)
	add("queue", arnOf("sqs", "other"), true, nil)
	return all
}

// launches returns the changes that a policy allows by declaration: launch templates without a
// Slipway owner can be launched from.
func launches(kind string, tags map[string]string) []string {
	if kind != "template" || tags[owners[kind]] != "" {
		return nil
	}
	return []string{"ec2:CreateFleet", "ec2:RunInstances"}
}

// TestEveryActionIsModelled holds that the search tries every action that a policy can allow.
func TestEveryActionIsModelled(t *testing.T) {
	t.Parallel()
	known := slices.Concat(special, slices.Collect(maps.Keys(harmless)))
	for _, actions := range taggers {
		known = append(known, actions[:]...)
	}
	for _, actions := range slices.Concat(slices.Collect(maps.Values(changes)), slices.Collect(maps.Values(deletions))) {
		known = append(known, actions...)
	}
	for _, action := range Actions(everyFeature()...) {
		if _, name, _ := strings.Cut(action, ":"); !slices.Contains(known, action) && !strings.HasPrefix(name, "Describe") {
			t.Errorf("no call of the model asks for %s", action)
		}
	}
}

// kinds are the kinds of things.
var kinds = []string{"template", "group", "nodegroup", "role", "instance", "parameter", "object", "queue"}

// escape returns a sequence that reaches a goal. A call requires permissions on one resource and
// changes only that resource, so that things of different kinds cannot help each other: there is a
// search for each kind. It begins with all foreign things, and with one that is the holder's to
// change, or that it can create.
func escape(policies []iampolicy.Policy, things []thing, goal func(call) bool) []string {
	finder := &search{policies: policies, goal: goal, tried: map[string][]call{}}
	for _, kind := range kinds {
		var foreign []thing
		own := []thing{{kind: kind}}
		for _, t := range things {
			switch {
			case t.kind == kind && t.foreign:
				foreign = append(foreign, t)
			case t.kind == kind:
				own = append(own, t)
			}
		}
		// A resource on which no call is allowed stays as it is.
		foreign = slices.DeleteFunc(foreign, func(t thing) bool { return len(finder.on(t)) == 0 })
		for _, company := range own {
			if path := finder.from(append(slices.Clone(foreign), company)); path != nil {
				return path
			}
		}
	}
	return nil
}

// scopes are the scopes that policies are searched in.
func scopes() map[string]Scope {
	bounded, elsewhere := blue, named
	bounded.PermissionsBoundary, bounded.Account, bounded.Region, bounded.Partition = bound, account, region, "aws"
	// of all clusters
	elsewhere.Nodegroups, elsewhere.RolePaths = []string{"default_*", "capa_*"}, []string{"/slipway/", "/teams/nodes/"}
	return map[string]Scope{"what features need": named, "one cluster": blue, "everything": bounded, "names and paths": elsewhere}
}

// TestNoSequenceReachesForeignResources searches the policies of all features, with and without
// Adoption, for sequences of up to four calls that change, use, or delete a foreign resource. The
// policies of fewer features allow less (TestFewerFeaturesAllowLess), so there is no such sequence
// for them either.
func TestNoSequenceReachesForeignResources(t *testing.T) {
	t.Parallel()
	for what, scope := range scopes() {
		for name, features := range map[string][]Feature{"adopting": everyFeature(), "not adopting": withoutAdoption()} {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				policies := parsed(t, mustPolicies(t, scope, features...))
				if path := escape(policies, world(scope, features), harms(scope.PermissionsBoundary)); path != nil {
					t.Errorf("%d calls do harm:\n%s", len(path), strings.Join(path, "\n"))
				}
			})
		}
	}
}

func withoutAdoption() []Feature {
	return slices.DeleteFunc(everyFeature(), func(feature Feature) bool { return feature == Adoption })
}

// TestFewerFeaturesAllowLess holds that every statement only allows, and that the policy of a
// feature has no statement that the policy of all features lacks: neither in its actions, nor on
// wider resources, nor under a weaker condition.
func TestFewerFeaturesAllowLess(t *testing.T) {
	t.Parallel()
	for what, scope := range scopes() {
		for name, features := range map[string][]Feature{"adopting": everyFeature(), "not adopting": withoutAdoption()} {
			all := map[string]Statement{}
			for _, statement := range statements(scope, features) {
				all[statement.Sid] = statement
			}
			for _, feature := range features {
				some := []Feature{feature}
				if name == "adopting" {
					some = append(some, Adoption)
				}
				for _, statement := range statements(scope, some) {
					more := all[statement.Sid]
					actions := slices.ContainsFunc(statement.Action, func(action string) bool { return !slices.Contains(more.Action, action) })
					more.Action = statement.Action
					if difference := cmp.Diff(more, statement); actions || difference != "" || statement.Effect != "Allow" {
						t.Errorf("%s, %s: statement %s of %s is not a part of the policy of all features (-all +of it):\n%s", what, name, statement.Sid, feature, difference)
					}
				}
			}
		}
	}
}

// TestSearchFindsEscalations holds that the search finds what policies of an earlier form let their
// holder do: tag a foreign resource, and then delete it.
func TestSearchFindsEscalations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/tag-anything.json")
	if err != nil {
		t.Fatal(err)
	}
	old, err := iampolicy.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"template", "group", "nodegroup", "role"} {
		things := slices.DeleteFunc(world(named, nil), func(t thing) bool { return t.kind != kind })
		path := escape([]iampolicy.Policy{old}, things, deletes)
		if len(path) != 2 {
			t.Errorf("a foreign %s is deleted by %q, want a call that tags it and one that deletes it", kind, path)
		}
	}
}

// TestBoundsKeepHarmOut takes conditions and resources of statements away, one at a time. The
// search must find what each keeps out. Bounds that are not listed keep nothing out alone: a
// permissions boundary is required both of a role that is created and of one that policies are
// attached to, for example.
func TestBoundsKeepHarmOut(t *testing.T) {
	t.Parallel()
	everything := scopes()["everything"]
	adopting := everyFeature()
	features := withoutAdoption()
	const resourceTag = "aws:ResourceTag/"
	for _, row := range []struct {
		features   []Feature
		sid, bound string
	}{
		{features, "TagWhatIsMade", "ec2:CreateAction"},
		{features, "KeepTemplates", resourceTag + infrav1.TagLaunchConfig},
		{features, "KeepNodeTemplates", resourceTag + infrav1.TagLaunchConfig},
		{features, "TagTemplates", resourceTag + infrav1.TagLaunchConfig},
		{features, "TagNodeTemplates", resourceTag + infrav1.TagLaunchConfig},
		{features, "LaunchFromOtherTemplates", resourceTag + infrav1.TagLaunchConfig},
		{features, "EndNodes", resourceTag + fleet.TagCluster},
		{features, "KeepGroups", resourceTag + infrav1.TagMachinePool},
		{features, "TagGroups", resourceTag + infrav1.TagMachinePool},
		{features, "KeepGroupsOfEKS", resourceTag + tagEKSCluster},
		{features, "KeepGroupsOfEKS", resourceTag + tagEKSNodegroup},
		{features, "TagGroupsOfEKS", resourceTag + tagEKSCluster},
		{features, "TagGroupsOfEKS", resourceTag + tagEKSNodegroup},
		{features, "TagGroupsOfEKS", "aws:TagKeys"},
		{features, "PassRolesToInstances", ""},
		{features, "PassRolesToHooks", ""},
		{features, "PassRolesToEKS", ""},
		{features, "TagNewNodegroups1", ""},
		{features, "TagNewNodegroups1", resourceTag + infrav1.TagManagedMachinePool},
		{features, "TagNewNodegroups1", resourceTag + infrav1.TagKubernetesClusterPrefix + "blue-eks"},
		{features, "KeepNodegroups", resourceTag + infrav1.TagManagedMachinePool},
		{features, "TagNodegroups", resourceTag + infrav1.TagManagedMachinePool},
		{features, "TagNewRoles", ""},
		{features, "AttachToRoles", "iam:PolicyARN"},
		{features, "KeepParameters", ""},
		{features, "KeepObjects", ""},
		{features, "HearEvents", ""},
		{features, "BecomeIdentities", ""},
		{adopting, "AdoptTemplates2", resourceTag + infrav1.TagProviderClusterPrefix + "blue-eks"},
		{adopting, "AdoptTemplates2", resourceTag + infrav1.TagLaunchConfig},
		{adopting, "AdoptGroups2", resourceTag + infrav1.TagProviderClusterPrefix + "blue-eks"},
		{adopting, "AdoptGroups2", resourceTag + tagEKSNodegroup},
		{adopting, "AdoptNodegroups1", resourceTag + infrav1.TagKubernetesClusterPrefix + "blue-eks"},
		{adopting, "AdoptRoles2", resourceTag + infrav1.TagKubernetesClusterPrefix + "blue-eks"},
		{adopting, "TagRoles", resourceTag + infrav1.TagManagedMachinePool},
		{adopting, "KeepRoles", resourceTag + infrav1.TagManagedMachinePool},
		{adopting, "AttachToRoles", "iam:PolicyARN"},
	} {
		t.Run(row.sid+" "+row.bound, func(t *testing.T) {
			t.Parallel()
			policies := parsed(t, mustPolicies(t, everything, row.features...))
			loosen(t, policies, row.sid, row.bound)
			if escape(policies, world(everything, row.features), harms(bound)) == nil {
				t.Error("the search finds no harm")
			}
		})
	}
}

// loosen takes a condition key away from a statement, or its resources if there is no key.
func loosen(t *testing.T, policies []iampolicy.Policy, sid, key string) {
	t.Helper()
	for i := range policies {
		for j := range policies[i].Statements {
			statement := &policies[i].Statements[j]
			switch {
			case statement.SID != sid:
				continue
			case key == "":
				statement.Resource = iampolicy.Strings{"*"}
				return
			}
			found := false
			for _, keys := range statement.Condition {
				if _, there := keys[key]; there {
					delete(keys, key)
					found = true
				}
			}
			if !found {
				t.Fatalf("statement %s has no condition for %s", sid, key)
			}
			return
		}
	}
	t.Fatalf("there is no statement %s", sid)
}

// TestOwnersStay holds that no call takes Slipway's owner tag from its resources, nor changes it,
// unless the policy is for Adoption, which gives things back to CAPA. A role may be left to another
// pool of the same clusters.
func TestOwnersStay(t *testing.T) {
	t.Parallel()
	for what, scope := range scopes() {
		features := withoutAdoption()
		finder := &search{policies: parsed(t, mustPolicies(t, scope, features...)), tried: map[string][]call{}}
		tried := 0
		for _, kind := range []string{"template", "group", "nodegroup", "role"} {
			arn := map[string]string{
				"template": arnOf("ec2", "launch-template/lt-1"), "group": arnOf("autoscaling", "autoScalingGroup:1:autoScalingGroupName/pool"),
				"nodegroup": arnOf("eks", "nodegroup/blue-eks/default_pool/1"), "role": "arn:aws:iam::" + account + ":role/slipway/blue/1",
			}[kind]
			own := thing{name: "own", kind: kind, arn: arn, tags: map[string]string{owners[kind]: "default/blue/y", "team": "b"}}
			for _, c := range finder.on(own) {
				if c.deletes {
					continue
				}
				tried++
				owner := c.then.tags[owners[kind]]
				handed := kind == "role" && (owner == "default/blue/x" || owner == "default/red/x" && len(scope.Clusters) == 0)
				if owner != "default/blue/y" && !handed {
					t.Errorf("%s: %s makes the owner of a %s %q", what, c.name, kind, owner)
				}
			}
		}
		if tried < 20 {
			t.Errorf("%s: only %d calls are allowed", what, tried)
		}
	}
}

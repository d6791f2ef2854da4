package permissions

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/fleet"
)

// sources is the directory of the code that calls AWS.
const sources = ".."

// simulation calls AWS as users of AWS do, in addition to the controllers that it runs.
const simulation = sources + "/simulation"

// otherwise are the permissions that IAM wants for calls of another name (AWS: Service
// Authorization Reference).
var otherwise = map[string]string{
	"s3:HeadObject": "s3:GetObject", "s3:ListObjectsV2": "s3:ListBucket", "s3:DeleteObjects": "s3:DeleteObject", "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
}

// notCalled are the permissions that others ask for in Slipway's name, or that come with a call of
// another name.
var notCalled = []string{"iam:CreateServiceLinkedRole", "iam:PassRole", "ssm:AddTagsToResource", "ssm:GetParameters"}

// free are calls that need no permission (AWS: API_GetCallerIdentity).
var free = []string{"sts:GetCallerIdentity"}

// TestTableIsWhatIsCalled holds that the table has what the product calls, and nothing else.
func TestTableIsWhatIsCalled(t *testing.T) {
	t.Parallel()
	called := slices.Clone(notCalled)
	err := filepath.WalkDir(sources, func(path string, entry fs.DirEntry, err error) error {
		if path == simulation {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			called = append(called, callsIn(file)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(called)
	called = slices.DeleteFunc(slices.Compact(called), func(call string) bool { return slices.Contains(free, call) })
	if difference := cmp.Diff(called, Actions(everyFeature()...)); difference != "" {
		t.Errorf("permissions (-called +in the table):\n%s", difference)
	}
}

// callsIn returns the permissions for the requests in a file: values of the SDK's input types.
func callsIn(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		literal, isLiteral := node.(*ast.CompositeLit)
		if !isLiteral {
			return true
		}
		selector, isSelector := literal.Type.(*ast.SelectorExpr)
		if !isSelector {
			return true
		}
		service, isName := selector.X.(*ast.Ident)
		action, isInput := strings.CutSuffix(selector.Sel.Name, "Input")
		if !isName || !isInput || !slices.Contains([]string{"autoscaling", "ec2", "eks", "iam", "pricing", "s3", "sqs", "ssm", "sts"}, service.Name) {
			return true
		}
		call := service.Name + ":" + action
		if permission, named := otherwise[call]; named {
			call = permission
		}
		found = append(found, call)
		return true
	})
	return found
}

// widest has the longest names that there are.
var widest = Scope{
	Partition: "aws-us-gov", Account: "111122223333", Region: "ap-southeast-7", Clusters: []string{strings.Repeat("c", 63)}, EKSClusters: []string{strings.Repeat("e", 100)},
	Nodegroups: []string{strings.Repeat("n", 63)}, RolePaths: []string{"/" + strings.Repeat("p", 100) + "/"}, PermissionsBoundary: "arn:aws-us-gov:iam::111122223333:policy/" + strings.Repeat("b", 128),
	Bucket: strings.Repeat("b", 63), Queue: strings.Repeat("q", 80), NodeRoles: []string{strings.Repeat("r", 64)}, HookRoles: []string{strings.Repeat("h", 64)}, NodePolicies: []string{"arn:aws-us-gov:iam::111122223333:policy/" + strings.Repeat("p", 128)},
	IdentityRoles: []string{"arn:aws-us-gov:iam::111122223333:role/" + strings.Repeat("i", 64)}, ImageParameters: []string{strings.Repeat("/ssm", 20)},
}

// everyFeature returns all features.
func everyFeature() []Feature {
	var features []Feature
	for _, purpose := range Features {
		features = append(features, purpose.Feature)
	}
	return features
}

// named has the least that every feature needs to be bounded.
var named = Scope{
	EKSClusters: []string{"blue-eks"}, HookRoles: []string{"hooks"}, Bucket: "data", Queue: "events", IdentityRoles: []string{"arn:aws:iam::111122223333:role/tenant"},
}

// blue is named for one Cluster.
var blue = func() Scope {
	scope := named
	scope.Clusters = []string{"blue"}
	return scope
}()

func mustPolicies(t *testing.T, scope Scope, features ...Feature) []Document {
	t.Helper()
	policies, err := Policies(scope, features...)
	if err != nil {
		t.Fatal(err)
	}
	return policies
}

// parsed returns policies as the evaluator of the simulated AWS reads them.
func parsed(t *testing.T, documents []Document) []iampolicy.Policy {
	t.Helper()
	policies := make([]iampolicy.Policy, len(documents))
	for i, document := range documents {
		var err error
		if policies[i], err = iampolicy.Parse(document.String()); err != nil {
			t.Fatal(err)
		}
	}
	return policies
}

// TestPoliciesAreWhatIAMTakes: a managed policy is bounded, and of a language.
func TestPoliciesAreWhatIAMTakes(t *testing.T) {
	t.Parallel()
	all := everyFeature()
	sets := map[string][]Feature{"all": all, "defaults": Defaults(named)}
	for _, feature := range all {
		sets[string(feature)] = []Feature{feature}
	}
	for name, features := range sets {
		for _, scope := range []Scope{named, blue, widest} {
			policies := mustPolicies(t, scope, features...)
			if len(features) == 1 && len(policies) != 1 && scope.Partition == "" {
				t.Errorf("feature %s takes %d policies", name, len(policies))
			}
			for _, policy := range policies {
				if length := iampolicy.Characters(policy.String()); length > iampolicy.MostCharacters || length != policy.Characters() {
					t.Errorf("%s: a policy has %d characters, and counts %d; IAM takes %d", name, length, policy.Characters(), iampolicy.MostCharacters)
				}
				if _, err := iampolicy.Parse(policy.String()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if policies := mustPolicies(t, Scope{}, Defaults(Scope{})...); len(policies) != 1 {
		t.Errorf("the default features that need no names take %d policies, want one", len(policies))
	}
}

func TestStatementThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	var scope Scope
	for i := range 100 {
		scope.NodeRoles = append(scope.NodeRoles, fmt.Sprintf("%s%02d", strings.Repeat("r", 62), i))
	}
	if _, err := Policies(scope, MachinePools); err == nil || !strings.Contains(err.Error(), "name fewer") {
		t.Errorf("the error is %v", err)
	}
}

// TestSplittingLosesNothing holds that several policies together are the statements of one.
func TestSplittingLosesNothing(t *testing.T) {
	t.Parallel()
	var together []Statement
	policies := mustPolicies(t, widest, Defaults(widest)...)
	for _, policy := range policies {
		together = append(together, policy.Statement...)
	}
	if len(policies) < 2 {
		t.Errorf("nothing is split")
	}
	if difference := cmp.Diff(statements(widest, Defaults(widest)), together); difference != "" {
		t.Errorf("statements (-want +got):\n%s", difference)
	}
}

// TestScopeBounds holds what each bound keeps out, by the evaluator of the simulated AWS.
func TestScopeBounds(t *testing.T) {
	t.Parallel()
	const template = "arn:aws:ec2:eu-central-1:111122223333:launch-template/lt-1"
	tagged := func(value string) iampolicy.Context {
		return iampolicy.Context{"aws:ResourceTag/slipway.infrastructure.cluster.x-k8s.io/launch-config": {value}}
	}
	remove := func(arn string, context iampolicy.Context) iampolicy.Request {
		return iampolicy.Request{Action: "ec2:DeleteLaunchTemplate", Resource: arn, Context: context}
	}
	attach := func(policy string) iampolicy.Request {
		return iampolicy.Request{
			Action: "iam:AttachRolePolicy", Resource: "arn:aws:iam::111122223333:role/slipway/x",
			Context: iampolicy.Context{"aws:ResourceTag/slipway.infrastructure.cluster.x-k8s.io/managed-machine-pool": {"default/blue/a"}, "iam:PolicyARN": {policy}},
		}
	}
	pass := func(role, service string) iampolicy.Request {
		return iampolicy.Request{Action: "iam:PassRole", Resource: "arn:aws:iam::111122223333:role/" + role, Context: iampolicy.Context{"iam:PassedToService": {service}}}
	}
	image := func(arn string) iampolicy.Request {
		return iampolicy.Request{Action: "ssm:GetParameter", Resource: arn}
	}
	for _, row := range []struct {
		reason  string
		scope   Scope
		request iampolicy.Request
		want    iampolicy.Decision
	}{
		{"a template of Slipway's", Scope{}, remove(template, tagged("default/blue/a")), iampolicy.Allowed},
		{"one without Slipway's tags", Scope{}, remove(template, nil), iampolicy.ImplicitlyDenied},
		{"one of the cluster's", Scope{Clusters: []string{"blue"}}, remove(template, tagged("default/blue/a")), iampolicy.Allowed},
		{"one of another cluster's", Scope{Clusters: []string{"blue"}}, remove(template, tagged("default/red/a")), iampolicy.ImplicitlyDenied},
		{"a namespace of the cluster's name", Scope{Clusters: []string{"blue"}}, remove(template, tagged("blue/red/a")), iampolicy.ImplicitlyDenied},
		{"a pool of the cluster's name", Scope{Clusters: []string{"blue"}}, remove(template, tagged("default/red/blue")), iampolicy.ImplicitlyDenied},
		{"the region", Scope{Region: "eu-central-1"}, remove(template, tagged("a/b/c")), iampolicy.Allowed},
		{"another region", Scope{Region: "eu-west-1"}, remove(template, tagged("a/b/c")), iampolicy.ImplicitlyDenied},
		{"another account", Scope{Account: "444455556666"}, remove(template, tagged("a/b/c")), iampolicy.ImplicitlyDenied},
		{"another partition", Scope{Partition: "aws-cn"}, remove(template, tagged("a/b/c")), iampolicy.ImplicitlyDenied},
		{"a policy that nodes need", Scope{}, attach("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"), iampolicy.Allowed},
		{"one that makes administrators", Scope{}, attach("arn:aws:iam::aws:policy/AdministratorAccess"), iampolicy.ImplicitlyDenied},
		{"a policy, without the boundary that is required", Scope{PermissionsBoundary: "arn:aws:iam::111122223333:policy/bound"}, attach("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"), iampolicy.ImplicitlyDenied},
		{"one that is named", Scope{NodePolicies: []string{"arn:aws:iam::111122223333:policy/own"}}, attach("arn:aws:iam::111122223333:policy/own"), iampolicy.Allowed},
		{"CAPA's role of instances", Scope{}, pass("nodes.cluster-api-provider-aws.sigs.k8s.io", "ec2.amazonaws.com"), iampolicy.Allowed},
		{"it, to another service", Scope{}, pass("nodes.cluster-api-provider-aws.sigs.k8s.io", "lambda.amazonaws.com"), iampolicy.ImplicitlyDenied},
		{"any other role", Scope{}, pass("admin", "ec2.amazonaws.com"), iampolicy.ImplicitlyDenied},
		{"a role that is named", Scope{NodeRoles: []string{"nodes/blue"}}, pass("nodes/blue", "ec2.amazonaws.com"), iampolicy.Allowed},
		{"a role that Slipway created", Scope{}, pass("slipway/blue/nodes", "eks.amazonaws.com"), iampolicy.Allowed},
		{"one of another path", Scope{RolePaths: []string{"/teams/nodes/"}}, pass("slipway/blue/nodes", "eks.amazonaws.com"), iampolicy.ImplicitlyDenied},
		{"a role that Slipway created for another cluster", Scope{Clusters: []string{"red"}}, pass("slipway/blue/nodes", "eks.amazonaws.com"), iampolicy.ImplicitlyDenied},
		{"a role that CAPA created", Scope{}, pass("blue-eks-default_a_nodegroup-iam-service-role", "eks.amazonaws.com"), iampolicy.ImplicitlyDenied},
		{"CAPA's role of node groups", Scope{}, pass("eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io", "eks.amazonaws.com"), iampolicy.Allowed},
		{"AWS's parameters", Scope{Account: "111122223333"}, image("arn:aws:ssm:eu-central-1::parameter/aws/service/eks/x"), iampolicy.Allowed},
		{"any other parameter", Scope{}, image("arn:aws:ssm:eu-central-1:111122223333:parameter/secret"), iampolicy.ImplicitlyDenied},
		{"one that is named", Scope{ImageParameters: []string{"/images/*"}}, image("arn:aws:ssm:eu-central-1:111122223333:parameter/images/blue"), iampolicy.Allowed},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.scope.EKSClusters = []string{"blue-eks"}
			policies := parsed(t, mustPolicies(t, row.scope, Defaults(row.scope)...))
			if got := iampolicy.Evaluate(policies, row.request); got != row.want {
				t.Errorf("it is %s, want %s", got, row.want)
			}
		})
	}
}

// TestNodesAreLaunchedForTheirCluster holds which launch templates just-in-time nodes are launched
// from, and which tags their fleets and instances must have, with the further features that launch
// from templates.
func TestNodesAreLaunchedForTheirCluster(t *testing.T) {
	t.Parallel()
	of := func(kind, key, value string) iampolicy.Context {
		return iampolicy.Context{"aws:" + kind + "/" + key: {value}}
	}
	owner := func(value string) iampolicy.Context { return of("ResourceTag", infrav1.TagLaunchConfig, value) }
	marked := func(cluster string) iampolicy.Context { return of("RequestTag", fleet.TagCluster, cluster) }
	template, image := arnOf("ec2", "launch-template/lt-1"), "arn:aws:ec2:"+region+"::image/ami-1"
	in := Scope{Account: account, Region: region, Clusters: []string{"blue"}}
	for _, row := range []struct {
		reason   string
		scope    Scope
		resource string
		context  iampolicy.Context
		want     iampolicy.Decision
	}{
		{"a launch template of the Provisioner's", in, template, owner("provisioner/blue/default/x86_64"), iampolicy.Allowed},
		{"one of an AWSLaunchConfig of the cluster", in, template, owner("default/blue/web"), iampolicy.Allowed},
		{"one of another cluster", in, template, owner("provisioner/red/default/x86_64"), iampolicy.ImplicitlyDenied},
		{"one of another cluster, in a namespace of this one's name", in, template, owner("blue/red/web"), iampolicy.ImplicitlyDenied},
		{"one of another cluster's, for a Provisioner of this name", in, template, owner("provisioner/red/blue/x86_64"), iampolicy.ImplicitlyDenied},
		{"one that no Slipway owns", in, template, of("ResourceTag", "team", "red"), iampolicy.Allowed},
		{"any of Slipway's, without clusters", Scope{}, template, owner("provisioner/red/default/x86_64"), iampolicy.Allowed},
		{"instances of the cluster", in, arnOf("ec2", "instance/*"), marked("blue"), iampolicy.Allowed},
		{"instances of another cluster", in, arnOf("ec2", "instance/*"), marked("red"), iampolicy.ImplicitlyDenied},
		{"instances without tags, which Slipway would not find again", in, arnOf("ec2", "instance/*"), nil, iampolicy.ImplicitlyDenied},
		{"them, without clusters", Scope{}, arnOf("ec2", "instance/*"), nil, iampolicy.ImplicitlyDenied},
		{"the image, which has no account", in, image, nil, iampolicy.Allowed},
		{"a subnet", in, arnOf("ec2", "subnet/subnet-1"), nil, iampolicy.Allowed},
	} {
		for _, action := range []string{"ec2:CreateFleet", "ec2:RunInstances"} {
			policies := parsed(t, mustPolicies(t, row.scope, JustInTimeNodes, ExistingTemplates))
			if got := iampolicy.Evaluate(policies, iampolicy.Request{Action: action, Resource: row.resource, Context: row.context}); got != row.want {
				t.Errorf("%s with %s is %s, want %s", action, row.reason, got, row.want)
			}
		}
	}
	policies := parsed(t, mustPolicies(t, in, JustInTimeNodes))
	for cluster, want := range map[string]iampolicy.Decision{"blue": iampolicy.Allowed, "red": iampolicy.ImplicitlyDenied} {
		if got := iampolicy.Evaluate(policies, iampolicy.Request{Action: "ec2:CreateFleet", Resource: arnOf("ec2", "fleet/*"), Context: marked(cluster)}); got != want {
			t.Errorf("a fleet of cluster %s is %s, want %s", cluster, got, want)
		}
	}
}

func TestScopeIsChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		scope  Scope
		err    string
	}{
		{"nothing", Scope{}, ""},
		{"everything", widest, ""},
		{"a partition that is none", Scope{Partition: "aws-eu"}, "partition"},
		{"an account by its name", Scope{Account: "production"}, "twelve digits"},
		{"an account of eleven digits", Scope{Account: "12345678901"}, "twelve digits"},
		{"a policy by its name", Scope{NodePolicies: []string{"own"}}, "no ARN"},
		{"a cluster by a pattern, of which no key of a tag can be made", Scope{Clusters: []string{"blue*"}}, "without wildcards"},
		{"an EKS cluster with a slash, which would end its part of an ARN", Scope{EKSClusters: []string{"blue/*"}}, "without wildcards"},
		{"node groups of every name", Scope{Nodegroups: []string{"**"}}, "a name or a pattern"},
		{"roles of every path", Scope{RolePaths: []string{"/"}}, "begin and end with a slash"},
		{"a path by a pattern", Scope{RolePaths: []string{"/*/"}}, "no wildcards"},
		{"a boundary by its name", Scope{PermissionsBoundary: "bound"}, "no ARN"},
		{"a boundary by a pattern", Scope{PermissionsBoundary: "arn:aws:iam::aws:policy/*"}, "must not have wildcards"},
		{"a role by its name", Scope{IdentityRoles: []string{"own"}}, "no ARN"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if err := row.scope.Check(); (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("the error is %v, want %q", err, row.err)
			}
		})
	}
}

// write rewrites the documented policies.
var write = flag.Bool("write", false, "write the policies into docs/reference/permissions.md")

const (
	documented = "../../docs/reference/permissions.md"
	begin, end = "<!-- begin: go test ./internal/permissions -write -->\n", "<!-- end -->\n"
)

// TestPoliciesAreDocumented holds that the document has each feature's policy as it is generated.
func TestPoliciesAreDocumented(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(documented)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for policies", documented)
	}
	want := before + begin + reference(t) + end + after
	if *write {
		if err := os.WriteFile(documented, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if difference := cmp.Diff(want, string(content)); difference != "" {
		t.Errorf("%s is not as the table says, go test ./internal/permissions -write mends it (-want +got):\n%s", documented, difference)
	}
}

// shown is the scope of the policies in the document.
var shown = Scope{
	EKSClusters: []string{"blue"}, HookRoles: []string{"notifications"}, Bucket: "bootstrap-data", Queue: "slipway-events",
	IdentityRoles: []string{"arn:aws:iam::111122223333:role/tenant"},
}

// reference is a table of the features, the default policy, and what each other feature needs.
func reference(t *testing.T) string {
	t.Helper()
	text := &strings.Builder{}
	fmt.Fprint(text, "\n| feature | default | needs | for |\n|---|---|---|---|\n")
	for _, purpose := range Features {
		flags := make([]string, len(purpose.Needs))
		for i, flag := range purpose.Needs {
			flags[i] = "`--" + flag + "`"
		}
		fmt.Fprintf(text, "| `%s` | %s | %s | %s |\n", purpose.Feature, map[bool]string{true: "yes"}[purpose.Default], strings.Join(flags, " or "), purpose.Text)
	}
	fmt.Fprint(text, "\n## The default policy for the EKS cluster blue\n\n")
	blocks(t, text, Defaults(shown))
	fmt.Fprint(text, "## What other features add\n\n")
	for _, purpose := range Features {
		if !purpose.Default {
			fmt.Fprintf(text, "`%s`:\n\n", purpose.Feature)
			blocks(t, text, []Feature{purpose.Feature})
		}
	}
	return text.String()
}

func blocks(t *testing.T, text *strings.Builder, features []Feature) {
	t.Helper()
	for _, policy := range mustPolicies(t, shown, features...) {
		if !json.Valid([]byte(policy.String())) {
			t.Fatalf("it is no JSON: %s", policy)
		}
		fmt.Fprintf(text, "```json\n%s\n```\n\n", policy)
	}
}

// TestNothingIsMadeWithoutTags tries every action that creates something with a request without
// Slipway's tags.
func TestNothingIsMadeWithoutTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ action, resource, tag string }{
		{"ec2:CreateLaunchTemplate", "arn:aws:ec2:r:1:launch-template/*", "launch-config"},
		{"autoscaling:CreateAutoScalingGroup", "arn:aws:autoscaling:r:1:autoScalingGroup:*:autoScalingGroupName/x", "machine-pool"},
		{"eks:CreateNodegroup", "arn:aws:eks:r:1:cluster/blue-eks", "managed-machine-pool"},
		{"iam:CreateRole", "arn:aws:iam::1:role/slipway/x", "managed-machine-pool"},
	} {
		policies := parsed(t, mustPolicies(t, named, Defaults(named)...))
		request := iampolicy.Request{Action: row.action, Resource: row.resource}
		if got := iampolicy.Evaluate(policies, request); got != iampolicy.ImplicitlyDenied {
			t.Errorf("%s without tags is %s", row.action, got)
		}
		request.Context = iampolicy.Context{"aws:RequestTag/slipway.infrastructure.cluster.x-k8s.io/" + row.tag: {"default/blue/pool"}}
		if got := iampolicy.Evaluate(policies, request); got != iampolicy.Allowed {
			t.Errorf("%s with tags is %s", row.action, got)
		}
	}
}

// Package permissions owns what Slipway may do in AWS: a table of the actions that each feature
// needs, and of the resources and conditions that bound them. The IAM policies that `slipway iam
// policy` prints, and those in docs/reference/permissions.md, are generated from it. It is pure.
//
// A policy allows changes only to resources that carry Slipway's owner tag, and allows that tag
// only on resources that are being created, or that the feature adoption covers. So its holder
// cannot first tag and then change a foreign resource; TestNoSequenceReachesForeignResources
// searches for sequences that could.
package permissions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/noderole"
)

// Feature is something that Slipway does and that needs permissions of its own.
type Feature string

// The features.
const (
	MachinePools      Feature = "machine-pools"
	ManagedPools      Feature = "managed-pools"
	NodeRoles         Feature = "node-roles"
	ImageParameters   Feature = "image-parameters"
	Adoption          Feature = "adoption"
	ExistingTemplates Feature = "existing-templates"
	HookNotifications Feature = "hook-notifications"
	SSMBootstrapData  Feature = "ssm-bootstrap-data"
	S3BootstrapData   Feature = "s3-bootstrap-data"
	Events            Feature = "events"
	RoleIdentities    Feature = "role-identities"
	JustInTimeNodes   Feature = "just-in-time-nodes"
	ClusterEndpoints  Feature = "cluster-endpoints"
	Preflight         Feature = "preflight"
	Prices            Feature = "prices"
)

// Purpose describes a feature.
type Purpose struct {
	Feature Feature
	// Default is true for features that ordinary objects use with the manager's default flags.
	Default bool
	// Needs are the flags of `slipway iam policy` without which the feature cannot be bounded; one
	// of them must be given. A default feature is left out of the default policy until one is.
	Needs []string
	Text  string
}

// The flags of `slipway iam policy` that features need.
const (
	FlagCluster      = "cluster"
	FlagEKSCluster   = "eks-cluster"
	FlagHookRole     = "hook-role"
	FlagBucket       = "bucket"
	FlagQueue        = "queue"
	FlagIdentityRole = "identity-role"
)

// Features are all features, in the order in which they are shown.
var Features = []Purpose{
	{MachinePools, true, nil, "`AWSMachinePool`: launch templates and Auto Scaling groups"},
	{ManagedPools, true, []string{FlagEKSCluster}, "`AWSManagedMachinePool`: launch templates and managed node groups of EKS"},
	{NodeRoles, true, []string{FlagEKSCluster}, "the IAM roles of nodes of managed pools whose `roleName` does not exist"},
	{ImageParameters, true, nil, "images that are looked up by Systems Manager's parameters"},
	{Adoption, false, []string{FlagCluster, FlagEKSCluster}, "taking over what Cluster API Provider AWS created in these clusters, and giving it back"},
	{ExistingTemplates, false, nil, "launching from templates that are not Slipway's: `existing` of launch configs, and overrides of mixed instances"},
	{HookNotifications, false, []string{FlagHookRole}, "lifecycle hooks with a `roleARN`, by which they notify"},
	{SSMBootstrapData, false, nil, "`bootstrapStorage: SSM`"},
	{S3BootstrapData, false, []string{FlagBucket}, "`bootstrapStorage: S3`, and Ignition"},
	{Events, false, []string{FlagQueue}, "the flag `--event-queue`, of the manager and of the provisioner"},
	{RoleIdentities, false, []string{FlagIdentityRole}, "`AWSClusterRoleIdentity`, for the identity that assumes its role"},
	{JustInTimeNodes, false, nil, "`slipway provisioner`, as an identity of its own"},
	{ClusterEndpoints, false, nil, "`Provisioner` whose `spec.cluster` gives no endpoint"},
	{Preflight, false, nil, "`slipway preflight`, for the user who runs it"},
	{Prices, false, nil, "prices in `slipway plan` and `slipway dashboard`, for the user who runs them, and on the manager's dashboard"},
}

// Defaults returns the default features that the scope can bound.
func Defaults(scope Scope) []Feature {
	var features []Feature
	for _, purpose := range Features {
		if purpose.Default && purpose.boundedBy(scope) {
			features = append(features, purpose.Feature)
		}
	}
	return features
}

// boundedBy reports whether the scope names what the feature needs to be bounded.
func (p Purpose) boundedBy(scope Scope) bool {
	return len(p.Needs) == 0 || slices.ContainsFunc(p.Needs, scope.names)
}

// names reports whether a flag is given.
func (s Scope) names(flag string) bool {
	return map[string]bool{
		FlagCluster: len(s.Clusters) > 0, FlagEKSCluster: len(s.EKSClusters) > 0, FlagHookRole: len(s.HookRoles) > 0,
		FlagBucket: s.Bucket != "", FlagQueue: s.Queue != "", FlagIdentityRole: len(s.IdentityRoles) > 0,
	}[flag]
}

// Scope bounds a policy. An empty field does not bound it.
type Scope struct {
	// Partition is aws, aws-cn or aws-us-gov; Account has twelve digits.
	Partition, Account, Region string
	// Clusters are the names of the Clusters (of Cluster API) whose pools the policy is for, or of
	// the cluster of a provisioner. EKSClusters are the names of EKS clusters, and Nodegroups
	// patterns of the names of node groups in them that Slipway owns; DefaultNodegroups if empty.
	Clusters, EKSClusters, Nodegroups []string
	// RolePaths are the IAM paths of roles that Slipway creates. No other principal should be able
	// to create roles there. If empty, they are the paths of the clusters under
	// noderole.DefaultPath.
	RolePaths []string
	// PermissionsBoundary is the ARN of the policy that every role that Slipway creates must have
	// as its permissions boundary.
	PermissionsBoundary string
	// NodeRoles are the names, with their path, of existing IAM roles that nodes may have.
	// HookRoles are those by which lifecycle hooks notify. NodePolicies are ARNs of further
	// policies that may be attached to roles that Slipway creates.
	NodeRoles, HookRoles, NodePolicies []string
	// Bucket is the name of the S3 bucket with bootstrap data, and Queue of the SQS queue with events.
	Bucket, Queue string
	// IdentityRoles are the ARNs of roles that may be assumed. ImageParameters are the names of
	// parameters that hold images, in addition to AWS's own.
	IdentityRoles, ImageParameters []string

	// adopting is true if the policy is for Adoption too.
	adopting bool
	// cluster is the one that a statement is for, of a rule that has a statement for each.
	cluster string
}

// DefaultNodegroups returns the patterns of the names that node groups have unless
// spec.eksNodegroupName says otherwise: <namespace>_<pool>, and capa_ with a hash of it.
func DefaultNodegroups() []string { return []string{"*_*"} }

// MostCharacters limits the length of a managed policy, without white space (AWS: "IAM and AWS STS
// quotas", IAM policies character limits).
const MostCharacters = 6144

// Document is an IAM policy.
type Document struct {
	Version   string
	Statement []Statement
}

// Statement allows actions on resources.
type Statement struct {
	Sid         string
	Effect      string
	Action      Values
	Resource    Values    `json:",omitempty"`
	NotResource Values    `json:",omitempty"`
	Condition   Condition `json:",omitempty"`
}

// Condition holds values by operator and key.
type Condition map[string]map[string]Values

// Values are written as IAM takes them: one alone, or a list.
type Values []string

// MarshalJSON writes one value without a list around it, for the sake of a policy's length.
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// Policies returns what the features need, within a scope: one managed policy, or as many as it
// takes to keep each within IAM's limit. It fails if a feature cannot be bounded by the scope, or
// if a statement is too long for any policy.
func Policies(scope Scope, features ...Feature) ([]Document, error) {
	for _, purpose := range Features {
		if slices.Contains(features, purpose.Feature) && !purpose.boundedBy(scope) {
			return nil, fmt.Errorf("feature %s needs --%s: without it the policy would reach resources that are not Slipway's",
				purpose.Feature, strings.Join(purpose.Needs, " or --"))
		}
	}
	all := []Document{{Version: version}}
	for _, statement := range statements(scope, features) {
		if alone := (Document{Version: version, Statement: []Statement{statement}}); alone.Characters() > MostCharacters {
			return nil, fmt.Errorf("statement %s has more than the %d characters that a managed policy may have: name fewer resources", statement.Sid, MostCharacters)
		}
		last := &all[len(all)-1]
		with := Document{Version: version, Statement: append(slices.Clone(last.Statement), statement)}
		if with.Characters() > MostCharacters {
			all = append(all, Document{Version: version, Statement: []Statement{statement}})
			continue
		}
		*last = with
	}
	return all, nil
}

// version is the version of the policy language.
const version = "2012-10-17"

func statements(scope Scope, features []Feature) []Statement {
	scope.adopting = slices.Contains(features, Adoption)
	var all []Statement
	for _, rule := range rules {
		actions := rule.actions(features)
		if len(actions) == 0 || rule.unless != nil && rule.unless(scope) {
			continue
		}
		if rule.each == nil {
			all = append(all, rule.statement(scope, actions, rule.sid))
			continue
		}
		for i, name := range rule.each(scope) {
			scope.cluster = name
			all = append(all, rule.statement(scope, actions, rule.sid+strconv.Itoa(i+1)))
		}
	}
	return all
}

func (r rule) statement(scope Scope, actions []string, sid string) Statement {
	statement := Statement{Sid: sid, Effect: "Allow", Action: actions}
	if r.on != nil {
		statement.Resource = r.on(scope)
	}
	if r.except != nil {
		statement.NotResource = r.except(scope)
	}
	if r.when != nil {
		statement.Condition = r.when(scope)
	}
	return statement
}

// String returns the document as indented JSON.
func (d Document) String() string {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// Characters returns the length of the document as IAM counts it, without white space.
func (d Document) Characters() int {
	count := 0
	for _, character := range d.String() {
		if !unicode.IsSpace(character) {
			count++
		}
	}
	return count
}

// Actions returns all actions that any of the features needs, sorted.
func Actions(features ...Feature) []string {
	var all []string
	for _, rule := range rules {
		all = append(all, rule.actions(features)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// actions returns the actions of a rule that any of the features needs, sorted.
func (r rule) actions(features []Feature) []string {
	var actions []string
	for _, grant := range r.grants {
		if slices.ContainsFunc(grant.features, func(feature Feature) bool { return slices.Contains(features, feature) }) {
			actions = append(actions, grant.actions...)
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// arn returns the ARN of resources of a service. The region of global services is empty.
func (s Scope) arn(service, region, account, resource string) string {
	return "arn:" + cmp.Or(s.Partition, "*") + ":" + service + ":" + region + ":" + account + ":" + resource
}

func (s Scope) regional(service string, resources ...string) []string {
	arns := make([]string, len(resources))
	for i, resource := range resources {
		arns[i] = s.arn(service, cmp.Or(s.Region, "*"), cmp.Or(s.Account, "*"), resource)
	}
	return arns
}

func (s Scope) roles(names ...string) []string {
	arns := make([]string, len(names))
	for i, name := range names {
		arns[i] = s.arn("iam", "", cmp.Or(s.Account, "*"), "role/"+name)
	}
	return arns
}

// paths returns the paths of roles that Slipway creates, without the slash at the beginning.
func (s Scope) paths() []string {
	paths := slices.Clone(s.RolePaths)
	if len(paths) == 0 {
		for _, cluster := range s.Clusters {
			paths = append(paths, noderole.PathOf(noderole.DefaultPath, cluster))
		}
	}
	if len(paths) == 0 {
		paths = []string{noderole.DefaultPath}
	}
	trimmed := make([]string, len(paths))
	for i, path := range paths {
		trimmed[i] = strings.TrimPrefix(path, "/")
	}
	return trimmed
}

// nodegroups returns the patterns of the names of node groups that are Slipway's.
func (s Scope) nodegroups() []string {
	if len(s.Nodegroups) == 0 {
		return DefaultNodegroups()
	}
	return s.Nodegroups
}

// anyCluster returns the names of all clusters, whether of Cluster API or of EKS: Cluster API
// Provider AWS uses either name in the keys of its tags.
func (s Scope) anyCluster() []string {
	names := slices.Concat(s.Clusters, s.EKSClusters)
	slices.Sort(names)
	return slices.Compact(names)
}

// owner requires an owner tag, of the scope's clusters if it names any. Its value is
// <namespace>/<cluster>/<name>. The kind is ResourceTag for the tag of a resource that exists, and
// RequestTag for a tag that the request sets. Default launch templates of Provisioners, whose
// owners have four parts, are defaultTemplates's.
func (s Scope) owner(kind, tag string) Condition {
	key := "aws:" + kind + "/" + tag
	if len(s.Clusters) == 0 {
		return Condition{}.and("Null", key, "false")
	}
	condition := Condition{}.and("StringLike", key, s.owners()...)
	if tag == infrav1.TagLaunchConfig {
		// An asterisk matches slashes too, so a Provisioner with the name of this cluster would be
		// taken for one of this cluster.
		condition = condition.and("StringNotLike", key, launchtemplate.ProvisionerOwner+"/*/*/*")
	}
	return condition
}

// owners returns patterns of the values of owner tags.
func (s Scope) owners() []string {
	if len(s.Clusters) == 0 {
		return []string{"*/*/*"}
	}
	var patterns []string
	for _, cluster := range s.Clusters {
		patterns = append(patterns, "*/"+cluster+"/*")
	}
	return patterns
}

// and adds the values of a key to a condition, and returns it.
func (c Condition) and(operator, key string, values ...string) Condition {
	if c[operator] == nil {
		c[operator] = map[string]Values{}
	}
	c[operator][key] = values
	return c
}

// unowned requires that the resource does not have an owner tag yet, whatever its value.
func (c Condition) unowned(tag string) Condition {
	return c.and("Null", "aws:ResourceTag/"+tag, "true")
}

// otherKeys requires a request to set or remove tags by name, and not an owner tag. Keys are
// compared without regard to case because condition keys such as aws:ResourceTag are (AWS: IAM user
// guide, "IAM JSON policy elements: Condition"). A request that names no key at all, which has EC2
// remove every tag, would satisfy ForAllValues (AWS: IAM user guide, "Multivalued context key
// examples").
func (c Condition) otherKeys(tags ...string) Condition {
	return c.and("ForAllValues:StringNotEqualsIgnoreCase", "aws:TagKeys", tags...).and("Null", "aws:TagKeys", "false")
}

// ParseFeature returns the feature of a name.
func ParseFeature(name string) (Feature, error) {
	var known []string
	for _, purpose := range Features {
		if string(purpose.Feature) == name {
			return purpose.Feature, nil
		}
		known = append(known, string(purpose.Feature))
	}
	return "", fmt.Errorf("feature %q is not known: there are %s", name, strings.Join(known, ", "))
}

// names matches the names of clusters.
var names = regexp.MustCompile(`^[A-Za-z0-9_.+=,@-]{1,100}$`)

// Check fails for a scope that no resource could be in, or whose names would change the meaning of
// a policy. Roles, parameters, queues, and ARNs may have IAM's wildcards; the names of clusters may
// not, because keys of tags are built from them.
func (s Scope) Check() error {
	if partitions := []string{"", "aws", "aws-cn", "aws-us-gov"}; !slices.Contains(partitions, s.Partition) {
		return fmt.Errorf("partition %q is not one of aws, aws-cn, aws-us-gov", s.Partition)
	}
	if s.Account != "" && (len(s.Account) != 12 || strings.Trim(s.Account, "0123456789") != "") {
		return fmt.Errorf("account %q does not have twelve digits", s.Account)
	}
	return cmp.Or(s.checkNames(), s.checkARNs())
}

func (s Scope) checkNames() error {
	for _, name := range s.anyCluster() {
		if !names.MatchString(name) {
			return fmt.Errorf("cluster %q must be the name of a cluster, without wildcards", name)
		}
	}
	for _, name := range s.Nodegroups {
		if name == "" || strings.ContainsAny(name, "/:") || strings.Trim(name, "*?") == "" {
			return fmt.Errorf("node group %q must be a name or a pattern such as default_*", name)
		}
	}
	for _, path := range s.RolePaths {
		if len(path) < 3 || path[0] != '/' || path[len(path)-1] != '/' || strings.ContainsAny(path, "*?:") {
			return fmt.Errorf("role path %q must begin and end with a slash, such as %s, and have no wildcards", path, noderole.DefaultPath)
		}
	}
	return nil
}

func (s Scope) checkARNs() error {
	if strings.ContainsAny(s.PermissionsBoundary, "*?") {
		return fmt.Errorf("permissions boundary %q must not have wildcards", s.PermissionsBoundary)
	}
	arns := slices.Concat(s.NodePolicies, s.IdentityRoles)
	if s.PermissionsBoundary != "" {
		arns = append(arns, s.PermissionsBoundary)
	}
	for _, arn := range arns {
		if !strings.HasPrefix(arn, "arn:") || strings.Count(arn, ":") < 5 {
			return fmt.Errorf("%q is no ARN", arn)
		}
	}
	return nil
}

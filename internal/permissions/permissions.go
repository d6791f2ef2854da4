// Package permissions owns what Slipway may do in AWS: a table of what each feature needs, and on which resources. The IAM policies that `slipway iam policy`
// prints, and those in docs/permissions.md, are made from it. It is pure.
//
// What can be bound to tags is: Slipway makes nothing without its tags, and changes and deletes only what bears them.
package permissions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
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
)

// Purpose says what a feature is for. Default features are those that objects use which ask for nothing special, with the manager's default flags.
type Purpose struct {
	Feature Feature
	Default bool
	Text    string
}

// Features are all features, in the order in which they are shown.
var Features = []Purpose{
	{MachinePools, true, "`AWSMachinePool`: launch templates and Auto Scaling groups"},
	{ManagedPools, true, "`AWSManagedMachinePool`: launch templates and managed node groups of EKS"},
	{NodeRoles, true, "the IAM roles of nodes of managed pools whose `roleName` does not exist"},
	{ImageParameters, true, "images that are looked up by Systems Manager's parameters"},
	{Adoption, false, "taking over what Cluster API Provider AWS made"},
	{ExistingTemplates, false, "launching from templates that are not Slipway's: `existing` of launch configs, and overrides of mixed instances"},
	{HookNotifications, false, "lifecycle hooks with a `roleARN`, by which they notify"},
	{SSMBootstrapData, false, "`bootstrapStorage: SSM`"},
	{S3BootstrapData, false, "`bootstrapStorage: S3`, and Ignition"},
	{Events, false, "the flag `--event-queue`, of the manager and of the provisioner"},
	{RoleIdentities, false, "`AWSClusterRoleIdentity`, on what assumes its role"},
	{JustInTimeNodes, false, "`slipway provisioner`, as an identity of its own"},
	{ClusterEndpoints, false, "`Provisioner` whose `spec.cluster` gives no endpoint"},
}

// Defaults are the default features.
func Defaults() []Feature {
	var features []Feature
	for _, purpose := range Features {
		if purpose.Default {
			features = append(features, purpose.Feature)
		}
	}
	return features
}

// Scope bounds a policy. What is empty is not bounded.
type Scope struct {
	// Partition is aws, aws-cn or aws-us-gov; Account has twelve digits.
	Partition, Account, Region string
	// Cluster is the name of the Cluster (of Cluster API) whose pools alone are to be kept, or of the cluster that a provisioner is of.
	Cluster string
	// NodeRoles are further names of IAM roles that nodes may have, and NodePolicies further ARNs of what may be attached to those that Slipway makes.
	NodeRoles, NodePolicies []string
	// Bucket and Queue are names: of S3's with bootstrap data, of SQS's with events.
	Bucket, Queue string
	// IdentityRoles are the ARNs of roles that may be assumed; ImageParameters are the names of parameters that hold images, beside AWS's own.
	IdentityRoles, ImageParameters []string
}

// MostCharacters is how long a managed policy may be, white space apart (AWS: "IAM and AWS STS quotas", IAM policies character limits).
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

// Policies are what the features need, within a scope: one managed policy, or as many as it takes to keep each within IAM's bound. It fails if a statement is
// too long for any.
func Policies(scope Scope, features ...Feature) ([]Document, error) {
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

// version is that of the language of policies.
const version = "2012-10-17"

func statements(scope Scope, features []Feature) []Statement {
	var all []Statement
	for _, rule := range rules {
		actions := rule.actions(features)
		if len(actions) == 0 {
			continue
		}
		statement := Statement{Sid: rule.sid, Effect: "Allow", Action: actions}
		if rule.on != nil {
			statement.Resource = rule.on(scope)
		}
		if rule.except != nil {
			statement.NotResource = rule.except(scope)
		}
		if rule.when != nil {
			statement.Condition = rule.when(scope)
		}
		all = append(all, statement)
	}
	return all
}

// String is the document as JSON, for people to read.
func (d Document) String() string {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// Characters is how many of the document's count: IAM does not count white space.
func (d Document) Characters() int {
	count := 0
	for _, character := range d.String() {
		if !unicode.IsSpace(character) {
			count++
		}
	}
	return count
}

// Actions are all that some of the features needs, sorted.
func Actions(features ...Feature) []string {
	var all []string
	for _, rule := range rules {
		all = append(all, rule.actions(features)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// actions are those of a rule that some of the features need, sorted.
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

// arn names resources of a service in the scope's account and region. The region of global services is empty.
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

// bears is met by an owner's tag: of the scope's cluster, if it has one. The value is <namespace>/<cluster>/<name>.
func (s Scope) bears(kind, tag string) Condition {
	key := "aws:" + kind + "/" + tag
	if s.Cluster == "" {
		return Condition{"Null": {key: {"false"}}}
	}
	return Condition{"StringLike": {key: {"*/" + s.Cluster + "/*"}}}
}

// and adds a value to a condition.
func (c Condition) and(operator, key string, values ...string) Condition {
	if c[operator] == nil {
		c[operator] = map[string]Values{}
	}
	c[operator][key] = values
	return c
}

// ParseFeature finds a feature by its name.
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

// Check fails for a scope that no resource could be in. Names may have IAM's wildcards.
func (s Scope) Check() error {
	if partitions := []string{"", "aws", "aws-cn", "aws-us-gov"}; !slices.Contains(partitions, s.Partition) {
		return fmt.Errorf("partition %q is not one of aws, aws-cn, aws-us-gov", s.Partition)
	}
	if s.Account != "" && (len(s.Account) != 12 || strings.Trim(s.Account, "0123456789") != "") {
		return fmt.Errorf("account %q does not have twelve digits", s.Account)
	}
	for _, arn := range slices.Concat(s.NodePolicies, s.IdentityRoles) {
		if !strings.HasPrefix(arn, "arn:") || strings.Count(arn, ":") < 5 {
			return fmt.Errorf("%q is no ARN", arn)
		}
	}
	return nil
}

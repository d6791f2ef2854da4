package iam

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// Policy is a managed policy of AWS or of the account. The simulator does not know what AWS's own policies
// allow.
type Policy struct {
	Name        string            `json:"name"`
	Path        string            `json:"path"`
	ARN         string            `json:"arn"`
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Created     time.Time         `json:"created"`
	Tags        map[string]string `json:"tags,omitempty"`
	// Versions are the versions that exist, oldest first.
	Versions []PolicyVersion `json:"versions"`
	// DefaultVersion is the identifier of the version that decides.
	DefaultVersion string `json:"defaultVersion"`
	// LastVersion is the number of the newest version that ever was: IAM does not reuse identifiers.
	LastVersion int `json:"lastVersion"`
}

// awsPolicies are the managed policies of AWS that roles of clusters and nodes get (AWS: "AWS
// managed policy reference guide").
var awsPolicies = []string{
	"AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ReadOnlyAccess",
	"AmazonEKSBlockStoragePolicy", "AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
	"AmazonEKSServicePolicy", "AmazonEKSVPCResourceController", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKSWorkerNodePolicy",
	"AmazonEKS_CNI_Policy", "AmazonS3FullAccess", "AmazonS3ReadOnlyAccess", "AmazonSSMManagedInstanceCore", "AutoScalingFullAccess",
	"CloudWatchAgentServerPolicy", "ElasticLoadBalancingFullAccess", "PowerUserAccess", "ReadOnlyAccess", "SecurityAudit", "ViewOnlyAccess",
	"AdministratorAccess", "service-role/AmazonEBSCSIDriverPolicy", "service-role/AmazonEFSCSIDriverPolicy", "service-role/AmazonEC2RoleforSSM",
}

const awsPolicyPrefix = "arn:aws:iam::aws:policy/"

func (s *state) policy(arn string) (Policy, bool) {
	if strings.HasPrefix(arn, awsPolicyPrefix) {
		return awsPolicy(arn)
	}
	return s.policies.Get(arn)
}

// visiblePolicy returns the policy as reads see it, which lags.
func (s *state) visiblePolicy(arn *string) (Policy, error) {
	if err := checkARN(str(arn)); err != nil {
		return Policy{}, err
	}
	p, ok := awsPolicy(str(arn))
	if !ok {
		p, ok = s.policies.Visible(str(arn))
	}
	if !ok {
		return p, noPolicy(*arn)
	}
	return p, nil
}

// awsPolicy returns the policy of AWS with that ARN. It has one version, and its document is not known.
func awsPolicy(arn string) (Policy, bool) {
	name, found := strings.CutPrefix(arn, awsPolicyPrefix)
	if !found || !slices.Contains(awsPolicies, name) {
		return Policy{}, false
	}
	slash := strings.LastIndex(name, "/") + 1
	return Policy{
		Name: name[slash:], Path: "/" + name[:slash], ARN: arn, ID: worldID("ANPA", "aws", name), Created: world.Born,
		Versions:       []PolicyVersion{{ID: "v1", Document: `{"Version":"2012-10-17","Statement":[]}`, Created: world.Born}},
		DefaultVersion: "v1", LastVersion: 1,
	}, true
}

func noPolicy(arn string) error { return noSuchEntity("Policy %s was not found.", arn) }

// changePolicy changes a policy of the account, unless change refuses. AWS's own policies cannot be
// changed (IAM user guide, access_policies_managed-vs-inline: "You cannot change the permissions defined in
// AWS managed policies").
func changePolicy[O any](c *sim.Call, arn *string, change func(*Policy, *O) error) (*O, error) {
	s := of(c.Account)
	p, err := s.ownPolicy(c, str(arn))
	if err != nil {
		return nil, err
	}
	out := new(O)
	if err := change(&p, out); err != nil {
		return nil, err
	}
	s.policies.Put(p.ARN, p)
	return out, nil
}

func (s *state) ownPolicy(c *sim.Call, arn string) (Policy, error) {
	if err := checkARN(arn); err != nil {
		return Policy{}, err
	}
	if strings.HasPrefix(arn, awsPolicyPrefix) {
		return Policy{}, sim.Errorf("AccessDenied", "%s is not authorized to perform: iam:%s on resource: policy %s", c.Principal, c.Action, arn).WithStatus(403)
	}
	p, ok := s.policies.Get(arn)
	if !ok {
		return p, noPolicy(arn)
	}
	return p, nil
}

func checkPolicyDocument(document string) error {
	if !json.Valid([]byte(document)) {
		return sim.Errorf("MalformedPolicyDocument", "Syntax errors in policy.")
	}
	if iampolicy.Characters(document) > iampolicy.MostCharacters {
		return conflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", iampolicy.MostCharacters)
	}
	return nil
}

func createPolicy(c *sim.Call, in *iam.CreatePolicyInput) (*iam.CreatePolicyOutput, error) {
	s := of(c.Account)
	name, path := str(in.PolicyName), orSlash(str(in.Path))
	if err := checkPolicyDocument(str(in.PolicyDocument)); err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.policies.All(), func(p Policy) bool { return strings.EqualFold(p.Name, name) }) {
		return nil, conflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", name)
	}
	p := Policy{
		Name: name, Path: path, ARN: s.arn("policy", path, name), ID: s.newID("ANPA"), Description: str(in.Description), Created: c.Now, Tags: tags,
	}
	p.addVersion(str(in.PolicyDocument), c.Now, true)
	s.policies.Put(p.ARN, p)
	answer := s.policyAnswer(p)
	// https://docs.aws.amazon.com/IAM/latest/APIReference/API_Policy.html: only GetPolicy answers with it
	answer.Description = nil
	return &iam.CreatePolicyOutput{Policy: answer}, nil
}

// policyAnswer returns the policy as IAM answers it. The counts are of roles: the simulator has
// neither users nor groups.
func (s *state) policyAnswer(p Policy) *types.Policy {
	attachments, boundaries := int32(0), int32(0)
	for _, r := range s.roles.All() {
		if slices.Contains(r.Policies, p.ARN) {
			attachments++
		}
		if r.PermissionsBoundary == p.ARN {
			boundaries++
		}
	}
	answer := &types.Policy{
		Arn: &p.ARN, PolicyName: &p.Name, PolicyId: &p.ID, Path: &p.Path, CreateDate: &p.Created, UpdateDate: p.updated(), DefaultVersionId: &p.DefaultVersion,
		IsAttachable: true, AttachmentCount: &attachments, PermissionsBoundaryUsageCount: &boundaries, Tags: tagList(p.Tags),
	}
	if p.Description != "" {
		answer.Description = &p.Description
	}
	return answer
}

func getPolicy(c *sim.Call, in *iam.GetPolicyInput) (*iam.GetPolicyOutput, error) {
	s := of(c.Account)
	p, err := s.visiblePolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.GetPolicyOutput{Policy: s.policyAnswer(p)}, nil
}

// deletePolicy refuses while roles use the policy, or while it has versions besides the default one. Which
// of the two IAM reports first is an inference.
func deletePolicy(c *sim.Call, in *iam.DeletePolicyInput) (*iam.DeletePolicyOutput, error) {
	s := of(c.Account)
	p, err := s.ownPolicy(c, str(in.PolicyArn))
	if err != nil {
		return nil, err
	}
	for _, r := range s.roles.All() {
		if slices.Contains(r.Policies, p.ARN) || r.PermissionsBoundary == p.ARN {
			return nil, conflict("DeleteConflict", "Cannot delete a policy attached to entities.")
		}
	}
	if len(p.Versions) > 1 { // https://github.com/rebuy-de/aws-nuke/issues/1
		return nil, conflict("DeleteConflict", "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. "+
			"The default version is deleted with the policy.")
	}
	s.policies.Delete(p.ARN)
	return &iam.DeletePolicyOutput{}, nil
}

// listPolicies leaves out descriptions and tags (AWS: API_ListPolicies, API_Policy).
func listPolicies(c *sim.Call, in *iam.ListPoliciesInput) (*iam.ListPoliciesOutput, error) {
	s, list := of(c.Account), []types.Policy{}
	for _, p := range s.visiblePolicies(in.Scope) {
		answer := s.policyAnswer(p)
		answer.Description, answer.Tags = nil, nil
		used := usedAs(in.PolicyUsageFilter, *answer.AttachmentCount > 0, *answer.PermissionsBoundaryUsageCount > 0)
		if strings.HasPrefix(p.Path, str(in.PathPrefix)) && (used || !in.OnlyAttached && in.PolicyUsageFilter == "") {
			list = append(list, *answer)
		}
	}
	page, marker, err := paginate(list, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListPoliciesOutput{Policies: page, Marker: marker, IsTruncated: marker != nil}, nil
}

// visiblePolicies returns the policies of the account, of AWS, or both, by name.
func (s *state) visiblePolicies(scope types.PolicyScopeType) []Policy {
	var policies []Policy
	if scope != types.PolicyScopeTypeAws {
		policies = s.policies.VisibleAll()
	}
	if scope != types.PolicyScopeTypeLocal {
		for _, name := range awsPolicies {
			p, _ := awsPolicy(awsPolicyPrefix + name)
			policies = append(policies, p)
		}
	}
	slices.SortFunc(policies, func(a, b Policy) int { return strings.Compare(a.Name+a.ARN, b.Name+b.ARN) })
	return policies
}

// usedAs reports whether a policy is in use in the way that the filter names, or at all if it names none.
func usedAs(filter types.PolicyUsageType, attached, boundary bool) bool {
	switch filter {
	case types.PolicyUsageTypePermissionsPolicy:
		return attached
	case types.PolicyUsageTypePermissionsBoundary:
		return boundary
	default:
		return attached || boundary
	}
}

// listEntitiesForPolicy lists roles, the only entities that the simulator has.
func listEntitiesForPolicy(c *sim.Call, in *iam.ListEntitiesForPolicyInput) (*iam.ListEntitiesForPolicyOutput, error) {
	s := of(c.Account)
	p, err := s.visiblePolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	roles := []types.PolicyRole{}
	for _, r := range s.roles.VisibleAll() {
		used := usedAs(in.PolicyUsageFilter, slices.Contains(r.Policies, p.ARN), r.PermissionsBoundary == p.ARN)
		if used && strings.HasPrefix(r.Path, str(in.PathPrefix)) && (in.EntityFilter == "" || in.EntityFilter == types.EntityTypeRole) {
			roles = append(roles, types.PolicyRole{RoleId: &r.ID, RoleName: &r.Name})
		}
	}
	page, marker, err := paginate(roles, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListEntitiesForPolicyOutput{
		PolicyRoles: page, PolicyGroups: []types.PolicyGroup{}, PolicyUsers: []types.PolicyUser{}, Marker: marker, IsTruncated: marker != nil,
	}, nil
}

package iam

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// Policy is a managed policy: AWS's own, or one of the account. What AWS's own allow is not simulated.
type Policy struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	ARN      string            `json:"arn"`
	ID       string            `json:"id"`
	Document string            `json:"document"` // JSON
	Created  time.Time         `json:"created"`
	Tags     map[string]string `json:"tags,omitempty"`
}

// awsPolicies are the managed policies of AWS that roles of clusters and nodes get (AWS: "AWS managed policy reference guide").
var awsPolicies = []string{
	"AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ReadOnlyAccess",
	"AmazonEKSBlockStoragePolicy", "AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
	"AmazonEKSServicePolicy", "AmazonEKSVPCResourceController", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKSWorkerNodePolicy",
	"AmazonEKS_CNI_Policy", "AmazonS3FullAccess", "AmazonS3ReadOnlyAccess", "AmazonSSMManagedInstanceCore", "AutoScalingFullAccess",
	"CloudWatchAgentServerPolicy", "ElasticLoadBalancingFullAccess", "PowerUserAccess", "ReadOnlyAccess", "SecurityAudit", "ViewOnlyAccess",
	"AdministratorAccess", "service-role/AmazonEBSCSIDriverPolicy", "service-role/AmazonEFSCSIDriverPolicy", "service-role/AmazonEC2RoleforSSM",
}

const awsPolicyPrefix = "arn:aws:iam::aws:policy/"

// maxPoliciesPerRole is the default quota (AWS: "IAM and AWS STS quotas", managed policies per role; it can be raised to 25).
const maxPoliciesPerRole = 10

func (s *state) policy(arn string) (Policy, bool) {
	if name, isAWS := strings.CutPrefix(arn, awsPolicyPrefix); isAWS {
		if !slices.Contains(awsPolicies, name) {
			return Policy{}, false
		}
		slash := strings.LastIndex(name, "/") + 1
		return Policy{
			Name: name[slash:], Path: "/" + name[:slash], ARN: arn, ID: worldID("ANPA", "aws", name), Created: world.Born,
			Document: `{"Version":"2012-10-17","Statement":[]}`,
		}, true
	}
	return s.policies.Get(arn)
}

func (s *state) managedRole(name *string) (Role, error) {
	role, ok := s.roles.Get(str(name))
	if !ok {
		return role, noSuchEntity("The role with name %s cannot be found.", str(name))
	}
	return role, nil
}

// ownRole is managedRole for what only AWS itself may change of service-linked roles (AWS: "Service-linked roles", editing).
func (s *state) ownRole(name *string) (Role, error) {
	role, err := s.managedRole(name)
	if err == nil && strings.HasPrefix(role.Path, "/aws-service-role/") {
		return role, sim.Errorf("UnmodifiableEntity",
			"Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", role.Name)
	}
	return role, err
}

// changeRole has a role changed that find finds, unless that is refused.
func changeRole[O any](c *sim.Call, find func(*state, *string) (Role, error), name *string, change func(*state, *Role) error) (*O, error) {
	s := of(c.Account)
	role, err := find(s, name)
	if err != nil {
		return nil, err
	}
	if err := change(s, &role); err != nil {
		return nil, err
	}
	s.roles.Put(role.Name, role)
	return new(O), nil
}

// attachRolePolicy does nothing if the policy is attached already.
func attachRolePolicy(c *sim.Call, in *iam.AttachRolePolicyInput) (*iam.AttachRolePolicyOutput, error) {
	return changeRole[iam.AttachRolePolicyOutput](c, (*state).ownRole, in.RoleName, func(s *state, role *Role) error {
		arn := str(in.PolicyArn)
		if err := checkARN(arn); err != nil {
			return err
		}
		if _, ok := s.policy(arn); !ok {
			return noSuchEntity("Policy %s does not exist or is not attachable.", arn)
		}
		if slices.Contains(role.Policies, arn) {
			return nil
		}
		if len(role.Policies) >= maxPoliciesPerRole {
			return conflict("LimitExceeded", "Cannot exceed quota for PoliciesPerRole: %d", maxPoliciesPerRole)
		}
		role.Policies = append(slices.Clone(role.Policies), arn)
		return nil
	})
}

func detachRolePolicy(c *sim.Call, in *iam.DetachRolePolicyInput) (*iam.DetachRolePolicyOutput, error) {
	return changeRole[iam.DetachRolePolicyOutput](c, (*state).ownRole, in.RoleName, func(_ *state, role *Role) error {
		arn := str(in.PolicyArn)
		if err := checkARN(arn); err != nil {
			return err
		}
		i := slices.Index(role.Policies, arn)
		if i < 0 {
			return noSuchEntity("Policy %s was not found.", arn)
		}
		role.Policies = slices.Delete(slices.Clone(role.Policies), i, i+1)
		return nil
	})
}

// checkARN refuses what is no ARN (AWS: AttachRolePolicy, PolicyArn: "length constraints: minimum length of 20").
func checkARN(arn string) error {
	if len(arn) < 20 || !strings.HasPrefix(arn, "arn:") || strings.Count(arn, ":") < 5 {
		return sim.Errorf("InvalidInput", "ARN %s is not valid.", arn)
	}
	return nil
}

func listAttachedRolePolicies(c *sim.Call, in *iam.ListAttachedRolePoliciesInput) (*iam.ListAttachedRolePoliciesOutput, error) {
	s := of(c.Account)
	role, ok := s.roles.Visible(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	attached := []types.AttachedPolicy{}
	for _, arn := range role.Policies {
		if p, found := s.policy(arn); found && strings.HasPrefix(p.Path, str(in.PathPrefix)) {
			attached = append(attached, types.AttachedPolicy{PolicyArn: &p.ARN, PolicyName: &p.Name})
		}
	}
	page, marker, err := paginate(attached, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: page, Marker: marker, IsTruncated: marker != nil}, nil
}

func createPolicy(c *sim.Call, in *iam.CreatePolicyInput) (*iam.CreatePolicyOutput, error) {
	s := of(c.Account)
	name, path := str(in.PolicyName), orSlash(str(in.Path))
	if err := checkName("policyName", name, profileNames); err != nil {
		return nil, err
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if !json.Valid([]byte(str(in.PolicyDocument))) {
		return nil, sim.Errorf("MalformedPolicyDocument", "Syntax errors in policy.")
	}
	if iampolicy.Characters(str(in.PolicyDocument)) > iampolicy.MostCharacters {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", iampolicy.MostCharacters)
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.policies.All(), func(p Policy) bool { return strings.EqualFold(p.Name, name) }) {
		return nil, conflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", name)
	}
	p := Policy{
		Name: name, Path: path, ARN: s.arn("policy", path, name), ID: s.newID("ANPA"), Document: str(in.PolicyDocument), Created: c.Now, Tags: tags,
	}
	s.policies.Put(p.ARN, p)
	return &iam.CreatePolicyOutput{Policy: s.policyAnswer(p)}, nil
}

func (s *state) policyAnswer(p Policy) *types.Policy {
	attachments, boundaries, version := int32(0), int32(0), "v1"
	for _, r := range s.roles.All() {
		if slices.Contains(r.Policies, p.ARN) {
			attachments++
		}
		if r.PermissionsBoundary == p.ARN {
			boundaries++
		}
	}
	return &types.Policy{
		Arn: &p.ARN, PolicyName: &p.Name, PolicyId: &p.ID, Path: &p.Path, CreateDate: &p.Created, UpdateDate: &p.Created, DefaultVersionId: &version,
		IsAttachable: true, AttachmentCount: &attachments, PermissionsBoundaryUsageCount: &boundaries, Tags: tagList(p.Tags),
	}
}

func getPolicy(c *sim.Call, in *iam.GetPolicyInput) (*iam.GetPolicyOutput, error) {
	s := of(c.Account)
	p, ok := s.policy(str(in.PolicyArn))
	if !ok {
		return nil, noSuchEntity("Policy %s was not found.", str(in.PolicyArn))
	}
	return &iam.GetPolicyOutput{Policy: s.policyAnswer(p)}, nil
}

func deletePolicy(c *sim.Call, in *iam.DeletePolicyInput) (*iam.DeletePolicyOutput, error) {
	s := of(c.Account)
	arn := str(in.PolicyArn)
	if strings.HasPrefix(arn, awsPolicyPrefix) {
		return nil, sim.Errorf("AccessDenied", "%s is not authorized to perform: iam:DeletePolicy on resource: policy %s", c.Principal, arn).WithStatus(403)
	}
	if _, ok := s.policies.Get(arn); !ok {
		return nil, noSuchEntity("Policy %s was not found.", arn)
	}
	for _, r := range s.roles.All() {
		if slices.Contains(r.Policies, arn) || r.PermissionsBoundary == arn {
			return nil, conflict("DeleteConflict", "Cannot delete a policy attached to entities.")
		}
	}
	s.policies.Delete(arn)
	return &iam.DeletePolicyOutput{}, nil
}

// checkBoundary refuses a permissions boundary that is not a policy (AWS: "Permissions boundaries for IAM entities").
func (s *state) checkBoundary(arn string) error {
	if err := checkARN(arn); err != nil {
		return err
	}
	if _, ok := s.policy(arn); !ok {
		return noSuchEntity("Scope ARN: %s does not exist or is not attachable.", arn)
	}
	return nil
}

func putRolePermissionsBoundary(c *sim.Call, in *iam.PutRolePermissionsBoundaryInput) (*iam.PutRolePermissionsBoundaryOutput, error) {
	return changeRole[iam.PutRolePermissionsBoundaryOutput](c, (*state).ownRole, in.RoleName, func(s *state, role *Role) error {
		role.PermissionsBoundary = str(in.PermissionsBoundary)
		return s.checkBoundary(role.PermissionsBoundary)
	})
}

func deleteRolePermissionsBoundary(c *sim.Call, in *iam.DeleteRolePermissionsBoundaryInput) (*iam.DeleteRolePermissionsBoundaryOutput, error) {
	return changeRole[iam.DeleteRolePermissionsBoundaryOutput](c, (*state).ownRole, in.RoleName, func(_ *state, role *Role) error {
		if role.PermissionsBoundary == "" {
			return noSuchEntity("No permissions boundary set for role %s", role.Name)
		}
		role.PermissionsBoundary = ""
		return nil
	})
}

func tagRole(c *sim.Call, in *iam.TagRoleInput) (*iam.TagRoleOutput, error) {
	return changeRole[iam.TagRoleOutput](c, (*state).managedRole, in.RoleName, func(_ *state, role *Role) error {
		added, err := tagsOf(in.Tags)
		if err != nil {
			return err
		}
		tags := map[string]string{}
		maps.Copy(tags, role.Tags)
		maps.Copy(tags, added)
		if len(tags) > 50 {
			return conflict("LimitExceeded", "The number of tags has reached the maximum limit.")
		}
		role.Tags = tags
		return nil
	})
}

func untagRole(c *sim.Call, in *iam.UntagRoleInput) (*iam.UntagRoleOutput, error) {
	return changeRole[iam.UntagRoleOutput](c, (*state).managedRole, in.RoleName, func(_ *state, role *Role) error {
		role.Tags = maps.Clone(role.Tags)
		for _, key := range in.TagKeys {
			delete(role.Tags, key)
		}
		return nil
	})
}

func listRoleTags(c *sim.Call, in *iam.ListRoleTagsInput) (*iam.ListRoleTagsOutput, error) {
	role, ok := of(c.Account).roles.Visible(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	page, marker, err := paginate(tagList(role.Tags), in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListRoleTagsOutput{Tags: page, Marker: marker, IsTruncated: marker != nil}, nil
}

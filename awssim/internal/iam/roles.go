package iam

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// maxTrustCharacters is the default quota, white space apart (AWS: "IAM and AWS STS quotas", role trust
// policy length).
const maxTrustCharacters = 2048

func checkDocument(document string) error {
	if !json.Valid([]byte(document)) {
		return sim.Errorf("MalformedPolicyDocument", "This policy contains invalid Json")
	}
	if _, err := parsePolicy(document); errors.Is(err, errFederated) {
		return sim.Errorf("MalformedPolicyDocument", "%s", err)
	} else if err != nil {
		return sim.Errorf("MalformedPolicyDocument", "This policy contains invalid Json or statements: %s", err)
	}
	if iampolicy.Characters(document) > maxTrustCharacters {
		return conflict("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: %d", maxTrustCharacters)
	}
	return nil
}

// sessionDuration returns how long sessions of a role may last: an hour unless more is asked for.
func sessionDuration(asked *int32) time.Duration {
	if asked == nil {
		return time.Hour
	}
	return time.Duration(*asked) * time.Second
}

func createRole(c *sim.Call, in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	s := of(c.Account)
	name, path := str(in.RoleName), orSlash(str(in.Path))
	if err := checkDocument(str(in.AssumeRolePolicyDocument)); err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	if in.PermissionsBoundary != nil {
		if err := s.checkBoundary(*in.PermissionsBoundary); err != nil {
			return nil, err
		}
	}
	// Role names are unique without regard to case (AWS: CreateRole).
	if slices.ContainsFunc(s.roles.All(), func(r Role) bool { return strings.EqualFold(r.Name, name) }) {
		return nil, conflict("EntityAlreadyExists", "Role with name %s already exists.", name)
	}
	role := Role{
		Name: name, Path: path, ARN: s.arn("role", path, name), ID: s.newID("AROA"),
		Description: str(in.Description), TrustPolicy: str(in.AssumeRolePolicyDocument),
		MaxSessionDuration: sessionDuration(in.MaxSessionDuration), Created: c.Now, Tags: tags, PermissionsBoundary: str(in.PermissionsBoundary),
	}
	s.roles.Put(name, role)
	answer := role.answer()
	return &iam.CreateRoleOutput{Role: &answer}, nil
}

// answer returns the role as IAM answers it.
func (r Role) answer() types.Role {
	document := percentEncoded(r.TrustPolicy)
	seconds := int32(r.MaxSessionDuration.Seconds())
	answer := types.Role{
		Arn: &r.ARN, CreateDate: &r.Created, Path: &r.Path, RoleId: &r.ID, RoleName: &r.Name,
		AssumeRolePolicyDocument: &document, MaxSessionDuration: &seconds,
	}
	if r.Description != "" {
		answer.Description = &r.Description
	}
	if r.PermissionsBoundary != "" {
		answer.PermissionsBoundary = &types.AttachedPermissionsBoundary{
			PermissionsBoundaryArn: &r.PermissionsBoundary, PermissionsBoundaryType: boundaryType,
		}
	}
	if len(r.Tags) > 0 {
		answer.Tags = tagList(r.Tags)
	}
	return answer
}

// percentEncoded encodes a policy document as IAM answers it (RFC 3986).
func percentEncoded(document string) string {
	return strings.ReplaceAll(url.QueryEscape(document), "+", "%20")
}

// boundaryType is the value that IAM answers (AWS CLI, examples of create-user). Its model has
// another value.
const boundaryType = types.PermissionsBoundaryAttachmentType("Policy")

func getRole(c *sim.Call, in *iam.GetRoleInput) (*iam.GetRoleOutput, error) {
	role, ok := of(c.Account).roles.Visible(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	answer := role.answer()
	answer.RoleLastUsed = &types.RoleLastUsed{} // empty for a role that was never used
	return &iam.GetRoleOutput{Role: &answer}, nil
}

func listRoles(c *sim.Call, in *iam.ListRolesInput) (*iam.ListRolesOutput, error) {
	roles := []types.Role{}
	for _, r := range of(c.Account).roles.VisibleAll() {
		if strings.HasPrefix(r.Path, str(in.PathPrefix)) {
			answer := r.answer()
			// a list does not have them, nor RoleLastUsed (AWS: ListRoles)
			answer.PermissionsBoundary, answer.Tags = nil, nil
			roles = append(roles, answer)
		}
	}
	slices.SortFunc(roles, func(a, b types.Role) int { return strings.Compare(*a.RoleName, *b.RoleName) })
	page, marker, err := paginate(roles, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListRolesOutput{Roles: page, Marker: marker, IsTruncated: marker != nil}, nil
}

func deleteRole(c *sim.Call, in *iam.DeleteRoleInput) (*iam.DeleteRoleOutput, error) {
	s := of(c.Account)
	role, err := s.ownRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	name := role.Name
	for _, p := range s.profiles.All() {
		if p.Role == name {
			return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	if len(role.Policies) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete entity, must detach all policies first.")
	}
	if len(role.InlinePolicies) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete entity, must delete policies first.")
	}
	s.roles.Delete(name)
	return &iam.DeleteRoleOutput{}, nil
}

func updateAssumeRolePolicy(c *sim.Call, in *iam.UpdateAssumeRolePolicyInput) (*iam.UpdateAssumeRolePolicyOutput, error) {
	s := of(c.Account)
	role, ok := s.roles.Get(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	if err := checkDocument(str(in.PolicyDocument)); err != nil {
		return nil, err
	}
	role.TrustPolicy = str(in.PolicyDocument)
	s.roles.Put(role.Name, role)
	return &iam.UpdateAssumeRolePolicyOutput{}, nil
}

// updateRole sets description and session duration. An omitted duration is reset (AWS: UpdateRole,
// MaxSessionDuration: "If you do not specify a value for this setting, the default value of one
// hour is applied"; Description stays as it is, which is an inference).
func updateRole(c *sim.Call, in *iam.UpdateRoleInput) (*iam.UpdateRoleOutput, error) {
	s := of(c.Account)
	role, err := s.ownRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	role.MaxSessionDuration = sessionDuration(in.MaxSessionDuration)
	if in.Description != nil {
		role.Description = *in.Description
	}
	s.roles.Put(role.Name, role)
	return &iam.UpdateRoleOutput{}, nil
}

// updateRoleDescription serves the older way to set a description, which Terraform uses. It answers
// with the role.
func updateRoleDescription(c *sim.Call, in *iam.UpdateRoleDescriptionInput) (*iam.UpdateRoleDescriptionOutput, error) {
	s := of(c.Account)
	role, err := s.ownRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	role.Description = str(in.Description)
	s.roles.Put(role.Name, role)
	answer := role.answer()
	return &iam.UpdateRoleDescriptionOutput{Role: &answer}, nil
}

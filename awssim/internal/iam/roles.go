package iam

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// AWS: "IAM and AWS STS quotas", name requirements: letters, digits and +=,.@-_ .
var (
	roleNames    = regexp.MustCompile(`^[\w+=,.@-]{1,64}$`)
	profileNames = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)
	paths        = regexp.MustCompile(`^/([!-~]{0,510}/)?$`)
)

func checkName(member, name string, pattern *regexp.Regexp) error {
	if !pattern.MatchString(name) {
		return sim.Errorf("ValidationError", "The specified value for %s is invalid. It must contain only alphanumeric characters "+
			"and/or the following: +=,.@_-", member)
	}
	return nil
}

func checkPath(path string) error {
	if !paths.MatchString(path) {
		return sim.Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain "+
			"only alphanumeric characters and/or / characters.")
	}
	return nil
}

func checkDocument(document string) error {
	if !json.Valid([]byte(document)) {
		return sim.Errorf("MalformedPolicyDocument", "This policy contains invalid Json")
	}
	if _, err := parsePolicy(document); err != nil {
		return sim.Errorf("MalformedPolicyDocument", "This policy contains invalid Json or statements: %s", err)
	}
	return nil
}

// sessionDuration is how long sessions of a role may last: an hour unless more is asked for.
func sessionDuration(asked *int32) (time.Duration, error) {
	if asked == nil {
		return time.Hour, nil
	}
	if d := *asked; d < 3600 || d > 43200 {
		return 0, sim.Errorf("ValidationError", "Value '%d' at 'maxSessionDuration' must be between 3600 and 43200", d)
	}
	return time.Duration(*asked) * time.Second, nil
}

func createRole(c *sim.Call, in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	s := of(c.Account)
	name, path := str(in.RoleName), orSlash(str(in.Path))
	if err := errors.Join(checkName("roleName", name, roleNames), checkPath(path), checkDocument(str(in.AssumeRolePolicyDocument))); err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	duration, err := sessionDuration(in.MaxSessionDuration)
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
		MaxSessionDuration: duration, Created: c.Now, Tags: tags, PermissionsBoundary: str(in.PermissionsBoundary),
	}
	s.roles.Put(name, role)
	answer := role.answer()
	return &iam.CreateRoleOutput{Role: &answer}, nil
}

// answer returns the role as IAM answers it: the trust policy is percent-encoded (RFC 3986).
func (r Role) answer() types.Role {
	document := strings.ReplaceAll(url.QueryEscape(r.TrustPolicy), "+", "%20")
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

// boundaryType is what IAM answers (AWS CLI, examples of create-user). Its model has another value.
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
			roles = append(roles, r.answer())
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

// updateRole sets description and session duration. What is left out is reset (AWS: UpdateRole, MaxSessionDuration: "If you do not specify a
// value for this setting, the default value of one hour is applied"; Description stays as it is, which is an inference).
func updateRole(c *sim.Call, in *iam.UpdateRoleInput) (*iam.UpdateRoleOutput, error) {
	s := of(c.Account)
	role, err := s.ownRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	if role.MaxSessionDuration, err = sessionDuration(in.MaxSessionDuration); err != nil {
		return nil, err
	}
	if in.Description != nil {
		role.Description = *in.Description
	}
	s.roles.Put(role.Name, role)
	return &iam.UpdateRoleOutput{}, nil
}

package iam

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// maxPoliciesPerRole is the default quota (AWS: "IAM and AWS STS quotas", managed policies per
// role; it can be raised to 25).
const maxPoliciesPerRole = 10

func (s *state) managedRole(name *string) (Role, error) {
	role, ok := s.roles.Get(str(name))
	if !ok {
		return role, noSuchEntity("The role with name %s cannot be found.", str(name))
	}
	return role, nil
}

// ownRole does the same as managedRole, for changes that only AWS itself may make to service-linked
// roles (AWS: "Service-linked roles", editing).
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

// checkARN refuses what is no ARN (AWS: AttachRolePolicy, PolicyArn: "length constraints: minimum
// length of 20"). The message for what has no parts was recorded of AWS (moto's tests that are
// marked aws_verified).
func checkARN(arn string) error {
	if !strings.HasPrefix(arn, "arn:") {
		return sim.Errorf("ValidationError", "Invalid ARN:  Could not be parsed!")
	}
	if len(arn) < 20 || strings.Count(arn, ":") < 5 {
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

// checkBoundary refuses a permissions boundary that is not a policy (AWS: "Permissions boundaries
// for IAM entities").
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
		tags, err := tagged(role.Tags, in.Tags)
		if err != nil {
			return err
		}
		role.Tags = tags
		return nil
	})
}

func untagRole(c *sim.Call, in *iam.UntagRoleInput) (*iam.UntagRoleOutput, error) {
	return changeRole[iam.UntagRoleOutput](c, (*state).managedRole, in.RoleName, func(_ *state, role *Role) error {
		role.Tags = untagged(role.Tags, in.TagKeys)
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

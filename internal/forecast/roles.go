package forecast

import (
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"k8s.io/utils/clock"
)

var roleWrites = map[string]writer{
	"iam:CreateRole": writing(rolesOf, (*roles).create),
	"iam:AttachRolePolicy": changing(rolesOf, &iam.AttachRolePolicyOutput{}, func(r *roles, input *iam.AttachRolePolicyInput) {
		r.of(input.RoleName).attach(input.PolicyArn, true)
	}),
	"iam:DetachRolePolicy": changing(rolesOf, &iam.DetachRolePolicyOutput{}, func(r *roles, input *iam.DetachRolePolicyInput) {
		r.of(input.RoleName).attach(input.PolicyArn, false)
	}),
	"iam:PutRolePermissionsBoundary": changing(rolesOf, &iam.PutRolePermissionsBoundaryOutput{}, func(r *roles, input *iam.PutRolePermissionsBoundaryInput) {
		r.of(input.RoleName).change(func(role *iamtypes.Role) {
			role.PermissionsBoundary = &iamtypes.AttachedPermissionsBoundary{PermissionsBoundaryArn: input.PermissionsBoundary}
		})
	}),
	"iam:DeleteRolePermissionsBoundary": changing(rolesOf, &iam.DeleteRolePermissionsBoundaryOutput{}, func(r *roles, input *iam.DeleteRolePermissionsBoundaryInput) {
		r.of(input.RoleName).change(func(role *iamtypes.Role) { role.PermissionsBoundary = nil })
	}),
	"iam:TagRole": changing(rolesOf, &iam.TagRoleOutput{}, func(r *roles, input *iam.TagRoleInput) {
		r.of(input.RoleName).change(func(role *iamtypes.Role) {
			keys := make([]string, len(input.Tags))
			for i := range input.Tags {
				keys[i] = awssdk.ToString(input.Tags[i].Key)
			}
			role.Tags = append(untagged(role.Tags, keys), input.Tags...)
		})
	}),
	"iam:UntagRole": changing(rolesOf, &iam.UntagRoleOutput{}, func(r *roles, input *iam.UntagRoleInput) {
		r.of(input.RoleName).change(func(role *iamtypes.Role) { role.Tags = untagged(role.Tags, input.TagKeys) })
	}),
}

var roleReads = map[string]reader{
	"iam:GetRole": reading(rolesOf,
		func(r *roles, input *iam.GetRoleInput) *iam.GetRoleOutput {
			if own := r.of(input.RoleName); own.created != nil {
				return &iam.GetRoleOutput{Role: own.shown(*own.created)}
			}
			return nil
		},
		func(r *roles, input *iam.GetRoleInput, output *iam.GetRoleOutput) {
			if output.Role != nil {
				output.Role = r.of(input.RoleName).shown(*output.Role)
			}
		}),
	"iam:ListAttachedRolePolicies": reading(rolesOf,
		func(r *roles, input *iam.ListAttachedRolePoliciesInput) *iam.ListAttachedRolePoliciesOutput {
			if own := r.of(input.RoleName); own.created != nil {
				return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: own.attached(nil)}
			}
			return nil
		},
		func(r *roles, input *iam.ListAttachedRolePoliciesInput, output *iam.ListAttachedRolePoliciesOutput) {
			if !output.IsTruncated {
				output.AttachedPolicies = r.of(input.RoleName).attached(output.AttachedPolicies)
			}
		}),
}

// roles are the roles of a forecast.
type roles struct {
	clock  clock.PassiveClock
	byName map[string]*role
}

func rolesOf(a *AWS) *roles { return &a.roles }

// role holds what a forecast knows about a role.
type role struct {
	// created is the role if it exists in the forecast only.
	created  *iamtypes.Role
	changes  []func(*iamtypes.Role)
	policies []func([]iamtypes.AttachedPolicy) []iamtypes.AttachedPolicy
}

// of returns the entry of a role by its name. It adds an empty one if there is none.
func (r *roles) of(name *string) *role {
	key := awssdk.ToString(name)
	if r.byName[key] == nil {
		r.byName[key] = &role{}
	}
	return r.byName[key]
}

func (r *roles) create(input *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	created := &iamtypes.Role{
		RoleName: input.RoleName, Arn: awssdk.String("arn:aws:iam:::role/" + awssdk.ToString(input.RoleName)), Path: input.Path, Tags: input.Tags,
		AssumeRolePolicyDocument: input.AssumeRolePolicyDocument, CreateDate: awssdk.Time(r.clock.Now()),
	}
	if input.PermissionsBoundary != nil {
		created.PermissionsBoundary = &iamtypes.AttachedPermissionsBoundary{PermissionsBoundaryArn: input.PermissionsBoundary}
	}
	r.of(input.RoleName).created = created
	return &iam.CreateRoleOutput{Role: created}, nil
}

func (r *role) change(change func(*iamtypes.Role)) { r.changes = append(r.changes, change) }

// attach attaches a policy, or detaches it.
func (r *role) attach(policy *string, attach bool) {
	r.policies = append(r.policies, func(attached []iamtypes.AttachedPolicy) []iamtypes.AttachedPolicy {
		kept := slices.DeleteFunc(slices.Clone(attached), func(present iamtypes.AttachedPolicy) bool {
			return awssdk.ToString(present.PolicyArn) == awssdk.ToString(policy)
		})
		if attach {
			kept = append(kept, iamtypes.AttachedPolicy{PolicyArn: policy})
		}
		return kept
	})
}

// shown returns a role as the writes leave it.
func (r *role) shown(described iamtypes.Role) *iamtypes.Role {
	for _, change := range r.changes {
		change(&described)
	}
	return &described
}

// attached returns the policies of a role as the writes leave them.
func (r *role) attached(described []iamtypes.AttachedPolicy) []iamtypes.AttachedPolicy {
	for _, change := range r.policies {
		described = change(described)
	}
	return described
}

// untagged returns tags without the tags that have one of the keys.
func untagged(tags []iamtypes.Tag, keys []string) []iamtypes.Tag {
	return slices.DeleteFunc(slices.Clone(tags), func(tag iamtypes.Tag) bool { return slices.Contains(keys, awssdk.ToString(tag.Key)) })
}

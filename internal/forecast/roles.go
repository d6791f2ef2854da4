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
		if own := r.byName[awssdk.ToString(input.RoleName)]; own != nil {
			own.policies = append(own.policies, iamtypes.AttachedPolicy{PolicyArn: input.PolicyArn})
		}
	}),
}

var roleReads = map[string]reader{
	"iam:GetRole": reading(rolesOf,
		func(r *roles, input *iam.GetRoleInput) *iam.GetRoleOutput {
			if own := r.byName[awssdk.ToString(input.RoleName)]; own != nil {
				return &iam.GetRoleOutput{Role: &own.Role}
			}
			return nil
		},
		nil),
	"iam:ListAttachedRolePolicies": reading(rolesOf,
		func(r *roles, input *iam.ListAttachedRolePoliciesInput) *iam.ListAttachedRolePoliciesOutput {
			if own := r.byName[awssdk.ToString(input.RoleName)]; own != nil {
				return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: slices.Clone(own.policies)}
			}
			return nil
		},
		nil),
}

// roles are the roles of a forecast.
type roles struct {
	clock  clock.PassiveClock
	byName map[string]*role
}

func rolesOf(a *AWS) *roles { return &a.roles }

// role is a role that exists in the forecast only.
type role struct {
	iamtypes.Role
	policies []iamtypes.AttachedPolicy
}

func (r *roles) create(input *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	name := awssdk.ToString(input.RoleName)
	own := &role{Role: iamtypes.Role{
		RoleName: &name, Arn: awssdk.String("arn:aws:iam:::role/" + name), Path: input.Path, Tags: input.Tags,
		AssumeRolePolicyDocument: input.AssumeRolePolicyDocument, CreateDate: awssdk.Time(r.clock.Now()),
	}}
	if input.PermissionsBoundary != nil {
		own.PermissionsBoundary = &iamtypes.AttachedPermissionsBoundary{PermissionsBoundaryArn: input.PermissionsBoundary}
	}
	r.byName[name] = own
	return &iam.CreateRoleOutput{Role: &own.Role}, nil
}

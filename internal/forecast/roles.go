package forecast

import (
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

var roleWrites = map[string]writer{
	"iam:CreateRole": writing((*AWS).createRole),
	"iam:AttachRolePolicy": changing[iam.AttachRolePolicyInput, iam.AttachRolePolicyOutput](func(a *AWS, input *iam.AttachRolePolicyInput) {
		if own := a.roles[awssdk.ToString(input.RoleName)]; own != nil {
			own.policies = append(own.policies, iamtypes.AttachedPolicy{PolicyArn: input.PolicyArn})
		}
	}),
}

var roleReads = map[string]reader{
	"iam:GetRole": reading(
		func(a *AWS, input *iam.GetRoleInput) *iam.GetRoleOutput {
			if own := a.roles[awssdk.ToString(input.RoleName)]; own != nil {
				return &iam.GetRoleOutput{Role: &own.Role}
			}
			return nil
		},
		func(*AWS, *iam.GetRoleInput, *iam.GetRoleOutput) {}),
	"iam:ListAttachedRolePolicies": reading(
		func(a *AWS, input *iam.ListAttachedRolePoliciesInput) *iam.ListAttachedRolePoliciesOutput {
			if own := a.roles[awssdk.ToString(input.RoleName)]; own != nil {
				return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: slices.Clone(own.policies)}
			}
			return nil
		},
		func(*AWS, *iam.ListAttachedRolePoliciesInput, *iam.ListAttachedRolePoliciesOutput) {}),
}

// role is a role that exists in the forecast only.
type role struct {
	iamtypes.Role
	policies []iamtypes.AttachedPolicy
}

func (a *AWS) createRole(input *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	name := awssdk.ToString(input.RoleName)
	own := &role{Role: iamtypes.Role{
		RoleName: &name, Arn: awssdk.String("arn:aws:iam:::role/" + name), Path: input.Path, Tags: input.Tags,
		AssumeRolePolicyDocument: input.AssumeRolePolicyDocument, CreateDate: awssdk.Time(a.clock.Now()),
	}}
	if input.PermissionsBoundary != nil {
		own.PermissionsBoundary = &iamtypes.AttachedPermissionsBoundary{PermissionsBoundaryArn: input.PermissionsBoundary}
	}
	a.roles[name] = own
	return &iam.CreateRoleOutput{Role: &own.Role}, nil
}

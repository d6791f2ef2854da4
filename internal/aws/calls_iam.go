package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// IAM contains the calls of IAM that Slipway uses.
type IAM struct {
	attachRolePolicy              call[iam.AttachRolePolicyInput, iam.AttachRolePolicyOutput, iam.Options]
	createRole                    call[iam.CreateRoleInput, iam.CreateRoleOutput, iam.Options]
	deleteRole                    call[iam.DeleteRoleInput, iam.DeleteRoleOutput, iam.Options]
	deleteRolePermissionsBoundary call[iam.DeleteRolePermissionsBoundaryInput, iam.DeleteRolePermissionsBoundaryOutput, iam.Options]
	detachRolePolicy              call[iam.DetachRolePolicyInput, iam.DetachRolePolicyOutput, iam.Options]
	getRole                       call[iam.GetRoleInput, iam.GetRoleOutput, iam.Options]
	listAttachedRolePolicies      call[iam.ListAttachedRolePoliciesInput, iam.ListAttachedRolePoliciesOutput, iam.Options]
	putRolePermissionsBoundary    call[iam.PutRolePermissionsBoundaryInput, iam.PutRolePermissionsBoundaryOutput, iam.Options]
	tagRole                       call[iam.TagRoleInput, iam.TagRoleOutput, iam.Options]
	untagRole                     call[iam.UntagRoleInput, iam.UntagRoleOutput, iam.Options]
}

func newIAM(client *iam.Client) *IAM {
	return &IAM{
		attachRolePolicy:              client.AttachRolePolicy,
		createRole:                    client.CreateRole,
		deleteRole:                    client.DeleteRole,
		deleteRolePermissionsBoundary: client.DeleteRolePermissionsBoundary,
		detachRolePolicy:              client.DetachRolePolicy,
		getRole:                       client.GetRole,
		listAttachedRolePolicies:      client.ListAttachedRolePolicies,
		putRolePermissionsBoundary:    client.PutRolePermissionsBoundary,
		tagRole:                       client.TagRole,
		untagRole:                     client.UntagRole,
	}
}

// AttachRolePolicy calls the API action of the same name.
func (c *IAM) AttachRolePolicy(ctx context.Context, input *iam.AttachRolePolicyInput, set ...func(*iam.Options)) (*iam.AttachRolePolicyOutput, error) {
	return c.attachRolePolicy(ctx, input, set...)
}

// CreateRole calls the API action of the same name.
func (c *IAM) CreateRole(ctx context.Context, input *iam.CreateRoleInput, set ...func(*iam.Options)) (*iam.CreateRoleOutput, error) {
	return c.createRole(ctx, input, set...)
}

// DeleteRole calls the API action of the same name.
func (c *IAM) DeleteRole(ctx context.Context, input *iam.DeleteRoleInput, set ...func(*iam.Options)) (*iam.DeleteRoleOutput, error) {
	return c.deleteRole(ctx, input, set...)
}

// DeleteRolePermissionsBoundary calls the API action of the same name.
func (c *IAM) DeleteRolePermissionsBoundary(ctx context.Context, input *iam.DeleteRolePermissionsBoundaryInput, set ...func(*iam.Options)) (*iam.DeleteRolePermissionsBoundaryOutput, error) {
	return c.deleteRolePermissionsBoundary(ctx, input, set...)
}

// DetachRolePolicy calls the API action of the same name.
func (c *IAM) DetachRolePolicy(ctx context.Context, input *iam.DetachRolePolicyInput, set ...func(*iam.Options)) (*iam.DetachRolePolicyOutput, error) {
	return c.detachRolePolicy(ctx, input, set...)
}

// GetRole calls the API action of the same name.
func (c *IAM) GetRole(ctx context.Context, input *iam.GetRoleInput, set ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	return c.getRole(ctx, input, set...)
}

// ListAttachedRolePolicies calls the API action of the same name.
func (c *IAM) ListAttachedRolePolicies(ctx context.Context, input *iam.ListAttachedRolePoliciesInput, set ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	return c.listAttachedRolePolicies(ctx, input, set...)
}

// PutRolePermissionsBoundary calls the API action of the same name.
func (c *IAM) PutRolePermissionsBoundary(ctx context.Context, input *iam.PutRolePermissionsBoundaryInput, set ...func(*iam.Options)) (*iam.PutRolePermissionsBoundaryOutput, error) {
	return c.putRolePermissionsBoundary(ctx, input, set...)
}

// TagRole calls the API action of the same name.
func (c *IAM) TagRole(ctx context.Context, input *iam.TagRoleInput, set ...func(*iam.Options)) (*iam.TagRoleOutput, error) {
	return c.tagRole(ctx, input, set...)
}

// UntagRole calls the API action of the same name.
func (c *IAM) UntagRole(ctx context.Context, input *iam.UntagRoleInput, set ...func(*iam.Options)) (*iam.UntagRoleOutput, error) {
	return c.untagRole(ctx, input, set...)
}

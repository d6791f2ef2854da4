package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/eks"
)

// EKS contains the calls of EKS that Slipway uses.
type EKS struct {
	createNodegroup        call[eks.CreateNodegroupInput, eks.CreateNodegroupOutput, eks.Options]
	deleteNodegroup        call[eks.DeleteNodegroupInput, eks.DeleteNodegroupOutput, eks.Options]
	describeCluster        call[eks.DescribeClusterInput, eks.DescribeClusterOutput, eks.Options]
	describeNodegroup      call[eks.DescribeNodegroupInput, eks.DescribeNodegroupOutput, eks.Options]
	describeUpdate         call[eks.DescribeUpdateInput, eks.DescribeUpdateOutput, eks.Options]
	listNodegroups         call[eks.ListNodegroupsInput, eks.ListNodegroupsOutput, eks.Options]
	listUpdates            call[eks.ListUpdatesInput, eks.ListUpdatesOutput, eks.Options]
	tagResource            call[eks.TagResourceInput, eks.TagResourceOutput, eks.Options]
	untagResource          call[eks.UntagResourceInput, eks.UntagResourceOutput, eks.Options]
	updateNodegroupConfig  call[eks.UpdateNodegroupConfigInput, eks.UpdateNodegroupConfigOutput, eks.Options]
	updateNodegroupVersion call[eks.UpdateNodegroupVersionInput, eks.UpdateNodegroupVersionOutput, eks.Options]
}

func newEKS(client *eks.Client) *EKS {
	return &EKS{
		createNodegroup:        client.CreateNodegroup,
		deleteNodegroup:        client.DeleteNodegroup,
		describeCluster:        client.DescribeCluster,
		describeNodegroup:      client.DescribeNodegroup,
		describeUpdate:         client.DescribeUpdate,
		listNodegroups:         client.ListNodegroups,
		listUpdates:            client.ListUpdates,
		tagResource:            client.TagResource,
		untagResource:          client.UntagResource,
		updateNodegroupConfig:  client.UpdateNodegroupConfig,
		updateNodegroupVersion: client.UpdateNodegroupVersion,
	}
}

// CreateNodegroup calls the API action of the same name.
func (c *EKS) CreateNodegroup(ctx context.Context, input *eks.CreateNodegroupInput, set ...func(*eks.Options)) (*eks.CreateNodegroupOutput, error) {
	return c.createNodegroup(ctx, input, set...)
}

// DeleteNodegroup calls the API action of the same name.
func (c *EKS) DeleteNodegroup(ctx context.Context, input *eks.DeleteNodegroupInput, set ...func(*eks.Options)) (*eks.DeleteNodegroupOutput, error) {
	return c.deleteNodegroup(ctx, input, set...)
}

// DescribeCluster calls the API action of the same name.
func (c *EKS) DescribeCluster(ctx context.Context, input *eks.DescribeClusterInput, set ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	return c.describeCluster(ctx, input, set...)
}

// DescribeNodegroup calls the API action of the same name.
func (c *EKS) DescribeNodegroup(ctx context.Context, input *eks.DescribeNodegroupInput, set ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	return c.describeNodegroup(ctx, input, set...)
}

// DescribeUpdate calls the API action of the same name.
func (c *EKS) DescribeUpdate(ctx context.Context, input *eks.DescribeUpdateInput, set ...func(*eks.Options)) (*eks.DescribeUpdateOutput, error) {
	return c.describeUpdate(ctx, input, set...)
}

// ListNodegroups calls the API action of the same name.
func (c *EKS) ListNodegroups(ctx context.Context, input *eks.ListNodegroupsInput, set ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error) {
	return c.listNodegroups(ctx, input, set...)
}

// ListUpdates calls the API action of the same name.
func (c *EKS) ListUpdates(ctx context.Context, input *eks.ListUpdatesInput, set ...func(*eks.Options)) (*eks.ListUpdatesOutput, error) {
	return c.listUpdates(ctx, input, set...)
}

// TagResource calls the API action of the same name.
func (c *EKS) TagResource(ctx context.Context, input *eks.TagResourceInput, set ...func(*eks.Options)) (*eks.TagResourceOutput, error) {
	return c.tagResource(ctx, input, set...)
}

// UntagResource calls the API action of the same name.
func (c *EKS) UntagResource(ctx context.Context, input *eks.UntagResourceInput, set ...func(*eks.Options)) (*eks.UntagResourceOutput, error) {
	return c.untagResource(ctx, input, set...)
}

// UpdateNodegroupConfig calls the API action of the same name.
func (c *EKS) UpdateNodegroupConfig(ctx context.Context, input *eks.UpdateNodegroupConfigInput, set ...func(*eks.Options)) (*eks.UpdateNodegroupConfigOutput, error) {
	return c.updateNodegroupConfig(ctx, input, set...)
}

// UpdateNodegroupVersion calls the API action of the same name.
func (c *EKS) UpdateNodegroupVersion(ctx context.Context, input *eks.UpdateNodegroupVersionInput, set ...func(*eks.Options)) (*eks.UpdateNodegroupVersionOutput, error) {
	return c.updateNodegroupVersion(ctx, input, set...)
}

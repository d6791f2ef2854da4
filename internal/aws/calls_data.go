package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// SSM contains the calls of Systems Manager that Slipway uses.
type SSM struct {
	deleteParameters   call[ssm.DeleteParametersInput, ssm.DeleteParametersOutput, ssm.Options]
	describeParameters call[ssm.DescribeParametersInput, ssm.DescribeParametersOutput, ssm.Options]
	getParameter       call[ssm.GetParameterInput, ssm.GetParameterOutput, ssm.Options]
	putParameter       call[ssm.PutParameterInput, ssm.PutParameterOutput, ssm.Options]
}

func newSSM(client *ssm.Client) *SSM {
	return &SSM{
		deleteParameters:   client.DeleteParameters,
		describeParameters: client.DescribeParameters,
		getParameter:       client.GetParameter,
		putParameter:       client.PutParameter,
	}
}

// DeleteParameters calls the API action of the same name.
func (c *SSM) DeleteParameters(ctx context.Context, input *ssm.DeleteParametersInput, set ...func(*ssm.Options)) (*ssm.DeleteParametersOutput, error) {
	return c.deleteParameters(ctx, input, set...)
}

// DescribeParameters calls the API action of the same name.
func (c *SSM) DescribeParameters(ctx context.Context, input *ssm.DescribeParametersInput, set ...func(*ssm.Options)) (*ssm.DescribeParametersOutput, error) {
	return c.describeParameters(ctx, input, set...)
}

// GetParameter calls the API action of the same name.
func (c *SSM) GetParameter(ctx context.Context, input *ssm.GetParameterInput, set ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	return c.getParameter(ctx, input, set...)
}

// PutParameter calls the API action of the same name.
func (c *SSM) PutParameter(ctx context.Context, input *ssm.PutParameterInput, set ...func(*ssm.Options)) (*ssm.PutParameterOutput, error) {
	return c.putParameter(ctx, input, set...)
}

// S3 contains the calls of S3 that Slipway uses.
type S3 struct {
	deleteObjects call[s3.DeleteObjectsInput, s3.DeleteObjectsOutput, s3.Options]
	headObject    call[s3.HeadObjectInput, s3.HeadObjectOutput, s3.Options]
	listObjectsV2 call[s3.ListObjectsV2Input, s3.ListObjectsV2Output, s3.Options]
	putObject     call[s3.PutObjectInput, s3.PutObjectOutput, s3.Options]
}

func newS3(client *s3.Client) *S3 {
	return &S3{
		deleteObjects: client.DeleteObjects,
		headObject:    client.HeadObject,
		listObjectsV2: client.ListObjectsV2,
		putObject:     client.PutObject,
	}
}

// DeleteObjects calls the API action of the same name.
func (c *S3) DeleteObjects(ctx context.Context, input *s3.DeleteObjectsInput, set ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error) {
	return c.deleteObjects(ctx, input, set...)
}

// HeadObject calls the API action of the same name.
func (c *S3) HeadObject(ctx context.Context, input *s3.HeadObjectInput, set ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return c.headObject(ctx, input, set...)
}

// ListObjectsV2 calls the API action of the same name.
func (c *S3) ListObjectsV2(ctx context.Context, input *s3.ListObjectsV2Input, set ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	return c.listObjectsV2(ctx, input, set...)
}

// PutObject calls the API action of the same name.
func (c *S3) PutObject(ctx context.Context, input *s3.PutObjectInput, set ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return c.putObject(ctx, input, set...)
}

// SQS contains the calls of SQS that Slipway uses.
type SQS struct {
	deleteMessageBatch call[sqs.DeleteMessageBatchInput, sqs.DeleteMessageBatchOutput, sqs.Options]
	getQueueURL        call[sqs.GetQueueUrlInput, sqs.GetQueueUrlOutput, sqs.Options]
	receiveMessage     call[sqs.ReceiveMessageInput, sqs.ReceiveMessageOutput, sqs.Options]
}

func newSQS(client *sqs.Client) *SQS {
	return &SQS{
		deleteMessageBatch: client.DeleteMessageBatch,
		getQueueURL:        client.GetQueueUrl,
		receiveMessage:     client.ReceiveMessage,
	}
}

// DeleteMessageBatch calls the API action of the same name.
func (c *SQS) DeleteMessageBatch(ctx context.Context, input *sqs.DeleteMessageBatchInput, set ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return c.deleteMessageBatch(ctx, input, set...)
}

// GetQueueUrl calls the API action of the same name.
func (c *SQS) GetQueueUrl(ctx context.Context, input *sqs.GetQueueUrlInput, set ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) { //nolint:revive // the name is the SDK's
	return c.getQueueURL(ctx, input, set...)
}

// ReceiveMessage calls the API action of the same name.
func (c *SQS) ReceiveMessage(ctx context.Context, input *sqs.ReceiveMessageInput, set ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	return c.receiveMessage(ctx, input, set...)
}

package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// EC2 contains the calls of EC2 that Slipway uses.
type EC2 struct {
	createFleet                    call[ec2.CreateFleetInput, ec2.CreateFleetOutput, ec2.Options]
	createLaunchTemplate           call[ec2.CreateLaunchTemplateInput, ec2.CreateLaunchTemplateOutput, ec2.Options]
	createLaunchTemplateVersion    call[ec2.CreateLaunchTemplateVersionInput, ec2.CreateLaunchTemplateVersionOutput, ec2.Options]
	createTags                     call[ec2.CreateTagsInput, ec2.CreateTagsOutput, ec2.Options]
	deleteLaunchTemplate           call[ec2.DeleteLaunchTemplateInput, ec2.DeleteLaunchTemplateOutput, ec2.Options]
	deleteLaunchTemplateVersions   call[ec2.DeleteLaunchTemplateVersionsInput, ec2.DeleteLaunchTemplateVersionsOutput, ec2.Options]
	deleteTags                     call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput, ec2.Options]
	describeCapacityReservations   call[ec2.DescribeCapacityReservationsInput, ec2.DescribeCapacityReservationsOutput, ec2.Options]
	describeImages                 call[ec2.DescribeImagesInput, ec2.DescribeImagesOutput, ec2.Options]
	describeInstances              call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput, ec2.Options]
	describeInstanceStatus         call[ec2.DescribeInstanceStatusInput, ec2.DescribeInstanceStatusOutput, ec2.Options]
	describeInstanceTypeOfferings  call[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput, ec2.Options]
	describeInstanceTypes          call[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput, ec2.Options]
	describeLaunchTemplates        call[ec2.DescribeLaunchTemplatesInput, ec2.DescribeLaunchTemplatesOutput, ec2.Options]
	describeLaunchTemplateVersions call[ec2.DescribeLaunchTemplateVersionsInput, ec2.DescribeLaunchTemplateVersionsOutput, ec2.Options]
	describeSecurityGroups         call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput, ec2.Options]
	describeSpotPriceHistory       call[ec2.DescribeSpotPriceHistoryInput, ec2.DescribeSpotPriceHistoryOutput, ec2.Options]
	describeSubnets                call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput, ec2.Options]
	modifyLaunchTemplate           call[ec2.ModifyLaunchTemplateInput, ec2.ModifyLaunchTemplateOutput, ec2.Options]
	runInstances                   call[ec2.RunInstancesInput, ec2.RunInstancesOutput, ec2.Options]
	terminateInstances             call[ec2.TerminateInstancesInput, ec2.TerminateInstancesOutput, ec2.Options]
}

func newEC2(client *ec2.Client) *EC2 {
	return &EC2{
		createFleet:                    client.CreateFleet,
		createLaunchTemplate:           client.CreateLaunchTemplate,
		createLaunchTemplateVersion:    client.CreateLaunchTemplateVersion,
		createTags:                     client.CreateTags,
		deleteLaunchTemplate:           client.DeleteLaunchTemplate,
		deleteLaunchTemplateVersions:   client.DeleteLaunchTemplateVersions,
		deleteTags:                     client.DeleteTags,
		describeCapacityReservations:   client.DescribeCapacityReservations,
		describeImages:                 client.DescribeImages,
		describeInstances:              client.DescribeInstances,
		describeInstanceStatus:         client.DescribeInstanceStatus,
		describeInstanceTypeOfferings:  client.DescribeInstanceTypeOfferings,
		describeInstanceTypes:          client.DescribeInstanceTypes,
		describeLaunchTemplates:        client.DescribeLaunchTemplates,
		describeLaunchTemplateVersions: client.DescribeLaunchTemplateVersions,
		describeSecurityGroups:         client.DescribeSecurityGroups,
		describeSpotPriceHistory:       client.DescribeSpotPriceHistory,
		describeSubnets:                client.DescribeSubnets,
		modifyLaunchTemplate:           client.ModifyLaunchTemplate,
		runInstances:                   client.RunInstances,
		terminateInstances:             client.TerminateInstances,
	}
}

// CreateFleet calls the API action of the same name.
func (c *EC2) CreateFleet(ctx context.Context, input *ec2.CreateFleetInput, set ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	return c.createFleet(ctx, input, set...)
}

// CreateLaunchTemplate calls the API action of the same name.
func (c *EC2) CreateLaunchTemplate(ctx context.Context, input *ec2.CreateLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
	return c.createLaunchTemplate(ctx, input, set...)
}

// CreateLaunchTemplateVersion calls the API action of the same name.
func (c *EC2) CreateLaunchTemplateVersion(ctx context.Context, input *ec2.CreateLaunchTemplateVersionInput, set ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateVersionOutput, error) {
	return c.createLaunchTemplateVersion(ctx, input, set...)
}

// CreateTags calls the API action of the same name.
func (c *EC2) CreateTags(ctx context.Context, input *ec2.CreateTagsInput, set ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	return c.createTags(ctx, input, set...)
}

// DeleteLaunchTemplate calls the API action of the same name.
func (c *EC2) DeleteLaunchTemplate(ctx context.Context, input *ec2.DeleteLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error) {
	return c.deleteLaunchTemplate(ctx, input, set...)
}

// DeleteLaunchTemplateVersions calls the API action of the same name.
func (c *EC2) DeleteLaunchTemplateVersions(ctx context.Context, input *ec2.DeleteLaunchTemplateVersionsInput, set ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateVersionsOutput, error) {
	return c.deleteLaunchTemplateVersions(ctx, input, set...)
}

// DeleteTags calls the API action of the same name.
func (c *EC2) DeleteTags(ctx context.Context, input *ec2.DeleteTagsInput, set ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, input, set...)
}

// DescribeCapacityReservations calls the API action of the same name.
func (c *EC2) DescribeCapacityReservations(ctx context.Context, input *ec2.DescribeCapacityReservationsInput, set ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error) {
	return c.describeCapacityReservations(ctx, input, set...)
}

// DescribeImages calls the API action of the same name.
func (c *EC2) DescribeImages(ctx context.Context, input *ec2.DescribeImagesInput, set ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	return c.describeImages(ctx, input, set...)
}

// DescribeInstanceStatus calls the API action of the same name.
func (c *EC2) DescribeInstanceStatus(ctx context.Context, input *ec2.DescribeInstanceStatusInput, set ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	return c.describeInstanceStatus(ctx, input, set...)
}

// DescribeInstanceTypeOfferings calls the API action of the same name.
func (c *EC2) DescribeInstanceTypeOfferings(ctx context.Context, input *ec2.DescribeInstanceTypeOfferingsInput, set ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	return c.describeInstanceTypeOfferings(ctx, input, set...)
}

// DescribeInstanceTypes calls the API action of the same name.
func (c *EC2) DescribeInstanceTypes(ctx context.Context, input *ec2.DescribeInstanceTypesInput, set ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	return c.describeInstanceTypes(ctx, input, set...)
}

// DescribeInstances calls the API action of the same name.
func (c *EC2) DescribeInstances(ctx context.Context, input *ec2.DescribeInstancesInput, set ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	return c.describeInstances(ctx, input, set...)
}

// DescribeLaunchTemplateVersions calls the API action of the same name.
func (c *EC2) DescribeLaunchTemplateVersions(ctx context.Context, input *ec2.DescribeLaunchTemplateVersionsInput, set ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	return c.describeLaunchTemplateVersions(ctx, input, set...)
}

// DescribeLaunchTemplates calls the API action of the same name.
func (c *EC2) DescribeLaunchTemplates(ctx context.Context, input *ec2.DescribeLaunchTemplatesInput, set ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	return c.describeLaunchTemplates(ctx, input, set...)
}

// DescribeSecurityGroups calls the API action of the same name.
func (c *EC2) DescribeSecurityGroups(ctx context.Context, input *ec2.DescribeSecurityGroupsInput, set ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	return c.describeSecurityGroups(ctx, input, set...)
}

// DescribeSpotPriceHistory calls the API action of the same name.
func (c *EC2) DescribeSpotPriceHistory(ctx context.Context, input *ec2.DescribeSpotPriceHistoryInput, set ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return c.describeSpotPriceHistory(ctx, input, set...)
}

// DescribeSubnets calls the API action of the same name.
func (c *EC2) DescribeSubnets(ctx context.Context, input *ec2.DescribeSubnetsInput, set ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return c.describeSubnets(ctx, input, set...)
}

// ModifyLaunchTemplate calls the API action of the same name.
func (c *EC2) ModifyLaunchTemplate(ctx context.Context, input *ec2.ModifyLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.ModifyLaunchTemplateOutput, error) {
	return c.modifyLaunchTemplate(ctx, input, set...)
}

// RunInstances calls the API action of the same name.
func (c *EC2) RunInstances(ctx context.Context, input *ec2.RunInstancesInput, set ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error) {
	return c.runInstances(ctx, input, set...)
}

// TerminateInstances calls the API action of the same name.
func (c *EC2) TerminateInstances(ctx context.Context, input *ec2.TerminateInstancesInput, set ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	return c.terminateInstances(ctx, input, set...)
}

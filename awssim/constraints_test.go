package awssim_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/awssim"
)

// unvalidated takes the SDK's own checks out of a call, so that the request reaches AWS.
func unvalidated(stack *middleware.Stack) error {
	_, err := stack.Initialize.Remove("OperationInputValidation")
	return err
}

// TestRequestsAreHeldToModels holds how each service refuses a request that breaks its model,
// before it checks permissions.
func TestRequestsAreHeldToModels(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	if err := e.SetPolicies(limited, allowing("s3:GetObject")); err != nil {
		t.Fatal(err)
	}
	config := e.config(limited)
	config.APIOptions = append(config.APIOptions, unvalidated)
	long := strings.Repeat("r", 65)
	rows := []struct {
		reason     string
		err        error
		code, says string
	}{
		{"IAM names all that is wrong", func() error {
			_, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &long, MaxSessionDuration: aws.Int32(60)})
			return err
		}(), "ValidationError", "3 validation errors detected: Value '" + long + "' at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64; " +
			"Value null at 'assumeRolePolicyDocument' failed to satisfy constraint: Member must not be null; " +
			"Value '60' at 'maxSessionDuration' failed to satisfy constraint: Member must have value greater than or equal to 3600"},
		{"Auto Scaling", func() error {
			_, err := autoscaling.NewFromConfig(config).DescribeTags(t.Context(), &autoscaling.DescribeTagsInput{})
			if err == nil {
				t.Error("without permission tags are described")
			}
			_, err = autoscaling.NewFromConfig(config).SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("")})
			return err
		}(), "ValidationError", "Value '' at 'autoScalingGroupName' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"EC2 names a parameter that is missing", func() error {
			_, err := ec2.NewFromConfig(config).CreateTags(t.Context(), &ec2.CreateTagsInput{Tags: []ec2types.Tag{{Key: aws.String("k")}}})
			return err
		}(), "MissingParameter", "The request must contain the parameter resources"},
		{"EKS", func() error {
			_, err := eks.NewFromConfig(config).ListNodegroups(t.Context(), &eks.ListNodegroupsInput{ClusterName: aws.String("c"), MaxResults: aws.Int32(101)})
			return err
		}(), "InvalidParameterException", "Value '101' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 100"},
		{"Systems Manager", func() error {
			_, err := ssm.NewFromConfig(config).GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{}})
			return err
		}(), "ValidationException", "Value '[]' at 'names' failed to satisfy constraint: Member must have length greater than or equal to 1"},
	}
	for _, row := range rows {
		if code(row.err) != row.code || !strings.Contains(row.err.Error(), row.says) {
			t.Errorf("%s: got %v, want %s with %q", row.reason, row.err, row.code, row.says)
		}
	}
}

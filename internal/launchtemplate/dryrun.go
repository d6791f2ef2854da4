package launchtemplate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// DryRun asks EC2 whether it would launch an instance from a version with the given input, in a subnet: that of the instance, and of its interfaces
// without one. It launches nothing. The error is EC2's reason why not, or why it could not say.
func (t *Templates) DryRun(ctx context.Context, id string, version int64, input Input, subnetID string) error {
	request := &ec2.RunInstancesInput{
		DryRun: awssdk.Bool(true), MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateId: &id, Version: awssdk.String(strconv.FormatInt(version, 10))},
	}
	if len(input.data.NetworkInterfaces) == 0 {
		request.SubnetId = &subnetID
	} else {
		// EC2 takes the subnet in one of the two places, and interfaces of a request in the place of the template's.
		copySet(reflect.ValueOf(&request.NetworkInterfaces).Elem(), reflect.ValueOf(input.data.NetworkInterfaces))
		for i := range request.NetworkInterfaces {
			if nic := &request.NetworkInterfaces[i]; nic.SubnetId == nil && nic.NetworkInterfaceId == nil {
				nic.SubnetId = &subnetID
			}
		}
	}
	_, err := t.ec2.RunInstances(ctx, request)
	var api smithy.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode() == "DryRunOperation": // AWS: errors-overview, "the request would have succeeded"
		return nil
	case err == nil:
		return fmt.Errorf("trying version %d of launch template %q: EC2 answered a dry run as if it was none", version, id)
	}
	return fmt.Errorf("trying version %d of launch template %q: %w", version, id, err)
}

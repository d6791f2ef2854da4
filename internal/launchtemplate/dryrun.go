package launchtemplate

import (
	"context"
	"fmt"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/sdkcopy"
)

// DryRun asks EC2 whether it would launch an instance from a version with the given input. The
// subnet is used for the instance and for its interfaces without one. It launches nothing. The
// error is EC2's reason why not, or why it could not answer.
func (t *Templates) DryRun(ctx context.Context, id string, version int64, input Input, subnetID string) error {
	request := &ec2.RunInstancesInput{
		DryRun: awssdk.Bool(true), MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateId: &id, Version: awssdk.String(strconv.FormatInt(version, 10))},
	}
	// EC2 takes the subnet in one of two places.
	if request.NetworkInterfaces = interfacesIn(subnetID, &input.data.NetworkInterfaces); len(request.NetworkInterfaces) == 0 {
		request.SubnetId = &subnetID
	}
	_, err := t.ec2.RunInstances(ctx, request)
	return DryRunAnswer(err, id, version)
}

// DryRunAnswer returns nil for the error by which EC2 says that a dry run of a version would have
// succeeded (AWS: EC2 API reference, errors-overview, DryRunOperation), and otherwise why it would
// not have, or why EC2 could not say.
func DryRunAnswer(err error, id string, version int64) error {
	switch {
	case aws.Code(err) == "DryRunOperation":
		return nil
	case err == nil:
		return fmt.Errorf("trying version %d of launch template %q: EC2 answered a dry run as if it was none", version, id)
	}
	return fmt.Errorf("trying version %d of launch template %q: %w", version, id, err)
}

// InterfacesIn returns the network interfaces of the version as a request to launch an instance has
// them, which takes them in the place of the template's. Those without a subnet are in the given
// one. There are none if the version names none.
func (d Data) InterfacesIn(subnetID string) []ec2types.InstanceNetworkInterfaceSpecification {
	return interfacesIn(subnetID, &d.data.NetworkInterfaces)
}

// interfacesIn returns the network interfaces in the list that templates points at.
func interfacesIn(subnetID string, templates any) []ec2types.InstanceNetworkInterfaceSpecification {
	var interfaces []ec2types.InstanceNetworkInterfaceSpecification
	sdkcopy.Members(&interfaces, templates)
	for i := range interfaces {
		if nic := &interfaces[i]; nic.SubnetId == nil && nic.NetworkInterfaceId == nil {
			nic.SubnetId = &subnetID
		}
	}
	return interfaces
}

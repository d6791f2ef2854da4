package fleet

import (
	"context"
	"fmt"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/cause"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Versions reads versions of launch templates.
type Versions interface {
	TemplateVersion(ctx context.Context, id string, version int64) (launchtemplate.Data, error)
}

// DryRuns asks EC2 whether it would launch.
type DryRuns struct {
	Fleets   *Fleets
	Versions Versions
}

// DryRun asks EC2 whether it would launch an instance of the request's first offering, and launches
// nothing. A fleet checks less before it launches than a single instance, so a single one is asked
// for. The error is EC2's reason why not, or why it could not say.
func (d DryRuns) DryRun(ctx context.Context, request Request) error {
	ctx = cause.Because(ctx, "dry run before instances are launched")
	in := &ec2.RunInstancesInput{
		DryRun: awssdk.Bool(true), MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: ec2types.InstanceType(request.Offerings[0].InstanceType),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateId: awssdk.String(request.TemplateID), Version: awssdk.String(strconv.FormatInt(request.Version, 10))},
	}
	for _, specification := range tagSpecifications(request) {
		if specification.ResourceType != ec2types.ResourceTypeFleet {
			in.TagSpecifications = append(in.TagSpecifications, specification)
		}
	}
	if request.Spot {
		in.InstanceMarketOptions = &ec2types.InstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
	}
	subnet := request.Offerings[0].SubnetID
	if subnet != "" {
		in.SubnetId = awssdk.String(subnet)
	}
	_, err := d.Fleets.ec2.RunInstances(ctx, in)
	if subnet == "" || aws.Code(err) != "InvalidParameterCombination" {
		return launchtemplate.DryRunAnswer(err, request.TemplateID, request.Version)
	}
	// A launch template with network interfaces takes the subnet in them. Few have any, so it is
	// read only now.
	data, unread := d.Versions.TemplateVersion(ctx, request.TemplateID, request.Version)
	if unread != nil {
		return fmt.Errorf("trying launch template %q: %w", request.TemplateID, unread)
	}
	if in.NetworkInterfaces = data.InterfacesIn(subnet); len(in.NetworkInterfaces) > 0 {
		in.SubnetId = nil
		_, err = d.Fleets.ec2.RunInstances(ctx, in)
	}
	return launchtemplate.DryRunAnswer(err, request.TemplateID, request.Version)
}

// DryRunFleet asks EC2 whether the request would be accepted, and launches nothing.
func (d DryRuns) DryRunFleet(ctx context.Context, request Request) error {
	_, err := d.Fleets.ec2.CreateFleet(ctx, dryRunInput(request))
	return launchtemplate.DryRunAnswer(err, request.TemplateID, request.Version)
}

// dryRunInput returns the CreateFleet request that launches nothing.
func dryRunInput(request Request) *ec2.CreateFleetInput {
	in := input(request)
	in.DryRun, in.ClientToken = awssdk.Bool(true), nil
	return in
}

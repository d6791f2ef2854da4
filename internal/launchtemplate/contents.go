package launchtemplate

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

// Contents describes the instances that are launched from a version, in plain values. A field is
// empty if the version leaves it to the launch request.
type Contents struct {
	// ImageID is the id of the image, or resolve:ssm: and a Systems Manager parameter that holds it.
	ImageID string
	// InstanceType and Requirements are alternatives. Requirements are the attributes that choose
	// types, as text, with EC2's field names.
	InstanceType, Requirements string
	// Market is EC2's marketType: spot, capacity-block or interruptible-capacity-reservation. Empty
	// is On-Demand.
	Market string
	// LastingSpot says that a Spot request outlives its instance, has an end, or stops the instance
	// in place of terminating it.
	LastingSpot bool
	// CapacityReservation is the id of a Capacity Reservation, or the ARN of a group of them.
	CapacityReservation string
	// SecurityGroupIDs are the security groups of the instance and of all its interfaces, and
	// SubnetIDs the subnets of the interfaces, sorted. SecurityGroupNames are the groups that are
	// given by name.
	SecurityGroupIDs, SecurityGroupNames, SubnetIDs []string
	// InterfaceIDs are network interfaces that exist already, which one instance at a time can have.
	InterfaceIDs []string
	// AvailabilityZone and Host (an id, or the affinity to one) are of the placement.
	AvailabilityZone, Host string
	// InstanceProfile is a name or an ARN.
	InstanceProfile string
	// Volumes are the EBS volumes of the block device mappings.
	Volumes []Volume
	// UserData is what the instance gets, before base64.
	UserData []byte
	// ShutdownBehavior and Hibernation are what becomes of an instance that is shut down.
	ShutdownBehavior string
	Hibernation      bool
}

// Volume is an EBS volume of a block device mapping.
type Volume struct {
	// DeviceName such as /dev/xvda.
	DeviceName string
	// SizeGiB is 0 where the snapshot or the image decides.
	SizeGiB int32
	// SnapshotID names another snapshot than the image's.
	SnapshotID string
}

// Contents returns the contents of the version.
func (d Data) Contents() (Contents, error) {
	contents, err := contentsOf(d.data)
	if err != nil {
		return Contents{}, fmt.Errorf("reading version %d of launch template %q: %w", d.version.Number, d.template, err)
	}
	return contents, nil
}

// Fingerprints returns the fingerprints of the version.
func (d Data) Fingerprints() Fingerprints { return d.version.Fingerprints }

// Version returns the version itself.
func (d Data) Version() Version { return d.version }

// Contents returns the contents of a version that is created from the input.
func (i Input) Contents() (Contents, error) {
	answer := &ec2types.ResponseLaunchTemplateData{}
	sdkcopy.Members(answer, i.data)
	return contentsOf(answer)
}

func contentsOf(data *ec2types.ResponseLaunchTemplateData) (Contents, error) {
	userData, err := base64.StdEncoding.DecodeString(awssdk.ToString(data.UserData))
	if err != nil {
		return Contents{}, fmt.Errorf("decoding user data: %w", err)
	}
	contents := Contents{
		ImageID: awssdk.ToString(data.ImageId), InstanceType: string(data.InstanceType), UserData: userData,
		SecurityGroupNames: sortedUnique(data.SecurityGroups), ShutdownBehavior: string(data.InstanceInitiatedShutdownBehavior),
		Hibernation: data.HibernationOptions != nil && awssdk.ToBool(data.HibernationOptions.Configured),
	}
	if data.InstanceRequirements != nil {
		if contents.Requirements, err = canonical(data.InstanceRequirements); err != nil {
			return Contents{}, err
		}
	}
	if profile := data.IamInstanceProfile; profile != nil {
		contents.InstanceProfile = cmp.Or(awssdk.ToString(profile.Arn), awssdk.ToString(profile.Name))
	}
	if placement := data.Placement; placement != nil {
		contents.AvailabilityZone = awssdk.ToString(placement.AvailabilityZone)
		contents.Host = cmp.Or(awssdk.ToString(placement.HostId), awssdk.ToString(placement.Affinity))
	}
	contents.setMarket(data)
	contents.setNetwork(data)
	for _, mapping := range data.BlockDeviceMappings {
		if mapping.Ebs == nil {
			continue
		}
		contents.Volumes = append(contents.Volumes, Volume{
			DeviceName: awssdk.ToString(mapping.DeviceName), SizeGiB: awssdk.ToInt32(mapping.Ebs.VolumeSize), SnapshotID: awssdk.ToString(mapping.Ebs.SnapshotId),
		})
	}
	return contents, nil
}

func (c *Contents) setMarket(data *ec2types.ResponseLaunchTemplateData) {
	if specification := data.CapacityReservationSpecification; specification != nil && specification.CapacityReservationTarget != nil {
		target := specification.CapacityReservationTarget
		c.CapacityReservation = cmp.Or(awssdk.ToString(target.CapacityReservationId), awssdk.ToString(target.CapacityReservationResourceGroupArn))
	}
	options := data.InstanceMarketOptions
	if options == nil {
		return
	}
	c.Market = string(options.MarketType)
	if spot := options.SpotOptions; spot != nil {
		c.Market = string(cmp.Or(options.MarketType, ec2types.MarketTypeSpot))
		c.LastingSpot = spot.SpotInstanceType == ec2types.SpotInstanceTypePersistent || spot.ValidUntil != nil ||
			(spot.InstanceInterruptionBehavior != "" && spot.InstanceInterruptionBehavior != ec2types.InstanceInterruptionBehaviorTerminate)
	}
}

func (c *Contents) setNetwork(data *ec2types.ResponseLaunchTemplateData) {
	groups := slices.Clone(data.SecurityGroupIds)
	for i := range data.NetworkInterfaces {
		networkInterface := &data.NetworkInterfaces[i]
		groups = append(groups, networkInterface.Groups...)
		if id := awssdk.ToString(networkInterface.SubnetId); id != "" {
			c.SubnetIDs = append(c.SubnetIDs, id)
		}
		if id := awssdk.ToString(networkInterface.NetworkInterfaceId); id != "" {
			c.InterfaceIDs = append(c.InterfaceIDs, id)
		}
	}
	c.SecurityGroupIDs, c.SubnetIDs, c.InterfaceIDs = sortedUnique(groups), sortedUnique(c.SubnetIDs), sortedUnique(c.InterfaceIDs)
}

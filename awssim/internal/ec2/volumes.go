package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var volumeListing = listing[types.Volume]{
	kind: volumeID, id: func(v types.Volume) string { return *v.VolumeId }, tags: func(v types.Volume) []types.Tag { return v.Tags }, pages: commonPages,
	filters: filterTable[types.Volume]{
		"attachment.delete-on-termination": attachments(func(a types.VolumeAttachment) []string { return boolean(a.DeleteOnTermination) }),
		"attachment.device":                attachments(func(a types.VolumeAttachment) []string { return text(a.Device) }),
		"attachment.instance-id":           attachments(func(a types.VolumeAttachment) []string { return text(a.InstanceId) }),
		"attachment.status":                attachments(func(a types.VolumeAttachment) []string { return enum(a.State) }),
		"availability-zone":                func(v types.Volume) []string { return text(v.AvailabilityZone) },
		"availability-zone-id":             func(v types.Volume) []string { return text(v.AvailabilityZoneId) },
		"create-time":                      func(v types.Volume) []string { return instant(v.CreateTime) },
		"encrypted":                        func(v types.Volume) []string { return boolean(v.Encrypted) },
		"size":                             func(v types.Volume) []string { return number(v.Size) },
		"snapshot-id":                      func(v types.Volume) []string { return text(v.SnapshotId) },
		"status":                           func(v types.Volume) []string { return enum(v.State) },
		"volume-id":                        func(v types.Volume) []string { return text(v.VolumeId) },
		"volume-type":                      func(v types.Volume) []string { return enum(v.VolumeType) },
		"attachment.attach-time":           attachments(func(a types.VolumeAttachment) []string { return instant(a.AttachTime) }),
		"fast-restored":                    func(v types.Volume) []string { return boolean(v.FastRestored) },
		"multi-attach-enabled":             func(v types.Volume) []string { return boolean(v.MultiAttachEnabled) },
		"operator.managed":                 func(v types.Volume) []string { return boolean(val(v.Operator).Managed) },
		"operator.principal":               func(v types.Volume) []string { return text(val(v.Operator).Principal) },
	},
}

func attachments(read func(types.VolumeAttachment) []string) func(types.Volume) []string {
	return func(v types.Volume) []string { return collect(v.Attachments, read) }
}

func describeVolumes(c *sim.Call, in *awsec2.DescribeVolumesInput) (*awsec2.DescribeVolumesOutput, error) {
	found, next, err := volumeListing.read(stateOf(c.Region).volumes.VisibleAll(), query{in.VolumeIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeVolumesOutput{Volumes: found, NextToken: next}, nil
}

// deleteVolume removes a volume that no instance uses.
func deleteVolume(c *sim.Call, in *awsec2.DeleteVolumeInput) (*awsec2.DeleteVolumeOutput, error) {
	s := stateOf(c.Region)
	if err := volumeID.check(val(in.VolumeId)); err != nil {
		return nil, err
	}
	v, ok := s.volumes.Get(*in.VolumeId)
	if !ok {
		return nil, sim.Errorf("InvalidVolume.NotFound", "The volume '%s' does not exist.", *in.VolumeId)
	}
	if v.State != types.VolumeStateAvailable {
		return nil, sim.Errorf("VolumeInUse", "Volume %s is currently attached to %s", *in.VolumeId, val(v.Attachments[0].InstanceId))
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.volumes.Delete(*in.VolumeId)
	return &awsec2.DeleteVolumeOutput{}, nil
}

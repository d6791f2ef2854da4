package ec2

import (
	"slices"
	"strings"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file replaces root volumes of running instances (User Guide, "Replace the root volume for an
// Amazon EC2 instance without stopping it", replace-root below).

// attaching is the time that EC2 takes to create the new volume before the instance is rebooted
// (inference: AWS names no time).
const attaching = 2 * time.Second

// rootTask is one replacement of a root volume.
type rootTask struct {
	api  types.ReplaceRootVolumeTask
	ebs  types.EbsBlockDevice // the volume to create
	with string               // the id of an existing volume, instead
}

// rootVolumes holds the tasks that replace root volumes, and carries them out.
type rootVolumes struct {
	*sim.Table[rootTask]
	kernel    *sim.Kernel
	images    *images
	volumes   *sim.Table[types.Volume]
	instances *instances
}

func (t rootTask) active() bool {
	return t.api.TaskState == types.ReplaceRootVolumeTaskStatePending || t.api.TaskState == types.ReplaceRootVolumeTaskStateInProgress
}

// plan checks a request, and works out the volume that becomes the root. The error codes of EC2 are
// not documented: the codes here are the ones that it uses for the same defects elsewhere
// (inference).
func (rv *rootVolumes) plan(in *awsec2.CreateReplaceRootVolumeTaskInput) (rootTask, error) {
	found, err := rv.instances.named([]string{val(in.InstanceId)})
	if err != nil {
		return rootTask{}, err
	}
	i := found[0]
	if err := rv.refuse(i, in); err != nil {
		return rootTask{}, err
	}
	task := rootTask{api: types.ReplaceRootVolumeTask{
		InstanceId: in.InstanceId, ImageId: in.ImageId, SnapshotId: in.SnapshotId, DeleteReplacedRootVolume: in.DeleteReplacedRootVolume,
	}}
	old, _ := rv.volumes.Get(val(i.root().VolumeId))
	task.ebs = types.EbsBlockDevice{
		VolumeType: old.VolumeType, VolumeSize: old.Size, Iops: old.Iops, Throughput: old.Throughput, Encrypted: old.Encrypted, KmsKeyId: old.KmsKeyId,
		SnapshotId: old.SnapshotId, DeleteOnTermination: i.root().DeleteOnTermination,
	}
	if in.VolumeInitializationRate != nil {
		task.ebs.VolumeInitializationRate = ptr(int32(*in.VolumeInitializationRate)) //nolint:gosec // refuseRootTask has checked the range
	}
	switch {
	case in.ImageId != nil:
		return task, rv.fromImage(&task, i, *in.ImageId)
	case in.VolumeId != nil:
		task.with = *in.VolumeId
		return task, rv.refuseReplacement(i, old, *in.VolumeId)
	}
	return task, nil
}

// refuse holds what does not depend on the source of the new volume (replace-root, "Requirements").
func (rv *rootVolumes) refuse(i instance, in *awsec2.CreateReplaceRootVolumeTaskInput) error {
	if err := checkRootSource(in); err != nil {
		return err
	}
	switch {
	case !i.in(types.InstanceStateNameRunning):
		return sim.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'running' state.", i.id())
	case i.root() == nil:
		return sim.Errorf("UnsupportedOperation", "The root device of the instance '%s' is not an Amazon EBS volume.", i.id())
	}
	kind := rv.kernel.World().InstanceType(string(i.api.InstanceType))
	if kind != nil && kind.BareMetal && !slices.ContainsFunc(kind.Architectures, func(a string) bool { return strings.HasSuffix(a, "_mac") }) {
		return sim.Errorf("UnsupportedOperation", "The root volume of an instance of the type '%s' can't be replaced.", i.api.InstanceType)
	}
	for _, t := range rv.All() {
		if t.active() && *t.api.InstanceId == i.id() { // inference: no text says what a second task does
			return sim.Errorf("IncorrectState", "The root volume of the instance '%s' is being replaced by the task '%s'.", i.id(), *t.api.ReplaceRootVolumeTaskId)
		}
	}
	return nil
}

// checkRootSource checks the parameters for the new volume.
func checkRootSource(in *awsec2.CreateReplaceRootVolumeTaskInput) error {
	sources := 0
	for _, source := range []*string{in.ImageId, in.SnapshotId, in.VolumeId} {
		if source != nil {
			sources++
		}
	}
	switch {
	case sources > 1:
		return invalidCombination("Only one of the parameters imageId, snapshotId and volumeId may be specified.")
	case in.SnapshotId != nil:
		// "You can only use snapshots that you created directly from the instance's current or
		// previous root volumes": the simulation has none.
		if err := snapshotID.check(*in.SnapshotId); err != nil {
			return err
		}
		return snapshotID.missing(*in.SnapshotId)
	case in.VolumeInitializationRate != nil && (*in.VolumeInitializationRate < 100 || *in.VolumeInitializationRate > 300):
		return invalidValue("VolumeInitializationRate", *in.VolumeInitializationRate, "Expecting a value between 100 and 300.")
	}
	return nil
}

// fromImage has a task restore the root volume of an image (replace-root, "Replace the root volume
// using an AMI").
func (rv *rootVolumes) fromImage(task *rootTask, i instance, id string) error {
	image, err := rv.images.find(id)
	if err != nil {
		return err
	}
	var root *types.EbsBlockDevice
	for _, m := range image.BlockDeviceMappings {
		if val(m.DeviceName) == val(image.RootDeviceName) {
			root = m.Ebs
		}
	}
	if root == nil {
		return sim.Errorf("UnsupportedOperation", "The root device of the image '%s' is not an Amazon EBS volume.", id)
	}
	if differs := lacking(i, &image); differs != "" {
		return sim.Errorf("InvalidParameterValue", "The image '%s' can't replace the root volume of the instance '%s': it does not have the same %s.", id, i.id(), differs)
	}
	task.ebs.SnapshotId = root.SnapshotId
	task.ebs.VolumeSize = ptr(max(val(root.VolumeSize), val(task.ebs.VolumeSize)))
	if val(root.Encrypted) && !val(task.ebs.Encrypted) {
		task.ebs.Encrypted, task.ebs.KmsKeyId = root.Encrypted, root.KmsKeyId
	}
	return nil
}

// lacking returns which characteristic of an instance an image lacks, "" if it has all that AWS lists.
func lacking(i instance, image *types.Image) string {
	switch {
	case image.Architecture != i.api.Architecture:
		return "architecture type"
	case image.VirtualizationType != i.api.VirtualizationType:
		return "virtualization type"
	case val(image.PlatformDetails) != val(i.api.PlatformDetails) || val(image.UsageOperation) != val(i.api.UsageOperation):
		return "billing information"
	case !slices.Equal(productCodes(image.ProductCodes), productCodes(i.api.ProductCodes)):
		return "product code"
	case val(i.api.EnaSupport) && !val(image.EnaSupport):
		return "support for ENA"
	case val(i.api.TpmSupport) != "" && image.TpmSupport == "":
		return "support for NitroTPM"
	}
	return ""
}

// refuseReplacement refuses an existing volume that cannot be the root (replace-root, "Replace the
// root volume using an existing Amazon EBS volume").
func (rv *rootVolumes) refuseReplacement(i instance, old types.Volume, id string) error {
	if err := volumeID.check(id); err != nil {
		return err
	}
	v, exists := rv.volumes.Get(id)
	switch {
	case !exists:
		return volumeID.missing(id)
	case v.State != types.VolumeStateAvailable:
		return sim.Errorf("IncorrectState", "The volume '%s' is not 'available'.", id)
	case val(v.AvailabilityZone) != val(i.api.Placement.AvailabilityZone):
		return sim.Errorf("InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", id, i.id())
	case val(old.Encrypted) && !val(v.Encrypted):
		return invalidValue("volumeId", id, "The root volume is encrypted; its replacement must be encrypted too.")
	}
	return nil
}

// root returns the EBS volume that the instance boots from, nil if it has none.
func (i instance) root() *types.EbsInstanceBlockDevice {
	if n := i.rootMapping(); n >= 0 {
		return i.api.BlockDeviceMappings[n].Ebs
	}
	return nil
}

func (i instance) rootMapping() int {
	return slices.IndexFunc(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) bool {
		return val(m.DeviceName) == val(i.api.RootDeviceName) && m.Ebs != nil
	})
}

func (rv *rootVolumes) timestamp() *string { return ptr(rv.kernel.Now().UTC().Format(time.RFC3339)) }

// begin stores a task and lets it run: the volume is created, then attached in place of the
// old one, and the instance reboots.
func (rv *rootVolumes) begin(t rootTask) rootTask {
	id := rv.kernel.NewID("replacevol-", 17)
	t.api.ReplaceRootVolumeTaskId, t.api.StartTime, t.api.TaskState = &id, rv.timestamp(), types.ReplaceRootVolumeTaskStatePending
	rv.Put(id, t)
	rv.kernel.After(attaching, func() { rv.swap(id) })
	return t
}

// finish records the result of a task.
func (rv *rootVolumes) finish(t rootTask, result types.ReplaceRootVolumeTaskState) {
	t.api.TaskState, t.api.CompleteTime = result, rv.timestamp()
	rv.Put(*t.api.ReplaceRootVolumeTaskId, t)
}

// swap attaches the new volume and reboots the instance.
func (rv *rootVolumes) swap(id string) {
	t, _ := rv.Get(id)
	i, exists := rv.instances.Get(*t.api.InstanceId)
	image, imageExists := rv.images.Get(val(t.api.ImageId))
	ready := exists && i.in(types.InstanceStateNameRunning)
	if v, given := rv.volumes.Get(t.with); t.with != "" {
		ready = ready && given && v.State == types.VolumeStateAvailable
	}
	if !ready || t.api.ImageId != nil && !imageExists {
		rv.finish(t, types.ReplaceRootVolumeTaskStateFailed)
		for _, watch := range rv.instances.watchers {
			watch(i.public()) // its state has not changed, so that EC2 sends no event
		}
		return
	}
	t.api.TaskState = types.ReplaceRootVolumeTaskStateInProgress
	rv.Put(id, t)
	old := *i.root()
	rv.instances.detach(val(old.VolumeId), val(t.api.DeleteReplacedRootVolume))
	i = rv.attach(i, t)
	if t.api.ImageId != nil {
		// "New AMI ID", and what the image changes of its boot mode and its support for NitroTPM and ENA.
		i.api.ImageId, i.api.BootMode, i.api.EnaSupport = image.ImageId, image.BootMode, image.EnaSupport
	}
	i.life++
	i.booted, i.checks = false, i.checks.rebooted()
	rv.instances.Put(i.id(), i)
	life := i.life
	rv.kernel.After(rv.kernel.Behavior().InstanceTimes.Boot, func() {
		now, there := rv.instances.Get(i.id())
		if !there || now.life != life {
			// it was stopped or terminated before it had booted
			rv.finish(t, types.ReplaceRootVolumeTaskStateFailed)
			return
		}
		rv.finish(t, types.ReplaceRootVolumeTaskStateSucceeded)
		rv.instances.boot(now)
	})
}

// attach returns the instance with the root volume of a task. Tags of the replaced volume do
// not pass on (inference: no text says that they do).
func (rv *rootVolumes) attach(i instance, t rootTask) instance {
	now := ptr(rv.kernel.Now())
	v, given := rv.volumes.Get(t.with)
	// "The delete on termination attribute of the original root volume does not transfer" to a
	// volume that existed
	keeps := ptr(false)
	if !given {
		keeps = t.ebs.DeleteOnTermination
		v = types.Volume{
			VolumeId: ptr(rv.kernel.NewID("vol-", 17)), VolumeType: t.ebs.VolumeType, Size: t.ebs.VolumeSize, Iops: volumeIOPS(t.ebs), Throughput: t.ebs.Throughput,
			Encrypted: t.ebs.Encrypted, KmsKeyId: t.ebs.KmsKeyId, SnapshotId: ptr(val(t.ebs.SnapshotId)), CreateTime: now,
			AvailabilityZone: i.api.Placement.AvailabilityZone, AvailabilityZoneId: i.api.Placement.AvailabilityZoneId,
			MultiAttachEnabled: ptr(false), VolumeInitializationRate: t.ebs.VolumeInitializationRate, Operator: operatorOf(""),
		}
	}
	v.State = types.VolumeStateInUse
	v.Attachments = []types.VolumeAttachment{{
		VolumeId: v.VolumeId, InstanceId: i.api.InstanceId, Device: i.api.RootDeviceName, AttachTime: now, DeleteOnTermination: keeps,
		State: types.VolumeAttachmentStateAttached,
	}}
	rv.volumes.Put(*v.VolumeId, v)
	mappings := shape.Clone(i.api.BlockDeviceMappings)
	mappings[i.rootMapping()].Ebs = &types.EbsInstanceBlockDevice{
		VolumeId: v.VolumeId, AttachTime: now, DeleteOnTermination: keeps, Status: types.AttachmentStatusAttached,
	}
	i.api.BlockDeviceMappings = mappings
	return i
}

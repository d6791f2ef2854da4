package ec2

import (
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// volumePlan is an EBS volume that the launch makes.
type volumePlan struct {
	device string
	ebs    types.EbsBlockDevice // complete: every member that the volume type has is set
}

// volumeLimits holds the limits of a volume type (SDK, EbsBlockDevice; ratios: EBS User Guide,
// "Amazon EBS volume types").
type volumeLimits struct {
	minSize, maxSize             int32 // GiB
	minIOPS, maxIOPS             int32 // 0: the type has no provisioned IOPS
	needsIOPS                    bool
	iopsPerGiB                   int32
	minThroughput, maxThroughput int32 // MiB/s; 0: the type has no provisioned throughput
	bootable                     bool
}

var volumeTypes = map[types.VolumeType]volumeLimits{
	types.VolumeTypeGp2:      {minSize: 1, maxSize: 16384, bootable: true},
	types.VolumeTypeGp3:      {minSize: 1, maxSize: 65536, minIOPS: 3000, maxIOPS: 80000, iopsPerGiB: 500, minThroughput: 125, maxThroughput: 2000, bootable: true},
	types.VolumeTypeIo1:      {minSize: 4, maxSize: 16384, minIOPS: 100, maxIOPS: 64000, needsIOPS: true, iopsPerGiB: 50, bootable: true},
	types.VolumeTypeIo2:      {minSize: 4, maxSize: 65536, minIOPS: 100, maxIOPS: 256000, needsIOPS: true, iopsPerGiB: 1000, bootable: true},
	types.VolumeTypeSt1:      {minSize: 125, maxSize: 16384},
	types.VolumeTypeSc1:      {minSize: 125, maxSize: 16384},
	types.VolumeTypeStandard: {minSize: 1, maxSize: 1024, bootable: true},
}

// Defaults of gp3 (EBS User Guide, "General Purpose SSD volumes"), and the throughput that one IOPS
// carries at most.
const (
	gp3DefaultIOPS       = 3000
	gp3DefaultThroughput = 125
	gp3IOPSPerThroughput = 4 // 0.25 MiB/s per IOPS
)

var ephemeralDevice = regexp.MustCompile(`^ephemeral([0-9]|1[0-9]|2[0-3])$`)

// ruleBlockDevices holds the rules of block device mappings that need no image (SDK,
// BlockDeviceMapping and EbsBlockDevice).
func ruleBlockDevices(l *launch) error {
	seen := map[string]bool{}
	for _, m := range l.in.BlockDeviceMappings {
		device := val(m.DeviceName)
		if device == "" {
			return missingParameter("deviceName")
		}
		if seen[device] {
			return sim.Errorf("InvalidBlockDeviceMapping", "The device '%s' is used in more than one block-device mapping", device)
		}
		seen[device] = true
		if err := checkMapping(m); err != nil {
			return err
		}
	}
	return nil
}

// ruleTemplateVolumes holds what launch templates forbid and RunInstances allows: an encryption
// value for a volume of a snapshot that the template names (SDK,
// LaunchTemplateEbsBlockDeviceRequest.Encrypted). Code and words are what users report of EC2.
func ruleTemplateVolumes(l *launch) error {
	mappings := l.in.BlockDeviceMappings
	if !l.stored {
		mappings = shape.Convert[[]types.BlockDeviceMapping](val(l.source).Data.BlockDeviceMappings)
	}
	for _, m := range mappings {
		if ebs := val(m.Ebs); ebs.Encrypted != nil && val(ebs.SnapshotId) != "" {
			return encryptedFlag(val(m.DeviceName))
		}
	}
	return nil
}

// encryptedFlag refuses an encryption value for a volume of a snapshot. EC2 also refuses the value
// false where the image, not the request, names the snapshot, as every image does for its root
// device: aws/aws-sdk-net#515 for RunInstances; hashicorp/terraform-provider-aws#4553 and
// testAccLaunchTemplateConfig_BlockDeviceMappings_EBS for Auto Scaling, until at least 2020. The
// value true encrypts the copy (EBS User Guide, "Encryption by default": launching from unencrypted
// snapshots with encryption).
func encryptedFlag(device string) error {
	return sim.Errorf("InvalidBlockDeviceMapping", "the encrypted flag cannot be specified since device %s has a snapshot specified.", device)
}

func checkMapping(m types.BlockDeviceMapping) error {
	meanings := 0
	for _, given := range []bool{m.Ebs != nil && *m.Ebs != (types.EbsBlockDevice{}), val(m.VirtualName) != "", m.NoDevice != nil} {
		if given {
			meanings++
		}
	}
	if meanings > 1 {
		return sim.Errorf("InvalidBlockDeviceMapping", "Only one of ebs, virtualName and noDevice may be specified for the device '%s'", val(m.DeviceName))
	}
	if name := val(m.VirtualName); name != "" && !ephemeralDevice.MatchString(name) {
		return sim.Errorf("InvalidBlockDeviceMapping", "The virtual name '%s' is invalid", name)
	}
	if m.Ebs == nil || m.Ebs.VolumeType == "" {
		return nil
	}
	return checkVolume(m.Ebs.VolumeType, *m.Ebs)
}

// checkVolume checks the members that are set against what the volume type allows.
func checkVolume(kind types.VolumeType, e types.EbsBlockDevice) error {
	limits, known := volumeTypes[kind]
	if !known {
		return sim.Errorf("UnknownVolumeType", "Unsupported volume type '%s' for volume creation.", kind)
	}
	if size := e.VolumeSize; size != nil {
		if *size < limits.minSize {
			return sim.Errorf("InvalidParameterValue", "Volume of %dGiB is too small; minimum is %dGiB.", *size, limits.minSize)
		}
		if *size > limits.maxSize {
			return sim.Errorf("InvalidParameterValue", "Volume of %dGiB is too large for volume type %s; maximum is %dGiB.", *size, kind, limits.maxSize)
		}
	}
	if err := checkIOPS(kind, limits, e); err != nil {
		return err
	}
	if err := checkThroughput(kind, limits, e); err != nil {
		return err
	}
	if rate := e.VolumeInitializationRate; rate != nil && (*rate < 100 || *rate > 300) {
		return invalidValue("VolumeInitializationRate", *rate, "Expecting a value between 100 and 300.")
	}
	return nil
}

func checkIOPS(kind types.VolumeType, limits volumeLimits, e types.EbsBlockDevice) error {
	if e.Iops == nil {
		if limits.needsIOPS {
			return missingParameter("iops")
		}
		return nil
	}
	switch iops := *e.Iops; {
	case limits.maxIOPS == 0:
		return invalidCombination("The parameter iops is not supported for %s volumes.", kind)
	case iops < limits.minIOPS:
		return sim.Errorf("InvalidParameterValue", "Volume iops of %d is too low; minimum is %d.", iops, limits.minIOPS)
	case iops > limits.maxIOPS:
		return sim.Errorf("InvalidParameterValue", "Volume iops of %d is too high; maximum is %d.", iops, limits.maxIOPS)
	case e.VolumeSize != nil && iops > limits.minIOPS && iops > *e.VolumeSize*limits.iopsPerGiB:
		return sim.Errorf("InvalidParameterValue", "Iops to volume size ratio of %.1f is too high; maximum is %d.0.", float64(iops)/float64(*e.VolumeSize), limits.iopsPerGiB)
	}
	return nil
}

func checkThroughput(kind types.VolumeType, limits volumeLimits, e types.EbsBlockDevice) error {
	if e.Throughput == nil {
		return nil
	}
	iops := int32(gp3DefaultIOPS)
	if e.Iops != nil {
		iops = *e.Iops
	}
	switch throughput := *e.Throughput; {
	case limits.maxThroughput == 0:
		return invalidCombination("The parameter throughput is not supported for %s volumes.", kind)
	case throughput < limits.minThroughput:
		return sim.Errorf("InvalidParameterValue", "Throughput (MiBps) of %d is too low; minimum is %d.", throughput, limits.minThroughput)
	case throughput > limits.maxThroughput:
		return sim.Errorf("InvalidParameterValue", "Throughput (MiBps) of %d is too high; maximum is %d.", throughput, limits.maxThroughput)
	case throughput*gp3IOPSPerThroughput > iops:
		return sim.Errorf("InvalidParameterValue", "Throughput (MiBps) to iops ratio of %f is too high; maximum is 0.250000 MiBps per iops.", float64(throughput)/float64(iops))
	}
	return nil
}

// planVolumes works out the volumes: the image's mappings, changed by the request's for the same
// device, then the request's others (User Guide, "Block device mappings for volumes on Amazon EC2
// instances").
func (l *launch) planVolumes() error {
	requested := map[string]types.BlockDeviceMapping{}
	for _, m := range l.in.BlockDeviceMappings {
		requested[val(m.DeviceName)] = m
	}
	ofImage := map[string]bool{}
	for _, m := range l.image.BlockDeviceMappings {
		device := val(m.DeviceName)
		ofImage[device] = true
		if err := l.planDevice(device, m.Ebs, requested[device]); err != nil {
			return err
		}
	}
	for _, m := range l.in.BlockDeviceMappings {
		if !ofImage[val(m.DeviceName)] {
			if err := l.planDevice(val(m.DeviceName), nil, m); err != nil {
				return err
			}
		}
	}
	root := val(l.image.RootDeviceName)
	if !slices.ContainsFunc(l.volumes, func(v volumePlan) bool { return v.device == root }) {
		return sim.Errorf("InvalidBlockDeviceMapping", "The root device '%s' may not be removed from the block device mappings", root)
	}
	return nil
}

func (l *launch) planDevice(device string, ofImage *types.EbsBlockDevice, request types.BlockDeviceMapping) error {
	if request.NoDevice != nil || val(request.VirtualName) != "" {
		return nil
	}
	ebs := changedVolume(val(ofImage), val(request.Ebs))
	if encrypted := val(request.Ebs).Encrypted; encrypted != nil && !*encrypted && val(ebs.SnapshotId) != "" {
		return encryptedFlag(device)
	}
	if err := l.sizeVolume(&ebs); err != nil {
		return err
	}
	return l.addVolume(device, completeVolume(ebs))
}

// changedVolume is the image's volume as the request wants it.
func changedVolume(ofImage, request types.EbsBlockDevice) types.EbsBlockDevice {
	ebs := ofImage
	if request.VolumeType != "" && request.VolumeType != ebs.VolumeType {
		ebs.Iops, ebs.Throughput = nil, nil // they belong to the image's type of volume
	}
	shape.Overlay(&ebs, request)
	return ebs
}

// sizeVolume sets the size of a volume that comes from a snapshot, and refuses one that is smaller
// than its snapshot.
func (l *launch) sizeVolume(ebs *types.EbsBlockDevice) error {
	snapshot := val(ebs.SnapshotId)
	size, exists := l.state.images.snapshotSize(snapshot)
	switch {
	case snapshot != "" && !exists:
		return sim.Errorf("InvalidSnapshot.NotFound", "The snapshot '%s' does not exist.", snapshot)
	case snapshot == "" && ebs.VolumeSize == nil:
		return sim.Errorf("MissingParameter", "The request must contain the parameter size or snapshotId")
	case ebs.VolumeSize == nil:
		ebs.VolumeSize = ptr(size)
	case *ebs.VolumeSize < size:
		return sim.Errorf("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot '%s', expect size >= %dGB", *ebs.VolumeSize, snapshot, size)
	}
	return nil
}

// completeVolume fills in what EC2 assumes: gp2, and a volume that goes with its instance.
func completeVolume(ebs types.EbsBlockDevice) types.EbsBlockDevice {
	if ebs.VolumeType == "" {
		ebs.VolumeType = types.VolumeTypeGp2 // SDK, EbsBlockDevice.VolumeType: "Default: gp2"
	}
	if ebs.DeleteOnTermination == nil {
		ebs.DeleteOnTermination = ptr(true)
	}
	if ebs.Encrypted == nil {
		ebs.Encrypted = ptr(false)
	}
	if ebs.VolumeType != types.VolumeTypeGp3 {
		return ebs
	}
	if ebs.Iops == nil {
		ebs.Iops = ptr(int32(gp3DefaultIOPS))
	}
	if ebs.Throughput == nil {
		ebs.Throughput = ptr(int32(gp3DefaultThroughput))
	}
	return ebs
}

func (l *launch) addVolume(device string, ebs types.EbsBlockDevice) error {
	if err := checkVolume(ebs.VolumeType, ebs); err != nil {
		return err
	}
	if val(ebs.KmsKeyId) != "" && !val(ebs.Encrypted) {
		// API reference, EbsBlockDevice
		return invalidCombination("The parameter KmsKeyId requires the parameter Encrypted to be set.")
	}
	if device == val(l.image.RootDeviceName) && !volumeTypes[ebs.VolumeType].bootable {
		return sim.Errorf("BootForVolumeTypeUnsupported", "The volume type '%s' cannot be used as a boot volume.", ebs.VolumeType)
	}
	l.volumes = append(l.volumes, volumePlan{device: device, ebs: ebs})
	return nil
}

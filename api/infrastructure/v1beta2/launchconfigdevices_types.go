package v1beta2

// BlockDeviceMapping says what a device of the instance is.
//
// +slipway:rule=BD10
// +kubebuilder:validation:XValidation:rule=`(has(self.ebs) ? 1 : 0) + (has(self.virtualName) ? 1 : 0) + (has(self.noDevice) && self.noDevice ? 1 : 0) == 1`,message="exactly one of ebs, virtualName, and noDevice: true must be set"
type BlockDeviceMapping struct {
	// DeviceName is the name under which the instance sees the device, such as /dev/sdb.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DeviceName string `json:"deviceName"`

	// EBS is a volume that is created with the instance.
	// +optional
	EBS *EBSBlockDevice `json:"ebs,omitempty"`

	// VirtualName is a volume of the instance store, ephemeral0 to ephemeral23. NVMe volumes are
	// there without.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +slipway:rule=BD10
	// +kubebuilder:validation:XValidation:rule=`self.matches('^ephemeral([0-9]|1[0-9]|2[0-3])$')`,message="virtualName must be ephemeral0 to ephemeral23"
	VirtualName string `json:"virtualName,omitempty"`

	// NoDevice leaves out a device that the image has.
	// +optional
	NoDevice *bool `json:"noDevice,omitempty"`
}

// EBSBlockDevice is an EBS volume that is created with an instance. Where the image has the device,
// what is left out is the image's.
//
// +slipway:rule=BD3
// +kubebuilder:validation:XValidation:rule=`!has(self.snapshotId) || self.snapshotId == "" || !has(self.encrypted)`,message="the snapshot determines whether the volume is encrypted: remove encrypted, or snapshotId",fieldPath=".encrypted"
// +slipway:rule=BD4
// +kubebuilder:validation:XValidation:rule=`!has(self.kmsKeyId) || self.kmsKeyId == "" || (has(self.encrypted) && self.encrypted)`,message="kmsKeyId requires an encrypted volume: set encrypted to true, or remove kmsKeyId",fieldPath=".encrypted"
// +slipway:rule=BD5
// +kubebuilder:validation:XValidation:rule=`!has(self.iops) || !has(self.volumeType) || self.volumeType in ["", 'gp3', 'io1', 'io2']`,message="iops is only valid for gp3, io1, and io2 volumes: remove iops, or change volumeType",fieldPath=".iops"
// +slipway:rule=BD5
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeType) || !(self.volumeType in ['io1', 'io2']) || has(self.iops)`,message="iops is required for io1 and io2 volumes",fieldPath=".iops"
// +slipway:rule=BD6
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeType) || self.volumeType != 'gp3' || !has(self.iops) || (self.iops >= 3000 && self.iops <= 80000)`,message="iops of gp3 volumes must be between 3,000 and 80,000",fieldPath=".iops"
// +slipway:rule=BD6
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeType) || self.volumeType != 'io1' || !has(self.iops) || self.iops <= 64000`,message="iops of io1 volumes must be between 100 and 64,000",fieldPath=".iops"
// +slipway:rule=BD7
// +kubebuilder:validation:XValidation:rule=`!has(self.throughput) || (has(self.volumeType) && self.volumeType == 'gp3')`,message="throughput is only valid for gp3 volumes: set volumeType to gp3, or remove throughput",fieldPath=".throughput"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeSize) || !has(self.volumeType) || !(self.volumeType in ['gp2', 'io1']) || self.volumeSize <= 16384`,message="the size of gp2 and io1 volumes must be at most 16,384 GiB",fieldPath=".volumeSize"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeSize) || !has(self.volumeType) || !(self.volumeType in ['io1', 'io2']) || self.volumeSize >= 4`,message="the size of io1 and io2 volumes must be at least 4 GiB",fieldPath=".volumeSize"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeSize) || !has(self.volumeType) || !(self.volumeType in ['st1', 'sc1']) || (self.volumeSize >= 125 && self.volumeSize <= 16384)`,message="the size of st1 and sc1 volumes must be between 125 and 16,384 GiB",fieldPath=".volumeSize"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeSize) || !has(self.volumeType) || self.volumeType != 'standard' || self.volumeSize <= 1024`,message="the size of standard volumes must be at most 1,024 GiB",fieldPath=".volumeSize"
// +slipway:rule=BD9
// +kubebuilder:validation:XValidation:rule=`!has(self.volumeInitializationRate) || (has(self.snapshotId) && self.snapshotId != "")`,message="volumeInitializationRate is only valid for volumes that are created from a snapshot: set snapshotId, or remove volumeInitializationRate",fieldPath=".volumeInitializationRate"
type EBSBlockDevice struct {
	// DeleteOnTermination deletes the volume with the instance. Default: true, also for volumes
	// that the image would leave.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`

	// EBSCardIndex is the EBS card of the volume, on types with several. AWS's default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31
	EBSCardIndex *int32 `json:"ebsCardIndex,omitempty"`

	// Encrypted has the volume encrypted. Left out, the image or the snapshot and the account decide.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`

	// IOPS that are provisioned, for gp3, io1 and io2; required for io1 and io2.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS *int32 `json:"iops,omitempty"`

	// KMSKeyID is the KMS key to encrypt with, by id, alias or ARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	KMSKeyID string `json:"kmsKeyId,omitempty"`

	// SnapshotID is the snapshot that the volume begins as.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^snap-[0-9a-f]{8,17}$')`,message="must be the ID of a snapshot (snap-...)"
	SnapshotID string `json:"snapshotId,omitempty"`

	// Throughput that is provisioned, in MiB/s, for gp3.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	Throughput *int32 `json:"throughput,omitempty"`

	// VolumeInitializationRate is how fast the blocks of the snapshot are brought from S3, in
	// MiB/s, which costs.
	// +optional
	// +slipway:rule=BD9
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`

	// VolumeSize in GiB. It may be left out with snapshotId, and for the root device of the image;
	// that is refused when the image is known.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	VolumeSize *int32 `json:"volumeSize,omitempty"`

	// VolumeType is the type of the volume. Default: the image's, else AWS's.
	// +optional
	VolumeType VolumeType `json:"volumeType,omitempty"`
}

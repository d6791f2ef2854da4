package v1beta2

// ExistingLaunchTemplate names an EC2 launch template of another owner, in the account and region
// of the cluster.
//
// +slipway:rule=LT3
// +kubebuilder:validation:XValidation:rule=`(has(self.id) && self.id != "") != (has(self.name) && self.name != "")`,message="exactly one of id and name must be set"
// +slipway:rule=SL51
// +kubebuilder:validation:XValidation:rule=`same(self.id, "") && same(self.name, "")`,message="a node group cannot switch to another launch template: restore the previous id or name, or create a new AWSLaunchConfig"
type ExistingLaunchTemplate struct {
	// ID of the launch template. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^lt-[0-9a-f]{8,17}$')`,message="must be the ID of a launch template (lt-...)"
	ID string `json:"id,omitempty"`

	// Name of the launch template. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +slipway:rule=LT1
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^[a-zA-Z0-9()./_-]{3,128}$')`,message="a launch template name must have 3 to 128 characters: letters, digits, and ( ) . - / _"
	Name string `json:"name,omitempty"`

	// Version is a number, latest (the newest) or default (the template's default version). Pools
	// follow it: nodes are replaced when it comes to stand for a version that is another node.
	// Default: default.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL52
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^([1-9][0-9]{0,17}|latest|default)$')`,message="a version must be a number, latest, or default (write latest for $Latest, default for $Default)"
	Version string `json:"version,omitempty"`
}

// ResolvedLaunchConfig contains the resources in AWS that the names and lookups of the spec
// resolved to.
type ResolvedLaunchConfig struct {
	// ImageID is the image. One that was looked up is kept while imageKey stays the same.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// ImageArchitecture is the processor architecture of the image, x86_64 or arm64; of the
	// instance type, where EKS chooses the image.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ImageArchitecture string `json:"imageArchitecture,omitempty"`

	// OperatingSystem of the image: linux or windows.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OperatingSystem string `json:"operatingSystem,omitempty"`

	// RootDeviceName is the root device of the image, such as /dev/xvda.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RootDeviceName string `json:"rootDeviceName,omitempty"`

	// ImageKey is the fingerprint of the image look-up.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ImageKey string `json:"imageKey,omitempty"`

	// ImageParameter is the Systems Manager parameter that leads to the image, where the launch
	// template names one: the image is then the value that the parameter had when it was last read.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ImageParameter string `json:"imageParameter,omitempty"`

	// InstanceType of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// InstanceRequirements are the attributes that choose instance types in place of one, in JSON,
	// as EC2 has them.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	InstanceRequirements string `json:"instanceRequirements,omitempty"`

	// Market is how instances are bought: on-demand, spot, capacity-block or
	// interruptible-capacity-reservation.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Market string `json:"market,omitempty"`

	// SecurityGroupIDs are the security groups of the instances, sorted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	SecurityGroupIDs []string `json:"securityGroupIDs,omitempty"`

	// SubnetIDs are the subnets that the template's network interfaces are in. There are none where
	// the consumer of the launch template chooses it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	SubnetIDs []string `json:"subnetIDs,omitempty"`

	// AvailabilityZones are the zones that the template can be launched in. There are none where
	// the consumer of the launch template chooses it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	AvailabilityZones []string `json:"availabilityZones,omitempty"`

	// EphemeralStorageGiB is the size of the volume that has containers, their logs and emptyDir
	// volumes. It is omitted if it is unknown.
	// +optional
	EphemeralStorageGiB int64 `json:"ephemeralStorageGiB,omitempty"`

	// IamInstanceProfile of the instances, by name or ARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	IamInstanceProfile string `json:"iamInstanceProfile,omitempty"`

	// UserDataBytes is the size of the user data before base64; EC2 takes 16,384 at most.
	// +optional
	UserDataBytes *int32 `json:"userDataBytes,omitempty"`

	// Missing is what the template lacks, or has too much of, for each kind that may launch from it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Missing []LaunchConfigGap `json:"missing,omitempty"`
}

// LaunchConfigGap is something that a kind of consumer misses in a launch template, or cannot launch with.
type LaunchConfigGap struct {
	// For is the kind: AWSMachinePool, AWSManagedMachinePool or Provisioner.
	// +required
	// +kubebuilder:validation:MaxLength=64
	For string `json:"for"`

	// Member of EC2's launch template data that it is about, such as InstanceType.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Member string `json:"member"`

	// Blocking says that nothing can be launched, unless the consumer has what the message says. A
	// gap that is not blocking is a warning.
	// +optional
	Blocking bool `json:"blocking,omitempty"`

	// Message says what is missing, or in the way.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

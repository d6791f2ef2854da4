package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AWSMachinePoolStatus says what the pool is. All of it can be found again from AWS.
type AWSMachinePoolStatus struct {
	// Ready is true from the moment that the Auto Scaling group exists. Cluster API reads it.
	// +optional
	Ready bool `json:"ready"`

	// Initialization is what Cluster API's v1beta2 contract reads in place of ready.
	// +optional
	Initialization AWSMachinePoolInitializationStatus `json:"initialization,omitempty,omitzero"`

	// Replicas is how many instances the group has, in any state of life.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many instances the group counts as in service and healthy.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// UpToDateReplicas is how many instances run the wanted configuration.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// Capacity is what a node of the pool has: cpu, memory, ephemeral-storage and GPUs.
	// cluster-autoscaler's clusterapi provider reads it to scale from zero. It is left out where
	// the instance type is unknown.
	// +optional
	Capacity NodeCapacity `json:"capacity,omitempty"`

	// NodeInfo describes a node of the pool. cluster-autoscaler reads it in addition to capacity.
	// +optional
	NodeInfo *NodeInfo `json:"nodeInfo,omitempty"`

	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the pool is, and what is in the way.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LaunchTemplateID is the id of the EC2 launch template that the group launches from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// LaunchTemplateVersion is the number of the version that the group launches from.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion *string `json:"launchTemplateVersion,omitempty"`

	// AutoScalingGroup identifies the group.
	// +optional
	AutoScalingGroup *AutoScalingGroupReference `json:"autoScalingGroup,omitempty"`

	// InfrastructureMachineKind is the kind of the objects that stand for single instances, while
	// the pool has Machines. Cluster API reads it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`

	// WantedVersion is the number of the launch template version that the spec asks for.
	// +optional
	WantedVersion int64 `json:"wantedVersion,omitempty"`

	// WantedConfig identifies what instances should be launched from: the configuration that the
	// spec asks for, and the images and templates of its overrides.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	WantedConfig string `json:"wantedConfig,omitempty"`

	// WantedSince is when wantedConfig came to be wanted. A roll-out begins when it has been for a
	// while, so that a batch of edits makes one roll-out.
	// +optional
	WantedSince *metav1.Time `json:"wantedSince,omitempty"`

	// BelowCapacitySince is since when the group has had less than its desired capacity; absent if
	// it has all of it.
	// +optional
	BelowCapacitySince *metav1.Time `json:"belowCapacitySince,omitempty"`

	// Deletion is how far the deletion of the pool is; absent if the pool is not being deleted.
	// +optional
	Deletion *AWSMachinePoolDeletionStatus `json:"deletion,omitempty"`

	// RunningVersions are what the instances run, with their counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RunningVersions []RunningVersion `json:"runningVersions,omitempty"`

	// InstanceTypes are the types of the running instances, the most frequent first: m5.large, m6i.large.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	InstanceTypes string `json:"instanceTypes,omitempty"`

	// Rollout is the newest roll-out, with the instance refresh that carries it.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// LastGood is the newest configuration that all instances ran: the one that a rollback goes to.
	// +optional
	LastGood *GoodConfiguration `json:"lastGood,omitempty"`

	// Instances of the group.
	// +optional
	// +listType=map
	// +listMapKey=instanceID
	// +kubebuilder:validation:MaxItems=10000
	Instances []AWSMachinePoolInstanceStatus `json:"instances,omitempty"`
}

// AWSMachinePoolInitializationStatus says how far the first provisioning has come.
// +kubebuilder:validation:MinProperties=1
type AWSMachinePoolInitializationStatus struct {
	// Provisioned is true from the moment that the Auto Scaling group exists, and never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// AutoScalingGroupReference identifies an Auto Scaling group.
type AutoScalingGroupReference struct {
	// Name of the group, unique in the account and region.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// ARN of the group.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn,omitempty"`
}

// RunningVersion is a launch template version that instances run.
type RunningVersion struct {
	// LaunchTemplateID is the id of the template, empty for instances that were launched without one.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// Version is the number of the version.
	// +optional
	Version int64 `json:"version,omitempty"`

	// ImageID is the image that an override names in place of the template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// Instances is how many run it.
	// +required
	Instances int32 `json:"instances"`

	// UpToDate is whether it is the wanted configuration.
	// +optional
	UpToDate bool `json:"upToDate,omitempty"`
}

// GoodConfiguration is a configuration that all instances ran.
type GoodConfiguration struct {
	// ConfigFingerprint identifies the configuration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ConfigFingerprint string `json:"configFingerprint"`

	// Version is the number of a launch template version with it.
	// +required
	Version int64 `json:"version"`
}

// RolloutStatus is a roll-out and the instance refresh that carries it.
type RolloutStatus struct {
	// Cause is the reason why instances are replaced: instance type m5.large → m6i.large.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Cause string `json:"cause,omitempty"`

	// RefreshID is the id that AWS gave the newest refresh, empty while there was none.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	RefreshID string `json:"refreshID,omitempty"`

	// StartedID is the id of the newest refresh that Slipway started. It differs from refreshID
	// when another program has started one since. Slipway cancels none but this.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	StartedID string `json:"startedID,omitempty"`

	// StartedFor is the wantedConfig that it was started for.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	StartedFor string `json:"startedFor,omitempty"`

	// StartedTemplateID is the launch template that the group launched from when it was started.
	// The refresh is cancelled if another template takes its place.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	StartedTemplateID string `json:"startedTemplateID,omitempty"`

	// RolledBackFrom is the fingerprint of the configuration that the pool went back from, after a
	// refresh to it failed. It is not tried again until the spec asks for another.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`

	// Attempts is how many refreshes in a row left instances behind since attemptsFor came to be wanted.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// AttemptsFor is the wantedConfig that attempts are counted for, and the launch template that
	// it is launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AttemptsFor string `json:"attemptsFor,omitempty"`

	// AttemptsAfter is the id of the newest refresh that there was before the first attempt, empty
	// if there was none. Refreshes are counted in the order in which AWS lists them.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AttemptsAfter string `json:"attemptsAfter,omitempty"`

	// Retried is the digest of the value of annotation retry-rollout that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Retried string `json:"retried,omitempty"`

	// Status is AWS's: Pending, InProgress, Baking, Successful, Failed, Cancelling, Cancelled,
	// RollbackInProgress, RollbackSuccessful or RollbackFailed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`

	// Strategy of the refresh: Rolling or ReplaceRootVolume.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Strategy string `json:"strategy,omitempty"`

	// PercentageComplete is the share of instances that were replaced, in percent.
	// +optional
	PercentageComplete *int32 `json:"percentageComplete,omitempty"`

	// Reason is AWS's explanation of the status.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// StartTime is when the refresh began, by AWS's clock.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// EndSeenTime is when Slipway first saw that the refresh was over, by its own clock. The wait
	// before the next attempt is measured from it.
	// +optional
	EndSeenTime *metav1.Time `json:"endSeenTime,omitempty"`
}

// AWSMachinePoolDeletionStatus describes the progress of a pool's deletion.
type AWSMachinePoolDeletionStatus struct {
	// GroupUnseenSince is since when AWS has shown no Auto Scaling group of the pool.
	// +optional
	GroupUnseenSince *metav1.Time `json:"groupUnseenSince,omitempty"`

	// NodesCheckedSince is since when the nodes of the group have been checked without a long gap.
	// +optional
	NodesCheckedSince *metav1.Time `json:"nodesCheckedSince,omitempty"`

	// NodesCheckedLast is when the nodes of the group were last checked, to within a few minutes.
	// +optional
	NodesCheckedLast *metav1.Time `json:"nodesCheckedLast,omitempty"`
}

// AWSMachinePoolInstanceStatus is one instance of the group.
type AWSMachinePoolInstanceStatus struct {
	// InstanceID is the EC2 instance id.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	InstanceID string `json:"instanceID"`

	// Version is the Kubernetes version that the instance was launched for.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version *string `json:"version,omitempty"`

	// LaunchTemplateVersion is the number of the launch template version that the instance was launched from. EKS
	// launches from a copy of it. It is empty if it is not known which one was copied for the instance.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion string `json:"launchTemplateVersion,omitempty"`

	// LifecycleState is where the instance is in the group's life, such as Pending, InService or
	// Terminating:Wait.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LifecycleState string `json:"lifecycleState,omitempty"`

	// HealthStatus is the group's judgement: Healthy or Unhealthy.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HealthStatus string `json:"healthStatus,omitempty"`

	// AvailabilityZone that the instance runs in.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AvailabilityZone string `json:"availabilityZone,omitempty"`

	// InstanceType of the instance, such as m5.large.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// InServiceTime is when Slipway first saw the instance in service, with what it runs now. It is
	// not set for AWSManagedMachinePools.
	// +optional
	InServiceTime *metav1.Time `json:"inServiceTime,omitempty"`
}

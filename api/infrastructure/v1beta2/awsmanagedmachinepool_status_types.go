package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSManagedMachinePoolStatus says what the pool is. All of it can be found again from AWS.
type AWSManagedMachinePoolStatus struct {
	// Ready is true from the moment that the node group was active for the first time. Cluster API reads it.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready"`

	// Initialization is what Cluster API's v1beta2 contract reads in place of ready.
	// +optional
	Initialization AWSManagedMachinePoolInitializationStatus `json:"initialization,omitempty,omitzero"`

	// Replicas is how many instances the node group's Auto Scaling group has, in any state of life.
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

	// LaunchTemplateID is the id of the EC2 launch template that the node group was made from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// LaunchTemplateVersion is the number of the version that the node group was last configured to
	// launch from.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion *string `json:"launchTemplateVersion,omitempty"`

	// InstanceTypes are the types of the running instances, the most frequent first: m5.large, m6i.large.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	InstanceTypes string `json:"instanceTypes,omitempty"`

	// Nodegroup is the EKS node group. Its name is recorded here before EKS is called with it, and
	// stays when the node group is gone.
	// +optional
	Nodegroup *NodegroupStatus `json:"nodegroup,omitempty"`

	// Retiring is the node group that is being replaced, while templateLossPolicy Replace has two of them.
	// +optional
	Retiring *NodegroupStatus `json:"retiring,omitempty"`

	// NodeRole is the IAM role of the nodes.
	// +optional
	NodeRole *NodeRoleStatus `json:"nodeRole,omitempty"`

	// WantedVersion is the number of the launch template version that the spec asks for.
	// +optional
	WantedVersion int64 `json:"wantedVersion,omitempty"`

	// WantedConfig identifies what nodes should be launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	WantedConfig string `json:"wantedConfig,omitempty"`

	// WantedSince is when wantedConfig came to be wanted. A roll-out begins when it has been for a
	// while, so that a batch of edits makes one roll-out.
	// +optional
	WantedSince *metav1.Time `json:"wantedSince,omitempty"`

	// Update is the newest update of the node group, running or finished.
	// +optional
	Update *NodegroupUpdateStatus `json:"update,omitempty"`

	// FailedUpdates are the newest updates that failed, one of each type. An update is tried again
	// after a time that doubles with each attempt.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	FailedUpdates []FailedNodegroupUpdate `json:"failedUpdates,omitempty"`

	// Retried is the digest of the value of annotation retry-rollout that was acted on last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Retried string `json:"retried,omitempty"`

	// Deletion describes the progress of deleting a node group; absent if there is nothing to describe.
	// +optional
	Deletion *NodegroupDeletionStatus `json:"deletion,omitempty"`

	// HealthIssues are what EKS says is wrong with the node group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	HealthIssues []NodegroupHealthIssue `json:"healthIssues,omitempty"`

	// Instances of the node group.
	// +optional
	// +listType=map
	// +listMapKey=instanceID
	// +kubebuilder:validation:MaxItems=10000
	Instances []AWSMachinePoolInstanceStatus `json:"instances,omitempty"`
}

// AWSManagedMachinePoolInitializationStatus says how far the first provisioning has come.
// +kubebuilder:validation:MinProperties=1
type AWSManagedMachinePoolInitializationStatus struct {
	// Provisioned is true from the moment that the node group was active for the first time, and
	// never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// NodegroupStatus is a node group as EKS has it.
type NodegroupStatus struct {
	// Name of the node group, unique in its EKS cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// ARN of the node group.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn,omitempty"`

	// Status is EKS's: CREATING, ACTIVE, UPDATING, DELETING, CREATE_FAILED, DELETE_FAILED or DEGRADED.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`

	// AMIType is the family of the image, CUSTOM for an image of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AMIType string `json:"amiType,omitempty"`

	// ReleaseVersion is the release version of the EKS image, or the id of an image of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReleaseVersion string `json:"releaseVersion,omitempty"`

	// KubernetesVersion of the node group, such as 1.34.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// AutoScalingGroup is the name of the Auto Scaling group that EKS made.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	AutoScalingGroup string `json:"autoScalingGroup,omitempty"`

	// GroupVersion is the version of EKS's own launch template that the Auto Scaling group launches. While EKS
	// replaces nodes, it stays the version of before, so that only instances of another version count as new.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	GroupVersion string `json:"groupVersion,omitempty"`
}

// NodeRoleStatus is the IAM role of the nodes.
type NodeRoleStatus struct {
	// Name of the role.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// ARN of the role.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn,omitempty"`

	// Managed is whether the role was made for the pool and is deleted with it.
	// +optional
	Managed bool `json:"managed,omitempty"`
}

// NodegroupUpdateStatus is an update of a node group.
type NodegroupUpdateStatus struct {
	// ID that EKS gave the update.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ID string `json:"id,omitempty"`

	// Type is EKS's: VersionUpdate or ConfigUpdate; or Create, while the node group is made.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// Status is EKS's: InProgress, Failed, Cancelled or Successful.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`

	// Cause is the reason why the update was started: instance type m5.large → m6i.large.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Cause string `json:"cause,omitempty"`

	// LaunchTemplateVersion is the number of the launch template version that new nodes get, empty if the update
	// changes only other things.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion string `json:"launchTemplateVersion,omitempty"`

	// Reason is EKS's explanation of an update that failed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// StartedFor identifies what the update was begun for; empty for an update that another program started.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	StartedFor string `json:"startedFor,omitempty"`

	// StartTime is when the update began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// EndTime is when the update was found to be finished.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// Attempts is how many updates in a row, since the configuration came to be wanted, failed.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
}

// FailedNodegroupUpdate describes an update of a node group that failed, or that EKS refused.
type FailedNodegroupUpdate struct {
	// Type is VersionUpdate; Rollback, for a rollback to the previous Kubernetes version that EKS refused
	// to start; SizesUpdate, SettingsUpdate, or ConfigUpdate (sizes and settings together); or
	// UncertainConfigUpdate, for a change of sizes or settings that failed inside AWS, which EKS may have started.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type"`

	// StartedFor identifies what the update was started for.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	StartedFor string `json:"startedFor,omitempty"`

	// Attempts is how many updates for it failed in a row.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// EndTime is when the last of them failed, or the first of type UncertainConfigUpdate.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// Refusal is EKS's explanation of an update that failed, or that it did not start.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Refusal string `json:"refusal,omitempty"`
}

// NodegroupDeletionStatus describes the progress of deleting a node group.
type NodegroupDeletionStatus struct {
	// UnseenSince is since when EKS has shown no node group of a pool that is being deleted.
	// +optional
	UnseenSince *metav1.Time `json:"unseenSince,omitempty"`

	// FailedSince is since when a node group of the pool has been one that EKS could not delete.
	// +optional
	FailedSince *metav1.Time `json:"failedSince,omitempty"`
}

// NodegroupHealthIssue is something that EKS says is wrong with a node group.
type NodegroupHealthIssue struct {
	// Code is EKS's, such as AsgInstanceLaunchFailures.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Code string `json:"code"`

	// Message is EKS's.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// ResourceIDs are what the issue is about.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=2048
	ResourceIDs []string `json:"resourceIDs,omitempty"`
}

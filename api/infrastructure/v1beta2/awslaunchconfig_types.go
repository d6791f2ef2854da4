package v1beta2

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxLaunchConfigStatusVersions limits how many versions status.versions lists, newest first,
// however many there are.
const MaxLaunchConfigStatusVersions = 50

// AWSLaunchConfigSpec says what instances are launched with, and in which EC2 launch template that is kept.
//
// +slipway:rule=LT1
// +kubebuilder:validation:XValidation:rule=`!has(self.name) || self.name == ""`,message="name is not supported: set the name of the EC2 launch template in launchTemplateName",fieldPath=".name"
// +slipway:rule=LT1
// +kubebuilder:validation:XValidation:rule=`!has(self.launchTemplateName) || self.launchTemplateName == "" || self.launchTemplateName.matches('^[a-zA-Z0-9()./_-]{3,128}$')`,message="a launch template name must have 3 to 128 characters: letters, digits, and ( ) . - / _",fieldPath=".launchTemplateName"
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`!has(self.tagSpecifications) || !has(self.additionalTags) || self.tagSpecifications.all(t, size(self.additionalTags) + t.tags.filter(k, !(k in self.additionalTags)).size() <= ('Name' in t.tags || 'Name' in self.additionalTags ? 45 : 44))`,message="AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44 in additionalTags and the tags of the resource type together, or 45 if Name is one of them",fieldPath=".tagSpecifications"
// +slipway:rule=EK2
// +kubebuilder:validation:XValidation:rule=`!has(self.nodegroup) || !has(self.networkInterfaces) || !self.networkInterfaces.exists(n, has(n.subnet))`,message="EKS rejects launch templates that specify subnets, because a node group has its own: remove subnet",fieldPath=".networkInterfaces"
// +slipway:rule=EK3
// +kubebuilder:validation:XValidation:rule=`!has(self.nodegroup) || !has(self.instanceInitiatedShutdownBehavior)`,message="EKS rejects launch templates that set a shutdown behavior: remove instanceInitiatedShutdownBehavior",fieldPath=".instanceInitiatedShutdownBehavior"
// +slipway:rule=EK4
// +kubebuilder:validation:XValidation:rule=`!has(self.nodegroup) || !has(self.hibernationOptions)`,message="EKS rejects launch templates that enable hibernation: remove hibernationOptions",fieldPath=".hibernationOptions"
// +slipway:rule=EK5
// +kubebuilder:validation:XValidation:rule=`!has(self.nodegroup) || !has(self.instanceMarketOptions) || self.instanceMarketOptions.marketType != 'spot'`,message="a node group requests Spot Instances with its capacityType, and EKS rejects launch templates that request them: remove instanceMarketOptions",fieldPath=".instanceMarketOptions"
// +slipway:rule=EK6
// +kubebuilder:validation:XValidation:rule=`!has(self.nodegroup) || !has(self.instanceRequirements)`,message="EKS node groups must list their instance types: remove instanceRequirements",fieldPath=".instanceRequirements"
// +slipway:rule=SL29
// +kubebuilder:validation:XValidation:rule=`!has(self.verify) || (has(self.instanceType) && self.instanceType != "")`,message="a dry run requires an instance type: set instanceType, or remove verify",fieldPath=".verify"
// +slipway:rule=SL29
// +kubebuilder:validation:XValidation:rule=`!has(self.verify) || !has(self.nodegroup) || self.nodegroup.amiType == 'CUSTOM'`,message="a dry run needs an image, but EKS chooses the image of this pool: remove verify, or set nodegroup.amiType to CUSTOM",fieldPath=".verify"
// +slipway:rule=SL50
// +kubebuilder:validation:XValidation:rule=`!has(self.existing) || !hasOther(existing, clusterName)`,message="existing names a launch template of another owner, which Slipway does not change: set only existing and clusterName",fieldPath=".existing"
type AWSLaunchConfigSpec struct {
	// ClusterName is the Cluster, in the same namespace, whose nodes are launched. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +slipway:rule=SL71
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$')`,message="clusterName must be the name of a Cluster: lowercase letters, digits, -, and ."
	// +slipway:rule=SL2
	// +kubebuilder:validation:XValidation:rule=`self == oldSelf`,message="clusterName is immutable: create a new AWSLaunchConfig"
	ClusterName string `json:"clusterName"`

	// Existing is a launch template of another owner, instead of one that Slipway creates: it is
	// read and followed, and never changed or deleted. No other field but clusterName goes with it.
	// +optional
	Existing *ExistingLaunchTemplate `json:"existing,omitempty"`

	// LaunchTemplateName is the name of the EC2 launch template. Default: the name of this object
	// if it is free and one that EC2 allows, else that name with a short hash. Once set it cannot
	// be changed: EC2 renames no template.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LaunchTemplateName string `json:"launchTemplateName,omitempty"`

	// VersionsToKeep is how many launch template versions are kept; older ones that nothing uses are deleted.
	// Default: 10.
	// +optional
	// +slipway:rule=LT8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	VersionsToKeep *int32 `json:"versionsToKeep,omitempty"`

	// KubernetesVersion that the image is looked up for, such as v1.34.2. It is not needed where
	// ami.id is given.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +slipway:rule=SL3
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+([-+].*)?$')`,message="must be a Kubernetes version, such as v1.34.2"
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// Bootstrap says where the user data of the instances comes from. Without it they have none.
	// +optional
	Bootstrap *LaunchConfigBootstrap `json:"bootstrap,omitempty"`

	// Nodegroup is set where an EKS managed node group launches from the template: the image may be
	// left to EKS then, and user data is written as EKS, or the image, wants it. An
	// AWSManagedMachinePool writes it into the AWSLaunchConfig that it makes; set it yourself where
	// spec.launchConfigRef of one names this object.
	// +optional
	Nodegroup *LaunchConfigNodegroup `json:"nodegroup,omitempty"`

	// AdditionalTags are put on the launch template, the instances and their volumes, in addition
	// to the cluster's tags and the tags that identify the owner.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// Verify has a new version tried before any pool uses it, and before it is the default: DryRun
	// asks EC2 whether it would launch an instance from it, in a subnet of the cluster. While the
	// answer is no, the condition Verified says why, and pools go on with the version that they
	// have.
	// +optional
	// +kubebuilder:validation:Enum=DryRun
	Verify LaunchConfigVerification `json:"verify,omitempty"`

	// Rollback asks for an earlier version's configuration in place of this spec's, for as long as
	// this spec's is the one that failed. The AWSMachinePool whose refresh failed writes it.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`

	LaunchConfigControl `json:",inline"`

	AWSLaunchTemplate `json:",inline"`
	LaunchConfigData  `json:",inline"`
}

// LaunchConfigVerification defines how a version is tried before it is used.
type LaunchConfigVerification string

// VerifyDryRun asks EC2 whether it would launch an instance.
const VerifyDryRun LaunchConfigVerification = "DryRun"

// LaunchConfigNodegroup says what EKS sees to where a managed node group launches from the template.
type LaunchConfigNodegroup struct {
	// AMIType is the family of images that EKS chooses from: the template has no image then, and
	// EKS completes the user data. CUSTOM stands for the image of the template, named or looked up,
	// whose user data has to be complete.
	// +required
	AMIType ManagedMachineAMIType `json:"amiType"`
}

// Rollback goes back from a configuration that failed to the one before it, with the bootstrap data of today.
type Rollback struct {
	// From is the fingerprint of the configuration that failed. The rollback is over when
	// the spec asks for another.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	From string `json:"from"`

	// To is the fingerprint of the configuration to go back to. The versions of a launch template that
	// was recreated have the same numbers as earlier ones, so a version with another fingerprint does
	// not count. It is empty in a rollback that an earlier release wrote.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	To string `json:"to,omitempty"`

	// Version is the number of a version with the configuration to go back to.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version"`

	// Reason is a human-readable message about what failed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// LaunchConfigBootstrap says where user data comes from.
//
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.storage) || !has(self.ignition) || self.storage != 'SSM'`,message="Ignition cannot read from SSM: set storage to S3 or UserData",fieldPath=".storage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.storage) || !has(self.ignition) || !has(self.ignition.storageType) || self.storage != 'UserData' || self.ignition.storageType != 'ClusterObjectStore'`,message="storage UserData conflicts with ignition.storageType ClusterObjectStore: set ignition.storageType to UnencryptedUserData, or omit storage",fieldPath=".storage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.storage) || !has(self.ignition) || !has(self.ignition.storageType) || self.storage != 'S3' || self.ignition.storageType != 'UnencryptedUserData'`,message="storage S3 conflicts with ignition.storageType UnencryptedUserData: set ignition.storageType to ClusterObjectStore, or omit storage",fieldPath=".storage"
type LaunchConfigBootstrap struct {
	// DataSecretName is the Secret, in the same namespace, with the bootstrap data in the key
	// value, and its format (cloud-config or ignition) in the key format.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName"`

	// Storage is where the bootstrap data is kept. Default: UserData.
	// +optional
	Storage BootstrapStorage `json:"storage,omitempty"`

	// Ignition says how bootstrap data in the Ignition format reaches the instances.
	// +optional
	Ignition *Ignition `json:"ignition,omitempty"`
}

// AWSLaunchConfigStatus says what the launch template is. All of it can be found again from AWS.
type AWSLaunchConfigStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about. Consumers act
	// only on a status of the current generation.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the launch template is, and what is in the way.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LaunchTemplateID is the id of the EC2 launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// LaunchTemplateName is the name of the EC2 launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LaunchTemplateName string `json:"launchTemplateName,omitempty"`

	// LastLostTemplateID is the id of the template that was found deleted outside Slipway, if any.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LastLostTemplateID string `json:"lastLostTemplateID,omitempty"`

	// LaunchTemplateMissingSince is since when EC2 has not returned the launch template that
	// launchTemplateID names. It is created again once it has been missing for a while.
	// +optional
	LaunchTemplateMissingSince *metav1.Time `json:"launchTemplateMissingSince,omitempty"`

	// LaunchTemplateChanged is when the controller last changed the launch template, by its own
	// clock. For some time after that AWS may describe the launch template, and who uses it, as
	// they were before.
	// +optional
	LaunchTemplateChanged *metav1.Time `json:"launchTemplateChanged,omitempty"`

	// DeletionSeen is when the controller first checked what it has to delete, by its own clock, if
	// it had to wait for what AWS may not show yet.
	// +optional
	DeletionSeen *metav1.Time `json:"deletionSeen,omitempty"`

	// Version is the number of the version to launch from. It is not what the spec asks for while
	// that is held back.
	// +optional
	Version int64 `json:"version,omitempty"`

	// PendingVersion is the number of the version that is held back, where the spec asks for
	// another configuration than the one that is launched: it waits for approval (spec.rollout), or
	// for EC2 to say that it would launch it (spec.verify).
	// +optional
	PendingVersion int64 `json:"pendingVersion,omitempty"`

	// DefaultVersion is the number of the template's default version.
	// +optional
	DefaultVersion int64 `json:"defaultVersion,omitempty"`

	// ConfigFingerprint identifies what a node from this version is. Nodes are replaced when it changes.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ConfigFingerprint string `json:"configFingerprint,omitempty"`

	// BootstrapFingerprint identifies the bytes of the user data, join tokens included. No node is
	// replaced for it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootstrapFingerprint string `json:"bootstrapFingerprint,omitempty"`

	// BootstrapDataLocation is where the bootstrap data is kept, if not in the template: ssm:<name
	// of a parameter>, or s3://<bucket>/<key>.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	BootstrapDataLocation string `json:"bootstrapDataLocation,omitempty"`

	// BootstrapDataDigest is the SHA-256 of the content that was written there last.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootstrapDataDigest string `json:"bootstrapDataDigest,omitempty"`

	// VerifiedFingerprint is the fingerprint of the configuration that spec.verify last found good.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	VerifiedFingerprint string `json:"verifiedFingerprint,omitempty"`

	// RolledBackFrom is the fingerprint of the configuration that spec asks for while spec.rollback
	// is in force. If it equals configFingerprint, there is nothing to go back to.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`

	// Resolved is what the spec's names and lookups led to in AWS, whether that is launched or held back.
	// +optional
	Resolved *ResolvedLaunchConfig `json:"resolved,omitempty"`

	// Launched is what the version to launch from comes to, where that is another configuration
	// than the spec's: one is held back, spec.pinnedVersion names one, or a failed one was rolled
	// back. It is left out where it would be as resolved.
	// +optional
	Launched *ResolvedLaunchConfig `json:"launched,omitempty"`

	// LaunchedImageID is the image of the version to launch from, for kubectl get. It stays as it
	// is while an edit is held back.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchedImageID string `json:"launchedImageID,omitempty"`

	// LaunchedInstanceType is the instance type of the version to launch from, for kubectl get. It
	// stays as it is while an edit is held back.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchedInstanceType string `json:"launchedInstanceType,omitempty"`

	// Versions are the newest versions of the template, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Versions []LaunchTemplateVersionStatus `json:"versions,omitempty"`

	// UsedBy are the pools that launch from this, by kind and name, with their instances.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	UsedBy []LaunchConfigUser `json:"usedBy,omitempty"`

	// Users names these pools in one line, for kubectl get.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Users string `json:"users,omitempty"`

	// History lists the launches, newest first: an entry is added when a pool reports the first
	// instance with another configuration than the launch before. A configuration that was never
	// launched has no entry, and neither has a new join token. Entries stay when their versions are
	// deleted, until status is lost.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	History []LaunchConfigHistoryEntry `json:"history,omitempty"`

	// CurrentVersions are the numbers of all versions that exist with the wanted configuration, in
	// ascending order: they differ by their join token alone. Versions that EC2 does not return yet
	// are among them, because they may have it. An instance that was launched from one of them is up
	// to date.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	CurrentVersions []int64 `json:"currentVersions,omitempty"`

	// AcceptedVersions are versions that count as the wanted configuration though no fingerprint of
	// theirs says so: versions that CAPA created, and versions of a template that was deleted outside
	// Slipway. An instance that was launched from one of them is up to date until the wanted
	// configuration changes. They are kept in a tag of the launch template.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AcceptedVersions []AcceptedVersions `json:"acceptedVersions,omitempty"`
}

// AcceptedVersions are the versions of a launch template from First to Last, whether they still exist or not.
type AcceptedVersions struct {
	// LaunchTemplateID of the versions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID"`

	// First version.
	// +required
	// +kubebuilder:validation:Minimum=1
	First int64 `json:"first"`

	// Last version.
	// +required
	// +kubebuilder:validation:Minimum=1
	Last int64 `json:"last"`
}

// Holds reports whether a version is one of them.
func (a AcceptedVersions) Holds(launchTemplateID string, version int64) bool {
	return a.LaunchTemplateID == launchTemplateID && a.First <= version && version <= a.Last
}

// LaunchTemplateVersionStatus is one version of a launch template.
type LaunchTemplateVersionStatus struct {
	// Number that EC2 gave the version.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int64 `json:"number"`

	// ConfigFingerprint identifies what a node from the version is.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ConfigFingerprint string `json:"configFingerprint,omitempty"`

	// BootstrapFingerprint identifies the bytes of the version's user data.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootstrapFingerprint string `json:"bootstrapFingerprint,omitempty"`

	// ImageID is the image of the version.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// Market is how instances of the version are bought: on-demand, spot, capacity-block or
	// interruptible-capacity-reservation. It is empty if Slipway has not read the version.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Market string `json:"market,omitempty"`

	// Created is when the version was created.
	// +optional
	Created metav1.Time `json:"created,omitempty,omitzero"`

	// Reason is why the version came to be wanted: what differs from the one that was wanted before.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awslaunchconfigs,scope=Namespaced,categories=cluster-api,shortName=awslc
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster whose nodes are launched"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the launch template has the version that the spec asks for"
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".status.launchTemplateID",description="EC2 launch template"
// +kubebuilder:printcolumn:name="Version",type="integer",JSONPath=".status.version",description="Version to launch from"
// +kubebuilder:printcolumn:name="Default",type="integer",JSONPath=".status.defaultVersion",description="Default version of the template"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".status.launchedImageID",description="Image of the version to launch from"
// +kubebuilder:printcolumn:name="Instance Type",type="string",JSONPath=".status.launchedInstanceType",description="Instance type of the version to launch from"
// +kubebuilder:printcolumn:name="Used By",type="string",JSONPath=".status.users",description="Pools that launch from it"
// +kubebuilder:printcolumn:name="Pending",type="integer",priority=1,JSONPath=".status.pendingVersion",description="Version that is held back"
// +kubebuilder:printcolumn:name="Made From",type="string",priority=1,JSONPath=".metadata.annotations['slipway\\.infrastructure\\.cluster\\.x-k8s\\.io/launch-config-template']",description="AWSLaunchConfigTemplate that it was made from"
// +kubebuilder:printcolumn:name="Template Name",type="string",priority=1,JSONPath=".status.launchTemplateName",description="Name of the EC2 launch template"
// +kubebuilder:printcolumn:name="Kubernetes",type="string",priority=1,JSONPath=".spec.kubernetesVersion",description="Kubernetes version"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Ready')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSLaunchConfig owns an EC2 launch template: it alone creates it, its versions and its default,
// prunes and deletes them. One with spec.existing reads a template of another owner instead.
//
// +slipway:rule=LT2
// +kubebuilder:validation:XValidation:rule=`same(self.spec.launchTemplateName, "") || (valueOr(oldSelf.spec.launchTemplateName, "") == "" && (!has(oldSelf.status) || !has(oldSelf.status.launchTemplateName) || oldSelf.status.launchTemplateName == valueOr(self.spec.launchTemplateName, "")))`,message="EC2 cannot rename a launch template: restore the previous name, or create a new AWSLaunchConfig",fieldPath=".spec.launchTemplateName"
//
// +slipway:rule=SL51
// +kubebuilder:validation:XValidation:rule=`has(self.spec.existing) == has(oldSelf.spec.existing)`,message="an AWSLaunchConfig cannot replace the launch template that it created with an existing one: create a new AWSLaunchConfig, with or without existing",fieldPath=".spec.existing"
type AWSLaunchConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what instances are launched with.
	// +required
	Spec AWSLaunchConfigSpec `json:"spec"`

	// Status says what the launch template is.
	// +optional
	Status AWSLaunchConfigStatus `json:"status,omitempty"`
}

// Accepts reports whether a version counts as the wanted configuration: one that has it, or one
// that is accepted in its place.
func (c *AWSLaunchConfig) Accepts(launchTemplateID string, version int64) bool {
	if launchTemplateID == c.Status.LaunchTemplateID && slices.Contains(c.Status.CurrentVersions, version) {
		return true
	}
	return slices.ContainsFunc(c.Status.AcceptedVersions, func(accepted AcceptedVersions) bool { return accepted.Holds(launchTemplateID, version) })
}

// WhatIsLaunched returns what the version to launch from comes to, or nil while that is not known.
func (c *AWSLaunchConfig) WhatIsLaunched() *ResolvedLaunchConfig {
	return cmp.Or(c.Status.Launched, c.Status.Resolved)
}

// GetConditions returns the conditions, as Cluster API's helpers want it.
func (c *AWSLaunchConfig) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *AWSLaunchConfig) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// SetObservedGeneration records the generation of the spec that the status is about.
func (c *AWSLaunchConfig) SetObservedGeneration(generation int64) {
	c.Status.ObservedGeneration = generation
}

// +kubebuilder:object:root=true

// AWSLaunchConfigList is a list of AWSLaunchConfigs.
type AWSLaunchConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSLaunchConfig `json:"items"`
}

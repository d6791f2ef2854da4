package v1beta2

// Reasons that several conditions share.
const (
	// ConvergedReason reports that a pool is as its spec asks for in every respect.
	//
	// Nodes: all nodes run the desired configuration.
	// Remedy: none.
	ConvergedReason = "Converged"

	// ReadyReason reports that a condition is True because everything that it covers is as the spec
	// asks for.
	//
	// Nodes: they are launched as the spec asks for.
	// Remedy: none.
	ReadyReason = "Ready"

	// PendingReason reports that a condition that Ready or Converged follows from is not known for
	// the current generation yet.
	//
	// Nodes: running nodes stay.
	// Remedy: none. The controller is still reconciling the latest spec. If it lasts for minutes,
	// check that the manager runs.
	//
	// +slipway:condition=Ready:Unknown
	// +slipway:condition=Converged:Unknown
	PendingReason = "Pending"

	// NotPausedReason reports that the object is reconciled.
	//
	// Nodes: no effect.
	// Remedy: none.
	NotPausedReason = "NotPaused"

	// PausedReason reports that the Cluster or the object is paused.
	//
	// Nodes: running nodes stay, and changes of the spec do not reach them. The Auto Scaling group
	// or EKS still replaces failed instances.
	// Remedy: unset spec.paused of the Cluster, or remove the annotation cluster.x-k8s.io/paused.
	PausedReason = "Paused"

	// DeletingReason reports that the object is being deleted.
	//
	// Nodes: they are drained and terminated with the object.
	// Remedy: none. The condition Deleting reports what the deletion waits for.
	DeletingReason = "Deleting"

	// InvalidSpecReason reports that AWS refuses what the spec asks for, or that fields of the spec
	// contradict each other or the cluster. The message is AWS's where AWS refused it.
	//
	// Nodes: running nodes stay. New nodes use the last configuration that AWS accepted.
	// Remedy: edit the spec as the message says. Nothing is retried until then.
	//
	// +slipway:condition=ASGReady:False
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	// +slipway:condition=BootstrapDataReady:False on AWSLaunchConfig
	InvalidSpecReason = "InvalidSpec"

	// AccessDeniedReason reports that the controller's identity may not perform a call to AWS. The
	// message names the action.
	//
	// Nodes: running nodes stay. The change waits.
	// Remedy: allow the action. `slipway iam policy` prints the policy that Slipway needs.
	//
	// +slipway:condition=any:False
	// +slipway:condition=NodesLaunch:False on Provisioner
	// +slipway:condition=LaunchTemplatesReady:False on Provisioner
	AccessDeniedReason = "AccessDenied"

	// AWSUnavailableReason reports that AWS failed or throttled a call.
	//
	// Nodes: running nodes stay. Changes wait.
	// Remedy: none. The call is retried with increasing delays. If it lasts, check the AWS Health
	// Dashboard. If AWS throttles calls, reduce the calls of other programs in the account, or request
	// a higher request rate from AWS.
	//
	// +slipway:condition=any:Unknown
	AWSUnavailableReason = "AWSUnavailable"

	// QuotaExceededReason reports that a quota of the AWS account is used up. The message names the
	// quota where AWS does.
	//
	// Nodes: running nodes stay. No nodes are added.
	// Remedy: raise the quota in Service Quotas, or delete resources that count against it.
	//
	// +slipway:condition=any:False
	// +slipway:condition=CapacityAvailable:False
	// +slipway:condition=NodesLaunch:False on Provisioner
	QuotaExceededReason = "QuotaExceeded"

	// NameTakenReason reports that a resource in AWS that this object does not own has the name that
	// the object needs.
	//
	// Nodes: the object launches none. Slipway does not change the other resource.
	// Remedy: give the object another name, or delete the other resource if nothing uses it.
	//
	// +slipway:condition=LaunchTemplateReady:False on AWSLaunchConfig
	// +slipway:condition=ASGReady:False
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=IAMNodegroupRolesReady:False
	// +slipway:condition=Deleting:True
	NameTakenReason = "NameTaken"

	// OwnerTagMissingReason reports that spec or status names a resource in AWS that exists without
	// the tag that marks it as this object's. The message names the resource and the tag.
	//
	// Nodes: running nodes stay. Slipway neither changes the resource nor creates another one.
	// Remedy: set the tag again, or delete the resource to have it recreated.
	//
	// +slipway:condition=ASGReady:False
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=IAMNodegroupRolesReady:False
	OwnerTagMissingReason = "OwnerTagMissing"

	// ExistingNotAllowedReason reports that spec.existing names a launch template that belongs to
	// another namespace or cluster, by its tags.
	//
	// Nodes: none are launched from it.
	// Remedy: name a launch template that no other cluster or namespace owns.
	ExistingNotAllowedReason = "ExistingNotAllowed"
)

// Reasons of ClusterInfrastructureReady.
const (
	// WaitingForOwnerReason reports that no MachinePool owns the object yet.
	//
	// Nodes: none are launched.
	// Remedy: create a MachinePool whose spec.template.spec.infrastructureRef names the object.
	WaitingForOwnerReason = "WaitingForOwner"

	// WaitingForClusterReason reports that the Cluster, or the object that describes its network,
	// does not exist yet.
	//
	// Nodes: none are launched.
	// Remedy: create the Cluster, or correct its name in the spec.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	WaitingForClusterReason = "WaitingForCluster"

	// WaitingForClusterInfrastructureReason reports that the cluster's network is not ready yet.
	//
	// Nodes: none are launched.
	// Remedy: none if the cluster is being created. Otherwise check the conditions of the AWSCluster
	// or AWSManagedControlPlane.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// ClusterInfrastructureMissingReason reports that the Cluster refers to an object with its
	// network or control plane that does not exist yet, or no longer exists.
	//
	// Nodes: running nodes stay. None are launched.
	// Remedy: create the object that the message names, or correct the reference of the Cluster.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	ClusterInfrastructureMissingReason = "ClusterInfrastructureMissing"

	// ClusterChangedReason reports that the object belongs to another Cluster than the one that its
	// resources in AWS were created for.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: name the Cluster that the message gives. To have nodes in another Cluster, create a
	// pool there.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	ClusterChangedReason = "ClusterChanged"
)

// Reasons of ClusterInfrastructureReady, and of Deleting, that report that AWS cannot be called as
// the cluster's identity.
const (
	// IdentityNotFoundReason reports that the identity that the cluster's identityRef names, an
	// identity that it is chained to, or a Secret with its keys does not exist.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: create the identity or the Secret, or name another one in identityRef.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	IdentityNotFoundReason = "IdentityNotFound"

	// IdentityNotAllowedReason reports that an identity may not be used from the cluster's
	// namespace.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: add the namespace to spec.allowedNamespaces of the identity.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	IdentityNotAllowedReason = "IdentityNotAllowed"

	// IdentityInvalidReason reports that an identity cannot be used as it is written. The message
	// names the field.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: correct the identity or its Secret.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	IdentityInvalidReason = "IdentityInvalid"

	// IdentityUnknownReason reports that an object is being deleted whose identity was not recorded
	// and can no longer be determined.
	//
	// Nodes: they stay until the object is deleted.
	// Remedy: name the identity to delete with in the annotation that the message gives.
	//
	// +slipway:condition=Deleting:True
	IdentityUnknownReason = "IdentityUnknown"

	// IdentityInOtherAccountReason reports that the identity acts in another AWS account than the
	// account that holds what was created so far.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: name an identity of that account. To move to another account, create a new pool there.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	IdentityInOtherAccountReason = "IdentityInOtherAccount"

	// CredentialsInvalidReason reports that AWS refuses the identity's keys, or refuses to let it
	// assume its role. The message is AWS's.
	//
	// Nodes: running nodes stay. Slipway reads and changes nothing in AWS for the object.
	// Remedy: renew the keys, or correct the trust policy of the role.
	//
	// +slipway:condition=ClusterInfrastructureReady:False
	// +slipway:condition=Deleting:True
	CredentialsInvalidReason = "CredentialsInvalid"

	// InstanceProfileNotAllowedReason reports that the identity restricts the instance profiles that
	// it may be used with, and does not list this one.
	//
	// Nodes: running nodes stay. No nodes are launched with the profile.
	// Remedy: name a profile that the message lists, or have the profile added to the annotation of
	// the identity.
	//
	// +slipway:condition=Resolved:False
	// +slipway:condition=ASGReady:False
	// +slipway:condition=LaunchTemplatesReady:False on Provisioner
	InstanceProfileNotAllowedReason = "InstanceProfileNotAllowed"
)

// Reasons of BootstrapDataReady.
const (
	// WaitingForBootstrapDataReason reports that the MachinePool names no bootstrap data Secret yet.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: none while the bootstrap provider creates it. Otherwise check the conditions of the
	// bootstrap config.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// BootstrapDataSecretNotFoundReason reports that the Secret with the bootstrap data does not
	// exist.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: create the Secret, or correct dataSecretName.
	BootstrapDataSecretNotFoundReason = "BootstrapDataSecretNotFound"

	// BootstrapDataInvalidReason reports that the Secret has no value, or a format that Slipway does
	// not know.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: check the keys value and format of the Secret. The format is cloud-config or ignition.
	//
	// +slipway:condition=BootstrapDataReady:False on AWSLaunchConfig
	BootstrapDataInvalidReason = "BootstrapDataInvalid"

	// UserDataTooLargeReason reports that the bootstrap data exceeds the limit of where it is kept:
	// 16,384 bytes in EC2 user data, 8,192 bytes in an SSM parameter.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: shorten the data, or set spec.bootstrapStorage to S3.
	//
	// +slipway:condition=BootstrapDataReady:False on AWSLaunchConfig
	UserDataTooLargeReason = "UserDataTooLarge"

	// BucketNotConfiguredReason reports that the bootstrap data should be stored in S3, and that the
	// cluster has no bucket.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: set spec.s3Bucket of the AWSCluster, or set spec.bootstrapStorage to another place.
	//
	// +slipway:condition=BootstrapDataReady:False on AWSLaunchConfig
	BucketNotConfiguredReason = "BucketNotConfigured"

	// BootstrapStorageFailedReason reports that the bootstrap data could not be written to, or
	// deleted from, the place where it is kept.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: act on the message. The call is retried.
	BootstrapStorageFailedReason = "BootstrapStorageFailed"

	// UserDataInvalidReason reports that the operating system of the image's family cannot use the
	// bootstrap data, or that the data is incomplete.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version; a new pool has no
	// nodes.
	// Remedy: correct the bootstrap data, or choose an amiType that fits it.
	//
	// +slipway:condition=BootstrapDataReady:False on AWSLaunchConfig
	UserDataInvalidReason = "UserDataInvalid"
)

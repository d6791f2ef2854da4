package v1beta2

// The AWS tags that say whose a resource is. They are CAPA's (its package api/v1beta2, tags.go), so
// that what CAPA made is recognized as owned, and what Slipway makes is recognized by CAPA's
// tooling.
const (
	// TagKubernetesClusterPrefix, followed by the name of the Kubernetes cluster, marks what
	// belongs to that cluster; the value is TagValueOwned or TagValueShared. The AWS cloud provider
	// reads it too.
	TagKubernetesClusterPrefix = "kubernetes.io/cluster/"

	// TagProviderPrefix begins every tag key of CAPA's own.
	TagProviderPrefix = "sigs.k8s.io/cluster-api-provider-aws/"

	// TagProviderClusterPrefix, followed by the name of the cluster, marks what a Cluster API provider owns.
	TagProviderClusterPrefix = TagProviderPrefix + "cluster/"

	// TagRole holds the role of a resource in its cluster; TagValueRoleNode for all that belongs to nodes.
	TagRole = TagProviderPrefix + "role"

	// TagSubnetAssociation with the value TagValueSecondary marks subnets that nodes are never launched into,
	// because they belong to the pods' network.
	TagSubnetAssociation = TagProviderPrefix + "association"

	// TagBootstrapDataSecret holds <namespace>/<name> of the Secret that the user data was made from.
	TagBootstrapDataSecret = TagProviderPrefix + "bootstrap-data-secret"

	// TagBootstrapDataHash holds the SHA-256 of the bootstrap data, in hexadecimal.
	TagBootstrapDataHash = TagProviderPrefix + "bootstrap-data-hash"

	// TagName is the name that the AWS console shows.
	TagName = "Name"
)

// Values of the tags above.
const (
	// TagValueOwned says that the resource is deleted with the cluster.
	TagValueOwned = "owned"
	// TagValueShared says that the resource is used by several clusters and outlives this one.
	TagValueShared = "shared"
	// TagValueRoleNode is the role of nodes and of the resources behind them.
	TagValueRoleNode = "node"
	// TagValueSecondary is the association of a subnet that is not for nodes.
	TagValueSecondary = "secondary"
)

// Slipway's own tags. A cluster gets a new UID when it is moved, so owners are named, not identified by UID.
const (
	// TagSlipwayPrefix begins every tag key of Slipway's own.
	TagSlipwayPrefix = "slipway.infrastructure.cluster.x-k8s.io/"

	// TagMachinePool holds <namespace>/<cluster>/<name> of the AWSMachinePool that owns a group or
	// a template.
	TagMachinePool = TagSlipwayPrefix + "machine-pool"

	// TagManagedMachinePool holds <namespace>/<cluster>/<name> of the AWSManagedMachinePool that
	// owns a node group or a node role.
	TagManagedMachinePool = TagSlipwayPrefix + "managed-machine-pool"

	// TagLaunchConfig holds <namespace>/<cluster>/<name> of the AWSLaunchConfig that owns a launch template.
	TagLaunchConfig = TagSlipwayPrefix + "launch-config"

	// TagAccepted of a launch template holds the versions that count as a configuration though no
	// fingerprint of theirs says so: "config=<fingerprint> <template>:<first>-<last> …".
	TagAccepted = TagSlipwayPrefix + "accepted-versions"

	// TagTokens of a launch template says that instances want session tokens (IMDSv2) where the
	// spec does not mention IMDS; the value is required. Templates that were begun by an earlier
	// release, by CAPA or for a pool have it not.
	TagTokens = TagSlipwayPrefix + "metadata-tokens"

	// TagClusterUID holds the UID of the kube-system namespace of the cluster that just-in-time
	// nodes and their default launch templates were created for. Two clusters may have the same
	// name; no two have the same UID.
	TagClusterUID = TagSlipwayPrefix + "cluster-uid"
)

// ClusterTagKey returns the key of the tag that marks what a Cluster API provider owns in the cluster.
func ClusterTagKey(clusterName string) string { return TagProviderClusterPrefix + clusterName }

// KubernetesClusterTagKey returns the key of the tag that the AWS cloud provider looks for in the cluster.
func KubernetesClusterTagKey(clusterName string) string {
	return TagKubernetesClusterPrefix + clusterName
}

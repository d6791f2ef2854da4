package aws

// IdentityKind is the kind of object that a cluster's spec.identityRef names.
type IdentityKind string

// The kinds that CAPA knows (its AWSIdentityKind).
const (
	// IdentityController is the controller's own credentials. An empty kind means the same.
	IdentityController IdentityKind = "AWSClusterControllerIdentity"
	// IdentityRole is a role that the controller assumes.
	IdentityRole IdentityKind = "AWSClusterRoleIdentity"
	// IdentityStatic is a key pair in a Secret.
	IdentityStatic IdentityKind = "AWSClusterStaticIdentity"
)

// Identity says as whom AWS is called. The zero Identity is the controller itself.
type Identity struct {
	Kind IdentityKind
	// Name of the (cluster-scoped) identity object.
	Name string
}

// String names the identity for people.
func (i Identity) String() string {
	if i.Kind == "" {
		return string(IdentityController)
	}
	return string(i.Kind) + "/" + i.Name
}

// Canonical is equal for all identities that are the same credentials, so that it can be a key.
func (i Identity) Canonical() Identity {
	if i.Kind == "" || i.Kind == IdentityController {
		return Identity{}
	}
	return i
}

// NoRegionError says that neither the cluster nor the environment names an AWS region.
type NoRegionError struct{}

// Error implements error.
func (*NoRegionError) Error() string {
	return "no AWS region: set spec.region of the AWSCluster or AWSManagedControlPlane"
}

// WaitsForUser says that only a change by a person helps.
func (*NoRegionError) WaitsForUser() bool { return true }

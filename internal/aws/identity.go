package aws

import (
	"fmt"
	"regexp"
)

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

// String names the identity for users.
func (i Identity) String() string {
	if i.Kind == "" {
		return string(IdentityController)
	}
	return string(i.Kind) + "/" + i.Name
}

// Canonical returns the same value for all identities with the same credentials, so that it can be
// a map key.
func (i Identity) Canonical() Identity {
	if i.Kind == "" || i.Kind == IdentityController {
		return Identity{}
	}
	return i
}

// regionName matches the names of AWS regions, of all partitions. A region becomes part of the host
// that requests are sent to, with credentials, and users of Kubernetes choose it.
var regionName = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}$`)

// InvalidRegionError reports that a text is not the name of an AWS region.
type InvalidRegionError struct{ Region string }

// Error implements error.
func (e *InvalidRegionError) Error() string {
	return fmt.Sprintf("%.64q is not the name of an AWS region. Set spec.region of the AWSCluster or "+
		"AWSManagedControlPlane to a region, such as eu-central-1", e.Region)
}

// WaitsForUser reports that only a user can change it.
func (*InvalidRegionError) WaitsForUser() bool { return true }

// NoRegionError says that neither the cluster nor the environment names an AWS region.
type NoRegionError struct{}

// Error implements error.
func (*NoRegionError) Error() string {
	return "no AWS region is configured. Set spec.region of the AWSCluster or AWSManagedControlPlane"
}

// WaitsForUser says that only a change by a person helps.
func (*NoRegionError) WaitsForUser() bool { return true }

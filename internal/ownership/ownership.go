// Package ownership names the resources in AWS that stand for an object, and records whose they are
// and where: names, the value of the owner tag, the tags and settings that Slipway applied, and the
// annotations by which deletion finds its way.
package ownership

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/digest"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// ClusterAnnotation holds the name of an object's Cluster, which is part of the ownership tags. It
// is written with RegionAnnotation.
const ClusterAnnotation = "slipway.infrastructure.cluster.x-k8s.io/cluster"

// RegionAnnotation holds the AWS region that an object's resources are in. It is written together
// with the finalizer, before anything is created in AWS, so that deletion finds its way when the
// cluster objects are gone and status was lost in a move.
const RegionAnnotation = "slipway.infrastructure.cluster.x-k8s.io/region"

// IdentityAnnotation holds the identity that AWS was last called with to create something: its kind
// and name, such as AWSClusterRoleIdentity/tenant, or the kind alone for the controller's own
// credentials of a cluster that names no identity. It is written with RegionAnnotation, and
// deletion goes by it. Users may set it on an object that is being deleted whose identity is gone.
const IdentityAnnotation = "slipway.infrastructure.cluster.x-k8s.io/identity"

// AccountAnnotation holds the AWS account of that identity, where it is known: the controller does
// not ask for its own.
const AccountAnnotation = "slipway.infrastructure.cluster.x-k8s.io/account"

// Location describes where an object's resources are in AWS, and how to find them.
type Location struct {
	Region string
	// Account is empty if it is not known.
	Account  string
	Identity aws.Identity
	// Cluster is the Cluster's name.
	Cluster string
}

// LocationOf returns the location of resources that an identity creates in a cloud for a Cluster.
func LocationOf(cloud *clouds.Cloud, identity aws.Identity, clusterName string) Location {
	return Location{Region: cloud.Region, Account: cloud.KnownAccount(), Identity: identity, Cluster: clusterName}
}

// SetLocation records a location. An account that is known stays known.
func SetLocation(object client.Object, location Location) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[RegionAnnotation], annotations[ClusterAnnotation] = location.Region, location.Cluster
	annotations[IdentityAnnotation] = location.Identity.String()
	if location.Account != "" {
		annotations[AccountAnnotation] = location.Account
	}
	object.SetAnnotations(annotations)
}

// RecordedIdentity returns the identity that was recorded, and whether there is one.
func RecordedIdentity(object client.Object) (aws.Identity, bool) {
	text, recorded := object.GetAnnotations()[IdentityAnnotation]
	kind, name, named := strings.Cut(text, "/")
	if !named && aws.IdentityKind(kind) == aws.IdentityController {
		return aws.Identity{}, recorded
	}
	return aws.Identity{Kind: aws.IdentityKind(kind), Name: name}, recorded
}

// Names returns the names that an AWS resource of an object may have: the wanted name, as in CAPA,
// and the same name with a short hash of the object's identity, in case another owner's resource
// has the wanted name. A wanted name that AWS would refuse for its length is only used with the
// hash.
func Names(wanted, clusterName string, object client.Object, shortest, longest int) []string {
	hashed := digest.Suffixed(wanted, object.GetNamespace()+"/"+clusterName+"/"+object.GetName(), 8, longest)
	if len(wanted) < shortest || len(wanted) > longest {
		return []string{hashed}
	}
	return []string{wanted, hashed}
}

// Owner returns the value of the ownership tag of an object's resources: namespace, Cluster, and
// name. UIDs change when a cluster is moved; names do not. The Cluster's name distinguishes objects
// of the same name in two management clusters that share an account.
func Owner(object client.Object, clusterName string) string {
	return OwnerNamed(object.GetNamespace(), clusterName, object.GetName())
}

// OwnerNamed does the same as Owner for an object that is known by name.
func OwnerNamed(namespace, clusterName, name string) string {
	return launchtemplate.OwnerNamed(namespace, clusterName, name)
}

package common

import (
	"crypto/sha256"
	"encoding/hex"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterAnnotation holds the name of an object's Cluster, which is part of the ownership tags. It is written with RegionAnnotation.
const ClusterAnnotation = "slipway.infrastructure.cluster.x-k8s.io/cluster"

// RegionAnnotation holds the AWS region that an object's resources are in. It is written together with the finalizer, before anything is made
// in AWS, so that deletion finds its way when the cluster objects are gone and status was lost in a move.
const RegionAnnotation = "slipway.infrastructure.cluster.x-k8s.io/region"

// SetLocation records the region and the Cluster.
func SetLocation(object client.Object, region, clusterName string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[RegionAnnotation], annotations[ClusterAnnotation] = region, clusterName
	object.SetAnnotations(annotations)
}

// Names are the names that an AWS resource of an object may bear: the wanted one, as CAPA has it, and if somebody else's resource bears that,
// the same with a short hash of whose it is. A wanted name that AWS would refuse for its length is only used with the hash.
func Names(wanted, clusterName string, object client.Object, shortest, longest int) []string {
	digest := sha256.Sum256([]byte(object.GetNamespace() + "/" + clusterName + "/" + object.GetName()))
	suffix := "-" + hex.EncodeToString(digest[:])[:8]
	hashed := wanted[:min(len(wanted), longest-len(suffix))] + suffix
	if len(wanted) < shortest || len(wanted) > longest {
		return []string{hashed}
	}
	return []string{wanted, hashed}
}

// Owner is the value of the ownership tag of an object's resources: namespace, Cluster and name. UIDs change when a cluster is moved; names
// stay, and the Cluster's tells apart objects of one name in two management clusters that share an account.
func Owner(object client.Object, clusterName string) string {
	return object.GetNamespace() + "/" + clusterName + "/" + object.GetName()
}

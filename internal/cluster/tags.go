package cluster

import (
	"maps"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// OwnedTags returns the tags of everything that belongs to nodes of the cluster (launch templates,
// instances, volumes, Auto Scaling groups), as CAPA sets them, so that we recognize the resources
// that it created, and its tooling recognizes ours.
//
// name is the Name tag, which tags of the user may replace. additional are the pool's tags; they
// win over the cluster's. Neither can replace the tags that say whose the resource is.
func (f *Facts) OwnedTags(name string, additional map[string]string) map[string]string {
	tags := merged(map[string]string{infrav1.TagName: name}, f.AdditionalTags, additional)
	maps.Copy(tags, f.Ownership())
	tags[infrav1.TagRole] = infrav1.TagValueRoleNode
	return tags
}

// withoutReserved returns the tags of a cluster's user without Slipway's own keys. The definitions
// of clusters are Cluster API Provider AWS's and accept any key; an owner tag among them would mark
// instances, volumes, and groups as another namespace's.
func withoutReserved(tags map[string]string) map[string]string {
	kept := merged(tags)
	maps.DeleteFunc(kept, func(key, _ string) bool { return strings.HasPrefix(key, infrav1.TagSlipwayPrefix) })
	return kept
}

// AskedTags returns the tags that users asked for, by the cluster or by a pool. The pool's tags
// win.
func (f *Facts) AskedTags(additional map[string]string) map[string]string {
	return merged(f.AdditionalTags, additional)
}

// Ownership returns the tags by which a resource is recognized as the cluster's.
func (f *Facts) Ownership() map[string]string {
	return map[string]string{
		infrav1.KubernetesClusterTagKey(f.KubernetesName): infrav1.TagValueOwned,
		infrav1.ClusterTagKey(f.KubernetesName):           infrav1.TagValueOwned,
	}
}

// merged copies maps into a new one, the later ones over the earlier. It is never nil.
func merged[M ~map[string]string](layers ...M) map[string]string {
	all := map[string]string{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}

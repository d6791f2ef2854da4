// Package adoption decides whether a pool may adopt a resource that Cluster API Provider AWS created:
// its tags name a cluster and not a namespace, so ownership is proven by other facts.
package adoption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/pool"
)

// Error reports why a resource that CAPA created is not adopted.
type Error struct {
	// Reason is the condition's.
	Reason  string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// WaitsForUser reports that only a user can resolve it.
func (*Error) WaitsForUser() bool { return true }

// Refuse returns an Error.
func Refuse(reason, format string, arguments ...any) error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// ReasonOf returns the reason of an Error, and the given reason for any other error.
func ReasonOf(err error, otherwise string) string {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return otherwise
}

// Claim holds the facts that decide whether a resource that CAPA created for a cluster belongs to a
// pool's namespace. CAPA's tags on the resource name the cluster and not its namespace, and the
// users of every namespace can create a Cluster of that name.
type Claim struct {
	// Namespace is the pool's, and Cluster the name of its cluster in AWS tags.
	Namespace, Cluster string
	// Resource names what would be adopted, for messages.
	Resource string
	// Secrets are the Secrets, as <namespace>/<name>, that CAPA launched the resource's instances
	// from. CAPA writes them into a tag of the instances, where no user of Kubernetes can change
	// them.
	Secrets []string
	// Namesake is true if another namespace has a cluster of this name in the same AWS account and region.
	Namesake bool
}

// Decide returns nil if the claim is proven, and an Error if it is not. The Secrets prove
// it, where there are instances. Without any, the only cluster of the name has it.
func (c Claim) Decide() error {
	foreign := slices.ContainsFunc(c.Secrets, func(secret string) bool { return !strings.HasPrefix(secret, c.Namespace+"/") })
	switch {
	case foreign:
		return Refuse(infrav1.AdoptionBlockedReason,
			"%s has instances that Cluster API Provider AWS launched for another namespace, so this pool does not adopt it. Rename this pool, or create it in "+
				"the namespace that the instances' tag %s names", c.Resource, infrav1.TagBootstrapDataSecret)
	case len(c.Secrets) == 0 && c.Namesake:
		return Refuse(infrav1.AdoptionBlockedReason,
			"another namespace has, or may have, a cluster named %s in this AWS account, and no instance of %s "+
				"has tag %s, which names the namespace that it belongs to, so it is not adopted. Delete the "+
				"cluster that does not own it, or scale the group up by one instance with Cluster API "+
				"Provider AWS",
			c.Cluster, c.Resource, infrav1.TagBootstrapDataSecret)
	}
	return nil
}

// Adoption is a pool's wish to adopt a resource that CAPA created for its cluster: an Auto Scaling
// group, a node group, or the launch template of one.
type Adoption struct {
	// Live reads past the cache.
	Live     client.Reader
	Registry *clouds.Registry
	// Cloud and Facts belong to the pool's cluster.
	Cloud *clouds.Cloud
	Facts *cluster.Facts
	// Pool asks, and Kind is its kind.
	Pool client.Object
	Kind string
	// Resource names the resource in messages, and Instances are the IDs of its instances.
	Resource  string
	Instances []string
}

// Prove returns an error unless the pool is one of its cluster, and the resource its namespace's.
// The caller has found the cluster's name in the resource's tags. It reads objects past the cache,
// and no user data.
func (a Adoption) Prove(ctx context.Context) error {
	if err := ProveOwner(ctx, a.Live, a.Pool, a.Kind, a.Facts.Name); err != nil {
		return err
	}
	claim := Claim{Namespace: a.Pool.GetNamespace(), Cluster: a.Facts.KubernetesName, Resource: a.Resource}
	var err error
	if claim.Secrets, err = a.Cloud.Templates.BootstrapSecrets(ctx, a.Instances); err != nil {
		return err
	}
	if len(claim.Secrets) == 0 {
		if claim.Namesake, err = a.hasNamesake(ctx); err != nil {
			return err
		}
	}
	return claim.Decide()
}

// ProveOwner returns an error unless a pool of a kind really is one of its cluster: the MachinePool that
// its owner reference names exists, refers to it and names the cluster, and the Cluster exists. Neither
// is being deleted: Cluster API deletes the pool only some time after the MachinePool, and what was
// adopted in between would be deleted with the pool. The reader must read past the cache.
func ProveOwner(ctx context.Context, live client.Reader, object client.Object, kind, clusterName string) error {
	unproven := func(format string, arguments ...any) error {
		return Refuse(infrav1.AdoptionBlockedReason, "this pool adopts no resources: "+format, arguments...)
	}
	for _, reference := range object.GetOwnerReferences() {
		if !pool.IsMachinePool(reference) {
			continue
		}
		machinePool := &clusterv1.MachinePool{}
		err := live.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: reference.Name}, machinePool)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading MachinePool %q: %w", reference.Name, err)
		}
		infrastructure := machinePool.Spec.Template.Spec.InfrastructureRef
		switch {
		case machinePool.UID != reference.UID:
			return unproven("its owner reference names an earlier MachinePool %s, which was deleted", reference.Name)
		case infrastructure.APIGroup != infrav1.GroupVersion.Group || infrastructure.Kind != kind || infrastructure.Name != object.GetName():
			return unproven("MachinePool %s does not refer to it in spec.template.spec.infrastructureRef", machinePool.Name)
		case machinePool.Spec.ClusterName != clusterName:
			return unproven("MachinePool %s names Cluster %s, and the pool was created for %s", machinePool.Name, machinePool.Spec.ClusterName, clusterName)
		case !machinePool.DeletionTimestamp.IsZero():
			return unproven("MachinePool %s is being deleted", machinePool.Name)
		}
		owner, err := pool.GetCluster(ctx, live, object.GetNamespace(), clusterName)
		switch {
		case err != nil:
			return err
		case owner == nil:
			return unproven("Cluster %s does not exist", clusterName)
		case !owner.DeletionTimestamp.IsZero():
			return unproven("Cluster %s is being deleted", clusterName)
		}
		return nil
	}
	return unproven("no MachinePool owns it")
}

// hasNamesake reports whether another namespace has a cluster whose AWS resources have the same
// tags: the same name, in the same region and account. A cluster whose region or account cannot be
// found out counts.
func (a Adoption) hasNamesake(ctx context.Context) (bool, error) {
	account, err := a.Cloud.AccountID(ctx)
	if err != nil {
		return false, &aws.CredentialsError{Err: err}
	}
	namesake, err := a.hasSelfManagedNamesake(ctx, account)
	if namesake || err != nil {
		return namesake, err
	}
	return a.hasEKSNamesake(ctx, account)
}

// hasSelfManagedNamesake is hasNamesake for clusters whose control plane is not Amazon EKS: AWS
// knows them by their own names.
func (a Adoption) hasSelfManagedNamesake(ctx context.Context, account string) (bool, error) {
	clusters := &clusterv1.ClusterList{}
	err := a.Live.List(ctx, clusters)
	if apierrors.IsForbidden(err) {
		return true, nil // a manager of one namespace does not see the others
	}
	if err != nil {
		return false, fmt.Errorf("listing Clusters: %w", err)
	}
	for i := range clusters.Items {
		other := &clusters.Items[i]
		if other.Namespace == a.Facts.Namespace || other.Name != a.Facts.KubernetesName || cluster.IsEKS(other) {
			continue
		}
		location, err := cluster.Locate(ctx, a.Live, other)
		if err != nil || !a.elsewhere(ctx, other.Namespace, location, account) {
			return true, nil
		}
	}
	return false, nil
}

// hasEKSNamesake is hasNamesake for EKS clusters.
func (a Adoption) hasEKSNamesake(ctx context.Context, account string) (bool, error) {
	controlPlanes := &eksv1.AWSManagedControlPlaneList{}
	err := a.Live.List(ctx, controlPlanes)
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("listing AWSManagedControlPlanes: %w", err)
	}
	for i := range controlPlanes.Items {
		other := &controlPlanes.Items[i]
		if other.Namespace != a.Facts.Namespace && other.Spec.EKSClusterName == a.Facts.KubernetesName &&
			!a.elsewhere(ctx, other.Namespace, cluster.LocationOf(other), account) {
			return true, nil
		}
	}
	return false, nil
}

// elsewhere reports whether the cluster of another namespace is known to be in another region or account.
func (a Adoption) elsewhere(ctx context.Context, namespace string, location cluster.Location, account string) bool {
	if location.Region != "" && location.Region != a.Cloud.Region {
		return true
	}
	other, err := a.Registry.For(ctx, location.Identity, namespace, a.Cloud.Region)
	if err != nil {
		return false
	}
	id, err := other.AccountID(ctx)
	return err == nil && id != account
}

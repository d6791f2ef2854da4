package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Access describes whether AWS can be called for an object, and where, as it was observed.
type Access struct {
	// Cluster is the Cluster's name, and Exists is true if the Cluster is there.
	Cluster string
	Exists  bool
	// Facts of the cluster; nil if they are not known.
	Facts *cluster.Facts
	// Location is what is recorded on an object before anything is made for it.
	Location ownership.Location
	// Outage is the outage of the services that the object needs.
	Outage Outage
	// NothingMade is true of an object that is being deleted for which nothing was ever made in AWS.
	NothingMade bool
	// Err says why AWS cannot be called; nil if it can.
	Err error
}

// Registry gives access to AWS, with a reader of Kubernetes and the services that a kind needs.
type Registry struct {
	*clouds.Registry
	Reader   client.Reader
	Services []string
}

// Reach finds the AWS that a cluster is in, as the identity that it names. The cloud is nil if AWS
// cannot be called; then nothing should be observed there either. An error is one of the API
// server's.
func (r Registry) Reach(ctx context.Context, object client.Object, owner *clusterv1.Cluster, clusterName string) (*clouds.Cloud, Access, error) {
	known, err := r.LoadFacts(ctx, owner, clusterName)
	if err != nil || known.Facts == nil {
		return nil, known, err
	}
	cloud, access := r.ReachFrom(ctx, object, known.Facts, clusterName)
	return cloud, access, nil
}

// LoadFacts reads the facts about a cluster, and calls nothing in AWS. An error is one of the API
// server's. Any other reason why there are no facts is in the result.
func (r Registry) LoadFacts(ctx context.Context, owner *clusterv1.Cluster, clusterName string) (Access, error) {
	if owner == nil {
		return Access{Cluster: clusterName}, nil
	}
	facts, err := cluster.Load(ctx, r.Reader, owner)
	if isAboutCluster(err) {
		return Access{Cluster: clusterName, Exists: true, Err: err}, nil
	}
	if err != nil {
		return Access{}, err
	}
	return Access{Cluster: clusterName, Exists: true, Facts: facts}, nil
}

// ReachFrom finds the AWS of a cluster whose facts are known.
func (r Registry) ReachFrom(ctx context.Context, object client.Object, facts *cluster.Facts, clusterName string) (*clouds.Cloud, Access) {
	access := Access{Cluster: clusterName, Exists: true, Facts: facts}
	cloud, err := authenticated(ctx, r.Registry, facts.Identity, facts.Namespace, facts.Region)
	access.observeOutage(cloud, r.Services)
	if err == nil {
		err = sameCluster(object, clusterName, cloud.Region)
	}
	if err == nil {
		err = sameAccount(ctx, r.Registry, object, cloud, facts.Identity)
	}
	if err != nil {
		access.Err = err
		return nil, access
	}
	access.Location = ownership.LocationOf(cloud, facts.Identity, clusterName)
	return cloud, access
}

// ReachForDeletion returns the cloud for the region and the identity that were recorded with the
// finalizer. If none were recorded, it derives them from other sources, so that it does not need
// the cluster's objects. known is the ARN of the resource to delete, or "". Slipway never deletes a
// resource with another identity, and never considers a resource deleted because another identity
// cannot see it.
func (r Registry) ReachForDeletion(ctx context.Context, object client.Object, owner *clusterv1.Cluster, known string) (*clouds.Cloud, Access, error) {
	access := Access{Exists: owner != nil}
	region, account := placeOf(known)
	region = cmp.Or(object.GetAnnotations()[ownership.RegionAnnotation], region)
	if region == "" {
		access.NothingMade = true
		return nil, access, nil
	}
	present, found, err := identityOf(ctx, r.Reader, owner)
	if err != nil {
		return nil, access, fmt.Errorf("finding out as whom to delete: %w", err)
	}
	wanted, recorded := ownership.RecordedIdentity(object)
	switch {
	case recorded:
	case found:
		wanted = present
	default:
		if wanted, err = ownIdentity(ctx, r.Registry, object, region, account); err != nil {
			access.Err = err
			return nil, access, nil
		}
	}
	cloud, err := authenticated(ctx, r.Registry, wanted, object.GetNamespace(), region)
	if unusable, is := identity.IsUnusable(err); is && found && present != wanted && object.GetAnnotations()[ownership.AccountAnnotation] != "" {
		// The cluster may have been given another identity of the same account, and the old one taken away.
		wanted = present
		if cloud, err = authenticated(ctx, r.Registry, wanted, object.GetNamespace(), region); err != nil {
			err = unusable
		}
	}
	access.observeOutage(cloud, r.Services)
	if err == nil {
		err = sameAccount(ctx, r.Registry, object, cloud, wanted)
	}
	if unusable, is := identity.IsUnusable(err); is {
		err = &identity.Error{Reason: unusable.Reason, Message: fmt.Sprintf("%s; or set annotation %s to another "+
			"identity of the same AWS account to use for the deletion",
			unusable.Message, ownership.IdentityAnnotation)}
	}
	if err != nil {
		access.Err = err
		return nil, access, nil
	}
	access.Location = ownership.LocationOf(cloud, wanted, object.GetAnnotations()[ownership.ClusterAnnotation])
	return cloud, access, nil
}

// isAboutCluster reports whether an error says that the cluster is not ready, or of a kind that is
// not supported.
func isAboutCluster(err error) bool {
	var notReady *cluster.NotReadyError
	var unsupported *cluster.UnsupportedError
	return errors.As(err, &notReady) || errors.As(err, &unsupported)
}

func (a *Access) observeOutage(cloud *clouds.Cloud, services []string) {
	if cloud != nil {
		a.Location.Region = cloud.Region
		a.Outage.Outage, a.Outage.Answered = cloud.Outage(services...)
	}
}

// Show says in the ClusterInfrastructureReady condition whether AWS can be called, or what that
// waits for, and reports whether it can.
func (a Access) Show(object reconciling.Conditioned, plan *reconcile.Plan) bool {
	const condition = infrav1.ClusterInfrastructureReadyCondition
	var notReady *cluster.NotReadyError
	var unsupported *cluster.UnsupportedError
	switch {
	case !a.Exists:
		reconciling.False(object, condition, infrav1.WaitingForClusterReason, fmt.Sprintf("Cluster %q does not exist, so no node is launched. Create the Cluster, or correct its name", a.Cluster))
		return false
	case errors.As(a.Err, &notReady):
		reconciling.False(object, condition, notReady.Reason, notReady.Message)
		return false
	case errors.As(a.Err, &unsupported):
		reconciling.False(object, condition, infrav1.InvalidSpecReason, unsupported.Error())
		return false
	}
	ShowOutage(object, a.Outage, a.Location.Region)
	if a.Err != nil {
		showUnreachable(object, plan, condition, reconciling.False, a.Err)
		return false
	}
	reconciling.True(object, condition, infrav1.ReadyReason, "")
	return true
}

// ShowForDeletion says in the Deleting condition why AWS cannot be called, and reports whether it
// can. Of an object for which nothing was made it says nothing.
func (a Access) ShowForDeletion(object reconciling.Conditioned, plan *reconcile.Plan) bool {
	if a.NothingMade {
		return false
	}
	ShowOutage(object, a.Outage, a.Location.Region)
	if a.Err != nil {
		showUnreachable(object, plan, infrav1.DeletingCondition, reconciling.True, a.Err)
		return false
	}
	return true
}

// placeOf are the region and the account in an ARN, both "" in what is none.
func placeOf(arn string) (region, account string) {
	parts := strings.Split(arn, ":")
	if len(parts) < 5 || parts[0] != "arn" {
		return "", ""
	}
	return parts[3], parts[4]
}

// controllerIdentity is the one object that says which namespaces may use the controller's own
// credentials (CAPA: AWSClusterControllerIdentity).
var controllerIdentity = aws.Identity{Kind: aws.IdentityController, Name: "default"}

// ownIdentity is the controller's own, for an object that recorded none, of a cluster whose objects
// are gone: what CAPA made and Slipway never saw. It is for what the ARN says is in the
// controller's own account, and for namespaces that may use it; in any other case a person has to
// say as whom to delete. It is recorded on the object, though not written, for what is deleted with
// it.
func ownIdentity(ctx context.Context, registry *clouds.Registry, object client.Object, region, account string) (aws.Identity, error) {
	unknown := func(why string) error {
		return &identity.Error{Reason: infrav1.IdentityUnknownReason, Message: fmt.Sprintf(
			"the objects that name the AWS identity of the cluster are gone%s. Set annotation %s to the "+
				"identity to use for the deletion, such as AWSClusterRoleIdentity/name, or "+
				"AWSClusterControllerIdentity for the identity of the manager", why, ownership.IdentityAnnotation)}
	}
	if account == "" {
		return aws.Identity{}, unknown("")
	}
	wanted := controllerIdentity
	cloud, err := authenticated(ctx, registry, wanted, object.GetNamespace(), region)
	if unusable, is := identity.IsUnusable(err); is && unusable.Reason == infrav1.IdentityNotFoundReason {
		wanted = aws.Identity{} // no AWSClusterControllerIdentity restricts it
		cloud, err = authenticated(ctx, registry, wanted, object.GetNamespace(), region)
	}
	if unusable, is := identity.IsUnusable(err); is {
		return aws.Identity{}, unknown(", and the identity of the manager is not allowed: " + unusable.Message)
	}
	if err != nil {
		return aws.Identity{}, err
	}
	own, err := cloud.AccountID(ctx)
	if err != nil {
		return aws.Identity{}, &aws.CredentialsError{Err: err}
	}
	if own != account {
		return aws.Identity{}, unknown(fmt.Sprintf(", and the resources to delete are in AWS account %s, but "+
			"the identity of the manager belongs to account %s", account, own))
	}
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownership.IdentityAnnotation], annotations[ownership.AccountAnnotation] = wanted.String(), account
	object.SetAnnotations(annotations)
	return wanted, nil
}

// authenticated is the cloud of an identity that is allowed, and has credentials.
func authenticated(ctx context.Context, registry *clouds.Registry, wanted aws.Identity, namespace, region string) (*clouds.Cloud, error) {
	cloud, err := registry.For(ctx, wanted, namespace, region)
	if err != nil {
		return nil, err
	}
	return cloud, cloud.Authenticate(ctx)
}

// sameCluster returns an error if resources may have been created for the object in another Cluster, or in
// another region. A MachinePool may be replaced by one of another Cluster while its pool remains. Everything
// would be created a second time there, and the first forgotten.
func sameCluster(object client.Object, clusterName, region string) error {
	recorded := object.GetAnnotations()
	cluster, in := cmp.Or(recorded[ownership.ClusterAnnotation], clusterName), cmp.Or(recorded[ownership.RegionAnnotation], region)
	if cluster == clusterName && in == region {
		return nil
	}
	return &identity.Error{Reason: infrav1.ClusterChangedReason, Message: fmt.Sprintf("the resources of this object were "+
		"created for Cluster %q in %s, and it belongs to Cluster %q in %s now. Slipway does not change them or create "+
		"others, and nodes stay as they are. Name the earlier Cluster in the MachinePool, or delete this object and create "+
		"another one. Annotations %s and %s record where the resources are",
		cluster, in, clusterName, region, ownership.ClusterAnnotation, ownership.RegionAnnotation)}
}

// sameAccount is nil if the cloud is in the account that holds what was made for the object so far.
// An identity may be replaced by another, or lead to another role; in another account everything
// would be made a second time, and the first forgotten.
func sameAccount(ctx context.Context, registry *clouds.Registry, object client.Object, cloud *clouds.Cloud, current aws.Identity) error {
	before, recorded := ownership.RecordedIdentity(object)
	account := object.GetAnnotations()[ownership.AccountAnnotation]
	if !recorded || account == "" && before.Canonical() == current.Canonical() {
		return nil
	}
	if account == "" {
		// Only the controller's own identity is recorded without its account, for which it need not
		// ask in the ordinary case.
		own, err := registry.OwnAccountID(ctx, cloud.Region)
		if err != nil {
			return &aws.CredentialsError{Err: err}
		}
		account = own
	}
	now, err := cloud.AccountID(ctx)
	if err != nil {
		return &aws.CredentialsError{Err: err}
	}
	if now != account {
		return &identity.Error{Reason: infrav1.IdentityInOtherAccountReason, Message: fmt.Sprintf(
			"%s is in AWS account %s, but the existing resources of this object are in account %s. Slipway does "+
				"not change them, and nodes stay as they are. Name an identity of that account", current, now, account)}
	}
	return nil
}

// showUnreachable says in a condition why AWS cannot be called, and whose turn it is.
func showUnreachable(object reconciling.Conditioned, plan *reconcile.Plan, condition string, set func(reconciling.Conditioned, string, string, string), err error) {
	fate := aws.FateOf(err)
	if fate.Kind == aws.RetrySoon {
		ShowFailure(object, plan, condition, infrav1.AWSUnavailableReason, err)
		return
	}
	reason, message := infrav1.InvalidSpecReason, aws.UserMessage(err)
	var credentials *aws.CredentialsError
	var noRegion *aws.NoRegionError
	if unusable, is := identity.IsUnusable(err); is {
		reason, message = unusable.Reason, unusable.Message
	} else if errors.As(err, &credentials) {
		reason, message = infrav1.CredentialsInvalidReason, message+": "+credentials.Advice()
	}
	set(object, condition, reason, message)
	if !errors.As(err, &noRegion) {
		// A change in Kubernetes wakes the object; a change in IAM does not.
		plan.LookAgain(fate.After)
	}
}

// identityOf is the identity that a cluster names; false if the objects that name it are gone.
func identityOf(ctx context.Context, reader client.Reader, owner *clusterv1.Cluster) (aws.Identity, bool, error) {
	if owner == nil {
		return aws.Identity{}, false, nil
	}
	location, err := cluster.Locate(ctx, reader, owner)
	var notReady *cluster.NotReadyError
	var unsupported *cluster.UnsupportedError
	if errors.As(err, &notReady) || errors.As(err, &unsupported) {
		return aws.Identity{}, false, nil
	}
	return location.Identity, err == nil, err
}

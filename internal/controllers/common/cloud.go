package common

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
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Reach picks the AWS that a cluster is in, as the identity that it names, or says in the ClusterInfrastructureReady condition why it can not be called.
// Then nothing is to be looked at there either.
func Reach(ctx context.Context, registry *clouds.Registry, object reconciling.Conditioned, facts *cluster.Facts) (*clouds.Cloud, reconciling.Outcome) {
	cloud, err := authenticated(ctx, registry, facts.Identity, facts.Namespace, facts.Region)
	showOutage(object, cloud)
	if err == nil {
		err = sameAccount(ctx, registry, object, cloud, facts.Identity)
	}
	if err != nil {
		return nil, unreachable(object, infrav1.ClusterInfrastructureReadyCondition, reconciling.False, err)
	}
	reconciling.True(object, infrav1.ClusterInfrastructureReadyCondition, infrav1.ReadyReason, "")
	return cloud, reconciling.Continue()
}

// ReachForDeletion picks it by the region and the identity that the finalizer was added with, or else by ones that are known from elsewhere, so that
// cluster objects that are gone are not missed; known is the ARN of what is to be deleted, or "". Without a region nothing was ever made in AWS, and the cloud is nil. Nothing is ever deleted as
// somebody else, nor taken for deleted because somebody else can not see it.
func ReachForDeletion(ctx context.Context, registry *clouds.Registry, reader client.Reader, object reconciling.Conditioned, owner *clusterv1.Cluster, known string) (*clouds.Cloud, reconciling.Outcome) {
	region, account := placeOf(known)
	region = cmp.Or(object.GetAnnotations()[RegionAnnotation], region)
	if region == "" {
		return nil, reconciling.Continue()
	}
	present, found, err := identityOf(ctx, reader, owner)
	if err != nil {
		return nil, reconciling.Fail(fmt.Errorf("finding out as whom to delete: %w", err))
	}
	wanted, recorded := RecordedIdentity(object)
	switch {
	case recorded:
	case found:
		wanted = present
	default:
		if wanted, err = ownIdentity(ctx, registry, object, region, account); err != nil {
			return nil, unreachable(object, infrav1.DeletingCondition, reconciling.True, err)
		}
	}
	cloud, err := authenticated(ctx, registry, wanted, object.GetNamespace(), region)
	if unusable, is := identity.IsUnusable(err); is && found && present != wanted && object.GetAnnotations()[AccountAnnotation] != "" {
		// The cluster may have been given another identity of the same account, and the old one taken away.
		wanted = present
		if cloud, err = authenticated(ctx, registry, wanted, object.GetNamespace(), region); err != nil {
			err = unusable
		}
	}
	showOutage(object, cloud)
	if err == nil {
		err = sameAccount(ctx, registry, object, cloud, wanted)
	}
	if unusable, is := identity.IsUnusable(err); is {
		err = &identity.Error{Reason: unusable.Reason, Message: fmt.Sprintf("%s; or set the annotation %s to another identity of the same AWS account, to delete with",
			unusable.Message, IdentityAnnotation)}
	}
	if err != nil {
		return nil, unreachable(object, infrav1.DeletingCondition, reconciling.True, err)
	}
	return cloud, reconciling.Continue()
}

// placeOf are the region and the account in an ARN, both "" in what is none.
func placeOf(arn string) (region, account string) {
	parts := strings.Split(arn, ":")
	if len(parts) < 5 || parts[0] != "arn" {
		return "", ""
	}
	return parts[3], parts[4]
}

// controllerIdentity is the one object that says which namespaces may use the controller's own credentials (CAPA: AWSClusterControllerIdentity).
var controllerIdentity = aws.Identity{Kind: aws.IdentityController, Name: "default"}

// ownIdentity is the controller's own, for an object that recorded none, of a cluster whose objects are gone: what CAPA made and Slipway never saw. It is for
// what the ARN says is in the controller's own account, and for namespaces that may use it; in any other case a person has to say as whom to delete.
// It is recorded on the object, though not written, for what is deleted with it.
func ownIdentity(ctx context.Context, registry *clouds.Registry, object client.Object, region, account string) (aws.Identity, error) {
	unknown := func(why string) error {
		return &identity.Error{Reason: infrav1.IdentityUnknownReason, Message: fmt.Sprintf(
			"the objects that name the cluster's identity are gone%s: set the annotation %s to the identity to delete with, such as "+
				"AWSClusterRoleIdentity/name, or AWSClusterControllerIdentity for the manager's own", why, IdentityAnnotation)}
	}
	if account == "" {
		return aws.Identity{}, unknown("")
	}
	wanted := controllerIdentity
	cloud, err := authenticated(ctx, registry, wanted, object.GetNamespace(), region)
	if unusable, is := identity.IsUnusable(err); is && unusable.Reason == infrav1.IdentityNotFoundReason {
		wanted = aws.Identity{} // nobody restricted it
		cloud, err = authenticated(ctx, registry, wanted, object.GetNamespace(), region)
	}
	if unusable, is := identity.IsUnusable(err); is {
		return aws.Identity{}, unknown(", and the manager's own may not be used: " + unusable.Message)
	}
	if err != nil {
		return aws.Identity{}, err
	}
	own, err := cloud.AccountID(ctx)
	if err != nil {
		return aws.Identity{}, &aws.CredentialsError{Err: err}
	}
	if own != account {
		return aws.Identity{}, unknown(fmt.Sprintf(", and what is to be deleted is in AWS account %s, where the manager's own identity, of account %s, is none", account, own))
	}
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[IdentityAnnotation], annotations[AccountAnnotation] = wanted.String(), account
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

// sameAccount is nil if the cloud is in the account that holds what was made for the object so far. An identity may be replaced by another, or lead
// to another role; in another account everything would be made a second time, and the first forgotten.
func sameAccount(ctx context.Context, registry *clouds.Registry, object client.Object, cloud *clouds.Cloud, current aws.Identity) error {
	before, recorded := RecordedIdentity(object)
	account := object.GetAnnotations()[AccountAnnotation]
	if !recorded || account == "" && before.Canonical() == current.Canonical() {
		return nil
	}
	if account == "" {
		// Only the controller's own identity is recorded without its account, for which it need not ask in the ordinary case.
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
			"%s acts in AWS account %s, and what was made so far is in account %s: name an identity of that account", current, now, account)}
	}
	return nil
}

// unreachable ends a pass for which AWS can not be called, and says in a condition whose turn it is.
func unreachable(object reconciling.Conditioned, condition string, set func(reconciling.Conditioned, string, string, string), err error) reconciling.Outcome {
	fate := aws.FateOf(err)
	if fate.Kind == aws.RetrySoon {
		return outcome.Of(object, condition, infrav1.AWSUnavailableReason, err)
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
	if errors.As(err, &noRegion) {
		return reconciling.Stop(message)
	}
	// What is in Kubernetes wakes the object when it is changed; what is in IAM does not.
	return reconciling.ComeBack(fate.After, message)
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

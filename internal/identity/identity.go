// Package identity resolves the AWS credentials for a cluster: it reads the identity that the
// cluster names, with the ones that it is chained to and the Secret with its keys, and makes sure
// at every link that the cluster's namespace may use it. The kinds and what they mean are CAPA's.
// It does not call AWS: package aws turns its result into credentials.
package identity

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/namespaces"
)

// The keys of a static identity's Secret (CAPA: AWSClusterStaticIdentitySpec.SecretRef).
const (
	accessKeyIDKey     = "AccessKeyID"
	secretAccessKeyKey = "SecretAccessKey"
	sessionTokenKey    = "SessionToken"
)

// DefaultSecretNamespace is the namespace in which CAPA reads the Secrets of static identities: the
// one that it runs in by default.
const DefaultSecretNamespace = "capa-system"

// Error says that an identity cannot be used, and what to do.
type Error struct {
	// Reason is the reason of the condition, one of IdentityNotFound, IdentityNotAllowed, and
	// IdentityInvalid.
	Reason  string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// WaitsForUser says that only a change by a person helps. The objects are woken by it.
func (*Error) WaitsForUser() bool { return true }

// Resolver reads identities.
type Resolver struct {
	// Reader reads identities and Namespaces, usually from a cache.
	Reader client.Reader
	// Secrets reads Secrets, past any cache.
	Secrets client.Reader
	// SecretNamespace is where the Secrets of static identities are.
	SecretNamespace string
}

// own is the identity that stands for the manager's own credentials. CAPA's webhook has every
// cluster name it that names none, and its spec.allowedNamespaces says which namespaces may use
// them (CAPA: AWSClusterControllerIdentity).
var own = aws.Identity{Kind: aws.IdentityController, Name: capav1.AWSClusterControllerIdentityName}

// Resolve returns the credentials to call AWS with for a cluster in a namespace. A cluster that
// names no identity has the manager's own, as with CAPA: they are free for every namespace only
// where the AWSClusterControllerIdentity that would limit them does not exist. The error is an
// *Error, or a failure to read.
func (r *Resolver) Resolve(ctx context.Context, identity aws.Identity, namespace string) (aws.Principal, error) {
	unnamed := identity == (aws.Identity{})
	if unnamed {
		identity = own
	}
	chain, err := r.Chain(ctx, identity)
	if unusable, is := IsUnusable(err); is && unnamed && unusable.Reason == infrav1.IdentityNotFoundReason {
		return aws.Principal{}, nil
	}
	if err != nil {
		return aws.Principal{}, err
	}
	for _, link := range chain {
		if err := r.allows(ctx, link, namespace); err != nil {
			return aws.Principal{}, err
		}
	}
	if unnamed {
		return aws.Principal{}, nil
	}
	return r.principal(ctx, chain)
}

// Link is an identity in a chain.
type Link struct {
	Identity aws.Identity
	object   client.Object
	allowed  *capav1.AllowedNamespaces
	source   *capav1.AWSIdentityReference
}

// Chain returns an identity and the identities that it gets its credentials from. The last one
// needs no other. It does not check which namespaces may use them.
func (r *Resolver) Chain(ctx context.Context, identity aws.Identity) ([]Link, error) {
	var chain []Link
	for {
		link, err := r.read(ctx, identity)
		if err != nil {
			return nil, err
		}
		chain = append(chain, link)
		if link.source == nil {
			return chain, nil
		}
		identity = aws.Identity{Kind: aws.IdentityKind(link.source.Kind), Name: link.source.Name}
		if slices.ContainsFunc(chain, func(earlier Link) bool { return earlier.Identity == identity }) {
			return nil, &Error{infrav1.IdentityInvalidReason, fmt.Sprintf("sourceIdentityRef of the identities %s "+
				"forms a cycle that leads back to %s, so no credentials are found and AWS is not called. "+
				"Have the last sourceIdentityRef name an identity that has its own credentials", names(chain), identity)}
		}
	}
}

func names(chain []Link) string {
	all := make([]string, 0, len(chain))
	for _, link := range chain {
		all = append(all, link.Identity.String())
	}
	return strings.Join(all, " → ")
}

// read reads one identity.
func (r *Resolver) read(ctx context.Context, identity aws.Identity) (Link, error) {
	link := Link{Identity: identity}
	switch identity.Kind {
	case aws.IdentityController:
		// CAPA has one, so that a namespace does not get the controllers' credentials under another
		// name.
		if identity.Name != capav1.AWSClusterControllerIdentityName {
			return link, &Error{infrav1.IdentityInvalidReason, fmt.Sprintf("the only valid name of a %s is %q, not "+
				"%q. Correct the name in identityRef",
				identity.Kind, capav1.AWSClusterControllerIdentityName, identity.Name)}
		}
		link.object = &capav1.AWSClusterControllerIdentity{}
	case aws.IdentityStatic:
		link.object = &capav1.AWSClusterStaticIdentity{}
	case aws.IdentityRole:
		link.object = &capav1.AWSClusterRoleIdentity{}
	default:
		return link, &Error{infrav1.IdentityInvalidReason, fmt.Sprintf("identityRef.kind %q is not supported: "+
			"use %s, %s, or %s",
			identity.Kind, aws.IdentityController, aws.IdentityRole, aws.IdentityStatic)}
	}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: identity.Name}, link.object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return link, &Error{infrav1.IdentityNotFoundReason, fmt.Sprintf("%s does not exist, so AWS is not called "+
			"and nodes stay as they are. Create it, or name another identity in identityRef", identity)}
	}
	if err != nil {
		return link, fmt.Errorf("reading %s: %w", identity, err)
	}
	switch object := link.object.(type) {
	case *capav1.AWSClusterControllerIdentity:
		link.allowed = object.Spec.AllowedNamespaces
	case *capav1.AWSClusterStaticIdentity:
		link.allowed = object.Spec.AllowedNamespaces
	case *capav1.AWSClusterRoleIdentity:
		link.allowed, link.source = object.Spec.AllowedNamespaces, object.Spec.SourceIdentityRef
	}
	return link, nil
}

// allows returns an error unless the namespace may use the identity.
//
// The rules are CAPA's: nothing is allowed unless spec.allowedNamespaces is there; there and empty
// it allows all; else what its list names or its selector selects. A list or selector that is there
// and empty selects nothing.
func (r *Resolver) allows(ctx context.Context, link Link, namespace string) error {
	refused := &Error{infrav1.IdentityNotAllowedReason, fmt.Sprintf("%s does not allow namespace %q, so AWS is "+
		"not called and nodes stay as they are. Add the namespace to its spec.allowedNamespaces, or name "+
		"another identity in identityRef", link.Identity, namespace)}
	if link.allowed == nil {
		return refused
	}
	if reflect.DeepEqual(*link.allowed, capav1.AllowedNamespaces{}) {
		return nil
	}
	allowed, err := namespaces.Allowed(ctx, r.Reader, link.allowed.NamespaceList, &link.allowed.Selector, namespace)
	if errors.Is(err, namespaces.ErrSelector) {
		return &Error{infrav1.IdentityInvalidReason, fmt.Sprintf("spec.allowedNamespaces of %s is invalid: %v", link.Identity, err)}
	}
	if err != nil {
		return err
	}
	if !allowed {
		return refused
	}
	return nil
}

// principal returns the credentials that a chain of identities describes.
func (r *Resolver) principal(ctx context.Context, chain []Link) (aws.Principal, error) {
	principal := aws.Principal{Identity: chain[0].Identity}
	for _, link := range slices.Backward(chain) {
		switch object := link.object.(type) {
		case *capav1.AWSClusterStaticIdentity:
			keys, err := r.keys(ctx, link.Identity, object.Spec.SecretRef)
			if err != nil {
				return aws.Principal{}, err
			}
			principal.Keys = keys
		case *capav1.AWSClusterRoleIdentity:
			principal.Roles = append(principal.Roles, aws.Role{
				ARN: object.Spec.RoleArn, SessionName: object.Spec.SessionName, ExternalID: object.Spec.ExternalID,
				InlinePolicy: object.Spec.InlinePolicy, PolicyARNs: object.Spec.PolicyARNs,
				Duration: time.Duration(object.Spec.DurationSeconds) * time.Second,
			})
		}
	}
	return principal, nil
}

// keys reads the Secret of a static identity.
func (r *Resolver) keys(ctx context.Context, identity aws.Identity, name string) (*aws.Keys, error) {
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: r.SecretNamespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, &Error{infrav1.IdentityNotFoundReason, fmt.Sprintf("Secret %q, which %s names, does not "+
			"exist in namespace %q, so AWS is not called and nodes stay as they are. Create it there. The "+
			"manager's flag --identity-secret-namespace sets the namespace", name, identity, r.SecretNamespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q of %s: %w", name, identity, err)
	}
	keys := &aws.Keys{
		AccessKeyID:     string(secret.Data[accessKeyIDKey]),
		SecretAccessKey: string(secret.Data[secretAccessKeyKey]),
		SessionToken:    string(secret.Data[sessionTokenKey]),
	}
	if keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return nil, &Error{infrav1.IdentityInvalidReason, fmt.Sprintf("Secret %q, which %s names, lacks key %s "+
			"or %s, so AWS is not called and nodes stay as they are. Add the missing key", name, identity, accessKeyIDKey, secretAccessKeyKey)}
	}
	return keys, nil
}

// Secrets returns the names of the Secrets that a chain reads.
func Secrets(chain []Link) []string {
	var secrets []string
	for _, link := range chain {
		if static, isStatic := link.object.(*capav1.AWSClusterStaticIdentity); isStatic {
			secrets = append(secrets, static.Spec.SecretRef)
		}
	}
	return secrets
}

// IsUnusable distinguishes an identity that cannot be used from a failure to find out.
func IsUnusable(err error) (*Error, bool) {
	var unusable *Error
	ok := errors.As(err, &unusable)
	return unusable, ok
}

// Package awsclusteridentity wakes what depends on an identity when the identity changes:
// AWSMachinePools and AWSLaunchConfigs, which read it themselves in every pass. It watches CAPA's
// three kinds, the Secrets of static ones, and the labels of Namespaces, by which identities choose
// who may use them. It writes nothing.
package awsclusteridentity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/secretwatch"
)

// Name is the controller's, in logs and metrics.
const Name = "awsclusteridentity"

// namespaceKind marks requests that are about a Namespace.
const namespaceKind = "Namespace"

// Reconciler wakes what depends on identities. A request's namespace is the kind of what changed,
// all of which are cluster-scoped.
type Reconciler struct {
	Client client.Client
	// Secrets reads Secrets, past any cache. SecretNamespace is where those of static identities
	// are, and Watches their changes.
	Secrets         client.Reader
	SecretNamespace string
	Watches         *secretwatch.Watcher
	Clouds          *clouds.Registry

	// seen is a digest of each identity, its Secret included, and of each Namespace's labels.
	mu   sync.Mutex
	seen map[types.NamespacedName][sha256.Size]byte
}

// Reconcile wakes everything if an identity is not what it was. Identities are few and change
// seldom; which objects one of them concerns would be a walk along chains that may themselves have
// just changed. Of an identity that was not known before only those are woken that wait for one: a
// manager that starts looks at all objects anyway.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := request.NamespacedName
	digest, exists, err := r.digest(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	before, known := r.remember(key, digest, exists)
	switch {
	case known == exists && before == digest:
		return ctrl.Result{}, nil
	case key.Namespace == namespaceKind && !known:
		return ctrl.Result{}, nil
	case key.Namespace == namespaceKind:
		return ctrl.Result{}, r.wake(ctx, key.Name, func([]metav1.Condition) bool { return true })
	case !known:
		return ctrl.Result{}, r.wake(ctx, metav1.NamespaceAll, waits)
	}
	return ctrl.Result{}, r.wake(ctx, metav1.NamespaceAll, func([]metav1.Condition) bool { return true })
}

// remember keeps what is now known of a key, and returns what was.
func (r *Reconciler) remember(key types.NamespacedName, digest [sha256.Size]byte, exists bool) (before [sha256.Size]byte, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known = r.seen[key]
	if !exists {
		delete(r.seen, key)
		return before, known
	}
	if r.seen == nil {
		r.seen = map[types.NamespacedName][sha256.Size]byte{}
	}
	r.seen[key] = digest
	return before, known
}

// digest is of all that matters of an identity or a Namespace; false if there is none. Only the
// digest is kept: there is a key in what it is of.
func (r *Reconciler) digest(ctx context.Context, key types.NamespacedName) (sum [sha256.Size]byte, exists bool, err error) {
	object := objectOf(key.Namespace)
	err = r.Client.Get(ctx, client.ObjectKey{Name: key.Name}, object)
	if apierrors.IsNotFound(err) {
		r.Watches.Forget(key)
		return sum, false, nil
	}
	if err != nil {
		return sum, false, fmt.Errorf("reading %s %q: %w", key.Namespace, key.Name, err)
	}
	var content []any
	switch object := object.(type) {
	case *metav1.PartialObjectMetadata:
		content = []any{object.Labels}
	case *capav1.AWSClusterControllerIdentity:
		content = []any{object.Annotations, object.Spec}
	case *capav1.AWSClusterRoleIdentity:
		content = []any{object.Annotations, object.Spec}
	case *capav1.AWSClusterStaticIdentity:
		secret := types.NamespacedName{Namespace: r.SecretNamespace, Name: object.Spec.SecretRef}
		r.Watches.Watch(key, secret)
		data := &corev1.Secret{}
		if err := r.Secrets.Get(ctx, secret, data); client.IgnoreNotFound(err) != nil {
			return sum, false, fmt.Errorf("reading Secret %q: %w", secret.Name, err)
		}
		content = []any{object.Annotations, object.Spec, data.Data}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return sum, false, fmt.Errorf("comparing %s %q: %w", key.Namespace, key.Name, err)
	}
	return sha256.Sum256(text), true, nil
}

func objectOf(kind string) client.Object {
	switch aws.IdentityKind(kind) {
	case aws.IdentityController:
		return &capav1.AWSClusterControllerIdentity{}
	case aws.IdentityRole:
		return &capav1.AWSClusterRoleIdentity{}
	case aws.IdentityStatic:
		return &capav1.AWSClusterStaticIdentity{}
	}
	return namespaceMetadata()
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(namespaceKind))
	return object
}

// wake has chosen pools and launch configs looked at.
func (r *Reconciler) wake(ctx context.Context, namespace string, chosen func([]metav1.Condition) bool) error {
	pools, managed, configs := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	for _, list := range []client.ObjectList{pools, managed, configs} {
		if err := r.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("listing what uses identities: %w", err)
		}
	}
	for i := range configs.Items {
		if chosen(configs.Items[i].Status.Conditions) {
			r.Clouds.WakeTemplate(client.ObjectKeyFromObject(&configs.Items[i]))
		}
	}
	for i := range managed.Items {
		if chosen(managed.Items[i].Status.Conditions) {
			r.Clouds.WakeManagedGroup(client.ObjectKeyFromObject(&managed.Items[i]))
		}
	}
	for i := range pools.Items {
		if chosen(pools.Items[i].Status.Conditions) {
			r.Clouds.WakeGroup(client.ObjectKeyFromObject(&pools.Items[i]))
		}
	}
	return nil
}

// waits is true of an object that cannot go on for want of an identity.
func waits(conditions []metav1.Condition) bool {
	reasons := []string{infrav1.IdentityNotFoundReason, infrav1.IdentityNotAllowedReason, infrav1.IdentityInvalidReason, infrav1.CredentialsInvalidReason}
	for _, kind := range []string{infrav1.ClusterInfrastructureReadyCondition, infrav1.DeletingCondition} {
		if condition := meta.FindStatusCondition(conditions, kind); condition != nil && slices.Contains(reasons, condition.Reason) {
			return true
		}
	}
	return false
}

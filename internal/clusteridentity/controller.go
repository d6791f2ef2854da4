// Package clusteridentity wakes what depends on an identity when the identity changes:
// AWSMachinePools and AWSLaunchConfigs, which read it themselves in every pass. It watches CAPA's
// three kinds, the Secrets of static ones, and the labels of Namespaces, by which identities choose
// who may use them. It writes nothing.
package clusteridentity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Reconciler wakes what depends on identities. The namespace of a request holds the kind of the
// changed object, since every such kind is cluster-scoped. It observes, decides and acts without
// the frame of the other controllers: it is about four kinds, writes to none, and has to act when
// an object is gone.
type Reconciler struct {
	Client client.Client
	// Secrets reads Secrets, past any cache. SecretNamespace is where the Secrets of static
	// identities are, and Watches their changes.
	Secrets         client.Reader
	SecretNamespace string
	Watches         *secretwatch.Watcher
	Clouds          *clouds.Registry

	// seen is each identity, and each Namespace, as it was observed last.
	mu   sync.Mutex
	seen map[types.NamespacedName]state
}

// Reconcile wakes what an identity, or the labels of a Namespace, concern if it is not what it was.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := request.NamespacedName
	now, err := r.observe(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	switch decide(key.Namespace, r.remember(key, now), now) {
	case none:
		return ctrl.Result{}, nil
	case namespace:
		return ctrl.Result{}, r.wake(ctx, client.InNamespace(key.Name))
	case waiting:
		return ctrl.Result{}, r.wake(ctx, client.MatchingFields{byWait: waits})
	default:
		return ctrl.Result{}, r.wake(ctx)
	}
}

// remember stores the current state of a key, and returns the previous one.
func (r *Reconciler) remember(key types.NamespacedName, now state) (before state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.seen[key]
	if !now.exists {
		delete(r.seen, key)
		return before
	}
	if r.seen == nil {
		r.seen = map[types.NamespacedName]state{}
	}
	r.seen[key] = now
	return before
}

// observe reads an identity, its Secret included, or the labels of a Namespace. Only a digest is kept:
// a Secret has a key.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (state, error) {
	object := objectOf(key.Namespace)
	err := r.Client.Get(ctx, client.ObjectKey{Name: key.Name}, object)
	if apierrors.IsNotFound(err) {
		r.Watches.Forget(key)
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("reading %s %q: %w", key.Namespace, key.Name, err)
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
			return state{}, fmt.Errorf("reading Secret %q: %w", secret.Name, err)
		}
		content = []any{object.Annotations, object.Spec, data.Data}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return state{}, fmt.Errorf("comparing %s %q: %w", key.Namespace, key.Name, err)
	}
	return state{exists: true, digest: sha256.Sum256(text)}, nil
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

// wake triggers reconciliation of the pools and launch configs that list options choose.
func (r *Reconciler) wake(ctx context.Context, chosen ...client.ListOption) error {
	chosen = append(chosen, client.UnsafeDisableDeepCopy)
	pools, managed, configs := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	for _, list := range []client.ObjectList{pools, managed, configs} {
		if err := r.Client.List(ctx, list, chosen...); err != nil {
			return fmt.Errorf("listing what uses identities: %w", err)
		}
	}
	for i := range configs.Items {
		r.Clouds.WakeTemplate(client.ObjectKeyFromObject(&configs.Items[i]))
	}
	for i := range managed.Items {
		r.Clouds.WakeManagedGroup(client.ObjectKeyFromObject(&managed.Items[i]))
	}
	for i := range pools.Items {
		r.Clouds.WakeGroup(client.ObjectKeyFromObject(&pools.Items[i]))
	}
	return nil
}

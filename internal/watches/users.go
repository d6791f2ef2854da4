package watches

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// Referring is what of a pool says where its launch config comes from.
type Referring struct {
	Object   client.Object
	Config   *infrav1.LaunchConfigReference
	Template *infrav1.LaunchConfigTemplateReference
}

// Users maps launch configs and templates to the pools that refer to them. List returns the pools
// of a namespace, of all if it is empty.
type Users struct {
	List func(ctx context.Context, namespace string) ([]Referring, error)
}

// OfConfig are the pools that launch from a launch config: the one that bears its name, whoever
// owns it, because a config of somebody else's that goes away is what the pool waits for; and those
// that refer to it.
func (u Users) OfConfig(ctx context.Context, config client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(config)
	return append([]reconcile.Request{{NamespacedName: key}}, u.matching(ctx, key.Namespace, func(p Referring) bool {
		return p.Config != nil && p.Config.Name == key.Name && p.Object.GetName() != key.Name
	})...)
}

// OfTemplate are the pools, of any namespace, that refer to a template.
func (u Users) OfTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(template)
	return u.matching(ctx, "", func(p Referring) bool {
		return p.Template != nil && pool.TemplateKey(p.Object.GetNamespace(), *p.Template) == key
	})
}

// matching are the pools that match. A failed list is logged: a watch has no other way to say so.
func (u Users) matching(ctx context.Context, namespace string, matches func(Referring) bool) []reconcile.Request {
	pools, err := u.List(ctx, namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "Listing the pools that refer to a launch config or its template failed", "namespace", namespace)
	}
	var users []client.Object
	for _, p := range pools {
		if matches(p) {
			users = append(users, p.Object)
		}
	}
	return Requests(users)
}

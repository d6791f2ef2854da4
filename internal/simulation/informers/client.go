package informers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns the client that a manager gives its controllers: it reads from the cache and
// writes to the API server. As in Slipway's manager, Secrets and unstructured objects are read from
// the API server.
func NewClient(cached *Cache, direct client.Client) client.Client {
	return &delegating{Client: direct, cached: cached}
}

type delegating struct {
	client.Client
	cached *Cache
}

// Get implements client.Reader.
func (d *delegating) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return d.reader(object).Get(ctx, name, object, options...)
}

// List implements client.Reader.
func (d *delegating) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return d.reader(list).List(ctx, list, options...)
}

func (d *delegating) reader(object runtime.Object) client.Reader {
	switch object.(type) {
	case *corev1.Secret, *corev1.SecretList, *unstructured.Unstructured, *unstructured.UnstructuredList:
		return d.Client
	}
	return d.cached
}

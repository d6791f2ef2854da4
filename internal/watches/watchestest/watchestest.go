// Package watchestest gives API servers in memory the indexes that caches of managers have.
package watchestest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-project/slipway/internal/watches"
)

// NewClientBuilder returns a builder of a client with a scheme, and with indexes of kinds that it has.
func NewClientBuilder(scheme *runtime.Scheme, indexes []watches.Index) *fake.ClientBuilder {
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, index := range indexes {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	return builder
}

package pool

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Releasing reports whether a pool goes back to CAPA.
func Releasing(pool client.Object) bool {
	return pool.GetAnnotations()[infrav1.ReleaseAnnotation] == "true"
}

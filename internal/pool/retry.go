package pool

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/digest"
)

// Retry reports whether a user asks for a failed roll-out of a pool to be retried, by what status has
// of the request that was acted on last. It returns what status should have once this one is.
func Retry(pool client.Object, retried string) (request string, due bool) {
	value := pool.GetAnnotations()[infrav1.RetryRolloutAnnotation]
	if value == "" {
		return retried, false
	}
	request = digest.Of(value)
	return request, request != retried
}

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/reconciling"
)

// Stopwatches time things by object within this process. The zero value is ready for use.
type Stopwatches struct{ started reconciling.Memory[time.Time] }

// Elapsed is the time since it was first asked for the object, 0 the first time.
func (s *Stopwatches) Elapsed(object types.NamespacedName, now time.Time) time.Duration {
	return now.Sub(s.started.GetOrPut(object, now))
}

// Reset forgets the object.
func (s *Stopwatches) Reset(object types.NamespacedName) { s.started.Forget(object) }

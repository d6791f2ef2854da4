package simulation

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// observer watches the API server, AWS and the workload cluster, whatever any process believes, and
// holds what they do against the invariants.
type observer struct {
	clock  *simclock.Clock
	trace  *trace
	server *apiserver.Server
	user   client.Client
	aws    holdings

	// workload is the cluster that the instances join, so long after they have booted.
	workload  *workloadCluster
	joinAfter time.Duration

	facts facts
	// faultless is the time since when faults no longer occur.
	faultless time.Time
	// violation is the first invariant that did not hold.
	violation error
}

// violate records that an invariant does not hold.
func (o *observer) violate(invariant, format string, values ...any) {
	if o.violation == nil {
		o.violation = &ViolationError{Invariant: invariant, Cause: fmt.Errorf(format, values...)}
		o.trace.detail("VIOLATION: %v", o.violation)
	}
}

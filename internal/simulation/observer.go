package simulation

import (
	"fmt"
	"regexp"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// verdict holds what a schedule has violated, for all observers of it.
type verdict struct {
	clock *simclock.Clock
	trace *trace
	// faultless is the time since when faults no longer occur.
	faultless time.Time
	// violation is the first invariant that did not hold.
	violation error
}

// violate records that an invariant does not hold.
func (v *verdict) violate(invariant, format string, values ...any) {
	if v.violation == nil {
		v.violation = &ViolationError{Invariant: invariant, Cause: fmt.Errorf(format, values...)}
		v.trace.detail("VIOLATION: %v", v.violation)
	}
}

// observer watches what the API server, AWS and the workload cluster hold of one pool, whatever any
// process believes, and holds it against the invariants.
type observer struct {
	*verdict
	kind *poolKind
	poolNames
	server *apiserver.Server
	user   client.Client
	aws    holdings
	person *person
	// steers is true if the user controls roll-outs.
	steers bool
	// disputed is true if an operator cancels instance refreshes as they begin, and the user retries.
	disputed bool

	// workload is the cluster that the instances join, so long after they have booted. It is nil for
	// a pool whose nodes EKS drains.
	workload  *workloadCluster
	joinAfter time.Duration

	facts facts
}

// poolNames holds the names of a pool and of the objects that belong to it.
type poolNames struct {
	// name is the name of the pool and of its MachinePool, cluster is the name of its Cluster, and
	// secret is the name of the Secret with its bootstrap data.
	name, cluster, secret string
}

// owner returns the value of the ownership tags of the pool's resources.
func (n poolNames) owner() string { return namespace + "/" + n.cluster + "/" + n.name }

// explanation matches the user agent of a call that names an object, its generation, and the reason;
// or an instance that has no object.
var explanation = regexp.MustCompile(`^[^()]* \(((AWS[A-Z]\w+|Provisioner|ProvisionedNode) [^ ;]+( and \d+ more)?; generation [1-9]\d*; [^;]+|` +
	`no ProvisionedNode knows the instance of launch [^;]+)\)$`)

// answered traces a call of the process, and has the scene check what it did.
func (w *World) answered(call awssim.Call) {
	changes := action.Changes(call.Action)
	if w.turn != "" {
		w.asked[w.turn]++
	}
	if call.Code != "" || changes {
		w.trace.detail("%s: %d %s", call.Action, call.Status, call.Code)
	}
	if !changes {
		return
	}
	if !explanation.MatchString(call.UserAgent) {
		w.verdict.violate(Explained, "the user agent of %s is %q", call.Action, call.UserAgent)
	}
	if call.Status < 300 {
		w.sent = append(w.sent, call.Action)
		w.scene.answered(call.Action)
	}
}

package simulation

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// scene defines the subject of a schedule: pools, or Provisioners. Everything else is the same for
// all scenes: how the schedule goes, what can go wrong, and what a process is.
type scene interface {
	witness
	// prepare creates what exists before the first process starts.
	prepare(ctx context.Context) error
	// length bounds the number of events in the first phase.
	length() int
	// start adds the controllers to a process, and returns what else the process does.
	start(p *process, gate *gate, config processConfig) (chores, error)
	// act has a user, or an operator in AWS, do something. It returns what, and "" for nothing.
	act(ctx context.Context) (string, error)
	// moves are what other components of the cluster can do now. A move may make others impossible.
	moves(ctx context.Context) ([]move, error)
	// calm repairs what is wrong with AWS and with the cluster, when the faults stop.
	calm(ctx context.Context) error
	// letGo has users no longer hold back what they hold back once everything has come to rest, and
	// reports whether they did.
	letGo(ctx context.Context) (bool, error)
	// shown returns the lists of objects that explain a violation.
	shown() []client.ObjectList
}

// witness sees what happens, and holds it against the invariants.
type witness interface {
	// changed notes a write to the API server. It must not call the server.
	changed(change apiserver.Change)
	// passes notes that a pass begins, or that the cache has changed in the middle of it.
	passes(began bool)
	// passed notes that a pass of a controller over an object has ended without an error.
	passed(ctx context.Context, controller, object string)
	// answered notes that AWS has carried out a call of a process.
	answered(action string)
	// released notes that a process completed the drain hook of an instance.
	released(id string)
	// unsettled says what is not as it must be once faults have stopped.
	unsettled(ctx context.Context) error
	// foreignUnchanged checks the resources of other owners.
	foreignUnchanged(ctx context.Context)
}

// move is something that another component of the cluster can do.
type move struct {
	what string
	do   func(ctx context.Context) error
}

// chores is the work that a process does by itself, besides reconciling.
type chores interface {
	// next returns when there is something to do.
	next() time.Time
	// do does what it is time for.
	do()
}

// newScene returns the scene of a kind of schedules.
func newScene(w *World, kind string) scene {
	if kind == Provisioners {
		return newProvisioning(w)
	}
	return newPools(w, kind)
}

package nodelifecycle

import (
	"cmp"
	"slices"
	"sync"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
)

// sharedFailure is the time for which the failure of a launch holds for all of its nodes: they do
// not repeat the call one after the other.
const sharedFailure = time.Second

// share gives every node of a launch its instance: a node that knows its instance keeps it, the
// others get theirs in the order of their names.
func share(instances []fleet.Instance, siblings []provisioningv1.ProvisionedNode) answer {
	siblings = slices.SortedFunc(slices.Values(siblings), func(a, b provisioningv1.ProvisionedNode) int { return cmp.Compare(a.Name, b.Name) })
	free := slices.DeleteFunc(slices.Clone(instances), func(instance fleet.Instance) bool {
		return slices.ContainsFunc(siblings, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
	})
	made := answer{instances: map[string]fleet.Instance{}}
	for i := range siblings {
		if siblings[i].Status.InstanceID == "" && len(free) > 0 {
			made.instances[siblings[i].Name], free = free[0], free[1:]
		}
	}
	return made
}

// answer holds the result of a launch.
type answer struct {
	// instances by the name of the node.
	instances map[string]fleet.Instance
	// why there are fewer than nodes, and what is to blame if there is none.
	why   string
	blame fleet.Blame
	// at is when EC2 answered.
	at time.Time
}

// launches remembers the answers to the calls that this process sent, for the nodes that were
// launched by the same call. It is safe for concurrent use.
type launches struct {
	mu   sync.Mutex
	made map[string]*onceAnswered
}

type onceAnswered struct {
	mu       sync.Mutex
	answered bool
	answer
	// failure is why the last call failed, at failedAt.
	failure  error
	failedAt time.Time
}

func (l *launches) of(name string) *onceAnswered {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]*onceAnswered{}
	}
	if l.made[name] == nil {
		l.made[name] = &onceAnswered{}
	}
	return l.made[name]
}

// once returns the answer to the call of a launch. It sends the call if there is no answer yet, or
// if the last failure is older than sharedFailure.
func (l *launches) once(name string, now time.Time, call func() (answer, error)) (answer, error) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	if made.failure != nil && now.Sub(made.failedAt) < sharedFailure {
		return answer{}, made.failure
	}
	if !made.answered {
		answered, err := call()
		if err != nil {
			made.failure, made.failedAt = err, now
			return answer{}, err
		}
		made.answered, made.answer = true, answered
		made.at = now
	}
	return made.answer, nil
}

// answerTo returns the answer to the call of a launch, if there is one.
func (l *launches) answerTo(name string) (answer, bool) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	return made.answer, made.answered
}

// forget drops the answer to a launch whose nodes are gone.
func (l *launches) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, name)
}

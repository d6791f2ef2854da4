package awsmachinepool

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// DrainingAnnotation holds since when the nodes of instances are being drained, as JSON by instance id. It is what the time limit is counted from: a new
// manager finds it, clusterctl move takes it along, and it is there though the workload cluster is not.
const DrainingAnnotation = "slipway.infrastructure.cluster.x-k8s.io/draining"

// drainingSince is empty for an annotation that is missing or that nobody can read: then the time begins anew.
func drainingSince(pool *infrav1.AWSMachinePool) map[string]time.Time {
	var begun map[string]time.Time
	err := json.Unmarshal([]byte(pool.Annotations[DrainingAnnotation]), &begun)
	if err != nil || begun == nil {
		return map[string]time.Time{}
	}
	return begun
}

func recordDraining(pool *infrav1.AWSMachinePool, begun map[string]time.Time) {
	var text []byte
	if len(begun) > 0 {
		rounded := make(map[string]time.Time, len(begun))
		for id, since := range begun {
			rounded[id] = since.UTC().Truncate(time.Second)
		}
		var err error
		if text, err = json.Marshal(rounded); err != nil {
			panic(err) // strings by times of this age: there is nothing that JSON can not write
		}
	}
	reconciling.SetAnnotation(pool, DrainingAnnotation, string(text))
}

// drainNotes are what this process remembers of instances on their way out, to save calls. Nothing but calls hangs on it. The zero value is ready
// for use.
type drainNotes struct {
	mu    sync.Mutex
	pools map[types.NamespacedName]map[string]drainNote
}

type drainNote struct {
	// node is the name of the Node.
	node string
	// looked is when it was last looked at.
	looked time.Time
	// sign is when AWS was last told that the instance is worked on.
	sign time.Time
	// parting is how far the node was when the hold was to be ended, nil before.
	parting *departure
	// letGo is true once the hold was ended.
	letGo bool
	// terminated is true once the instance, which was retained, was to be terminated.
	terminated bool
}

func (n *drainNotes) note(pool types.NamespacedName, instance string) drainNote {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pools[pool][instance]
}

func (n *drainNotes) update(pool types.NamespacedName, instance string, change func(*drainNote)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pools == nil {
		n.pools = map[types.NamespacedName]map[string]drainNote{}
	}
	if n.pools[pool] == nil {
		n.pools[pool] = map[string]drainNote{}
	}
	note := n.pools[pool][instance]
	change(&note)
	n.pools[pool][instance] = note
}

// forget drops what is remembered of a pool's instances.
func (n *drainNotes) forget(pool types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pools, pool)
}

// parted are the instances that were told to be let go, and went though no answer said so. Each is told of once.
func (n *drainNotes) parted(pool types.NamespacedName, instances []autoscalinggroup.Instance) []departure {
	n.mu.Lock()
	defer n.mu.Unlock()
	var gone []departure
	for id, note := range n.pools[pool] {
		held := slices.ContainsFunc(instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id && instance.Held() })
		if note.parting == nil || note.letGo || held {
			continue
		}
		gone = append(gone, *note.parting)
		note.letGo = true
		n.pools[pool][id] = note
	}
	slices.SortFunc(gone, func(a, b departure) int { return cmp.Compare(a.ID, b.ID) })
	return gone
}

// keep forgets instances that are not among those given, and that one was let go which is held no longer: it may have come back from a warm pool.
func (n *drainNotes) keep(pool types.NamespacedName, instances []autoscalinggroup.Instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	notes := n.pools[pool]
	maps.DeleteFunc(notes, func(id string, _ drainNote) bool {
		return !slices.ContainsFunc(instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id })
	})
	for _, instance := range instances {
		if note, known := notes[instance.ID]; known && !instance.Held() {
			note.letGo, note.parting, note.terminated = false, nil, note.terminated && instance.Retained()
			notes[instance.ID] = note
		}
	}
	if len(notes) == 0 {
		delete(n.pools, pool)
	}
}

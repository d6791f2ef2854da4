package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/drain"
)

// workloads is the connection of a process to the workload cluster. Each call has the fate that the
// schedule has for it.
type workloads struct {
	cluster  *workloadCluster
	observer *observer
	gate     *gate
}

var _ drain.API = workloads{}

// Client implements machinepool.Workloads.
func (w workloads) Client(context.Context, types.NamespacedName) (drain.API, error) { return w, nil }

func (w workloads) call(name string, changes bool, do func() error) error {
	return w.gate.call(name, changes, func() error {
		err := do()
		if changes {
			w.gate.world.trace.detail("%s: %s", name, answerOf(nil, err))
		}
		return err
	}, func() error {
		return apierrors.NewServiceUnavailable("the API server of the workload cluster is restarting")
	})
}

// EachNode implements drain.API.
func (w workloads) EachNode(_ context.Context, visit func(*corev1.Node) bool) error {
	return w.call("list Nodes", false, func() error {
		for _, name := range slices.Sorted(maps.Keys(w.cluster.nodes)) {
			if !visit(w.cluster.nodes[name].DeepCopy()) {
				break
			}
		}
		return nil
	})
}

// Node implements drain.API.
func (w workloads) Node(_ context.Context, name string) (found *corev1.Node, err error) {
	err = w.call("get Node "+name, false, func() error {
		node, err := w.cluster.node(name)
		found = node.DeepCopy()
		return err
	})
	return found, err
}

// Cordon implements drain.API.
func (w workloads) Cordon(_ context.Context, name string) error {
	if w.gate.world.flaw.NoCordons {
		return nil
	}
	return w.call("cordon Node "+name, true, func() error {
		node, err := w.cluster.node(name)
		if err != nil {
			return err
		}
		node.Spec.Unschedulable = true
		node.Annotations = map[string]string{drain.CordonedAnnotation: "true"}
		w.observer.cordoned(name)
		return nil
	})
}

// Uncordon implements drain.API.
func (w workloads) Uncordon(_ context.Context, name string, patch []byte) error {
	return w.call("uncordon Node "+name, true, func() error {
		node, err := w.cluster.node(name)
		if err != nil {
			return err
		}
		before, err := json.Marshal(node)
		if err != nil {
			return fmt.Errorf("encoding Node %s: %w", name, err)
		}
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		after, err := operations.Apply(before)
		if err != nil {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
		}
		changed := &corev1.Node{}
		if err := json.Unmarshal(after, changed); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		w.cluster.nodes[name] = changed
		w.cluster.bind()
		return nil
	})
}

// Pods implements drain.API.
func (w workloads) Pods(_ context.Context, node string) (pods []corev1.Pod, err error) {
	err = w.call("list pods of Node "+node, false, func() error {
		pods = w.cluster.on(node)
		return nil
	})
	return pods, err
}

// Evict implements drain.API.
func (w workloads) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	return w.call("evict pod "+eviction.Name, true, func() error {
		var uid *types.UID
		if eviction.DeleteOptions != nil && eviction.DeleteOptions.Preconditions != nil {
			uid = eviction.DeleteOptions.Preconditions.UID
		}
		before := w.cluster.missing()
		one := w.cluster.pods[eviction.Name]
		if w.gate.world.flaw.Deletes && one != nil && one.DeletionTimestamp == nil {
			w.cluster.terminate(one)
		} else if err := w.cluster.evict(eviction.Name, uid); err != nil {
			return err
		}
		w.observer.evicted(one, before)
		return nil
	})
}

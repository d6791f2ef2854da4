package nodelifecycle_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestNodesEndTogether holds that nodes which are deleted at once are terminated by a few calls,
// whatever their number. The first call is answered when all nodes have been drained, by as many
// workers as a manager has.
func TestNodesEndTogether(t *testing.T) {
	t.Parallel()
	const number = 50
	drained := make(chan struct{})
	w := provisioningtest.New(t, provisioningtest.Options{Before: func(body []byte) {
		if bytes.Contains(body, []byte("Action=TerminateInstances")) {
			<-drained
		}
	}})
	w.Provision("default")
	for i := range number {
		w.Pod(fmt.Sprintf("pod-%02d", i))
	}
	w.Settle()
	w.Clock.Step(5 * time.Second)
	w.Join()
	nodes := w.Provisioned()
	if len(nodes) != number || len(w.Members()) != number {
		t.Fatalf("there are %d nodes", len(nodes))
	}
	var listed atomic.Int32
	w.Nodes.Cluster.(*kubernetesfake.Clientset).PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if listed.Add(1) == number { // nothing is asked of the API server between this and the termination
			close(drained)
		}
		return false, nil, nil
	})
	var workers sync.WaitGroup
	for i := range nodes {
		w.Delete(&nodes[i])
		workers.Go(func() {
			if _, err := w.Nodes.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&nodes[i])}); err != nil {
				t.Errorf("reconciling %s: %v", nodes[i].Name, err)
			}
		})
	}
	workers.Wait()
	if calls := w.Calls("TerminateInstances"); calls == 0 || calls > 5 || len(w.Instances()) != 0 {
		t.Errorf("%d instances run after %d calls", len(w.Instances()), calls)
	}
}

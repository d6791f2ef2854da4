package provisioner

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
)

// ledger sees every ProvisionedNode come and go, in the order in which the API server took them,
// and remembers the most that there was at a time.
type ledger struct {
	mu         sync.Mutex
	there      map[string]*provisioningv1.ProvisionedNode
	cpu        int64
	nodes      int
	launched   int
	watchError error
}

// keepLedger begins to watch. It stops with the test.
func (w *world) keepLedger() *ledger {
	w.Helper()
	clients, err := client.NewWithWatch(w.Lab.Management.RESTConfig(), client.Options{Scheme: lab.NewScheme()})
	if err != nil {
		w.Fatal(err)
	}
	changes, err := clients.Watch(w.Context(), &provisioningv1.ProvisionedNodeList{})
	if err != nil {
		w.Fatal(err)
	}
	l := &ledger{there: map[string]*provisioningv1.ProvisionedNode{}}
	go func() {
		for change := range changes.ResultChan() {
			l.enter(change)
		}
	}()
	w.Cleanup(changes.Stop)
	return l
}

func (l *ledger) enter(change watch.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node, is := change.Object.(*provisioningv1.ProvisionedNode)
	switch {
	case !is:
		l.watchError = fmt.Errorf("watching ProvisionedNodes: %+v", change.Object)
		return
	case change.Type == watch.Deleted:
		delete(l.there, node.Name)
	default:
		if l.there[node.Name] == nil {
			l.launched++
		}
		l.there[node.Name] = node
	}
	var cpu int64
	for _, one := range l.there {
		cpu += one.Spec.Reserved.CPU.Value()
	}
	l.cpu, l.nodes = max(l.cpu, cpu), max(l.nodes, len(l.there))
}

// most waits until the ledger shows what there is, and returns the most CPUs and nodes that there
// were at a time, and how many nodes there were in all.
func (l *ledger) most(w *world) (cpu int64, nodes, launched int) {
	w.Helper()
	w.Eventually("the ledger shows what there is", func() error {
		there := w.provisioned()
		l.mu.Lock()
		defer l.mu.Unlock()
		cpu, nodes, launched = l.cpu, l.nodes, l.launched
		for i := range there {
			if l.there[there[i].Name] == nil {
				return fmt.Errorf("%s is missing: %w", there[i].Name, l.watchError)
			}
		}
		return l.watchError
	})
	return cpu, nodes, launched
}

// TestLimitsHoldAtAllTimes holds that limits are exact while pods come from many sides and go
// again, AWS is short of the cheapest offerings, nodes are deleted and launched, and one
// provisioner takes over from another.
func TestLimitsHoldAtAllTimes(t *testing.T) {
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 2}}}})
	ledger := w.keepLedger()
	w.provision("default", "instanceTypes: [m5.large, m5.xlarge, m6i.large, m6i.xlarge]", `limits: {cpu: "10", nodes: 4}`, "ttlSeconds: 0")
	for wave := range 3 {
		var mu sync.Mutex
		var pods []*corev1.Pod
		var group errgroup.Group
		for i := range 12 {
			group.Go(func() error {
				pod := w.podOf(fmt.Sprintf("pod-%d-%d", wave, i), asking("1500m", "1Gi"))
				mu.Lock()
				pods = append(pods, pod)
				mu.Unlock()
				return w.Client.Create(w.Context(), pod)
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		w.Eventually("some pod is told", func() error { return w.someTold(pods, "limits of Provisioner default") })
		if wave == 1 {
			w.stop()
			w.start()
		}
		w.Eventually("some pod is on a node", func() error {
			for _, pod := range pods {
				// Nodes of the wave before are deleted, and may take a pod along.
				if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); client.IgnoreNotFound(err) != nil {
					return err
				}
				if pod.Spec.NodeName != "" {
					return nil
				}
			}
			return errors.New("none is")
		})
		before := w.provisioned()
		for _, pod := range pods {
			if err := w.Client.Delete(w.Context(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
		w.Eventually("a node of the wave is gone", func() error {
			after := w.provisioned()
			for i := range before {
				if !slices.ContainsFunc(after, func(node provisioningv1.ProvisionedNode) bool { return node.Name == before[i].Name }) {
					return nil
				}
			}
			return fmt.Errorf("there are %d", len(after))
		})
	}
	cpu, nodes, launched := ledger.most(w)
	if cpu > 10 || nodes > 4 {
		t.Errorf("at some time there were %d CPUs on %d nodes", cpu, nodes)
	}
	if cpu < 8 || launched <= nodes {
		t.Errorf("limits were not tried: at most %d CPUs at a time, and %d nodes in all", cpu, launched)
	}
}

// slow lets a simulated minute last longer than any test waits, while the retry intervals of
// controllers still pass.
const slow = 0.2

// TestLaunchesPerMinute holds that a minute's launches are bounded, that pods of the others get the
// reason, and that their turn comes.
func TestLaunchesPerMinute(t *testing.T) {
	w := newWorldWith(t, options{change: func(o *manager.ProvisionerOptions) { o.LaunchesPerMinute = 2 }})
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("first", asking("1500m", "1Gi"))
	w.readyNodes(1) // so that AWS has been asked for all that is remembered
	w.clock.SetRate(slow)
	w.Cleanup(func() { w.clock.SetRate(rate) })
	w.clock.Step(time.Minute)
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, w.pod(fmt.Sprintf("pod-%d", i), asking("1500m", "1Gi")))
	}
	w.Eventually("some pod is told", func() error { return w.someTold(pods, "no more than 2 nodes are launched in a minute") })
	allowed, stepped := 3, time.Now()
	w.Eventually("all nodes are written down", func() error {
		nodes := len(w.provisioned())
		switch {
		case nodes > allowed:
			t.Fatalf("there are %d nodes, and %d were allowed by now", nodes, allowed)
		case nodes == 6:
			return nil
		// A pass that was not over when the clock was stepped began to wait a minute after that.
		case nodes == allowed || time.Since(stepped) > 10*time.Second:
			w.clock.Step(time.Minute)
			allowed, stepped = allowed+2, time.Now()
		}
		return fmt.Errorf("there are %d", nodes)
	})
}

// unschedulable waits until the scheduler has found no node for the pods.
func (w *world) unschedulable(pods []*corev1.Pod) {
	w.Helper()
	for _, pod := range pods {
		w.Eventually("the scheduler finds no node for pod "+pod.Name, func() error {
			if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
				return err
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
		})
	}
}

// TestSlicesOfABacklog holds that pods without a place do not keep a pass from the pods behind
// them, when there are more than it considers.
func TestSlicesOfABacklog(t *testing.T) {
	w := newWorldWith(t, options{change: func(o *manager.ProvisionerOptions) {
		everywhere(o)
		o.PodsPerPass = 3
	}})
	w.stop()
	w.provision("default")
	var hopeless, others []*corev1.Pod
	for i := range 4 {
		hopeless = append(hopeless, w.pod(fmt.Sprintf("hopeless-%d", i), asking("1000", "1Gi")))
		others = append(others, w.pod(fmt.Sprintf("other-%d", i)))
	}
	w.unschedulable(append(hopeless, others...))
	w.start()
	w.allBound(others)
	for _, pod := range hopeless {
		w.eventOf(pod, "requests 1000 CPU")
	}
}

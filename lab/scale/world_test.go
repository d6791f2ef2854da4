package scale

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

func TestMain(m *testing.M) {
	// A tenth of the time would go to collecting garbage.
	debug.SetGCPercent(200)
	labtest.MainWith(m, lab.Options{WithoutPools: true, WithoutClusterTopology: true})
}

// patience is the time that a thousand pools may take on a busy machine. On two idle cores it is
// less than a minute.
const patience = 8 * time.Minute

// storedEvery has every tenth pool keep its bootstrap data in a parameter. AWS allows three
// descriptions of parameters a second.
const storedEvery = 10

// world is a fleet in a laboratory, for Slipway's manager.
type world struct {
	*labtest.Env
	*fleet.Fleet
	clock   *simclock.Clock
	pace    *pace
	manager *lab.RunningManager

	mu sync.Mutex
	// requests are what the manager asked of the API server that changes something.
	requests []string
}

func newWorld(t *testing.T, rate float64, behavior awssim.Behavior) *world {
	t.Helper()
	w := newWorldOf(t, rate, behavior, lab.ClusterOptions{})
	w.Shape = func(i int, pool *infrav1.AWSMachinePool) {
		if i%storedEvery == 0 {
			fleet.StoreIn(infrav1.BootstrapStorageSSM, pool)
		}
	}
	return w
}

// newWorldOf is a world with a cluster of its own kind, whose pools are all alike.
func newWorldOf(t *testing.T, rate float64, behavior awssim.Behavior, cluster lab.ClusterOptions) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock, Behavior: behavior, World: fleet.World()}})
	env.Cluster(cluster)
	return &world{Env: env, clock: clock, pace: newPace(env, clock), Fleet: &fleet.Fleet{
		Client: env.Client, Namespace: env.Namespace, Cluster: "capa", Subnet: "subnet-0b2000000000000aa", Replicas: 1, Managed: cluster.Managed,
	}}
}

// unheld holds nothing back for AWS's rates: a thousand templates would take three minutes.
func unheld(options *manager.Options) { options.RequestRates = ptr.To(0.0) }

// startManager starts one with the usual options, as edited by change, if it is not nil.
func (w *world) startManager(change func(*manager.Options)) {
	w.Helper()
	w.manager = w.StartManager(product.Manager(product.Settings{
		WrapKubernetes: func(next http.RoundTripper) http.RoundTripper { return recorder{w, w.pace.wrap(next)} },
		WrapAWS:        w.pace.wrap,
		Change:         change,
	}))
}

func (w *world) stopManager() {
	w.Helper()
	if err := w.manager.Stop(); err != nil {
		w.Fatal(err)
	}
}

// recorder keeps the requests that change something in the API server.
type recorder struct {
	world *world
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		r.world.mu.Lock()
		r.world.requests = append(r.world.requests, request.Method+" "+request.URL.Path)
		r.world.mu.Unlock()
	}
	return r.next.RoundTrip(request)
}

// forget starts counting anew.
func (w *world) forget() {
	w.mu.Lock()
	w.requests = nil
	w.mu.Unlock()
	w.Cloud.AWS.ClearCalls()
}

// written returns the manager's writes to the API server.
func (w *world) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// requestsByKind returns how often the manager wrote each kind of object, without the names of the
// objects.
func (w *world) requestsByKind() map[string]int {
	counts := map[string]int{}
	for _, request := range w.written() {
		parts := strings.Split(request, "/")
		counts[parts[0]+strings.Join(slices.DeleteFunc(parts[1:], func(part string) bool {
			return strings.HasPrefix(part, "pool-") || part == w.Env.Namespace || part == "namespaces" || part == "apis"
		}), "/")]++
	}
	return counts
}

// calls returns how often AWS was called, by action.
func (w *world) calls() map[string]int {
	counts := map[string]int{}
	for _, call := range w.Cloud.AWS.Calls() {
		counts[call.Action]++
	}
	return counts
}

// reads returns how many of the calls change nothing in AWS, without the checks of lifecycle hooks,
// which have no batch form: those may be one per pool. Calls that change something are a failure
// here.
func (w *world) reads(what string) int {
	w.Helper()
	total := 0
	for action, count := range w.calls() {
		if action == "DescribeLifecycleHooks" {
			if count > *pools {
				w.Errorf("%s: %s was called %d times for %d pools", what, action, count, *pools)
			}
			continue
		}
		if !strings.HasPrefix(action, "Describe") && !strings.HasPrefix(action, "Get") {
			w.Errorf("%s: %s was called %d times", what, action, count)
		}
		total += count
	}
	return total
}

// await waits until all pools are settled.
func (w *world) await(pools int, what string) {
	w.Helper()
	pause := time.NewTicker(3 * time.Second)
	defer pause.Stop()
	w.EventuallyWithin(patience, what, func() error {
		// Listing a thousand pools again and again would leave no time for the controllers.
		<-pause.C
		unsettled, err := w.Unsettled(w.Context())
		if err != nil {
			return err
		}
		if len(unsettled) == 0 {
			return w.exist(pools)
		}
		example := slices.Sorted(maps.Keys(unsettled))[0]
		return fmt.Errorf("%d pools are not settled; %s: %s", len(unsettled), example, unsettled[example])
	})
}

func (w *world) exist(pools int) error {
	present, err := w.Pools(w.Context())
	if err == nil && len(present) != pools {
		err = fmt.Errorf("there are %d pools", len(present))
	}
	return err
}

// rest waits until nothing was written anywhere for a while.
func (w *world) rest(quiet time.Duration) {
	w.Helper()
	last, since := -1, time.Now()
	w.EventuallyWithin(patience, "nothing is written any more", func() error {
		if now := len(w.written()) + len(w.Cloud.AWS.Calls()); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errors.New("something was done a moment ago")
		}
		return nil
	})
}

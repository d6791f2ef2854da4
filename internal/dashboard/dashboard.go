// Package dashboard serves a read-only web page about pools and Provisioners: what they run, how far their
// roll-outs are, and what waits for a human.
//
// Everything that the page shows comes from Kubernetes objects in a cache, except for prices, which are read
// from AWS in the background, at most hourly, while a page is open. No request of a browser calls AWS. The page
// receives the rows that changed as server-sent events. It is embedded, has no build step, and loads
// nothing from other servers. Texts of users and tenants reach the page as JSON, and the page only ever
// sets them as text.
package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/requestbudget"
	"github.com/slipway-project/slipway/internal/prices"
)

const (
	// interval is the shortest time between two updates of a page, so that a roll-out of many
	// pools does not keep a browser busy.
	interval = 500 * time.Millisecond
	// recompute is the interval at which the rows of all pools are computed again: whether a blocked drain needs a
	// human depends on the time.
	recompute = time.Minute
	// metaKey is the key of the row that describes the dashboard itself.
	metaKey = "meta"
)

// Options configures a dashboard.
type Options struct {
	// Reader reads the objects, and Informers reports when they change. A controller-runtime cache is
	// both.
	Reader    client.Reader
	Informers cache.Informers
	// Kinds are the kinds that are shown. The viewer of the page sees what Reader reads of them.
	Kinds []client.Object
	// Missing describes what is not shown, and why.
	Missing []string
	// Title names the cluster on the page, and Namespace the only namespace that is shown, if any.
	Title, Namespace string
	// Budgets returns the state of the request budgets of this process. If it is nil, the page does not
	// show any: a process that does not call AWS as the manager does knows nothing about them.
	Budgets func() []requestbudget.State
	// Probe returns an error if the API server does not answer. If it is nil, the page does not say when its rows
	// are outdated.
	Probe func(ctx context.Context) error
	// Prices are the prices of what runs. If it is nil, the page shows no costs.
	Prices *prices.Table
	Clock  clock.Clock
	Log    logr.Logger
}

// Dashboard computes rows from objects and serves them.
type Dashboard struct {
	options Options
	feed    *feed
	tracker *tracker
	// computing is held while rows are computed, so that an older row never replaces a newer one.
	computing sync.Mutex
	// opened is signaled when a page opens, and watching is closed when all kinds are watched.
	opened, watching chan struct{}
	// described is the last row that describes the dashboard itself.
	described json.RawMessage
	// shownBudgets are the keys of the rows of budgets.
	shownBudgets map[string]bool
}

// PoolKinds returns the kinds that the pages about pools show.
func PoolKinds() []client.Object {
	return []client.Object{&infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}, &clusterv1.MachinePool{}}
}

// ProvisionerKinds returns the kinds that the page about Provisioners shows. It shows nothing without the
// first one.
func ProvisionerKinds() []client.Object {
	return []client.Object{&provisioningv1.Provisioner{}, &provisioningv1.ProvisionedNode{}, &corev1.Pod{}, &eventsv1.Event{}}
}

// Shows reports whether a page with some kinds shows anything of its own: pools or Provisioners.
func Shows(kinds []client.Object) bool {
	return showsPools(kinds) || contains(kinds, &provisioningv1.Provisioner{})
}

func showsPools(kinds []client.Object) bool {
	return contains(kinds, &infrav1.AWSMachinePool{}) || contains(kinds, &infrav1.AWSManagedMachinePool{})
}

// New returns a dashboard, which Start starts.
func New(options Options) *Dashboard {
	return &Dashboard{
		options: options, feed: newFeed(), tracker: newTracker(), opened: make(chan struct{}, 1), watching: make(chan struct{}), shownBudgets: map[string]bool{},
	}
}

// Watching returns a channel that is closed when all kinds are watched.
func (d *Dashboard) Watching() <-chan struct{} { return d.watching }

// NeedLeaderElection returns false: every replica of a manager serves the page.
func (*Dashboard) NeedLeaderElection() bool { return false }

// Start watches the objects and updates open pages until the context is done. While no page is
// open, it only records which objects changed.
func (d *Dashboard) Start(ctx context.Context) error {
	for _, kind := range d.options.Kinds {
		if err := d.tracker.watch(ctx, d.options.Informers, kind); err != nil {
			return err
		}
	}
	close(d.watching)
	var reading sync.WaitGroup
	defer reading.Wait()
	if d.options.Prices != nil {
		reading.Go(func() { d.readPrices(ctx) })
	}
	if d.options.Probe != nil {
		reading.Go(func() { d.probe(ctx) })
	}
	aged := d.options.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.tracker.wake:
		case <-d.opened:
		case <-d.options.Clock.After(d.rest()):
		}
		if !d.feed.watched() {
			continue
		}
		if now := d.options.Clock.Now(); now.Sub(aged) >= recompute {
			aged = now
			d.tracker.markPools()
		}
		d.compute(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-d.options.Clock.After(interval):
		}
	}
}

// rest returns how long rows stay as they are while no object changes.
func (d *Dashboard) rest() time.Duration {
	if d.options.Budgets != nil && d.feed.watched() {
		return budgetInterval
	}
	return recompute
}

// compute computes the rows whose objects changed, and publishes them.
func (d *Dashboard) compute(ctx context.Context) {
	d.computing.Lock()
	defer d.computing.Unlock()
	rows, err := d.budgets()
	if err != nil {
		d.options.Log.Error(err, "Computing the request budgets of the dashboard")
		rows = map[string]json.RawMessage{}
	}
	for _, key := range d.tracker.take() {
		row, err := d.row(ctx, key)
		if err != nil {
			// The row stays as it is. The next change of its objects computes it again.
			d.options.Log.Error(err, "Computing a row of the dashboard", "row", key.String())
			continue
		}
		rows[key.String()] = row
	}
	d.feed.set(rows)
}

// about describes the dashboard itself, in the row with the key meta.
type about struct {
	Title     string   `json:"title"`
	Namespace string   `json:"namespace,omitempty"`
	Missing   []string `json:"missing,omitempty"`
	// Pools and Provisioners report whether the cluster has these kinds.
	Pools        bool `json:"pools"`
	Provisioners bool `json:"provisioners"`
	// Budgets reports whether the process has request budgets, and Prices whether costs are shown: not if no
	// price can be read.
	Budgets bool `json:"budgets"`
	Prices  bool `json:"prices"`
}

func (d *Dashboard) about() (json.RawMessage, error) {
	text := about{
		Title: d.options.Title, Namespace: d.options.Namespace, Missing: d.options.Missing,
		Pools: showsPools(d.options.Kinds), Provisioners: contains(d.options.Kinds, &provisioningv1.Provisioner{}), Budgets: d.options.Budgets != nil,
	}
	if table := d.options.Prices; table != nil {
		problems := table.Problems()
		text.Prices = len(problems) == 0 || table.Knows()
		if len(problems) > 0 {
			text.Missing = append(slices.Clone(text.Missing), "Prices, because "+strings.Join(problems, "; ")+".")
		}
	}
	row, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("describing the dashboard: %w", err)
	}
	return row, nil
}

// open subscribes a page, and returns the rows as they are now.
func (d *Dashboard) open(ctx context.Context) (*subscription, update, error) {
	if !d.feed.watched() {
		d.tracker.markPools() // nothing was computed for a while
	}
	d.compute(ctx)
	row, err := d.about()
	if err != nil {
		return nil, update{}, err
	}
	s, all := d.feed.subscribe()
	all.Rows[metaKey] = row
	if d.options.Prices != nil {
		d.options.Prices.Wake() // the rows may have asked for prices before the page was watched
	}
	select {
	case d.opened <- struct{}{}:
	default: // it is signaled already
	}
	return s, all, nil
}

// Handler returns the dashboard under the path /dashboard/. The function authorize protects what is read
// from the cluster. The page itself is not secret, and asks its user for a token.
func (d *Dashboard) Handler(authorize func(http.Handler) http.Handler) http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET "+apiPath+"events", d.serveEvents)
	api.HandleFunc("GET "+apiPath+"pool", d.servePool)
	mux := http.NewServeMux()
	mux.Handle(apiPath, sameOrigin(authorize(api)))
	mux.Handle(pagePath, http.StripPrefix(pagePath, page()))
	mux.Handle("/{$}", http.RedirectHandler(pagePath, http.StatusFound))
	return withHeaders(readOnly(mux))
}

// LocalHandler returns the dashboard for the user of this machine: under the given hosts only, and with
// the token.
func (d *Dashboard) LocalHandler(token string, hosts ...string) http.Handler {
	return onlyHosts(d.Handler(func(next http.Handler) http.Handler { return withToken(next, token) }), hosts...)
}

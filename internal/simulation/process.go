package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/simulation/informers"
)

const (
	region       = "us-east-1"
	settleWindow = 10 * time.Second
)

// process is one run of `slipway manager`. Everything that it remembers goes with it.
type process struct {
	world   *World
	ctx     context.Context //nolint:containedctx // the life of the process
	end     context.CancelFunc
	cache   *informers.Cache
	manager *stillManager
	chores  chores
	// AWS changed last at changed, and unhear stops watching for changes.
	changed time.Time
	unhear  func()
	// answers are what the process remembers of AWS by a flaw.
	answers map[string]answer
	// dead is true from the moment of a crash: no call of the process reaches anything.
	dead bool
}

// processConfig configures how a process reaches AWS.
type processConfig struct {
	aws   awssdk.Config
	clock *simclock.Clock
}

// sessions returns the sessions of a process.
func (c processConfig) sessions(options ...aws.Option) *aws.Sessions {
	return aws.NewSessions(c.aws, append([]aws.Option{aws.WithClock(c.clock), aws.WithBackoff(time.Nanosecond)}, options...)...)
}

// startProcess starts a process whose cache holds what the API server had after the write with the
// given number.
func startProcess(ctx context.Context, w *World, version uint64) (*process, error) {
	p := &process{world: w, answers: map[string]answer{}, cache: informers.NewFrom(w.server, w.kinds.Scheme(), version)}
	p.ctx, p.end = context.WithCancel(log.IntoContext(ctx, logr.Discard()))
	p.changed, p.unhear = w.clock.Now(), w.sim.OnChange(func(awssim.Event) { p.changed = w.clock.Now() })
	gate := &gate{world: w, process: p}
	live := &gatedClient{Client: w.server.Client(), gate: gate}
	cached := informers.NewClient(p.cache, live)
	p.manager = &stillManager{client: cached, live: live, cached: p.cache, clock: w.clock, recorder: recorder{w}}

	config := processConfig{clock: w.clock, aws: awssdk.Config{
		Region: region, HTTPClient: &transport{sim: w.sim, gate: gate, seen: w.answered},
		APIOptions:  []func(*middleware.Stack) error{w.readings.install},
		Credentials: credentials.NewStaticCredentialsProvider("AKIASLIPWAY0"+account, "secret", ""),
	}}
	var err error
	if p.chores, err = w.scene.start(p, gate, config); err != nil {
		return nil, fmt.Errorf("starting a process: %w", err)
	}
	return p, p.manager.start(p.ctx) //nolint:contextcheck // watches live as long as the process
}

// networks are the kinds of objects with the network of a cluster.
func networks() []client.Object {
	return []client.Object{&capav1.AWSCluster{}, &eksv1.AWSManagedControlPlane{}}
}

// stop stops the process.
func (p *process) stop() {
	p.dead = true
	p.end()
	p.unhear()
	p.cache.Stop()
}

// work is a request that can be reconciled.
type work struct {
	controller *runner
	request    reconcile.Request
}

// ready returns what can be reconciled now.
func (p *process) ready() []work {
	var all []work
	for _, controller := range p.manager.controllers {
		for _, request := range controller.queue.waiting() {
			all = append(all, work{controller, request})
		}
	}
	return all
}

// reconcile runs one pass and does with its result what controller-runtime does.
func (p *process) reconcile(one work) error {
	one.controller.queue.take(one.request)
	p.world.scene.passes(true)
	result, err := p.world.flaw.result(one.controller.Reconcile(p.ctx, one.request))
	if p.dead {
		return nil
	}
	if err == nil {
		p.world.scene.passed(p.ctx, kindOf(one), one.request.Name)
	}
	queue := one.controller.queue
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "panic: "):
		return err
	case err != nil:
		p.world.trace.detail("fails: %v", err)
		if !errors.Is(err, reconcile.TerminalError(nil)) {
			queue.AddRateLimited(one.request)
		}
	case result.RequeueAfter > 0:
		p.world.trace.detail("again after %s", result.RequeueAfter)
		queue.Forget(one.request)
		queue.AddAfter(one.request, result.RequeueAfter)
	default:
		queue.Forget(one.request)
	}
	return nil
}

// next returns when the process has something to do by itself.
func (p *process) next() time.Time {
	soonest := p.chores.next()
	for _, controller := range p.manager.controllers {
		if at, any := controller.queue.next(); any && at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}

// sweepAnyway is the time after a sweep when AWS is swept again though nothing is known to have
// changed in it.
const sweepAnyway = 5 * time.Minute

// saw reports whether a sweep at a time saw AWS as it still is, so that another one would change
// nothing. While faults happen, it might fail.
func (p *process) saw(swept time.Time) bool {
	w, lag := p.world, p.world.sim.Behavior().ReadLag
	if w.verdict.faultless.IsZero() || w.clock.Since(swept) >= sweepAnyway {
		return false
	}
	return swept.After(p.changed.Add(lag)) && swept.After(w.lastWrite.Add(lag))
}

// secretWatch does what package secretwatch does, when the event loop says so.
type secretWatch struct {
	reader client.Reader
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	wanted map[types.NamespacedName]types.NamespacedName
	known  map[types.NamespacedName]string
}

// Start implements source.Source.
func (s *secretWatch) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue = queue
	return nil
}

// Watch implements launchconfig.SecretWatcher.
func (s *secretWatch) Watch(object, secret types.NamespacedName) {
	if s.wanted[object] != secret {
		s.wanted[object] = secret
		delete(s.known, object)
	}
}

// Read implements launchconfig.SecretWatcher.
func (s *secretWatch) Read(object types.NamespacedName, version string) { s.known[object] = version }

// Forget implements launchconfig.SecretWatcher.
func (s *secretWatch) Forget(object types.NamespacedName) {
	delete(s.wanted, object)
	delete(s.known, object)
}

// look wakes the objects whose Secret has another version than the one that they read.
func (s *secretWatch) look(ctx context.Context) {
	for _, object := range slices.SortedFunc(maps.Keys(s.wanted), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		secret := &corev1.Secret{}
		err := s.reader.Get(ctx, s.wanted[object], secret)
		if err != nil && !apierrors.IsNotFound(err) {
			return
		}
		if s.known[object] != secret.ResourceVersion {
			s.known[object] = secret.ResourceVersion
			s.queue.Add(reconcile.Request{NamespacedName: object})
		}
	}
}

// recorder puts the controllers' events into the trace.
type recorder struct{ world *World }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, values ...any) {
	name := ""
	if object, is := regarding.(metav1.Object); is {
		name = object.GetName()
	}
	r.world.trace.detail("event %s %s: %s", name, reason, fmt.Sprintf(note, values...))
}

package simulation

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	provisioningregion "github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

const (
	// outageCheck is the interval at which a process checks whether an outage of AWS goes on.
	outageCheck = 15 * time.Second
	// repeated is the time after which AWS sends an event again that was not handled.
	repeated = 30 * time.Second
)

// provisionerProcess is a process with the Provisioner's controllers.
type provisionerProcess struct {
	*process
	scene     *provisioning
	nodes     *nodelifecycle.Controller
	collector *nodelifecycle.Collector
	outages   *provisionerstatus.Outages
	clients   *aws.Clients
	// sweep, rest and check are when instances are described next, when status checks are polled
	// and instances collected, and when an outage is checked. Instances were described last at swept.
	sweep, rest, check, swept time.Time
	// out is true if there was an outage at the last check.
	out bool
}

var _ chores = (*provisionerProcess)(nil)

// start implements scene. It wires the controllers as the manager does.
func (s *provisioning) start(running *process, gate *gate, config processConfig) (chores, error) {
	clients, err := config.sessions(aws.WithOutageAfter(provisionerstatus.OutageAfter)).For(running.ctx, aws.Principal{}, region)
	if err != nil {
		return nil, err
	}
	clock, cached, live := s.world.clock, running.manager.client, running.manager.live
	reporter := report.Reporter{Recorder: recorder{s.world}}
	found := discovery.NewWaiting(clients, clock)
	here := &provisioningregion.Region{Name: clients.Region, Discovery: found}
	fleets, made := fleet.New(clients.EC2), launchtemplate.NewTemplates(clients.EC2)
	woken, changed := &clouds.Queue{}, &clouds.Queue{}
	names := &clustername.Names{Instances: fleets, Templates: made, Clock: clock, ClusterUID: clusterUID}
	own := &defaults.Templates{
		Templates: made, Discovery: found, Cluster: joining{}, Clock: clock, InstanceProfile: "nodes.cluster-api-provider-aws.sigs.k8s.io", ClusterUID: clusterUID,
	}
	read := &templates.Reader{Inspection: inspection.NewReader(found), Configs: noConfigs{live}}
	asked := &templates.Asked{Wake: func(name string) { changed.Add(types.NamespacedName{Name: name}) }}
	shortages, promises := catalog.NewShortages(clock), &launcher.Promises{}
	refusals := launcher.NewRefusals(clock, fleet.DryRuns{Fleets: fleets, Versions: found})
	instances := observe.NewSweep(clock, observe.Source[fleet.Instance]{Describe: fleets.Describe, Batch: fleet.DescribeBatch}, observe.DefaultIntervals, woken.Add)
	instances.Listening(s.queued)
	passes := &scheduler.Reconciler{
		Client: cached, Pods: podsOf(cached), Live: live, ClusterUID: clusterUID, Names: names, Region: here, Defaults: own, Templates: read,
		Asked: asked, Shortages: shortages, Refusals: refusals, Budget: launcher.NewBudget(clock, launchesPerMinute), Promises: promises,
		Report: reporter, Startups: &scheduler.Startups{Clock: clock}, Clock: clock, PodsPerPass: scheduler.DefaultPodsPerPass, Random: s.randomText,
	}
	checks := &nodelifecycle.StatusChecks{Client: cached, Fleets: fleets, Clock: clock, Report: reporter, Interval: observe.DefaultIntervals.Rest, Wake: woken.Add}
	nodes := nodelifecycle.New(&nodelifecycle.Kind{
		Client: cached, Live: live, ClusterUID: clusterUID, Names: names, Defaults: own, Templates: read, Cluster: clusterAPI{cluster: s.cluster, observer: s.observer, gate: gate}, Fleets: fleets,
		Region: here, Instances: instances, Checks: checks, Shortages: shortages, Refusals: refusals, Promises: promises,
		Report: reporter, Clock: clock, RegistrationTimeout: nodelifecycle.DefaultRegistrationTimeout, Wake: woken.Add,
	})
	provisioners := provisionerstatus.New(&provisionerstatus.Kind{
		Client: cached, Live: live, ClusterUID: clusterUID, Region: here, Defaults: own, Templates: read, Names: names, Refusals: refusals, Shortages: shortages,
		Asked: asked, AWS: clients, Clock: clock,
	}, reporter)
	settings := watches.Settings{Clock: clock, Concurrency: 1}
	now := clock.Now()
	one := &provisionerProcess{
		process: running, scene: s, nodes: nodes, clients: clients, sweep: now.Add(observe.DefaultIntervals.Motion), rest: now, check: now.Add(outageCheck),
		collector: &nodelifecycle.Collector{Client: cached, Live: live, Fleets: fleets, Clock: clock, ClusterUID: clusterUID, Interval: observe.DefaultIntervals.Rest},
		outages:   &provisionerstatus.Outages{Client: cached, AWS: clients, Clock: clock, Probe: fleets.Probe, Wake: changed.Add},
	}
	return one, errors.Join(
		passes.Register(running.manager, settings), nodes.Register(running.ctx, running.manager, settings, woken), provisioners.Register(running.manager, settings, changed))
}

// randomText returns text that follows from the seed.
func (s *provisioning) randomText(length int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[s.random.IntN(len(letters))]
	}
	return string(text)
}

// podsOf reads pods from a cache.
func podsOf(cached client.Reader) func(context.Context) ([]*corev1.Pod, error) {
	return func(ctx context.Context) ([]*corev1.Pod, error) {
		var list corev1.PodList
		if err := cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		pods := make([]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			pods[i] = &list.Items[i]
		}
		return pods, nil
	}
}

// joining says how nodes join the cluster.
type joining struct{}

// Version implements defaults.Cluster.
func (joining) Version(context.Context) (string, error) { return jitVersion, nil }

// ServiceCIDR implements defaults.Cluster.
func (joining) ServiceCIDR(context.Context) (string, error) { return "10.96.0.0/16", nil }

// noConfigs reads AWSLaunchConfigs, although there are none.
type noConfigs struct{ client.Reader }

// LaunchConfig implements templates.Configs.
func (c noConfigs) LaunchConfig(ctx context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error) {
	config := &infrav1.AWSLaunchConfig{}
	return config, c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config)
}

// next implements chores.
func (p *provisionerProcess) next() time.Time {
	soonest := p.rest
	times := []time.Time{p.nextSweep()}
	if p.inOutage() {
		times = append(times, p.check)
	}
	for _, one := range p.scene.notices {
		times = append(times, one.at)
	}
	for _, at := range times {
		if at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}

// nextSweep returns when instances are described next with something to learn.
func (p *provisionerProcess) nextSweep() time.Time {
	if p.saw(p.swept) {
		return p.swept.Add(sweepAnyway)
	}
	if due := p.nodes.Instances.Due(); due.After(p.sweep) {
		return due
	}
	return p.sweep
}

// inOutage reports whether there is an outage of AWS, or one that Provisioners show is over.
func (p *provisionerProcess) inOutage() bool {
	outage, _ := p.clients.Outage(clouds.TemplateServices...)
	return outage != nil || p.out
}

// do implements chores.
func (p *provisionerProcess) do() {
	now := p.world.clock.Now()
	p.hear(now)
	if !p.dead && !now.Before(p.sweep) && !p.saw(p.swept) && !p.world.flaw.NoSweeps {
		p.sweep, p.swept = now.Add(observe.DefaultIntervals.Motion), now
		p.nodes.Instances.Tick(p.ctx)
	}
	if !p.dead && !now.Before(p.check) {
		p.check = now.Add(outageCheck)
		if p.inOutage() {
			p.outages.Check(p.ctx)
			outage, _ := p.clients.Outage(clouds.TemplateServices...)
			p.out = outage != nil
		}
	}
	if !p.dead && !now.Before(p.rest) {
		p.rest = now.Add(observe.DefaultIntervals.Rest)
		p.failed("polling status checks", p.nodes.Checks.Poll(p.ctx))
		if !p.dead {
			p.failed("collecting instances", p.collector.Collect(p.ctx))
		}
	}
}

// hear handles the events that have arrived. AWS repeats events that were not handled.
func (p *provisionerProcess) hear(now time.Time) {
	pending := p.scene.notices
	p.scene.notices = nil
	for _, one := range pending {
		if !now.Before(one.at) && !p.dead {
			one.at = now.Add(repeated)
			p.world.trace.event("hear of instances %v: ended %v, interrupted %v, at risk %v", one.Instances, one.Ended, one.Interrupted, one.AtRisk)
			p.world.scene.passes(true)
			err := p.nodes.Heard(p.ctx, "", one.Happened)
			// It has the instances described in the background. Nothing else runs until that is done.
			time.Sleep(time.Minute) //nolint:forbidigo // time of the bubble, which costs none
			synctest.Wait()         // lets the race detector know that the description is done
			if err == nil && !p.dead {
				continue
			}
		}
		p.scene.notices = append(p.scene.notices, one)
	}
}

// failed traces the failure of work that is repeated by itself.
func (p *provisionerProcess) failed(what string, err error) {
	if err != nil && !p.dead {
		p.world.trace.detail("%s fails: %v", what, err)
	}
}

// notify has AWS send an event, if there is a queue.
func (s *provisioning) notify(happened events.Happened) {
	if s.queued {
		s.notices = append(s.notices, notice{s.world.clock.Now().Add(time.Second), happened})
	}
}

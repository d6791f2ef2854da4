package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/secretwatch"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/internal/watches"
)

// pools is the scene of schedules about one pool, or about one of each kind.
type pools struct {
	world *World
	kind  string
	// observers hold what happens to the pools against the invariants.
	observers []*observer
	// outage is true if nodes of node groups do not join for some time after the other faults have stopped.
	outage bool
	// started counts the instance refreshes that processes have started.
	started int
}

var _ scene = (*pools)(nil)

func newPools(w *World, kind string) *pools {
	p := &pools{world: w, kind: kind}
	for _, kind := range p.kinds() {
		p.observe(kind)
	}
	return p
}

// kinds returns the kinds of the pools of the schedule.
func (p *pools) kinds() []*poolKind {
	switch {
	case p.kind != Managed:
		return []*poolKind{&selfManaged}
	case p.world.chance.happens(0.2):
		return []*poolKind{&managed, &selfManaged}
	}
	return []*poolKind{&managed}
}

// observe has a pool of a kind observed, which is created later.
func (p *pools) observe(kind *poolKind) {
	w := p.world
	o := &observer{verdict: w.verdict, kind: kind, server: w.server, user: w.user, facts: newFacts(w.clock), poolNames: managedNames}
	if kind == &selfManaged {
		o.poolNames = selfManagedNames
		o.workload = newWorkloadCluster(w.clock, 3, pick(w.chance, 1, 1, 1, 0), pick(w.chance, 0, 10*time.Minute, 10*time.Minute, 40*time.Minute))
		o.joinAfter = pick(w.chance, 5*time.Second, 30*time.Second)
	}
	o.person, o.steers = w.person, w.chance.happens(steered)
	o.disputed = o.steers && kind == &selfManaged && w.chance.happens(disputed)
	o.aws = holdings{w.sim.Region(account, region), o.owner()}
	p.observers = append(p.observers, o)
	w.sim.OnChange(o.instanceChanged)
}

// prepare implements scene. It creates the pools, what they belong to, and perhaps foreign resources
// that have the names which the pools' would get.
func (p *pools) prepare(ctx context.Context) error {
	w := p.world
	if p.kind == Managed {
		if err := p.startEKS(); err != nil {
			return err
		}
	}
	for _, o := range p.observers {
		if w.chance.happens(0.5) {
			if err := o.createForeign(ctx, w); err != nil {
				return err
			}
		}
		if err := o.kind.create(ctx, w, o); err != nil {
			return err
		}
		if o.steers && w.chance.happens(0.5) {
			if _, err := switchApproval(ctx, w, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// createForeign creates resources of another owner, and notes how they are.
func (o *observer) createForeign(ctx context.Context, w *World) (err error) {
	if err := o.kind.createForeign(ctx, w, o); err != nil {
		return err
	}
	w.clock.Step(instanceStart)
	o.facts.foreign, err = o.kind.describeForeign(ctx, w, o)
	return err
}

// act implements scene. It has the schedule choose a pool, and a deed.
func (p *pools) act(ctx context.Context) (string, error) {
	o := p.observers[0]
	if len(p.observers) > 1 {
		o = pick(p.world.chance, p.observers...)
	}
	deeds := o.kind.deeds
	switch {
	case o.steers && p.world.chance.happens(attention):
		return attend(ctx, p.world, o)
	case o.steers:
		deeds = o.kind.steeredDeeds
	}
	return pick(p.world.chance, deeds...)(ctx, p.world, o)
}

// calm implements scene.
func (p *pools) calm(ctx context.Context) error {
	if err := p.calmEKS(ctx); err != nil || p.world.verdict.violation != nil {
		return err
	}
	return p.brokenNodes(ctx)
}

// changed implements scene.
func (p *pools) changed(change apiserver.Change) {
	for _, o := range p.observers {
		o.objectChanged(change)
	}
}

// passes implements scene.
func (p *pools) passes(began bool) {
	for _, o := range p.observers {
		if began {
			rollouts{o}.passBegins(p.world.process.ctx, p.world.process)
		}
	}
}

// passed implements scene.
func (p *pools) passed(ctx context.Context, controller, object string) {
	for _, o := range p.observers {
		if controller == o.kind.controller && object == o.name {
			rollouts{o}.passEnded(ctx)
		}
	}
}

// answered implements scene.
func (p *pools) answered(action string) {
	if action == "StartInstanceRefresh" {
		p.started++
	}
	for _, o := range p.observers {
		if p.world.verdict.violation == nil {
			o.kind.afterCall(o, action)
		}
	}
}

// length implements scene.
func (*pools) length() int { return 160 }

// released implements scene.
func (p *pools) released(id string) {
	for _, o := range p.observers {
		o.released(id)
	}
}

// unsettled implements scene.
func (p *pools) unsettled(ctx context.Context) error {
	for _, o := range p.observers {
		if err := o.unsettled(ctx, p.world); err != nil {
			return fmt.Errorf("%s %s: %w", o.kind.name, o.name, err)
		}
	}
	return nil
}

// foreignUnchanged implements scene.
func (p *pools) foreignUnchanged(ctx context.Context) {
	for _, o := range p.observers {
		if o.facts.foreign == "" {
			continue
		}
		now, err := o.kind.describeForeign(ctx, p.world, o)
		if err != nil {
			o.violate(ForeignUnchanged, "a resource that Slipway does not own is gone: %w", err)
		} else if now != o.facts.foreign {
			o.violate(ForeignUnchanged, "a resource that Slipway does not own was changed\nfrom %s\nto %s", o.facts.foreign, now)
		}
	}
}

// shown implements scene.
func (*pools) shown() []client.ObjectList {
	return []client.ObjectList{&infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}}
}

// poolProcess is a process with the controllers of pools.
type poolProcess struct {
	*process
	pools    *pools
	registry *clouds.Registry
	secrets  *secretWatch
	// cloud is the cloud that was swept last, and swept is when.
	cloud *clouds.Cloud
	swept time.Time
	// sweep and poll are when AWS is swept next, and when Secrets are polled.
	sweep, poll time.Time
}

var _ chores = (*poolProcess)(nil)

// start implements scene.
func (p *pools) start(running *process, gate *gate, config processConfig) (chores, error) {
	w, live := p.world, running.manager.live
	one := &poolProcess{process: running, pools: p}
	principals := &identity.Resolver{Reader: running.manager.client, Secrets: live, SecretNamespace: identity.DefaultSecretNamespace}
	one.registry = clouds.NewRegistry(config.sessions(), principals, w.clock, observe.DefaultIntervals)
	one.secrets = &secretWatch{reader: live, wanted: map[types.NamespacedName]types.NamespacedName{}, known: map[types.NamespacedName]string{}}
	one.sweep, one.poll = w.clock.Now().Add(observe.DefaultIntervals.Motion), w.clock.Now().Add(secretwatch.DefaultInterval)
	if w.flaw.NoSweeps {
		one.sweep = w.clock.Now().Add(never)
	}
	if w.flaw.NoSecrets {
		one.poll = w.clock.Now().Add(never)
	}

	configs := launchconfig.New(launchconfig.Options{
		Client: running.manager.client, Live: live, Watches: one.secrets, Clouds: one.registry, Report: report.Reporter{Recorder: recorder{w}}, Clock: w.clock,
	})
	settings := watches.Settings{Clock: w.clock, Concurrency: 1}
	err := configs.Register(running.manager, settings, one.secrets, networks())
	for _, o := range p.observers {
		err = errors.Join(err, o.kind.register(one, o, gate, settings))
	}
	return one, err
}

// next implements chores.
func (p *poolProcess) next() time.Time {
	if soonest := p.nextSweep(); soonest.Before(p.poll) {
		return soonest
	}
	return p.poll
}

// nextSweep returns when AWS is swept next with something to describe. A sweep with nothing to
// describe changes nothing.
func (p *poolProcess) nextSweep() time.Time {
	if p.cloud == nil {
		return p.sweep
	}
	if p.sawAll() {
		return p.swept.Add(sweepAnyway)
	}
	due := p.cloud.SeenTemplates.Due()
	for _, o := range p.pools.observers {
		if groups := o.kind.groups(p.cloud).Due(); groups.Before(due) {
			due = groups
		}
	}
	if due.Before(p.sweep) {
		return p.sweep
	}
	return due
}

// sawAll reports whether the last sweep saw AWS as it still is.
func (p *poolProcess) sawAll() bool { return p.saw(p.swept) }

// do implements chores. It sweeps AWS and polls Secrets if it is time to.
func (p *poolProcess) do() {
	now := p.world.clock.Now()
	if !now.Before(p.sweep) && !p.sawAll() {
		p.sweep, p.swept = now.Add(observe.DefaultIntervals.Motion), now
		if cloud, err := p.registry.For(p.ctx, aws.Identity{}, namespace, region); err == nil {
			p.cloud = cloud
			cloud.SeenTemplates.Tick(p.ctx)
			for _, o := range p.pools.observers {
				o.kind.groups(cloud).Tick(p.ctx)
			}
		}
	}
	if !p.dead && !now.Before(p.poll) {
		p.poll = now.Add(secretwatch.DefaultInterval)
		p.secrets.look(p.ctx)
	}
}

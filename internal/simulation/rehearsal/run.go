package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/reconcile"
)

const (
	// pending and shuttingDown are how long an instance is in these states. AWS specifies neither.
	pending, shuttingDown = 10 * time.Second, 30 * time.Second
	// sickAfter is the time from the start of an instance that fails until EC2's status checks, which
	// run every minute, have failed.
	sickAfter = 2 * time.Minute
	// leastPoll and mostStep bound how much time passes between two runs of the controllers, if
	// nothing happens in AWS.
	leastPoll, mostStep = 10 * time.Second, 30 * time.Second
	// copyLimit bounds how long a copy may take to be as its original.
	copyLimit = 4 * time.Hour
	// rest is how long nothing must happen before a simulation ends. A pool that does not roll out is
	// given stalled, and one whose nodes fail after the roll-out is given failing.
	rest, stalled, failing = 2 * time.Minute, 15 * time.Minute, 15 * time.Minute
)

// run is the simulation of one pool.
type run struct {
	options Options
	copy    *plan.Copy
	sim     *awssim.Simulator
	clock   *simclock.Clock
	nodes   *nodes
	aws     awssim.Region
	// ec2 reports to Auto Scaling that instances have failed, as EC2 does.
	ec2 *autoscaling.Client

	// edited is the time of the edit, zero before it, and changed when something happened last.
	edited, changed time.Time
	report          Pool
	// versions are the launch template versions of instances, by the instance. newest is the newest
	// version before the edit.
	versions map[string]int64
	newest   int64
	// renewed is the number of nodes that run a newer version.
	renewed int
	// sick are the instances that have failed, and still run.
	sick []string
	// shown are the conditions that were reported, by their type.
	shown map[string]metav1.Condition
}

// simulate simulates an edit of one pool.
func simulate(ctx context.Context, one *plan.Copy, facts *facts, now time.Time, options Options) (Pool, error) {
	start, err := facts.world()
	if err != nil {
		return Pool{}, err
	}
	clk := simclock.New(now.Truncate(time.Second), 0) // AWS reports times in whole seconds
	defer clk.Close()
	r := &run{options: options, copy: one, clock: clk, versions: map[string]int64{}, shown: map[string]metav1.Condition{}}
	r.report = Pool{Kind: one.Kind, Namespace: one.Name.Namespace, Name: one.Name.Name, Events: []Event{}}
	r.sim = awssim.New(awssim.Options{World: start, Clock: clk, Behavior: awssim.Behavior{
		InstanceTimes: awssim.InstanceTimes{Pending: pending, Boot: max(0, options.NodeStart-pending), ShuttingDown: shuttingDown},
		NodesReport:   true,
	}})
	r.aws = r.sim.Region(awssim.DefaultAccount, facts.region)
	r.nodes = &nodes{clock: clk, drainTime: options.DrainTime, byID: map[string]*node{}, cordoned: func(id string) {
		r.happens("Node", beingDrained, "", id)
	}}
	config := awssdk.Config{
		Region: facts.region, HTTPClient: httpClient(r.sim), Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("AKIASIMULATED", "secret", ""),
	}
	r.ec2 = autoscaling.NewFromConfig(config)
	defer r.sim.OnChange(r.changedInAWS)()
	one.Start(plan.Surroundings{AWS: config, Clock: clk, Workloads: r.nodes})
	ctx = reconcile.WithJournal(log.IntoContext(ctx, logr.Discard()), r.journal)
	if !one.Created {
		if err := r.settle(ctx); err != nil {
			return Pool{}, err
		}
	}
	if err := r.edit(ctx); err != nil {
		return Pool{}, err
	}
	return r.report, nil
}

// settle runs the copy without the edit until it is as its original should be.
func (r *run) settle(ctx context.Context) error {
	deadline := r.clock.Now().Add(copyLimit)
	for {
		pool, err := r.step(ctx)
		switch {
		case pool == nil:
			return err
		case rolledOut(*pool) && pool.Instances == pool.Replicas && r.nodes.up() == pool.Instances && r.clock.Since(r.changed) > rest:
			return nil
		case r.clock.Now().After(deadline):
			return errors.Join(fmt.Errorf("the copy of the pool does not reach its spec in the simulated AWS: %s", problem(*pool)), err)
		}
	}
}

// edit makes the edit, and runs until it is clear what comes of it.
func (r *run) edit(ctx context.Context) error {
	r.edited, r.changed = r.clock.Now(), r.clock.Now()
	for _, version := range r.versions {
		r.newest = max(r.newest, version)
	}
	r.report.Instances = len(r.nodes.byID)
	r.report.FewestUp = r.nodes.up()
	if !r.copy.Created {
		pool, err := r.copy.State(ctx)
		if err != nil {
			return fmt.Errorf("reading the copy: %w", err)
		}
		for _, condition := range pool.Conditions {
			r.shown[condition.Type] = condition
		}
	}
	if err := r.copy.Edit(ctx); err != nil {
		return err
	}
	for {
		pool, err := r.step(ctx)
		if pool == nil {
			return err
		}
		if r.report.Outcome = r.outcome(*pool); r.report.Outcome != "" {
			r.report.Took = plan.Duration(r.changed.Sub(r.edited))
			r.conclude(*pool)
			return nil
		}
	}
}

// step runs the controllers, and lets time pass until something happens by itself. It returns the
// pool, nil if it cannot be read, and the failure of the controllers.
func (r *run) step(ctx context.Context) (*plan.State, error) {
	if err := r.reportSick(ctx); err != nil {
		return nil, err
	}
	again, failure := r.copy.Reconcile(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	pool, err := r.copy.State(ctx)
	if err != nil {
		return nil, errors.Join(failure, err)
	}
	r.showConditions(pool)
	wait := mostStep
	if again > 0 {
		wait = min(wait, max(again, leastPoll))
	}
	if next, any := r.clock.Next(); any {
		wait = min(wait, next.Sub(r.clock.Now()))
	}
	r.clock.Step(max(wait, time.Second))
	return &pool, failure
}

// reportSick has Auto Scaling know about instances that have failed. It ignores the report during the
// grace period of an instance, so that reports are repeated.
func (r *run) reportSick(ctx context.Context) error {
	for _, id := range r.sick {
		_, err := r.ec2.SetInstanceHealth(ctx, &autoscaling.SetInstanceHealthInput{
			InstanceId: &id, HealthStatus: awssdk.String("Unhealthy"), ShouldRespectGracePeriod: awssdk.Bool(true),
		})
		if err != nil {
			return fmt.Errorf("failing instance %s: %w", id, err)
		}
	}
	r.sim.ClearCalls()
	return nil
}

// changedInAWS follows what AWS does.
func (r *run) changedInAWS(event awssim.Event) {
	switch event.Kind {
	case "instance":
		r.instanceChanged(event.ID, event.State)
	case "node":
		r.nodeChanged(event.ID, event.State)
	}
}

// instanceChanged follows the instances of the copy.
func (r *run) instanceChanged(id, state string) {
	switch state {
	case "pending":
		instance, _ := r.aws.Instance(id)
		for _, tag := range instance.Tags {
			if awssdk.ToString(tag.Key) == "aws:ec2launchtemplate:version" {
				r.versions[id], _ = strconv.ParseInt(awssdk.ToString(tag.Value), 10, 64) // AWS writes a number
			}
		}
		r.happens("AWS", "is launched from "+r.versionOf(id), "", id)
	case awssim.EventBooted:
		r.booted(id)
	case "shutting-down":
		r.nodes.leave(id)
		r.sick = slices.DeleteFunc(r.sick, func(sick string) bool { return sick == id })
		if !r.edited.IsZero() && r.versions[id] <= r.newest {
			r.report.Replaced++
		}
		r.happens("AWS", "of "+r.versionOf(id)+" is terminated", "", id)
	}
}

// booted has the node of an instance join, unless the instance fails.
func (r *run) booted(id string) {
	renews := !r.edited.IsZero() && r.versions[id] > r.newest
	renewed := r.renewed
	if r.managed() {
		renewed = r.report.Replaced
	}
	if renews && r.options.FailAt != nil && renewed*100 >= *r.options.FailAt*r.report.Instances {
		r.report.Failed++
		r.happens("Node", doesNotStart, "", id)
		if !r.managed() {
			r.clock.AfterFunc(sickAfter, func() { r.sick = append(r.sick, id) })
		}
		return
	}
	if renews {
		r.renewed++
	}
	instance, _ := r.aws.Instance(id)
	zone := ""
	if instance.Placement != nil {
		zone = awssdk.ToString(instance.Placement.AvailabilityZone)
	}
	r.nodes.join(id, zone)
	r.happens("Node", "is ready", "", id)
	r.reportNode(id, awssim.NodeState{Ready: awssdk.Bool(true)})
}

// beingDrained is the event of a node that is cordoned, and doesNotStart of an instance that fails.
const beingDrained, doesNotStart = "is being drained", "does not start"

// ofDrains are the calls by which a drain goes on. The events of nodes show it.
var ofDrains = []string{"RecordLifecycleActionHeartbeat", "CompleteLifecycleAction"}

// journal notes what Slipway changed in AWS.
func (r *run) journal(_ reconcile.Object, done reconcile.Done) {
	calls := r.sim.Calls()
	r.sim.ClearCalls()
	if !slices.ContainsFunc(calls, func(call awssim.Call) bool {
		return action.Changes(call.Action) && !slices.Contains(ofDrains, call.Action)
	}) {
		return
	}
	what, detail := done.Action.String(), done.Reason
	if done.Err != nil {
		what, detail = "failed to "+what, done.Err.Error()
	}
	r.happens("Slipway", what, detail)
}

// happens notes an event. Events of the same time and kind are one.
func (r *run) happens(source, what, detail string, instances ...string) {
	r.changed = r.clock.Now()
	if r.edited.IsZero() {
		return
	}
	event := Event{After: plan.Duration(r.clock.Since(r.edited)), NodesUp: r.nodes.up(), Source: source, What: what, Detail: detail, Instances: instances}
	if source == "Node" && what == beingDrained {
		event.NodesUp-- // the node is about to be cordoned
	}
	if event.NodesUp < r.report.FewestUp {
		r.report.FewestUp, r.report.FewestAfter = event.NodesUp, event.After
	}
	if last := len(r.report.Events) - 1; last >= 0 && len(instances) > 0 {
		before := &r.report.Events[last]
		if before.After == event.After && before.Source == source && before.What == what {
			before.Instances, before.NodesUp = append(before.Instances, instances...), event.NodesUp
			return
		}
	}
	r.report.Events = append(r.report.Events, event)
}

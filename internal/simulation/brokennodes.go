package simulation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	// breaks is the share of schedules that end with a configuration whose nodes do not become Ready.
	breaks = 0.15
	// brokenType is the instance type whose nodes do not become Ready for brokenFor. The user gives
	// them a warm-up of brokenWarmup, in seconds.
	brokenType   = "m6i.large"
	brokenWarmup = 300
	brokenFor    = 40 * time.Minute
	// mostStarts bounds the instance refreshes that are started in that time: for the edit, and for one
	// that was made before.
	mostStarts = 2
	// beforeBroken gives the pool time to act on earlier edits.
	beforeBroken = 20 * time.Minute
)

// brokenNodes has the user ask for nodes that do not become Ready, some time after the faults have
// stopped, and checks that the pool keeps the nodes that work. Then the nodes become Ready after all.
func (p *pools) brokenNodes(ctx context.Context) error {
	o, w := p.observers[0], p.world
	if o.workload == nil || !w.chance.happens(breaks) {
		return nil
	}
	if err := w.pass(ctx, beforeBroken); err != nil || w.verdict.violation != nil || o.facts.deleting {
		return err
	}
	o.workload.breaks = func(id string) bool { return o.facts.instances[id].instanceType == brokenType }
	before, started := o.workload.working(o.facts.running()), p.started
	w.trace.event("the user asks for instances whose nodes do not become Ready; %d work", before)
	err := o.edit(ctx, func(pool client.Object) {
		o.kind.template(pool).InstanceType = brokenType
		pool.(*infrav1.AWSMachinePool).Spec.RefreshPreferences.InstanceWarmup = ptr.To[int64](brokenWarmup)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for nodes that do not become Ready: %w", err)
	}
	if err := w.pass(ctx, brokenFor); err != nil || w.verdict.violation != nil {
		return err
	}
	asked := &clusterv1.MachinePool{}
	if err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, asked); err != nil {
		return fmt.Errorf("reading the size of the pool: %w", err)
	}
	// A single node is replaced before it is known whether the next one works.
	after := o.workload.working(o.facts.running())
	if least := min(before, int(*asked.Spec.Replicas)) - 1; after < least {
		o.violate(WorkingNodesStay, "%d nodes worked, and %s later %d do", before, brokenFor, after)
	}
	if more := p.started - started; more > mostStarts {
		o.violate(WorkingNodesStay, "%d instance refreshes were started in %s", more, brokenFor)
	}
	w.trace.event("the nodes become Ready")
	o.workload.breaks = nil
	o.workload.mend()
	return nil
}

// working returns how many instances have a Ready node.
func (c *workloadCluster) working(instances []string) (count int) {
	for _, id := range instances {
		if node := c.nodes[id]; node != nil && isReady(node) {
			count++
		}
	}
	return count
}

// isReady reports whether a node is Ready.
func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

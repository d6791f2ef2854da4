package machinepool

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/drain"
)

// readinessEvery is the interval at which nodes of a roll-out are checked while they work.
const readinessEvery = time.Minute

// readReadiness lists the Nodes of the workload cluster that are Ready. A cluster whose nodes with the
// wanted configuration were found to work is not asked again for a while: that they work ends no
// roll-out.
func (o observer) readReadiness(ctx context.Context) {
	target, memory := wanted(o.input()).Key(), o.Memory
	if memory.working == target && o.Clock.Now().Before(memory.workingUntil) {
		o.Seen.Readiness = Readiness{Read: true}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var found claims
	api, err := o.Workloads.Client(ctx, types.NamespacedName{Namespace: o.Object.Namespace, Name: o.Seen.ClusterName})
	if err == nil {
		found, err = claimsOn(ctx, api, o.Seen.Group.Instances)
	}
	o.Seen.Readiness = Readiness{Read: err == nil, Err: err}
	if err == nil {
		o.Seen.Readiness.Ready = found.ready(privateDNSNames(ctx, o.Memory.cloud, found.disputed()))
	}
	if err == nil && !unready(o.input()) {
		memory.working, memory.workingUntil = target, o.Clock.Now().Add(readinessEvery)
	}
}

// claims say by the instance, and by the name of each Node that names it, whether that Node is Ready.
type claims struct {
	instances []autoscalinggroup.Instance
	nodes     map[string]map[string]bool
}

// claimsOn returns the claims on instances.
func claimsOn(ctx context.Context, api drain.API, instances []autoscalinggroup.Instance) (claims, error) {
	found := claims{instances: instances, nodes: make(map[string]map[string]bool, len(instances))}
	for _, instance := range instances {
		found.nodes[instance.ProviderID()] = map[string]bool{}
	}
	err := api.EachNode(ctx, func(node *corev1.Node) bool {
		if nodes, of := found.nodes[node.Spec.ProviderID]; of {
			nodes[node.Name] = slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
				return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
			})
		}
		return true
	})
	return found, err
}

// disputed returns the IDs of the instances that a Ready Node and another one name.
func (c claims) disputed() []string {
	var ids []string
	for _, instance := range c.instances {
		states := slices.Collect(maps.Values(c.nodes[instance.ProviderID()]))
		if slices.Contains(states, true) && slices.Contains(states, false) {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}

// ready returns which instances have a Ready Node, by provider ID. Of several, the Node with the name that EC2
// gave its instance counts, and any if none has it.
func (c claims) ready(own map[string]string) map[string]bool {
	ready := map[string]bool{}
	for _, instance := range c.instances {
		nodes := c.nodes[instance.ProviderID()]
		is, named := nodes[own[instance.ID]]
		if !named {
			is = slices.Contains(slices.Collect(maps.Values(nodes)), true)
		}
		if is {
			ready[instance.ProviderID()] = true
		}
	}
	return ready
}

package metrics

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
)

var (
	nodesDesc = prometheus.NewDesc("slipway_nodes",
		"Number of just-in-time nodes by Provisioner, phase, and capacity type.", []string{"provisioner", "phase", "capacity_type"}, nil)
	costDesc = prometheus.NewDesc("slipway_nodes_cost_dollars_per_hour",
		"Estimated price of the instances of just-in-time nodes in US dollars per hour, by Provisioner and "+
			"capacity type.", []string{"provisioner", "capacity_type"}, nil)
	limitDesc = prometheus.NewDesc("slipway_provisioner_limit",
		"Limits of a Provisioner in spec.limits, by resource: cpu in cores, memory in bytes, nodes.", []string{"provisioner", "resource"}, nil)
	usageDesc = prometheus.NewDesc("slipway_provisioner_usage",
		"Total resources of the nodes of a Provisioner, by resource: cpu in cores, memory in bytes, nodes.", []string{"provisioner", "resource"}, nil)
	allowedDesc = prometheus.NewDesc("slipway_provisioner_allowed_disruptions",
		"Number of nodes of a Provisioner that its disruption budgets allow to be disrupted at a time, by "+
			"reason. Absent if no budget applies.", []string{"provisioner", "reason"}, nil)
	oldestDesc = prometheus.NewDesc("slipway_nodes_oldest_seconds",
		"Age of the oldest node of a Provisioner, from its launch.", []string{"provisioner"}, nil)
	oldestEndingDesc = prometheus.NewDesc("slipway_nodes_ending_oldest_seconds",
		"Time since the deletion of the node of a Provisioner that has been terminating for the longest time.", []string{"provisioner"}, nil)
	awaitingDesc = prometheus.NewDesc("slipway_nodes_awaiting_disruption",
		"Number of nodes of a Provisioner that are candidates for disruption but are kept, by cause: the reason "+
			"of the disruption if a budget prevents it, or what protects the node.",
		[]string{"provisioner", "reason"}, nil)
	oldestPodDesc = prometheus.NewDesc("slipway_pods_oldest_wait_seconds",
		"Time since the longest-waiting pod was first observed pending, for pods that are not bound, and for "+
			"pods that do not run.", []string{"until"}, nil)
)

// Held contains what a scrape reads to describe just-in-time nodes.
type Held struct {
	// Reader is the manager's cache.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Short returns the offerings that AWS had none of.
	Short func() []Offering
	// Pods returns the pods of the cluster.
	Pods func(context.Context) ([]*corev1.Pod, error)
	// Waiting returns since when the longest waiting pod has been seen pending, both of the pods
	// that are not bound and of the pods that do not run; zero if there is none.
	Waiting func() (unbound, unstarted time.Time)
}

// held describes what there is at the time of a scrape, so that a series goes with its object.
type held struct {
	mu    sync.Mutex
	from  *Held
	price func(instanceType, zone, capacityType string) float64
	// drifted are how many nodes wait for their replacement because they have drifted, by Provisioner.
	drifted map[string]int
}

func (h *held) drift(provisioner string, nodes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drifted == nil {
		h.drifted = map[string]int{}
	}
	delete(h.drifted, provisioner)
	if nodes > 0 {
		h.drifted[provisioner] = nodes
	}
}

// Describe implements prometheus.Collector.
func (*held) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		nodesDesc, costDesc, limitDesc, usageDesc, allowedDesc, oldestDesc, oldestEndingDesc, awaitingDesc, oldestPodDesc, allocatableDesc, requestedDesc,
		shortDesc, offeringPriceDesc, offeringAvailableDesc, typeCoresDesc, typeMemoryDesc,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector. Values that cannot be read are left out.
func (h *held) Collect(ch chan<- prometheus.Metric) {
	h.mu.Lock()
	from, price, drifted := h.from, h.price, maps.Clone(h.drifted)
	h.mu.Unlock()
	if from == nil {
		return
	}
	ctx, cancel := scrape()
	defer cancel()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := from.Clock.Now()
	nodes, provisioners, members := &provisioningv1.ProvisionedNodeList{}, &provisioningv1.ProvisionerList{}, &corev1.NodeList{}
	if from.Reader.List(ctx, nodes, client.UnsafeDisableDeepCopy) == nil && from.Reader.List(ctx, provisioners, client.UnsafeDisableDeepCopy) == nil {
		describeNodes(nodes.Items, price, gauge)
		describeAges(nodes.Items, now, gauge)
		describeAwaiting(nodes.Items, drifted, gauge)
		describeOfferings(nodes.Items, from.Short(), price, gauge)
		for i := range provisioners.Items {
			describeProvisioner(&provisioners.Items[i], nodes.Items, from.Clock, gauge)
		}
		if pods, err := from.Pods(ctx); err == nil && from.Reader.List(ctx, members, client.UnsafeDisableDeepCopy) == nil {
			measure(nodes.Items, members.Items, pods).describe(gauge)
		}
	}
	unbound, unstarted := from.Waiting()
	for until, since := range map[string]time.Time{StageBound: unbound, StageRunning: unstarted} {
		if !since.IsZero() {
			gauge(oldestPodDesc, now.Sub(since).Seconds(), until)
		}
	}
}

// describeAges describes the oldest nodes of each Provisioner.
func describeAges(nodes []provisioningv1.ProvisionedNode, now time.Time, gauge func(*prometheus.Desc, float64, ...string)) {
	for desc, timeOf := range map[*prometheus.Desc]func(*provisioningv1.ProvisionedNode) *metav1.Time{
		oldestDesc:       func(node *provisioningv1.ProvisionedNode) *metav1.Time { return node.Status.LaunchTime },
		oldestEndingDesc: func(node *provisioningv1.ProvisionedNode) *metav1.Time { return node.DeletionTimestamp },
	} {
		oldest := map[string]float64{}
		for i := range nodes {
			if at := timeOf(&nodes[i]); at != nil {
				oldest[nodes[i].Spec.Provisioner] = max(oldest[nodes[i].Spec.Provisioner], now.Sub(at.Time).Seconds())
			}
		}
		for provisioner, age := range oldest {
			gauge(desc, age, provisioner)
		}
	}
}

// describeAwaiting describes the nodes that would be disrupted and are kept for now. A node that
// drifted is marked only when its turn comes.
func describeAwaiting(nodes []provisioningv1.ProvisionedNode, drifted map[string]int, gauge func(*prometheus.Desc, float64, ...string)) {
	counts := map[[2]string]int{}
	for i := range nodes {
		condition := meta.FindStatusCondition(nodes[i].Status.Conditions, provisioningv1.ReplacingCondition)
		if condition != nil && condition.Status == metav1.ConditionFalse && nodes[i].DeletionTimestamp == nil {
			counts[[2]string{nodes[i].Spec.Provisioner, condition.Reason}]++
		}
	}
	for provisioner, count := range drifted {
		counts[[2]string{provisioner, provisioningv1.DriftedReason}] += count
	}
	for labels, count := range counts {
		gauge(awaitingDesc, float64(count), labels[:]...)
	}
}

func describeNodes(nodes []provisioningv1.ProvisionedNode, price func(instanceType, zone, capacityType string) float64, gauge func(*prometheus.Desc, float64, ...string)) {
	counts, costs := map[[3]string]float64{}, map[[2]string]float64{}
	for i := range nodes {
		node := &nodes[i]
		counts[[3]string{node.Spec.Provisioner, Phase(node), node.Spec.CapacityType}]++
		if price != nil && node.Status.InstanceType != "" {
			costs[[2]string{node.Spec.Provisioner, node.Spec.CapacityType}] += price(node.Status.InstanceType, node.Status.Zone, node.Spec.CapacityType)
		}
	}
	for labels, count := range counts {
		gauge(nodesDesc, count, labels[:]...)
	}
	for labels, cost := range costs {
		gauge(costDesc, cost, labels[:]...)
	}
}

// Phase returns how far a node is: launching, registering, starting, initializing, ready,
// not_ready, replacing, or ending.
func Phase(node *provisioningv1.ProvisionedNode) string {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(node.Status.Conditions, condition) }
	switch {
	case node.DeletionTimestamp != nil:
		return "ending"
	case is(provisioningv1.ReplacingCondition):
		return "replacing"
	case is(provisioningv1.ReadyCondition):
		return "ready"
	case node.Status.ReadyTime != nil:
		return "not_ready"
	case !is(provisioningv1.LaunchedCondition):
		return "launching"
	case !is(provisioningv1.RegisteredCondition):
		return "registering"
	case is(provisioningv1.NodeReadyCondition):
		return "initializing"
	}
	return "starting"
}

func describeProvisioner(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, clk clock.PassiveClock, gauge func(*prometheus.Desc, float64, ...string)) {
	name, status := provisioner.Name, &provisioner.Status
	gauge(usageDesc, float64(status.Nodes), name, "nodes")
	if status.Resources != nil {
		gauge(usageDesc, status.Resources.CPU.AsApproximateFloat64(), name, "cpu")
		gauge(usageDesc, status.Resources.Memory.AsApproximateFloat64(), name, "memory")
	}
	if limits := provisioner.Spec.Limits; limits != nil {
		if limits.CPU != nil {
			gauge(limitDesc, limits.CPU.AsApproximateFloat64(), name, "cpu")
		}
		if limits.Memory != nil {
			gauge(limitDesc, limits.Memory.AsApproximateFloat64(), name, "memory")
		}
		if limits.Nodes != nil {
			gauge(limitDesc, float64(*limits.Nodes), name, "nodes")
		}
	}
	ready := 0
	for i := range nodes {
		if nodes[i].Spec.Provisioner == name && nodes[i].Status.ReadyTime != nil {
			ready++
		}
	}
	for _, reason := range disruption.Reasons {
		if allowed := disruption.Allowed(&provisioner.Spec, reason, ready, clk.Now()).Nodes; allowed != disruption.Unlimited {
			gauge(allowedDesc, float64(allowed), name, string(reason))
		}
	}
}

// ReadNodes lets just-in-time nodes be described. Before it none are.
func (p *Progress) ReadNodes(from Held) {
	if p == nil {
		return
	}
	p.nodes.held.mu.Lock()
	defer p.nodes.held.mu.Unlock()
	p.nodes.held.from = &from
	p.conditions.readNodes(from.Reader)
}

// Priced sets what offerings cost in US dollars an hour; 0 for what is not known.
func (p *Progress) Priced(price func(instanceType, zone, capacityType string) float64) {
	if p == nil {
		return
	}
	p.nodes.held.mu.Lock()
	defer p.nodes.held.mu.Unlock()
	p.nodes.held.price = price
}

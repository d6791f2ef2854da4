package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
)

var (
	nodesDesc = prometheus.NewDesc("slipway_nodes",
		"Just-in-time nodes by Provisioner, phase, and capacity type.", []string{"provisioner", "phase", "capacity_type"}, nil)
	costDesc = prometheus.NewDesc("slipway_nodes_cost_dollars_per_hour",
		"Estimated price of the instances of just-in-time nodes in US dollars an hour, by Provisioner and capacity type.", []string{"provisioner", "capacity_type"}, nil)
	limitDesc = prometheus.NewDesc("slipway_provisioner_limit",
		"What spec.limits of a Provisioner allows, by resource: cpu in cores, memory in bytes, nodes.", []string{"provisioner", "resource"}, nil)
	usageDesc = prometheus.NewDesc("slipway_provisioner_usage",
		"What all nodes of a Provisioner have together, by resource: cpu in cores, memory in bytes, nodes.", []string{"provisioner", "resource"}, nil)
	allowedDesc = prometheus.NewDesc("slipway_provisioner_allowed_disruptions",
		"How many nodes of a Provisioner its disruption budgets allow to be leaving at a time, by reason. Missing where no budget applies.", []string{"provisioner", "reason"}, nil)
	shortDesc = prometheus.NewDesc("slipway_offerings_short",
		"Instance types that AWS had none of when asked last and that are left alone for minutes, by zone and capacity type.", []string{"zone", "capacity_type"}, nil)
)

// Held is what a scrape reads to describe just-in-time nodes.
type Held struct {
	// Reader is the manager's cache.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Short counts the offerings that AWS had none of, by zone and capacity type.
	Short func() map[[2]string]int
}

// held describes what there is at the time of a scrape, so that a series goes with its object.
type held struct {
	mu    sync.Mutex
	from  *Held
	price func(instanceType, zone, capacityType string) float64
}

// Describe implements prometheus.Collector.
func (*held) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{nodesDesc, costDesc, limitDesc, usageDesc, allowedDesc, shortDesc} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector. What cannot be read is left out.
func (h *held) Collect(ch chan<- prometheus.Metric) {
	h.mu.Lock()
	from, price := h.from, h.price
	h.mu.Unlock()
	if from == nil {
		return
	}
	ctx, cancel := scrape()
	defer cancel()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	nodes, provisioners := &provisioningv1.ProvisionedNodeList{}, &provisioningv1.ProvisionerList{}
	if from.Reader.List(ctx, nodes, client.UnsafeDisableDeepCopy) == nil && from.Reader.List(ctx, provisioners, client.UnsafeDisableDeepCopy) == nil {
		describeNodes(nodes.Items, price, gauge)
		for i := range provisioners.Items {
			describeProvisioner(&provisioners.Items[i], nodes.Items, from.Clock, gauge)
		}
	}
	for labels, count := range from.Short() {
		gauge(shortDesc, float64(count), labels[:]...)
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

// Phase returns how far a node is: launching, registering, starting, initializing, ready, not_ready, replacing, or ending.
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

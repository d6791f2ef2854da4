package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Decisions about just-in-time nodes.
const (
	// DecisionLaunch is a ProvisionedNode that was created.
	DecisionLaunch = "launch"
	// DecisionReplace is a node whose replacement began.
	DecisionReplace = "replace"
	// DecisionTerminate is a ProvisionedNode that was deleted by Slipway.
	DecisionTerminate = "terminate"
)

// The stages of the start of a node.
const (
	StageLaunched   = "launched"
	StageRegistered = "registered"
	StageReady      = "ready"
)

// nodes are the metrics of just-in-time nodes that are counted when something happens. Series with the name of a Provisioner go with the Provisioner.
type nodes struct {
	decisions     *prometheus.CounterVec
	disruptions   *prometheus.CounterVec
	interruptions *prometheus.CounterVec
	startup       *prometheus.HistogramVec
	pending       *prometheus.GaugeVec
	held          held

	mu sync.Mutex
	// counted are nodes whose disruption was counted.
	counted map[string]bool
}

func newNodes() *nodes {
	return &nodes{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_node_decisions_total",
			Help: "Decisions about just-in-time nodes by Provisioner: launch, replace, terminate.",
		}, []string{"provisioner", "decision"}),
		disruptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_node_disruptions_total",
			Help: "Just-in-time nodes that Slipway ended, or whose replacement began, by Provisioner and reason.",
		}, []string{"provisioner", "reason"}),
		interruptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_instance_interruptions_total",
			Help: "Messages of EC2 about instances of just-in-time nodes, by kind: spot_interruption, rebalance_recommendation, ended.",
		}, []string{"kind"}),
		startup: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_node_startup_seconds",
			Help:    "Time from when the first pod of a node was seen pending to when the node was launched, registered, and ready.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900},
		}, []string{"provisioner", "stage"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_pods_pending",
			Help: "Pods that wait for a node, by why.",
		}, []string{"reason"}),
		counted: map[string]bool{},
	}
}

func (n *nodes) collectors() []prometheus.Collector {
	return []prometheus.Collector{n.decisions, n.disruptions, n.interruptions, n.startup, n.pending, &n.held}
}

// forget drops the series of a Provisioner that is gone.
func (n *nodes) forget(provisioner string) {
	for _, vector := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{n.decisions, n.disruptions, n.startup} {
		vector.DeletePartialMatch(prometheus.Labels{"provisioner": provisioner})
	}
}

// NodesDecided counts decisions about nodes of a Provisioner.
func (p *Progress) NodesDecided(provisioner, decision string, nodes int) {
	if p != nil && nodes > 0 {
		p.nodes.decisions.WithLabelValues(provisioner, decision).Add(float64(nodes))
	}
}

// NodeReplacing counts the beginning of a replacement. A node is counted once, however often its replacement is interrupted.
func (p *Progress) NodeReplacing(node *provisioningv1.ProvisionedNode, reason string) {
	if p == nil {
		return
	}
	p.nodes.mu.Lock()
	defer p.nodes.mu.Unlock()
	if p.nodes.counted[node.Name] {
		return
	}
	p.nodes.counted[node.Name] = true
	p.nodes.decisions.WithLabelValues(node.Spec.Provisioner, DecisionReplace).Inc()
	p.nodes.disruptions.WithLabelValues(node.Spec.Provisioner, reason).Inc()
}

// NodeDisrupted counts a node that Slipway ends, for a reason, unless it was counted already.
func (p *Progress) NodeDisrupted(node *provisioningv1.ProvisionedNode, reason string) {
	if p == nil {
		return
	}
	p.nodes.mu.Lock()
	defer p.nodes.mu.Unlock()
	if !p.nodes.counted[node.Name] {
		p.nodes.counted[node.Name] = true
		p.nodes.disruptions.WithLabelValues(node.Spec.Provisioner, reason).Inc()
	}
}

// NodeGone forgets a node.
func (p *Progress) NodeGone(name string) {
	if p == nil {
		return
	}
	p.nodes.mu.Lock()
	defer p.nodes.mu.Unlock()
	delete(p.nodes.counted, name)
}

// Interrupted counts a message of EC2 about an instance.
func (p *Progress) Interrupted(kind string) {
	if p != nil {
		p.nodes.interruptions.WithLabelValues(kind).Inc()
	}
}

// NodeStarted records when a node came to a stage of its start. A node whose pods nobody saw pending is not counted.
func (p *Progress) NodeStarted(node *provisioningv1.ProvisionedNode, stage string, now time.Time) {
	if p == nil {
		return
	}
	since, err := time.Parse(time.RFC3339Nano, node.Annotations[provisioningv1.PendingSinceAnnotation])
	if err == nil {
		p.nodes.startup.WithLabelValues(node.Spec.Provisioner, stage).Observe(max(now.Sub(since), 0).Seconds())
	}
}

// PodsPending sets how many pods wait for a node, by why.
func (p *Progress) PodsPending(reasons map[string]int) {
	if p == nil {
		return
	}
	p.nodes.mu.Lock()
	defer p.nodes.mu.Unlock()
	p.nodes.pending.Reset()
	for reason, count := range reasons {
		p.nodes.pending.WithLabelValues(reason).Set(float64(count))
	}
}

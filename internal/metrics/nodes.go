package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// The stages of the end of a node.
const (
	StageDrained    = "drained"
	StageTerminated = "terminated"
	StageGone       = "gone"
)

// nodes are the metrics of just-in-time nodes that are counted when something happens. Series with
// the name of a Provisioner go with the Provisioner.
type nodes struct {
	decisions     *prometheus.CounterVec
	disruptions   *prometheus.CounterVec
	interruptions *prometheus.CounterVec
	startup       *prometheus.HistogramVec
	termination   *prometheus.HistogramVec
	lifetime      *prometheus.HistogramVec
	evictions     *prometheus.CounterVec
	failures      *prometheus.CounterVec
	pending       *prometheus.GaugeVec
	held          held

	mu sync.Mutex
	// counted holds the nodes whose disruption was counted, and ended the nodes whose deletion was.
	counted, ended map[string]bool
}

func newNodes() *nodes {
	return &nodes{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_node_decisions_total",
			Help: "Number of decisions about just-in-time nodes by Provisioner: launch, replace, terminate.",
		}, []string{"provisioner", "decision"}),
		disruptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_node_disruptions_total",
			Help: "Number of just-in-time nodes that Slipway terminated, or started to replace, by Provisioner " +
				"and reason.",
		}, []string{"provisioner", "reason"}),
		interruptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_instance_interruptions_total",
			Help: "Number of messages of EC2 about instances of just-in-time nodes, by kind: spot_interruption, " +
				"rebalance_recommendation, ended.",
		}, []string{"kind"}),
		startup: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_node_startup_seconds",
			Help: "Time from when the first pod of a node was observed pending until the node was launched, " +
				"registered, and ready.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900},
		}, []string{"provisioner", "stage"}),
		termination: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_node_termination_seconds",
			Help: "Duration of the stages of a node's termination: until its pods have left, until its instance is " +
				"terminated, and from its deletion until it no longer exists.",
			Buckets: []float64{1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400},
		}, []string{"provisioner", "stage"}),
		lifetime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_node_lifetime_seconds",
			Help:    "Lifetime of a node, from its launch to its termination.",
			Buckets: []float64{300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000},
		}, []string{"provisioner"}),
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_evictions_total",
			Help: "Number of requests to remove pods from nodes that are being drained, by outcome: accepted, " +
				"held, gone, failed, deleted.",
		}, []string{"outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_launch_failures_total",
			Help: "Number of launches that EC2 rejected, by cause, zone, and capacity type.",
		}, []string{"reason", "zone", "capacity_type"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_pods_pending",
			Help: "Number of pods that wait for a node, by cause.",
		}, []string{"reason"}),
		counted: map[string]bool{}, ended: map[string]bool{},
	}
}

func (n *nodes) collectors() []prometheus.Collector {
	return []prometheus.Collector{n.decisions, n.disruptions, n.interruptions, n.startup, n.termination, n.lifetime, n.evictions, n.failures, n.pending, &n.held}
}

// forget drops the series of a Provisioner that is gone.
func (n *nodes) forget(provisioner string) {
	for _, vector := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{n.decisions, n.disruptions, n.startup, n.termination, n.lifetime} {
		vector.DeletePartialMatch(prometheus.Labels{"provisioner": provisioner})
	}
	n.held.drift(provisioner, 0)
}

// NodesDecided counts decisions about nodes of a Provisioner.
func (p *Progress) NodesDecided(provisioner, decision string, nodes int) {
	if p != nil && nodes > 0 {
		p.nodes.decisions.WithLabelValues(provisioner, decision).Add(float64(nodes))
	}
}

// NodeReplacing counts the beginning of a replacement. A node is counted once, however often its
// replacement is interrupted.
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

// NodeDisrupted counts a node that Slipway deletes, for a reason, unless it was counted already.
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
	delete(p.nodes.ended, name)
}

// NodeEnded records how long a node that is gone lived, and how long the stages of its deletion
// took, once.
func (p *Progress) NodeEnded(node *provisioningv1.ProvisionedNode, now time.Time) {
	if p == nil {
		return
	}
	p.nodes.mu.Lock()
	defer p.nodes.mu.Unlock()
	if p.nodes.ended[node.Name] {
		return
	}
	p.nodes.ended[node.Name] = true
	stage := func(name string, from *metav1.Time, to time.Time) {
		if from != nil {
			p.nodes.termination.WithLabelValues(node.Spec.Provisioner, name).Observe(max(to.Sub(from.Time), 0).Seconds())
		}
	}
	drained := now
	if node.Status.TerminateTime != nil {
		drained = node.Status.TerminateTime.Time
	}
	stage(StageDrained, node.Status.DrainTime, drained)
	stage(StageTerminated, node.Status.TerminateTime, now)
	stage(StageGone, node.DeletionTimestamp, now)
	if node.Status.LaunchTime != nil {
		p.nodes.lifetime.WithLabelValues(node.Spec.Provisioner).Observe(max(now.Sub(node.Status.LaunchTime.Time), 0).Seconds())
	}
}

// Evicted counts a request to remove a pod from a node that is drained.
func (p *Progress) Evicted(outcome string) {
	if p != nil {
		p.nodes.evictions.WithLabelValues(outcome).Inc()
	}
}

// LaunchFailed counts a failure that EC2 names in its answer to a launch. The zone is empty if the
// whole launch failed.
func (p *Progress) LaunchFailed(reason, zone, capacityType string) {
	if p != nil {
		p.nodes.failures.WithLabelValues(reason, zone, capacityType).Inc()
	}
}

// NodesDrifted sets how many nodes of a Provisioner have drifted and wait for their replacement.
func (p *Progress) NodesDrifted(provisioner string, nodes int) {
	if p != nil {
		p.nodes.held.drift(provisioner, nodes)
	}
}

// Interrupted counts a message of EC2 about an instance.
func (p *Progress) Interrupted(kind string) {
	if p != nil {
		p.nodes.interruptions.WithLabelValues(kind).Inc()
	}
}

// NodeStarted records when a node reached a stage of its start. A node whose pods were not seen
// pending is not counted.
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

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Kinds of batches, by what is processed together.
const (
	// BatchPods are the new pods that nodes are chosen for together.
	BatchPods = "pods"
	// BatchLaunch are the nodes of one CreateFleet.
	BatchLaunch = "launch"
	// BatchTerminate are the instances of one TerminateInstances.
	BatchTerminate = "terminate"
)

// The stages of the start of a pod.
const (
	// StagePlaced marks the time at which a place on a node was found for the pod.
	StagePlaced = "placed"
	// StageBound marks the time at which the scheduler bound the pod to a Node.
	StageBound = "bound"
	// StageRunning marks the time at which the pod started to run.
	StageRunning = "running"
)

var (
	choosingSecondsDesc = prometheus.NewDesc("slipway_scheduling_unfinished_seconds",
		"Duration of the current choice of nodes so far; 0 if none is in progress.", nil, nil)
	choosingPodsDesc = prometheus.NewDesc("slipway_scheduling_pods",
		"Number of pods that the current choice of nodes considers; 0 if none is in progress.", nil, nil)
)

// choices holds the metrics about how nodes are chosen for pods, and what pods wait for.
type choices struct {
	duration prometheus.Histogram
	sizes    *prometheus.HistogramVec
	waited   prometheus.Histogram
	startup  *prometheus.HistogramVec
	current  choosing
}

func newChoices() *choices {
	return &choices{
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "slipway_scheduling_duration_seconds",
			Help:    "Duration of choosing nodes for pending pods.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40},
		}),
		sizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_batch_size",
			Help: "Size of batches: pods that nodes are chosen for, nodes of a launch, or instances that are " +
				"terminated together.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000},
		}, []string{"batch"}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "slipway_pod_batch_wait_seconds",
			Help:    "Time that the first pod of a batch waited for other pods.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30},
		}),
		startup: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_pod_startup_seconds",
			Help:    "Time from when a pod was first observed pending until it was placed, bound, and running.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800},
		}, []string{"stage"}),
	}
}

func (c *choices) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.duration, c.sizes, c.waited, c.startup, &c.current}
}

// choosing is the choice of nodes that is under way.
type choosing struct {
	mu    sync.Mutex
	clock clock.PassiveClock
	since time.Time
	pods  int
}

// Describe implements prometheus.Collector.
func (*choosing) Describe(ch chan<- *prometheus.Desc) {
	ch <- choosingSecondsDesc
	ch <- choosingPodsDesc
}

// Collect implements prometheus.Collector.
func (c *choosing) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seconds := 0.0
	if c.clock != nil {
		seconds = c.clock.Since(c.since).Seconds()
	}
	ch <- prometheus.MustNewConstMetric(choosingSecondsDesc, prometheus.GaugeValue, seconds)
	ch <- prometheus.MustNewConstMetric(choosingPodsDesc, prometheus.GaugeValue, float64(c.pods))
}

func (c *choosing) set(clk clock.PassiveClock, since time.Time, pods int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock, c.since, c.pods = clk, since, pods
}

// Choosing records that nodes are being chosen for a number of pods, until the function that it
// returns is called.
func (p *Progress) Choosing(clk clock.PassiveClock, pods int) (done func()) {
	if p == nil {
		return func() {}
	}
	since := clk.Now()
	p.choices.current.set(clk, since, pods)
	return func() {
		p.choices.duration.Observe(clk.Since(since).Seconds())
		p.choices.current.set(nil, time.Time{}, 0)
	}
}

// Batched records how many were served together.
func (p *Progress) Batched(batch string, size int) {
	if p != nil && size > 0 {
		p.choices.sizes.WithLabelValues(batch).Observe(float64(size))
	}
}

// BatchWaited records how long the first pod of a batch waited for others.
func (p *Progress) BatchWaited(wait time.Duration) {
	if p != nil {
		p.choices.waited.Observe(wait.Seconds())
	}
}

// PodReached records how long after it was seen pending a pod came to a stage of its start.
func (p *Progress) PodReached(stage string, after time.Duration) {
	if p != nil {
		p.choices.startup.WithLabelValues(stage).Observe(max(after, 0).Seconds())
	}
}

package aws

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what is asked of AWS. It is a prometheus.Collector, for whichever registry the
// process serves.
type Metrics struct {
	calls    *prometheus.CounterVec
	held     *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics returns the metrics, registered nowhere.
func NewMetrics() *Metrics {
	return &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_aws_calls_total",
			Help: "Number of requests sent to AWS, counting every attempt, by service, action, and AWS error " +
				"code (OK if there was none).",
		}, []string{"service", "action", "code"}),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_aws_calls_held_back_total",
			Help: "Number of requests not sent to AWS because they would have exceeded the request budget, by " +
				"service and action.",
		}, []string{"service", "action"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_aws_call_duration_seconds",
			Help:    "Duration of requests to AWS, by service and action.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"service", "action"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.calls.Describe(ch)
	m.held.Describe(ch)
	m.duration.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.calls.Collect(ch)
	m.held.Collect(ch)
	m.duration.Collect(ch)
}

func (m *Metrics) sent(service, action, code string, took time.Duration) {
	m.calls.WithLabelValues(service, action, code).Inc()
	m.duration.WithLabelValues(service, action).Observe(took.Seconds())
}

func (m *Metrics) heldBack(service, action string) { m.held.WithLabelValues(service, action).Inc() }

package events

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count messages, and say which queues are read. It is a prometheus.Collector; nil counts nothing.
type Metrics struct {
	messages *prometheus.CounterVec
	delays   *prometheus.HistogramVec
	queues   *prometheus.GaugeVec
}

// NewMetrics returns the metrics, registered nowhere.
func NewMetrics() *Metrics {
	return &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_event_messages_total",
			Help: "Messages read from event queues, by region and fate: heard, foreign (of no interest) or unreadable.",
		}, []string{"region", "fate"}),
		delays: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_event_delay_seconds",
			Help:    "Time from when something happened in AWS, by its event, to when the event is read from the queue, by region.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 1800},
		}, []string{"region"}),
		queues: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_event_queue_read",
			Help: "1 if AWS's events are read from the queue, 0 if they cannot be, by identity and region.",
		}, []string{"identity", "region"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.messages.Describe(ch)
	m.delays.Describe(ch)
	m.queues.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.messages.Collect(ch)
	m.delays.Collect(ch)
	m.queues.Collect(ch)
}

func (m *Metrics) received(region, fate string) {
	if m != nil {
		m.messages.WithLabelValues(region, fate).Inc()
	}
}

func (m *Metrics) delayed(region string, delay time.Duration) {
	if m != nil {
		m.delays.WithLabelValues(region).Observe(max(delay, 0).Seconds())
	}
}

func (m *Metrics) working(identity, region string, working bool) {
	if m == nil {
		return
	}
	value := 0.0
	if working {
		value = 1
	}
	m.queues.WithLabelValues(identity, region).Set(value)
}

package events

import "github.com/prometheus/client_golang/prometheus"

// Metrics count messages, and say which queues are read. It is a prometheus.Collector; nil counts nothing.
type Metrics struct {
	messages *prometheus.CounterVec
	queues   *prometheus.GaugeVec
}

// NewMetrics makes the metrics, registered nowhere.
func NewMetrics() *Metrics {
	return &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_event_messages_total",
			Help: "Messages read from event queues, by region and fate: heard, foreign (of no interest) or unreadable.",
		}, []string{"region", "fate"}),
		queues: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slipway_event_queue_read",
			Help: "1 if AWS's events are read from the queue, 0 if they can not be, by identity and region.",
		}, []string{"identity", "region"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.messages.Describe(ch)
	m.queues.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.messages.Collect(ch)
	m.queues.Collect(ch)
}

func (m *Metrics) received(region, fate string) {
	if m != nil {
		m.messages.WithLabelValues(region, fate).Inc()
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

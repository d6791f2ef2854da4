// Package alerts tests the alerts of the charts with Prometheus's own rules and query engine. It is a
// module of its own, because it links Prometheus.
package alerts

// Package alerts tests the alerts of the charts, and the queries of the Grafana dashboard, with Prometheus's
// own rules and query engine. It is a module of its own, because it links Prometheus.
package alerts

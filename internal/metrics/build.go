package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

var buildDesc = prometheus.NewDesc("slipway_build_info", "Always 1, with labels for the version of Slipway, its "+
	"commit, and the version of Go.", []string{"version", "commit", "goversion"}, nil)

// buildInfo is a metric that is always 1.
type buildInfo struct{ version, commit string }

// NewBuildInfo returns a metric that names the version of the program and the commit that it was built from.
func NewBuildInfo(version, commit string) prometheus.Collector { return buildInfo{version, commit} }

// Describe implements prometheus.Collector.
func (buildInfo) Describe(ch chan<- *prometheus.Desc) { ch <- buildDesc }

// Collect implements prometheus.Collector.
func (b buildInfo) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(buildDesc, prometheus.GaugeValue, 1, b.version, b.commit, runtime.Version())
}

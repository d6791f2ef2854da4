package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// collectTimeout bounds a scrape: the cache answers at once, or has not been filled yet.
const collectTimeout = 2 * time.Second

var conditionsDesc = prometheus.NewDesc("slipway_conditions",
	"Objects by kind, condition, its status and reason.", []string{"kind", "condition", "status", "reason"}, nil)

// conditions counts objects by the state of their conditions, from the manager's cache at the time of a scrape. Objects are not told apart: a
// thousand pools would be ten thousand series, and `kubectl get` knows the one that is not ready.
type conditions struct {
	mu     sync.Mutex
	reader client.Reader
}

func (c *conditions) read(reader client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader = reader
}

// Describe implements prometheus.Collector.
func (*conditions) Describe(ch chan<- *prometheus.Desc) { ch <- conditionsDesc }

// Collect implements prometheus.Collector. What can not be read is left out.
func (c *conditions) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	reader := c.reader
	c.mu.Unlock()
	if reader == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout) //nolint:forbidigo // a scrape comes without a context
	defer cancel()
	counts := map[[4]string]float64{}
	count := func(kind string, conditions []metav1.Condition) {
		for _, condition := range conditions {
			counts[[4]string{kind, condition.Type, string(condition.Status), condition.Reason}]++
		}
	}
	pools, managed, configs := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}
	if reader.List(ctx, pools, client.UnsafeDisableDeepCopy) == nil {
		for i := range pools.Items {
			count("AWSMachinePool", pools.Items[i].Status.Conditions)
		}
	}
	if reader.List(ctx, managed, client.UnsafeDisableDeepCopy) == nil {
		for i := range managed.Items {
			count("AWSManagedMachinePool", managed.Items[i].Status.Conditions)
		}
	}
	if reader.List(ctx, configs, client.UnsafeDisableDeepCopy) == nil {
		for i := range configs.Items {
			count("AWSLaunchConfig", configs.Items[i].Status.Conditions)
		}
	}
	for labels, number := range counts {
		ch <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, number, labels[:]...)
	}
}

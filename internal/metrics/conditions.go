package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// collectTimeout bounds a scrape: the cache answers at once, or has not been filled yet.
const collectTimeout = 2 * time.Second

// scrape returns the context of a scrape, which comes without one.
func scrape() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), collectTimeout) //nolint:forbidigo // there is none to derive it from
}

var conditionsDesc = prometheus.NewDesc("slipway_conditions",
	"Number of objects by kind, condition, and the status and reason of the condition.", []string{"kind", "condition", "status", "reason"}, nil)

// conditions counts objects by the state of their conditions, from the manager's cache at the time
// of a scrape. Objects are not distinguished: a thousand pools would be ten thousand series, and
// `kubectl get` knows the one that is not ready.
type conditions struct {
	mu sync.Mutex
	// reader has pools and launch configs, nodes has Provisioners and their nodes; nil where there are none.
	reader, nodes client.Reader
}

func (c *conditions) read(reader client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader = reader
}

func (c *conditions) readNodes(reader client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = reader
}

// Describe implements prometheus.Collector.
func (*conditions) Describe(ch chan<- *prometheus.Desc) { ch <- conditionsDesc }

// Collect implements prometheus.Collector. Values that cannot be read are left out.
func (c *conditions) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	reader, nodes := c.reader, c.nodes
	c.mu.Unlock()
	ctx, cancel := scrape()
	defer cancel()
	counts := map[[4]string]float64{}
	count := func(kind string, conditions []metav1.Condition) {
		for _, condition := range conditions {
			counts[[4]string{kind, condition.Type, string(condition.Status), condition.Reason}]++
		}
	}
	for kind, list := range map[string]client.ObjectList{
		"AWSMachinePool": &infrav1.AWSMachinePoolList{}, "AWSManagedMachinePool": &infrav1.AWSManagedMachinePoolList{}, "AWSLaunchConfig": &infrav1.AWSLaunchConfigList{},
	} {
		each(ctx, reader, list, func(conditions []metav1.Condition) { count(kind, conditions) })
	}
	for kind, list := range map[string]client.ObjectList{"Provisioner": &provisioningv1.ProvisionerList{}, "ProvisionedNode": &provisioningv1.ProvisionedNodeList{}} {
		each(ctx, nodes, list, func(conditions []metav1.Condition) { count(kind, conditions) })
	}
	for labels, number := range bounded(counts) {
		ch <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, number, labels[:]...)
	}
}

// mostSeries bounds how many combinations of labels are exposed. Users who may write the status of
// their objects choose types and reasons.
const mostSeries = 1000

// bounded returns the most frequent combinations of labels, and the sum of all others by kind.
func bounded(counts map[[4]string]float64) map[[4]string]float64 {
	if len(counts) <= mostSeries {
		return counts
	}
	byNumber := slices.SortedFunc(maps.Keys(counts), func(a, b [4]string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	kept := make(map[[4]string]float64, mostSeries)
	for i, labels := range byNumber {
		if i < mostSeries {
			kept[labels] = counts[labels]
			continue
		}
		kept[[4]string{labels[0], "Other", "Unknown", "Other"}] += counts[labels]
	}
	return kept
}

// each calls a function with the conditions of every object of a kind, if there is a reader and it
// knows the kind.
func each(ctx context.Context, reader client.Reader, list client.ObjectList, visit func([]metav1.Condition)) {
	if reader == nil || reader.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return
	}
	_ = meta.EachListItem(list, func(object runtime.Object) error { // fails for no list
		if one, is := object.(interface{ GetConditions() []metav1.Condition }); is {
			visit(one.GetConditions())
		}
		return nil
	})
}

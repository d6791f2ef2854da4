package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
)

func provisioned(name, provisioner string, conditions ...string) *provisioningv1.ProvisionedNode {
	node := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.Provisioner, node.Spec.CapacityType = provisioner, "spot"
	for _, condition := range conditions {
		node.Status.Conditions = append(node.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
	}
	return node
}

// TestNodeCounters holds what is counted of nodes, that a replacement counts once, and that the series of a Provisioner go with it.
func TestNodeCounters(t *testing.T) {
	t.Parallel()
	progress := metrics.NewProgress()
	one, two := provisioned("one", "a"), provisioned("two", "b")
	progress.NodesDecided("a", metrics.DecisionLaunch, 2)
	progress.NodesDecided("b", metrics.DecisionLaunch, 1)
	progress.NodeReplacing(one, "Expired")
	progress.NodeReplacing(one, "Expired")
	progress.NodeDisrupted(one, "Expired")
	progress.NodeDisrupted(two, "Empty")
	progress.NodeDisrupted(two, "Empty")
	progress.Interrupted("ended")
	progress.PodsPending(map[string]int{"limits": 3, "node_coming": 1})
	progress.PodsPending(map[string]int{"limits": 2})
	names := []string{"slipway_node_decisions_total", "slipway_node_disruptions_total", "slipway_instance_interruptions_total", "slipway_pods_pending"}
	expect(t, progress, names,
		"slipway_instance_interruptions_total kind=ended 1",
		"slipway_node_decisions_total decision=launch provisioner=a 2",
		"slipway_node_decisions_total decision=launch provisioner=b 1",
		"slipway_node_decisions_total decision=replace provisioner=a 1",
		"slipway_node_disruptions_total provisioner=a reason=Expired 1",
		"slipway_node_disruptions_total provisioner=b reason=Empty 1",
		"slipway_pods_pending reason=limits 2",
	)
	progress.Forget(&provisioningv1.Provisioner{}, types.NamespacedName{Name: "a"})
	expect(t, progress, names[:2], "slipway_node_decisions_total decision=launch provisioner=b 1", "slipway_node_disruptions_total provisioner=b reason=Empty 1")
	var none *metrics.Progress
	none.NodesDecided("a", metrics.DecisionLaunch, 1)
	none.NodeReplacing(one, "Expired")
	none.NodeDisrupted(one, "Expired")
	none.NodeStarted(one, metrics.StageReady, start)
	none.NodeGone("one")
	none.Interrupted("ended")
	none.PodsPending(nil)
	none.Priced(nil)
	none.ReadNodes(metrics.Held{})
}

// TestNodeStartup holds that time runs from when the first pod was seen pending, and that nodes without that are not counted.
func TestNodeStartup(t *testing.T) {
	t.Parallel()
	progress := metrics.NewProgress()
	node := provisioned("one", "a")
	progress.NodeStarted(node, metrics.StageReady, start)
	node.Annotations = map[string]string{provisioningv1.PendingSinceAnnotation: start.Format(time.RFC3339Nano)}
	progress.NodeStarted(node, metrics.StageReady, start.Add(40*time.Second))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(progress)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "slipway_node_startup_seconds" {
			if got := family.GetMetric()[0].GetHistogram(); got.GetSampleCount() != 1 || got.GetSampleSum() != 40 {
				t.Errorf("%d nodes took %v seconds", got.GetSampleCount(), got.GetSampleSum())
			}
			return
		}
	}
	t.Error("there is no histogram")
}

// TestHeld holds what a scrape says of Provisioners and their nodes.
func TestHeld(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ready := provisioned("ready", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.ReadyCondition)
	ready.Status.ReadyTime, ready.Status.InstanceType, ready.Status.Zone = &metav1.Time{Time: start}, "m5.large", "us-east-1a"
	failed := provisioned("failed", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition)
	failed.Status.ReadyTime = &metav1.Time{Time: start}
	lost := provisioned("lost", "a", provisioningv1.LaunchedCondition) // its Node is gone
	lost.Status.ReadyTime = &metav1.Time{Time: start}
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	one.Spec.Limits = &provisioningv1.Limits{CPU: ptr.To(resource.MustParse("1500m")), Nodes: ptr.To[int32](5)}
	one.Status.Nodes, one.Status.Resources = 5, &provisioningv1.ProvisionedResources{CPU: resource.MustParse("4"), Memory: resource.MustParse("1k")}
	progress := metrics.NewProgress()
	progress.ReadNodes(metrics.Held{
		Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(one, ready, failed, lost, provisioned("new", "a"), provisioned("joining", "a", provisioningv1.LaunchedCondition),
			provisioned("starting", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition),
			provisioned("tainted", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition),
			provisioned("moving", "a", provisioningv1.ReplacingCondition)).Build(),
		Clock: clocktesting.NewFakePassiveClock(start), Short: func() map[[2]string]int { return map[[2]string]int{{"us-east-1a", "spot"}: 7} },
	})
	progress.Priced(func(instanceType, zone, capacityType string) float64 {
		if instanceType == "m5.large" && zone == "us-east-1a" && capacityType == "spot" {
			return 0.25
		}
		return 0
	})
	expect(t, progress, []string{
		"slipway_nodes", "slipway_nodes_cost_dollars_per_hour", "slipway_offerings_short", "slipway_provisioner_limit", "slipway_provisioner_usage", "slipway_provisioner_allowed_disruptions",
	},
		"slipway_nodes capacity_type=spot phase=initializing provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=launching provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=not_ready provisioner=a 2",
		"slipway_nodes capacity_type=spot phase=ready provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=registering provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=replacing provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=starting provisioner=a 1",
		"slipway_nodes_cost_dollars_per_hour capacity_type=spot provisioner=a 0.25",
		"slipway_offerings_short capacity_type=spot zone=us-east-1a 7",
		"slipway_provisioner_allowed_disruptions provisioner=a reason=Expired 1",
		"slipway_provisioner_limit provisioner=a resource=cpu 1.5",
		"slipway_provisioner_limit provisioner=a resource=nodes 5",
		"slipway_provisioner_usage provisioner=a resource=cpu 4",
		"slipway_provisioner_usage provisioner=a resource=memory 1000",
		"slipway_provisioner_usage provisioner=a resource=nodes 5",
	)
}

// TestPageListsWhatIsServed compares docs/observability.md with the metrics that are served, by name and labels.
func TestPageListsWhatIsServed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(slipway_[a-z_]+)(?:\\{([a-z_,]*)\\})?` \\|").FindAllStringSubmatch(string(page), -1) {
		documented[match[1]] = strings.FieldsFunc(match[2], func(r rune) bool { return r == ',' })
		slices.Sort(documented[match[1]])
	}
	known := map[string][]string{}
	for name, labels := range served(t) {
		if strings.HasPrefix(name, "slipway_") {
			slices.Sort(labels)
			known[name] = append([]string{}, labels...)
		}
	}
	for name := range documented {
		documented[name] = append([]string{}, documented[name]...)
	}
	if diff := cmp.Diff(known, documented); diff != "" {
		t.Errorf("the page lists other metrics than are served (-served +documented):\n%s", diff)
	}
}

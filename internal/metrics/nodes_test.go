package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// TestNodeCounters holds what is counted of nodes, that a replacement counts once, and that the
// series of a Provisioner go with it.
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
	none.NodeEnded(one, start)
	none.NodesDrifted("a", 1)
	none.Evicted("held")
	none.LaunchFailed("Offering", "us-east-1a", "spot")
	none.Batched(metrics.BatchPods, 1)
	none.BatchWaited(time.Second)
	none.PodReached(metrics.StageBound, time.Second)
	none.Choosing(clocktesting.NewFakePassiveClock(start), 1)()
}

// TestNodeStartup holds that time runs from when the first pod was seen pending, and that nodes
// without that are not counted.
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

// histogram returns how many samples a histogram has with some labels, and their sum.
func histogram(t *testing.T, progress *metrics.Progress, name string, labels prometheus.Labels) (count uint64, sum float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(progress)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			has := prometheus.Labels{}
			for _, label := range metric.GetLabel() {
				has[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && maps.Equal(has, labels) {
				return metric.GetHistogram().GetSampleCount(), metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0, 0
}

// TestNodeEnds holds how long the end of a node took, and its life, and that a node counts once.
func TestNodeEnds(t *testing.T) {
	t.Parallel()
	at := func(seconds int) *metav1.Time {
		return &metav1.Time{Time: start.Add(time.Duration(seconds) * time.Second)}
	}
	progress := metrics.NewProgress()
	node := provisioned("one", "a")
	node.Status.LaunchTime, node.DeletionTimestamp, node.Status.DrainTime, node.Status.TerminateTime = at(0), at(3600), at(3601), at(3661)
	progress.NodeEnded(node, at(3700).Time)
	progress.NodeEnded(node, at(3800).Time)
	never := provisioned("never launched", "a")
	never.DeletionTimestamp = at(10)
	progress.NodeEnded(never, at(11).Time)
	for _, row := range []struct {
		name, stage string
		count       uint64
		sum         float64
	}{
		{"slipway_node_termination_seconds", metrics.StageDrained, 1, 60}, {"slipway_node_termination_seconds", metrics.StageTerminated, 1, 39},
		{"slipway_node_termination_seconds", metrics.StageGone, 2, 101}, {"slipway_node_lifetime_seconds", "", 1, 3700},
	} {
		labels := prometheus.Labels{"provisioner": "a"}
		if row.stage != "" {
			labels["stage"] = row.stage
		}
		if count, sum := histogram(t, progress, row.name, labels); count != row.count || sum != row.sum {
			t.Errorf("%s%v has %d samples of %v s, want %d of %v", row.name, labels, count, sum, row.count, row.sum)
		}
	}
	progress.Forget(&provisioningv1.Provisioner{}, types.NamespacedName{Name: "a"})
	if count, _ := histogram(t, progress, "slipway_node_lifetime_seconds", prometheus.Labels{"provisioner": "a"}); count > 0 {
		t.Error("the series of a Provisioner that is gone are served")
	}
}

// TestChoosing holds what is served while nodes are chosen, and after that.
func TestChoosing(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(start)
	progress := metrics.NewProgress()
	names := []string{"slipway_scheduling_unfinished_seconds", "slipway_scheduling_pods"}
	done := progress.Choosing(clk, 300)
	clk.SetTime(start.Add(3 * time.Second))
	expect(t, progress, names, "slipway_scheduling_pods 300", "slipway_scheduling_unfinished_seconds 3")
	done()
	expect(t, progress, names, "slipway_scheduling_pods 0", "slipway_scheduling_unfinished_seconds 0")
	if count, sum := histogram(t, progress, "slipway_scheduling_duration_seconds", prometheus.Labels{}); count != 1 || sum != 3 {
		t.Errorf("%d choices took %v s", count, sum)
	}
}

// held returns metrics that describe some objects at the start.
func held(t *testing.T, short []metrics.Offering, pods []*corev1.Pod, objects ...client.Object) *metrics.Progress {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(provisioningv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	progress := metrics.NewProgress()
	progress.ReadNodes(metrics.Held{
		Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Clock: clocktesting.NewFakePassiveClock(start),
		Short:   func() []metrics.Offering { return short },
		Pods:    func(context.Context) ([]*corev1.Pod, error) { return pods, nil },
		Waiting: func() (unbound, unstarted time.Time) { return start.Add(-5 * time.Second), time.Time{} },
	})
	progress.Priced(func(instanceType, zone, capacityType string) float64 {
		if instanceType == "m5.large" && zone == "us-east-1a" && capacityType == "spot" {
			return 0.25
		}
		return 0
	})
	return progress
}

// TestHeld holds what a scrape reports about Provisioners and their nodes.
func TestHeld(t *testing.T) {
	t.Parallel()
	ready := provisioned("ready", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.ReadyCondition)
	ready.Status.ReadyTime, ready.Status.InstanceType, ready.Status.Zone = &metav1.Time{Time: start}, "m5.large", "us-east-1a"
	failed := provisioned("failed", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition)
	failed.Status.ReadyTime = &metav1.Time{Time: start}
	lost := provisioned("lost", "a", provisioningv1.LaunchedCondition) // its Node is gone
	lost.Status.ReadyTime = &metav1.Time{Time: start}
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	one.Spec.Limits = &provisioningv1.Limits{CPU: ptr.To(resource.MustParse("1500m")), Nodes: ptr.To[int32](5)}
	one.Status.Nodes, one.Status.Resources = 5, &provisioningv1.ProvisionedResources{CPU: resource.MustParse("4"), Memory: resource.MustParse("1k")}
	short := []metrics.Offering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "spot"}, {InstanceType: "c5.large", Zone: "us-east-1a", CapacityType: "spot"}}
	progress := held(t, short, nil, one, ready, failed, lost, provisioned("new", "a"), provisioned("joining", "a", provisioningv1.LaunchedCondition),
		provisioned("starting", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition),
		provisioned("tainted", "a", provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.NodeReadyCondition),
		provisioned("moving", "a", provisioningv1.ReplacingCondition))
	expect(t, progress, []string{
		"slipway_nodes", "slipway_nodes_cost_dollars_per_hour", "slipway_offerings_short", "slipway_provisioner_limit", "slipway_provisioner_usage", "slipway_provisioner_allowed_disruptions",
		"slipway_pods_oldest_wait_seconds",
	},
		"slipway_nodes capacity_type=spot phase=initializing provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=launching provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=not_ready provisioner=a 2",
		"slipway_nodes capacity_type=spot phase=ready provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=registering provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=replacing provisioner=a 1",
		"slipway_nodes capacity_type=spot phase=starting provisioner=a 1",
		"slipway_nodes_cost_dollars_per_hour capacity_type=spot provisioner=a 0.25",
		"slipway_offerings_short capacity_type=spot zone=us-east-1a 2",
		"slipway_pods_oldest_wait_seconds until=bound 5",
		"slipway_provisioner_allowed_disruptions provisioner=a reason=Expired 1",
		"slipway_provisioner_limit provisioner=a resource=cpu 1.5",
		"slipway_provisioner_limit provisioner=a resource=nodes 5",
		"slipway_provisioner_usage provisioner=a resource=cpu 4",
		"slipway_provisioner_usage provisioner=a resource=memory 1000",
		"slipway_provisioner_usage provisioner=a resource=nodes 5",
	)
}

// TestNodesThatShouldLeave holds the ages of nodes, and which would be disrupted and are kept.
func TestNodesThatShouldLeave(t *testing.T) {
	t.Parallel()
	kept := func(name, reason string, hours int) *provisioningv1.ProvisionedNode {
		node := provisioned(name, "a")
		node.Status.LaunchTime = &metav1.Time{Time: start.Add(-time.Duration(hours) * time.Hour)}
		node.Status.Conditions = append(node.Status.Conditions, metav1.Condition{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionFalse, Reason: reason})
		return node
	}
	ending := kept("ending", "Expired", 9)
	ending.DeletionTimestamp, ending.Finalizers = &metav1.Time{Time: start.Add(-time.Minute)}, []string{"test/keep"}
	progress := held(t, nil, nil, kept("one", "Expired", 3), kept("two", "DoNotDisrupt", 2), kept("three", "DoNotDisrupt", 1), ending)
	progress.NodesDrifted("a", 4)
	progress.NodesDrifted("b", 1)
	progress.NodesDrifted("b", 0)
	expect(t, progress, []string{"slipway_nodes_awaiting_disruption", "slipway_nodes_oldest_seconds", "slipway_nodes_ending_oldest_seconds"},
		"slipway_nodes_awaiting_disruption provisioner=a reason=DoNotDisrupt 2",
		"slipway_nodes_awaiting_disruption provisioner=a reason=Drifted 4",
		"slipway_nodes_awaiting_disruption provisioner=a reason=Expired 1",
		"slipway_nodes_ending_oldest_seconds provisioner=a 60",
		"slipway_nodes_oldest_seconds provisioner=a 32400",
	)
}

// TestOfferings holds which metrics are served about offerings that have nodes and about offerings
// that are short, and that a region's thousands are not.
func TestOfferings(t *testing.T) {
	t.Parallel()
	node := func(name, instanceType string) *provisioningv1.ProvisionedNode {
		one := provisioned(name, "a")
		one.Status.InstanceType, one.Status.Zone = instanceType, "us-east-1a"
		one.Status.Resources = &provisioningv1.ProvisionedResources{CPU: resource.MustParse("2"), Memory: resource.MustParse("8Gi")}
		return one
	}
	names := []string{"slipway_offering_available", "slipway_offering_price_dollars_per_hour", "slipway_instance_type_cpu_cores", "slipway_instance_type_memory_bytes"}
	expect(t, held(t, []metrics.Offering{{InstanceType: "c5.large", Zone: "us-east-1b", CapacityType: "on-demand"}}, nil, node("one", "m5.large"), node("two", "m5.large")), names,
		"slipway_instance_type_cpu_cores instance_type=m5.large 2",
		"slipway_instance_type_memory_bytes instance_type=m5.large 8.589934592e+09",
		"slipway_offering_available capacity_type=on-demand instance_type=c5.large zone=us-east-1b 0",
		"slipway_offering_available capacity_type=spot instance_type=m5.large zone=us-east-1a 1",
		"slipway_offering_price_dollars_per_hour capacity_type=spot instance_type=m5.large zone=us-east-1a 0.25",
	)
	var short []metrics.Offering
	for i := range 3000 {
		short = append(short, metrics.Offering{InstanceType: fmt.Sprintf("a%d.large", i), Zone: "us-east-1a", CapacityType: "spot"})
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(held(t, short, nil, node("one", "m5.large")))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "slipway_offering_available" && (len(family.GetMetric()) > 500 || !strings.Contains(family.String(), "m5.large")) {
			t.Errorf("%d offerings are served, that of a node among them: %v", len(family.GetMetric()), strings.Contains(family.String(), "m5.large"))
		}
	}
}

// TestUtilization holds what Nodes of Provisioners have, and what the pods on them request.
func TestUtilization(t *testing.T) {
	t.Parallel()
	node := provisioned("one", "a")
	node.Status.NodeName = "n"
	member := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse("1930m"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("29"), "nvidia.com/gpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("0"),
		}}}
	}
	pod := func(on string, phase corev1.PodPhase, owner string, asks corev1.ResourceList) *corev1.Pod {
		made := &corev1.Pod{Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: asks}}}}, Status: corev1.PodStatus{Phase: phase}}
		made.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Controller: ptr.To(true)}}
		return made
	}
	pods := []*corev1.Pod{
		pod("n", corev1.PodRunning, "ReplicaSet", corev1.ResourceList{"cpu": resource.MustParse("500m"), "example.com/unknown": resource.MustParse("3")}),
		pod("n", corev1.PodPending, "ReplicaSet", corev1.ResourceList{"cpu": resource.MustParse("250m"), "nvidia.com/gpu": resource.MustParse("1")}),
		pod("n", corev1.PodRunning, "DaemonSet", corev1.ResourceList{"cpu": resource.MustParse("100m")}),
		pod("n", corev1.PodSucceeded, "Job", corev1.ResourceList{"cpu": resource.MustParse("1")}),
		pod("other", corev1.PodRunning, "ReplicaSet", corev1.ResourceList{"cpu": resource.MustParse("1")}),
		pod("", corev1.PodPending, "ReplicaSet", corev1.ResourceList{"cpu": resource.MustParse("1")}),
	}
	expect(t, held(t, nil, pods, node, member("n"), member("other")), []string{"slipway_nodes_allocatable", "slipway_nodes_requested"},
		"slipway_nodes_allocatable provisioner=a resource=cpu 1.93",
		"slipway_nodes_allocatable provisioner=a resource=memory 1.073741824e+09",
		"slipway_nodes_allocatable provisioner=a resource=nvidia.com/gpu 1",
		"slipway_nodes_allocatable provisioner=a resource=pods 29",
		"slipway_nodes_requested of=daemonsets provisioner=a resource=cpu 0.1",
		"slipway_nodes_requested of=daemonsets provisioner=a resource=pods 1",
		"slipway_nodes_requested of=pods provisioner=a resource=cpu 0.75",
		"slipway_nodes_requested of=pods provisioner=a resource=nvidia.com/gpu 1",
		"slipway_nodes_requested of=pods provisioner=a resource=pods 2",
	)
	names := corev1.ResourceList{}
	for i := range 100 {
		names[corev1.ResourceName(fmt.Sprintf("example.com/device-%d", i))] = resource.MustParse("1")
	}
	many := member("n")
	many.Status.Allocatable = names
	many.Status.Allocatable["cpu"] = resource.MustParse("2")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(held(t, nil, nil, node, many))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "slipway_nodes_allocatable" && (len(family.GetMetric()) > 32 || !strings.Contains(family.String(), `value:"cpu"`)) {
			t.Errorf("%d resources are served, cpu among them: %v", len(family.GetMetric()), strings.Contains(family.String(), `value:"cpu"`))
		}
	}
}

// TestPageListsWhatIsServed compares docs/reference/observability.md with the metrics that are served, by
// name and labels.
func TestPageListsWhatIsServed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/observability.md")
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

// TestPageKnowsKarpentersMetrics holds that docs/how-to/provisioner.md has one row for each of Karpenter's
// metrics, which names metrics and labels that are served, or says why there is none.
func TestPageKnowsKarpentersMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/provisioner.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("testdata/karpenter.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted := regexp.MustCompile("`([a-z_0-9*]+)(?:\\{([^}]*)\\})?`")
	known, rows := served(t), map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		for _, theirs := range quoted.FindAllStringSubmatch(row[1], -1) {
			if rows[theirs[1]] != "" {
				t.Errorf("%s has two rows", theirs[1])
			}
			rows[theirs[1]] = row[2]
		}
		checkCounterparts(t, row[1], row[2], quoted.FindAllStringSubmatch(row[2], -1), known)
	}
	for _, name := range strings.Split(strings.TrimSpace(string(list)), "\n")[1:] {
		if rows[name] == "" {
			t.Errorf("the page has no row for %s", name)
		}
	}
	if number := strings.Count(string(list), "\n"); len(rows) < number {
		t.Errorf("the page has rows for %d metrics, and Karpenter %d", len(rows), number)
	}
}

// checkCounterparts compares what the page names in place of a metric of Karpenter's with what is served.
func checkCounterparts(t *testing.T, theirs, text string, ours [][]string, known map[string][]string) {
	t.Helper()
	if strings.HasPrefix(text, "not here, because ") || text == "the same" {
		return
	}
	if len(ours) == 0 {
		t.Errorf("in place of %s the page names no metric: %s", theirs, text)
	}
	for _, one := range ours {
		labels, is := known[one[1]]
		if !is && strings.HasPrefix(one[1], "slipway_") {
			t.Errorf("in place of %s the page names %s, which is not served", theirs, one[1])
		}
		for _, match := range matcher.FindAllStringSubmatch(one[2], -1) {
			if is && !slices.Contains(labels, match[1]) {
				t.Errorf("in place of %s the page names %s with a label %s, which it has not", theirs, one[1], match[1])
			}
		}
	}
}

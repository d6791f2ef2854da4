package metrics_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/metrics"
)

var start = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)

// expect compares some metrics, one a line, with their labels in alphabetical order.
func expect(t *testing.T, progress *metrics.Progress, names []string, want ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(progress)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		if !slices.Contains(names, family.GetName()) {
			continue
		}
		for _, metric := range family.GetMetric() {
			line := family.GetName()
			for _, label := range metric.GetLabel() {
				line += " " + label.GetName() + "=" + label.GetValue()
			}
			got = append(got, fmt.Sprintf("%s %v", line, metric.GetCounter().GetValue()+metric.GetGauge().GetValue()))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	progress := metrics.NewProgress()
	pool, config := &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}
	for _, milestone := range [][2]string{
		{"ASGCreated", "group"}, {"InstanceRefreshStarted", "first"}, {"InstanceRefreshSuperseded", "first ends"}, {"InstanceRefreshStarted", "second"},
		{"InstanceRefreshSucceeded", "second done"}, {"InstanceRefreshSucceeded", "second done"},
	} {
		progress.Milestone(pool, milestone[0], milestone[1])
	}
	progress.Milestone(config, "LaunchTemplateCreated", "template")
	progress.VersionCreated("first")
	progress.VersionCreated("token")
	progress.VersionCreated("token")
	expect(t, progress, []string{"slipway_milestones_total", "slipway_launch_template_versions_created_total", "slipway_rollouts_total"},
		"slipway_launch_template_versions_created_total reason=first 1",
		"slipway_launch_template_versions_created_total reason=token 2",
		"slipway_milestones_total kind=AWSLaunchConfig reason=LaunchTemplateCreated 1",
		"slipway_milestones_total kind=AWSMachinePool reason=ASGCreated 1",
		"slipway_milestones_total kind=AWSMachinePool reason=InstanceRefreshStarted 2",
		"slipway_milestones_total kind=AWSMachinePool reason=InstanceRefreshSucceeded 1",
		"slipway_milestones_total kind=AWSMachinePool reason=InstanceRefreshSuperseded 1",
		"slipway_rollouts_total outcome=failed 0",
		"slipway_rollouts_total outcome=rolled_back 0",
		"slipway_rollouts_total outcome=started 2",
		"slipway_rollouts_total outcome=succeeded 1",
		"slipway_rollouts_total outcome=superseded 1",
	)
	var none *metrics.Progress
	none.Milestone(pool, "ASGCreated", "group")
	none.VersionCreated("first")
	none.Seen(config, 1, start)
	none.Versioned(config, true, start)
	none.Forget(config, types.NamespacedName{})
	none.Read(nil)
}

// TestEditToVersion holds that the clock runs from when an edit is first seen to when its version
// exists, however many passes lie between.
func TestEditToVersion(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for _, row := range []struct {
		reason string
		steps  func(p *metrics.Progress, of func(generation int64) client.Object)
		count  uint64
		sum    float64
	}{
		{"one pass", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Versioned(of(2), true, at(1))
		}, 1, 1},
		{"passes that fail do not start it anew", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Seen(of(2), 1, at(3))
			p.Versioned(of(2), true, at(4))
		}, 1, 4},
		{"another edit does: the first is never versioned", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Seen(of(3), 1, at(3))
			p.Versioned(of(3), true, at(4))
		}, 1, 1},
		{"an edit that needs no version", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Versioned(of(2), false, at(1))
			p.Versioned(of(2), true, at(9))
		}, 0, 0},
		{"a token that was rotated is no edit", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 2, at(0))
			p.Versioned(of(2), true, at(1))
		}, 0, 0},
		{"an object that is gone", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Forget(of(2), client.ObjectKeyFromObject(of(2)))
			p.Versioned(of(2), true, at(1))
		}, 0, 0},
		{"a config whose name is a pool's that is gone", func(p *metrics.Progress, of func(int64) client.Object) {
			p.Seen(of(2), 1, at(0))
			p.Forget(&infrav1.AWSManagedMachinePool{}, client.ObjectKeyFromObject(of(2)))
			p.Versioned(of(2), true, at(1))
		}, 1, 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			progress := metrics.NewProgress()
			row.steps(progress, func(generation int64) client.Object {
				return &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", Generation: generation}}
			})
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(progress)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				if family.GetName() != "slipway_edit_to_version_seconds" {
					continue
				}
				histogram := family.GetMetric()[0].GetHistogram()
				if histogram.GetSampleCount() != row.count || histogram.GetSampleSum() != row.sum {
					t.Errorf("%d edits in %v s, want %d in %v", histogram.GetSampleCount(), histogram.GetSampleSum(), row.count, row.sum)
				}
				return
			}
			t.Error("there is no histogram")
		})
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	progress := metrics.NewProgress()
	expect(t, progress, []string{"slipway_conditions"})
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	condition := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: infrav1.ReadyCondition, Status: status, Reason: reason}}
	}
	pool := func(name string, conditions []metav1.Condition) *infrav1.AWSMachinePool {
		return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: infrav1.AWSMachinePoolStatus{Conditions: conditions}}
	}
	progress.Read(fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		pool("one", condition(metav1.ConditionTrue, "Ready")), pool("two", condition(metav1.ConditionTrue, "Ready")), pool("three", condition(metav1.ConditionFalse, "NameTaken")),
		&infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Status: infrav1.AWSLaunchConfigStatus{Conditions: condition(metav1.ConditionTrue, "Ready")}},
	).Build())
	expect(t, progress, []string{"slipway_conditions"},
		"slipway_conditions condition=Ready kind=AWSLaunchConfig reason=Ready status=True 1",
		"slipway_conditions condition=Ready kind=AWSMachinePool reason=NameTaken status=False 1",
		"slipway_conditions condition=Ready kind=AWSMachinePool reason=Ready status=True 2",
	)
}

// TestSeriesOfConditionsAreBounded holds that a user who writes ever other reasons to the status of
// objects gets no series for each, and hides none that many objects share.
func TestSeriesOfConditionsAreBounded(t *testing.T) {
	t.Parallel()
	const forged = 3000
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for i := range forged / 100 {
		pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pool-", i)}}
		pool.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"}}
		for j := range 100 {
			pool.Status.Conditions = append(pool.Status.Conditions, metav1.Condition{Type: fmt.Sprint("Forged", j), Status: metav1.ConditionTrue, Reason: fmt.Sprint("Reason", i)})
		}
		builder.WithObjects(pool)
	}
	progress := metrics.NewProgress()
	progress.Read(builder.Build())
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(progress)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series, objects, ready := 0, 0.0, false
	for _, family := range families {
		if family.GetName() != "slipway_conditions" {
			continue
		}
		for _, metric := range family.GetMetric() {
			series++
			objects += metric.GetGauge().GetValue()
			ready = ready || metric.GetGauge().GetValue() == forged/100 && metric.GetLabel()[0].GetValue() == infrav1.ReadyCondition
		}
	}
	if series > 1001 || objects != forged+forged/100 || !ready {
		t.Errorf("%d series count %v conditions; those that are Ready are there: %v", series, objects, ready)
	}
}

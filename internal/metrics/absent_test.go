package metrics_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
)

// TestMetricsAreOptional calls every method of a Progress that there is none of, as a manager
// without metrics does: each does nothing.
func TestMetricsAreOptional(t *testing.T) {
	t.Parallel()
	var none *metrics.Progress
	value := reflect.ValueOf(none)
	given := map[reflect.Type]reflect.Value{
		reflect.TypeFor[client.Object]():                   reflect.ValueOf(client.Object(&infrav1.AWSMachinePool{})),
		reflect.TypeFor[*provisioningv1.ProvisionedNode](): reflect.ValueOf(&provisioningv1.ProvisionedNode{}),
		reflect.TypeFor[*provisioningv1.Provisioner]():     reflect.ValueOf(&provisioningv1.Provisioner{}),
		reflect.TypeFor[chan<- prometheus.Metric]():        reflect.ValueOf((chan<- prometheus.Metric)(make(chan prometheus.Metric, 1000))),
		reflect.TypeFor[chan<- *prometheus.Desc]():         reflect.ValueOf((chan<- *prometheus.Desc)(make(chan *prometheus.Desc, 1000))),
	}
	for i := range value.NumMethod() {
		method, name := value.Method(i), value.Type().Method(i).Name
		if name == "Describe" || name == "Collect" {
			continue // a registry calls them, and none has a Progress that there is none of
		}
		t.Run(name, func(t *testing.T) {
			var arguments []reflect.Value
			for at := range method.Type().NumIn() {
				argument, known := given[method.Type().In(at)]
				if !known {
					argument = reflect.Zero(method.Type().In(at))
				}
				arguments = append(arguments, argument)
			}
			for _, result := range method.Call(arguments) {
				if result.Kind() == reflect.Func && !result.IsNil() {
					result.Call(make([]reflect.Value, result.Type().NumIn())) // what stops a clock
				} else if !result.IsZero() {
					t.Errorf("it returns %v", result)
				}
			}
		})
	}
}

// TestFailureIsNewsOnce holds what is remembered of failures that were warned about: for each
// object and type of condition the last one, until the condition is True or the object is gone.
func TestFailureIsNewsOnce(t *testing.T) {
	t.Parallel()
	progress := metrics.NewProgress()
	one := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "one"}}
	two := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "two"}}
	managed := &infrav1.AWSManagedMachinePool{ObjectMeta: one.ObjectMeta}
	failure := func(kind, message string) metav1.Condition { return metav1.Condition{Type: kind, Message: message} }
	for _, step := range []struct {
		reason string
		before func()
		object client.Object
		fails  metav1.Condition
		known  string
	}{
		{"the first failure", nil, one, failure("ASGReady", "a"), ""},
		{"the same one", nil, one, failure("ASGReady", "a"), "a"},
		{"another one", nil, one, failure("ASGReady", "b"), "a"},
		{"another condition", nil, one, failure("RolledOut", "c"), ""},
		{"another object", nil, two, failure("ASGReady", "b"), ""},
		{"an object of another kind and the same name", nil, managed, failure("ASGReady", "b"), ""},
		{"the condition was True in between", func() { progress.Recovered(one, "ASGReady") }, one, failure("ASGReady", "b"), ""},
		{"the other condition was not", nil, one, failure("RolledOut", "c"), "c"},
		{"nor that of the other object", nil, two, failure("ASGReady", "b"), "b"},
		{"what never failed recovers", func() { progress.Recovered(&infrav1.AWSLaunchConfig{}, "Ready") }, two, failure("ASGReady", "b"), "b"},
		{"the object was deleted and created again", func() {
			progress.Forget(&infrav1.AWSMachinePool{}, types.NamespacedName{Namespace: "team", Name: "two"})
		}, two, failure("ASGReady", "b"), ""},
	} {
		if step.before != nil {
			step.before()
		}
		earlier, warned := progress.Failed(step.object, step.fails)
		if warned != (step.known != "") || earlier.Message != step.known {
			t.Errorf("%s: the earlier failure is %q (%t), want %q", step.reason, earlier.Message, warned, step.known)
		}
	}
}

// TestForgottenNodesCountAgain holds that what is counted once for a node is forgotten with it, so
// that a later node of its name counts, and memory does not grow.
func TestForgottenNodesCountAgain(t *testing.T) {
	t.Parallel()
	progress, node := metrics.NewProgress(), provisioned("one", "a")
	launched := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	node.Status.LaunchTime = &metav1.Time{Time: launched}
	for range 2 {
		for range 2 {
			progress.NodeDisrupted(node, "Empty")
			progress.NodeEnded(node, launched.Add(time.Hour))
		}
		progress.NodeGone(node.Name)
	}
	expect(t, progress, []string{"slipway_node_disruptions_total"}, "slipway_node_disruptions_total provisioner=a reason=Empty 2")
	if count, sum := histogram(t, progress, "slipway_node_lifetime_seconds", prometheus.Labels{"provisioner": "a"}); count != 2 || sum != 7200 {
		t.Errorf("%d nodes lived %v seconds", count, sum)
	}
}

// TestClocksThatDisagree holds that no time is measured that is negative: AWS's clock, the API
// server's and the manager's may differ.
func TestClocksThatDisagree(t *testing.T) {
	t.Parallel()
	progress, node := metrics.NewProgress(), provisioned("one", "a")
	now := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	later := metav1.NewTime(now.Add(time.Minute))
	node.Status.LaunchTime, node.Status.DrainTime, node.Status.TerminateTime, node.DeletionTimestamp = &later, &later, &later, &later
	progress.NodeEnded(node, now)
	if count, sum := histogram(t, progress, "slipway_node_lifetime_seconds", prometheus.Labels{"provisioner": "a"}); count != 1 || sum != 0 {
		t.Errorf("%d nodes lived %v seconds", count, sum)
	}
	for _, stage := range []string{metrics.StageDrained, metrics.StageTerminated, metrics.StageGone} {
		if count, sum := histogram(t, progress, "slipway_node_termination_seconds", prometheus.Labels{"provisioner": "a", "stage": stage}); count != 1 || sum != 0 {
			t.Errorf("%d nodes were %s after %v seconds", count, stage, sum)
		}
	}
}

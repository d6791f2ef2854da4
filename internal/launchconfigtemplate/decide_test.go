package launchconfigtemplate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/report"
)

// template returns the template that the tests are about.
func template() *infrav1.AWSLaunchConfigTemplate {
	return &infrav1.AWSLaunchConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nodes", Generation: 2}}
}

// config returns a launch config that was created from a generation of the template, and is ready.
func config(name, generation string, change func(*infrav1.AWSLaunchConfig)) infrav1.AWSLaunchConfig {
	config := infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, Generation: 1, Labels: pool.TemplateLabels(client.ObjectKeyFromObject(template())),
		Annotations: map[string]string{infrav1.LaunchConfigTemplateAnnotation: "team/nodes", infrav1.LaunchConfigTemplateGenerationAnnotation: generation},
	}}
	config.Spec.ClusterName = "blue"
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: 1}}
	if change != nil {
		change(&config)
	}
	return config
}

func TestDecide(t *testing.T) {
	t.Parallel()
	many := make([]infrav1.AWSLaunchConfig, infrav1.MaxLaunchConfigTemplateUsers+1)
	for i := range many {
		many[i] = config(fmt.Sprintf("pool-%03d", i), "2", nil)
	}
	for _, row := range []struct {
		reason          string
		configs         []infrav1.AWSLaunchConfig
		users, upToDate int32
		listed          int
		first           string
	}{
		{reason: "nothing was created from it"},
		{reason: "one follows it", configs: []infrav1.AWSLaunchConfig{config("pool", "2", nil)}, users: 1, upToDate: 1, listed: 1, first: "pool"},
		{reason: "one follows an earlier generation", configs: []infrav1.AWSLaunchConfig{config("pool", "1", nil)}, users: 1, listed: 1, first: "pool"},
		{reason: "one is not ready", configs: []infrav1.AWSLaunchConfig{config("pool", "2", func(config *infrav1.AWSLaunchConfig) { config.Status.Conditions = nil })}, users: 1, listed: 1, first: "pool"},
		{reason: "one has not acted on its spec", configs: []infrav1.AWSLaunchConfig{config("pool", "2", func(config *infrav1.AWSLaunchConfig) { config.Generation = 2 })}, users: 1, listed: 1, first: "pool"},
		{reason: "another template has the same labels", configs: []infrav1.AWSLaunchConfig{config("pool", "2", func(config *infrav1.AWSLaunchConfig) {
			config.Annotations[infrav1.LaunchConfigTemplateAnnotation] = "team/other"
		})}},
		{reason: "they are listed by name", configs: []infrav1.AWSLaunchConfig{config("b", "2", nil), config("a", "1", nil)}, users: 2, upToDate: 1, listed: 2, first: "a"},
		{reason: "there are more than are listed", configs: many, users: infrav1.MaxLaunchConfigTemplateUsers + 1, upToDate: infrav1.MaxLaunchConfigTemplateUsers + 1,
			listed: infrav1.MaxLaunchConfigTemplateUsers, first: "pool-000"},
	} {
		object, plan := reconciletest.Decide(t, Decide, input{Object: template(), Seen: Observed{Configs: row.configs}})
		status := object.Status
		if status.ObservedGeneration != 2 || status.LaunchConfigs != row.users || status.UpToDateLaunchConfigs != row.upToDate || len(status.UsedBy) != row.listed ||
			row.listed > 0 && status.UsedBy[0].Name != row.first || len(plan.Actions) > 0 {
			t.Errorf("%s: status %+v, plan %+v", row.reason, status, plan)
		}
	}
}

// TestReconcile holds that the status is written when it changes, and not otherwise.
func TestReconcile(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored, user := template(), config("pool", "2", nil)
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored, &user).WithStatusSubresource(stored).Build()
	c := New(&Kind{Client: store}, clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)), report.Reporter{Recorder: events.NewFakeRecorder(10)})
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stored)}
	var versions []string
	for range 2 {
		if result, err := c.Reconcile(t.Context(), request); err != nil || result != (ctrl.Result{}) {
			t.Fatalf("result %+v, error %v", result, err)
		}
		if err := store.Get(t.Context(), request.NamespacedName, stored); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, stored.ResourceVersion)
	}
	want := []infrav1.LaunchConfigTemplateUser{{Namespace: "team", Name: "pool", ClusterName: "blue", UpToDate: true}}
	if difference := cmp.Diff(want, stored.Status.UsedBy); difference != "" || versions[0] != versions[1] {
		t.Errorf("resource versions %q; users (-want +got):\n%s", versions, difference)
	}
	if requests := templateOf(t.Context(), &user); len(requests) != 1 || requests[0] != request {
		t.Errorf("the launch config wakes %v", requests)
	}
	if requests := templateOf(t.Context(), template()); requests != nil {
		t.Errorf("an object without the annotation wakes %v", requests)
	}
}

package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
)

// TestPlanAfterUpdate holds that the time of an update of a node group is expected from the ones that EKS lists,
// and that it then takes about as long.
func TestPlanAfterUpdate(t *testing.T) {
	t.Parallel()
	w := plantest.NewManaged(t, 4, func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2)}
	})
	planned := func(instanceType string, change func(*infrav1.AWSManagedMachinePool)) *plan.Rollout {
		edited := w.Managed()
		edited.Spec.AWSLaunchTemplate.InstanceType = instanceType
		if change != nil {
			change(edited)
		}
		made, err := w.Planner.Plan(t.Context(), edited)
		if err != nil {
			t.Fatal(err)
		}
		rollout := made.Pools[0].Rollout
		if rollout == nil || rollout.Replaced != 4 {
			t.Fatalf("Plan: got the roll-out %+v, want 4 nodes to be replaced", rollout)
		}
		text := &strings.Builder{}
		if err := plan.Print(text, made); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(text.String(), "earlier roll-out of this pool."); shown != (rollout.Expected != nil) {
			t.Errorf("Print: got\n%s\nwant the earlier roll-out if there is one", text)
		}
		return rollout
	}
	if first := planned("m5.xlarge", nil); first.Expected != nil {
		t.Errorf("a node group without updates: got %+v expected", first.Expected)
	}
	edited := w.Managed()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	took := w.RollOut(edited)
	expected := planned("m5.2xlarge", nil).Expected
	if expected == nil || expected.Rollouts != 1 || expected.AtLeast != expected.AtMost {
		t.Fatalf("expected: got %+v, want the time of one earlier roll-out", expected)
	}
	edited = w.Managed()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.2xlarge"
	again := w.RollOut(edited)
	for _, measured := range []time.Duration{took, again} {
		if difference := (time.Duration(expected.AtMost) - measured).Abs(); difference > time.Minute {
			t.Errorf("expected: got %s, and it took %s", expected.AtMost, measured)
		}
	}
	otherPace := planned("m5.large", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.UpdateConfig.MaxUnavailable = ptr.To[int32](1) })
	if otherPace.Expected != nil {
		t.Errorf("an edit of the pace: got %+v expected, want nothing", otherPace.Expected)
	}
}

// TestPlanIgnoresControllers holds that a plan shows no field that a controller wrote after the edit was read.
func TestPlanIgnoresControllers(t *testing.T) {
	t.Parallel()
	w := plantest.NewManaged(t, 2, nil)
	edited := w.Managed()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	edited.Spec.ProviderIDList = []string{"aws:///us-east-1a/i-0123456789abcdef0"} // an earlier state
	metav1.SetMetaDataAnnotation(&edited.ObjectMeta, machinepool.DrainingAnnotation, "{}")
	made, err := w.Planner.Plan(t.Context(), edited)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Changes) != 1 || made.Changes[0].Path != "spec.awsLaunchTemplate.instanceType" {
		t.Errorf("Plan: got the changes %+v, want the instance type only", made.Changes)
	}
}

// TestPlanDuringUpdate holds that a plan does not promise that no node is replaced while EKS makes an earlier change of
// the node group, after which Slipway goes on.
func TestPlanDuringUpdate(t *testing.T) {
	t.Parallel()
	w := plantest.NewManaged(t, 3, nil)
	edited := w.Managed()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	w.Edit(edited, 4)
	for name, change := range map[string]func(*infrav1.AWSManagedMachinePool){
		"another instance type": func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.2xlarge" },
		"another size":          func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Scaling.MaxSize = ptr.To[int32](9) },
	} {
		again := w.Managed()
		if update := again.Status.Update; update == nil || update.Status != "InProgress" {
			t.Fatalf("the update is %+v, want one in progress", update)
		}
		change(again)
		made, err := w.Planner.Plan(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		text := &strings.Builder{}
		if err := plan.Print(text, made); err != nil {
			t.Fatal(err)
		}
		if made.Failed() || !strings.Contains(text.String(), "EKS still makes an earlier change") || strings.Contains(text.String(), "no effect") || strings.Contains(text.String(), "no node is replaced") {
			t.Errorf("%s: failed %t, and\n%s\nwant a plan that says that it ends early", name, made.Failed(), text)
		}
	}
}

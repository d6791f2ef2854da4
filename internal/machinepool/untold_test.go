package machinepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// readyInput returns what is decided from for a pool that refers to a launch config which is ready.
func readyInput(change func(*infrav1.AWSLaunchConfigStatus)) input {
	config := &infrav1.AWSLaunchConfig{}
	config.Name, config.Spec.InstanceType = "config", "m5.large"
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason}}
	change(&config.Status)
	in := input{Object: &infrav1.AWSMachinePool{}, Now: time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)}
	in.Object.Namespace, in.Object.Name = "team", "pool"
	in.Object.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "config"}
	in.Seen.LaunchConfig = pool.LaunchConfig{Object: config, TemplateID: config.Status.LaunchTemplateID}
	in.Seen.MachinePool = &clusterv1.MachinePool{}
	in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("data")
	config.OwnerReferences = []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: "pool", Controller: ptr.To(true)}}
	return in
}

// TestWaitBriefly holds which passes write no status: passes of a new pool whose launch config is
// expected to be ready soon, and none of them for long.
func TestWaitBriefly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		after  time.Duration
		change func(in *input)
		wait   time.Duration
	}{
		{"the launch config is ready", 0, func(in *input) { in.Seen.LaunchConfig.Object.Status.Conditions[0].Reason = infrav1.ReadyReason }, 0},
		{"the launch config was created", 0, nil, time.Second + briefly},
		{"another pass meanwhile", time.Second, nil, briefly},
		{"a group is there", 0, func(in *input) { in.Seen.Group = &autoscalinggroup.Group{} }, 0},
		{"status says something already", 0, func(in *input) { in.Object.Status.ObservedGeneration = 1 }, 0},
		{"it takes long", 4 * time.Second, nil, 0},
		{"the pool refers to a launch config from long ago", 4 * time.Second, func(in *input) { in.Object.CreationTimestamp = metav1.NewTime(in.Now) }, time.Second + briefly},
	} {
		in := readyInput(func(status *infrav1.AWSLaunchConfigStatus) { status.Conditions[0].Reason = "Pending" })
		in.Seen.LaunchConfig.Object.CreationTimestamp = metav1.NewTime(in.Now)
		in.Now = in.Now.Add(row.after)
		if row.change != nil {
			row.change(&in)
		}
		var plan reconcile.Plan
		waitBriefly(in, &plan)
		if plan.Again != row.wait || plan.Untold != (row.wait > 0) {
			t.Errorf("%s: nothing is written for %v, want %v", row.reason, plan.Again, row.wait)
		}
	}
}

package machinepool

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestBootstrapDataIsNamed holds that no instance is launched without user data by accident.
func TestBootstrapDataIsNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		name      *string
		reference *infrav1.LaunchConfigReference
		says      string
	}{
		{"a Secret", ptr.To("data"), nil, ""},
		{"the bootstrap provider is not ready", nil, nil, "does not reference a bootstrap data Secret yet"},
		{"an empty name", ptr.To(""), nil, "never join the cluster"},
		{"a launch config that has its own", ptr.To(""), &infrav1.LaunchConfigReference{Name: "config"}, ""},
	} {
		in := input{Object: &infrav1.AWSMachinePool{}, Seen: Observed{MachinePool: &clusterv1.MachinePool{}}}
		in.Object.Spec.LaunchConfigRef, in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName = row.reference, row.name
		awaitBootstrap(in, nil)
		condition := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.BootstrapDataReadyCondition)
		if ready := meta.IsStatusConditionTrue(in.Object.Status.Conditions, condition.Type); ready != (row.says == "") || !strings.Contains(condition.Message, row.says) {
			t.Errorf("%s: BootstrapDataReady is %+v", row.reason, condition)
		}
	}
}

package pool_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestShownConfigHasOnePrefix holds that a pool shows the message of its launch config without the type of
// the condition that it follows from. The summary of the pool adds the type of the pool's own.
func TestShownConfigHasOnePrefix(t *testing.T) {
	t.Parallel()
	const message = "image ami-1 does not exist: set ami.id"
	for _, from := range []string{infrav1.ResolvedCondition, infrav1.LaunchTemplateReadyCondition, infrav1.VerifiedCondition} {
		config, object := &infrav1.AWSLaunchConfig{}, &infrav1.AWSMachinePool{}
		config.Status.Conditions = []metav1.Condition{
			{Type: from, Status: metav1.ConditionFalse, Reason: infrav1.ImageNotFoundReason, Message: message},
			{Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.ImageNotFoundReason, Message: from + ": " + message},
		}
		pool.ShowLaunchConfig(object, config)
		if shown := meta.FindStatusCondition(object.Status.Conditions, infrav1.LaunchTemplateReadyCondition); shown == nil || shown.Message != message {
			t.Errorf("%s: the pool shows %+v, want the message %q", from, shown, message)
		}
	}
}

package awsmachinepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// TestUntold holds which passes write no status: those of a new pool whose launch config is expected to be ready in a moment, and none of them for long.
func TestUntold(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC))
	r := &Reconciler{Clock: clk}
	fresh := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool"}}
	told := fresh.DeepCopy()
	told.Status.ObservedGeneration = 1
	expect := func(reason string, p *pass, before *infrav1.AWSMachinePool, want time.Duration) {
		t.Helper()
		p.pool = fresh
		if got := r.untold(p, before); got != want {
			t.Errorf("%s: nothing is said for %v, want %v", reason, got, want)
		}
	}
	expect("nothing is awaited", &pass{}, fresh, 0)
	expect("the launch config was made", &pass{awaiting: true}, fresh, briefly)
	clk.SetTime(clk.Now().Add(briefly / 2))
	expect("another pass meanwhile", &pass{awaiting: true}, fresh, briefly/2)
	expect("a group is there", &pass{awaiting: true, group: &autoscalinggroup.Group{}}, fresh, 0)
	expect("status says something already", &pass{awaiting: true}, told, 0)
	expect("it is awaited anew", &pass{awaiting: true}, fresh, briefly)
	clk.SetTime(clk.Now().Add(briefly))
	expect("it takes long", &pass{awaiting: true}, fresh, 0)
}

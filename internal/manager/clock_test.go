package manager

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/steadyclock"
)

// TestClockOfTheAPIServer holds that a manager on a machine whose clock is hours ahead goes by the clock of the API
// server from its first call on: a new leader would otherwise take the times that the former one recorded for old.
func TestClockOfTheAPIServer(t *testing.T) {
	t.Parallel()
	w := serve(t, provisioned()...)
	scheme, err := NewProvisionerScheme()
	if err != nil {
		t.Fatal(err)
	}
	options := optionsFor(w).withDefaults()
	options.Clock = steadyclock.New(clocktesting.NewFakeClock(time.Now().Add(6*time.Hour)), func() time.Duration { return 0 })
	manager, err := newManager(options, controllerManagerOptions(options, scheme))
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.GetAPIReader().Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{}); err != nil {
		t.Fatal(err)
	}
	if off := time.Since(options.Clock.Now()); off.Abs() > time.Minute {
		t.Errorf("the clock is off by %s", off)
	}
}

package common

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// SettleFrom returns the time to record for a spec that changed now. The API stores whole seconds,
// so it is rounded up: a window that is measured from it is never shorter than it says.
func SettleFrom(clk clock.PassiveClock) *metav1.Time {
	now := clk.Now()
	if cut := now.Truncate(time.Second); cut.Before(now) {
		now = cut.Add(time.Second)
	}
	return &metav1.Time{Time: now}
}

// SettleWait returns how long a spec must still not change before it is acted on, zero or less for no longer.
func SettleWait(since *metav1.Time, window time.Duration, clk clock.PassiveClock) time.Duration {
	return window - clk.Since(since.Time)
}

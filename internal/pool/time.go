package pool

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoundedUp returns a time in whole seconds, which the API stores, that is not before the given one.
// A wait that is measured from it is never too short.
func RoundedUp(now time.Time) metav1.Time {
	if cut := now.Truncate(time.Second); cut.Before(now) {
		now = cut.Add(time.Second)
	}
	return metav1.Time{Time: now}
}

package reconciling

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// NextTurn returns the first time after the given one at which an object has its turn to be
// checked, which it has once in every interval. Turns follow from the clock and the name of the
// object alone. So a process that starts does not put off what is due, however often one starts,
// and objects have their turns at different times.
func NextTurn(after time.Time, interval time.Duration, object types.NamespacedName) time.Time {
	return nextTurn(after, interval, ShareOf(object))
}

func nextTurn(after time.Time, interval time.Duration, share float64) time.Time {
	offset := time.Duration(float64(interval) * share)
	return after.Add(-offset).Truncate(interval).Add(interval + offset)
}

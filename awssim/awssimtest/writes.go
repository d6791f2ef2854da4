package awssimtest

import (
	"strings"
	"time"

	"github.com/slipway-project/slipway/awssim"
)

// SetReadLag has descriptions show AWS as it was a time ago, and leaves the rest of the behavior as it is.
func SetReadLag(simulator *awssim.Simulator, lag time.Duration) {
	behavior := simulator.Behavior()
	behavior.ReadLag = lag
	simulator.SetBehavior(behavior)
}

// Writes returns the actions of the calls in the log that ask AWS to change something, in their order.
func Writes(simulator *awssim.Simulator) []string {
	var actions []string
	for _, call := range simulator.Calls() {
		if !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "List") {
			actions = append(actions, call.Action)
		}
	}
	return actions
}

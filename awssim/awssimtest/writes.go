package awssimtest

import (
	"strings"

	"github.com/slipway-project/slipway/awssim"
)

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

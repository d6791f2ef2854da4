// Package action distinguishes the actions of AWS's APIs that change something from read-only
// actions.
package action

import (
	"slices"
	"strings"
)

// readPrefixes begin the names of actions that change nothing. AssumeRole changes nothing either,
// and credentials to read with come of it.
var readPrefixes = []string{"Describe", "Get", "List", "Head", "AssumeRole", "Simulate"}

// Changes reports whether an action may change something. One that is not known to change nothing may.
func Changes(action string) bool {
	return !slices.ContainsFunc(readPrefixes, func(prefix string) bool { return strings.HasPrefix(action, prefix) })
}

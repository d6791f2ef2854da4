// Package conditionhelp holds the documentation of the reasons of conditions, for programs that
// show it: what a reason reports, what it means for nodes, and what to do. The texts are the same
// as in docs/reference/conditions.md: hack/references generates both from the constants in api/.
package conditionhelp

import "strings"

// Help is the documentation of a reason.
type Help struct {
	// Meaning describes what the reason reports, Nodes what it means for nodes, and Remedy what to do.
	Meaning, Nodes, Remedy string
}

// key is a reason in one of the two API groups.
type key struct {
	provisioning bool
	reason       string
}

// For returns the documentation of a reason of a kind, and false for a reason that has none.
func For(kind, reason string) (Help, bool) {
	help, known := documented[key{strings.HasPrefix(kind, "Provision"), reason}]
	return help, known
}

// NeedsHuman reports whether there is something to do about a reason.
func (h Help) NeedsHuman() bool { return h.Remedy != "" && !strings.HasPrefix(h.Remedy, "None") }

// page is the page of the reference that documents conditions.
const page = "docs/reference/conditions.md"

// Link returns where the reference documents a condition.
func Link(condition string) string { return page + "#" + strings.ToLower(condition) }

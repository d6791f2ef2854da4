package main

import (
	"strings"
	"testing"
)

const documentedReasons = `package v1beta2

const (
	// ReadyCondition is True when all is well.
	//
	// +slipway:kinds=AWSMachinePool
	ReadyCondition = "Ready"
)

const (
	// BrokenReason reports that something is broken.
	//
	// Nodes: running nodes stay.
	// Remedy: mend it.
	BrokenReason = "Broken"
)

const (
	// GroupCreatedEvent reports that the group was created.
	//
	// Remedy: none.
	GroupCreatedEvent = "GroupCreated"
)
`

const usesOfReasons = `package machinepool

func decide() {
	reconciling.False(object, infrav1.ReadyCondition, infrav1.BrokenReason, "it is broken")
	plan.Tell(reconcile.Eventf(infrav1.GroupCreatedEvent, "Created %s", group))
}
`

// TestReasons holds what the generator refuses: reasons without constants, and constants without
// documentation or use.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason    string
		api, code string // replaced in turns: old, new
		config    string // the code of launch configs, if any
		fails     string
		rows      []string
	}{
		{
			reason: "the meaning comes from the documentation, and the kind and the status from the code",
			rows: []string{
				"| False | `Broken` | AWSMachinePool | Reports that something is broken. | Running nodes stay. | Mend it. |",
				"| `GroupCreated` | Normal | AWSMachinePool | Reports that the group was created. | None. |",
			},
		},
		{
			reason: "a condition's reason is a constant",
			code:   "infrav1.BrokenReason=>\"Broken\"", fails: "the reason of condition Ready is a string",
		},
		{
			reason: "kinds that copy a condition from their launch config have its reasons",
			api:    "	// +slipway:kinds=AWSMachinePool\n=>	// +slipway:kinds=AWSMachinePool,AWSLaunchConfig\n	// +slipway:copied=AWSMachinePool\n",
			config: usesOfReasons,
			code:   "infrav1.BrokenReason=>reason",
			rows:   []string{"| False | `Broken` | AWSLaunchConfig, AWSMachinePool |"},
		},
		{
			reason: "kinds that do not copy a condition do not have its reasons",
			api:    "	// +slipway:kinds=AWSMachinePool\n=>	// +slipway:kinds=AWSMachinePool,AWSLaunchConfig\n",
			config: usesOfReasons,
			code:   "infrav1.BrokenReason=>reason",
			rows:   []string{"| False | `Broken` | AWSLaunchConfig |"},
		},
		{
			reason: "an event's reason is a constant",
			code:   "infrav1.GroupCreatedEvent=>\"GroupMade\"", fails: "the reason GroupMade of an event has no constant",
		},
		{
			reason: "a string with the value of a constant passes, for code that does not import the API",
			code:   "infrav1.GroupCreatedEvent=>\"GroupCreated\"",
			rows:   []string{"| `GroupCreated` | Normal | AWSMachinePool |"},
		},
		{
			reason: "a reason has a remedy", api: "	// Remedy: mend it.\n=>",
			fails: `BrokenReason lacks a line "Remedy: "`,
		},
		{
			reason: "a reason has an effect on nodes", api: "	// Nodes: running nodes stay.\n=>",
			fails: `BrokenReason lacks a line "Nodes: "`,
		},
		{
			reason: "an event has a remedy", api: "	//\n	// Remedy: none.\n	Group=>	Group",
			fails: `GroupCreatedEvent lacks a line "Remedy: "`,
		},
		{
			reason: "a reason has a doc comment", api: "	// BrokenReason reports that something is broken.\n	//\n	// Nodes: running nodes stay.\n	// Remedy: mend it.\n=>",
			fails: "BrokenReason lacks a doc comment",
		},
		{
			reason: "a reason is one of some condition", code: "infrav1.BrokenReason=>reason",
			fails: "no condition is known for BrokenReason",
		},
		{
			reason: "a marker stands for code that chooses the reason", api: "	BrokenReason =>	//\n	// +slipway:condition=Ready:Unknown\n	BrokenReason ",
			code: "infrav1.BrokenReason=>reason", rows: []string{"| Unknown | `Broken` | AWSMachinePool |"},
		},
		{
			reason: "an event is reported", code: "infrav1.GroupCreatedEvent=>reason",
			fails: "no event has the reason GroupCreatedEvent",
		},
		{
			reason: "reasons that other packages declare are constants of the API too",
			code:   "func decide() {=>const ReasonLost = \"Lost\"\n\nfunc decide() {", fails: "ReasonLost has the value Lost, of which the API has no constant",
		},
		{
			reason: "a condition has kinds", api: "	// +slipway:kinds=AWSMachinePool\n=>", fails: "ReadyCondition lacks a marker",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			root := repositoryWith(t, "[]")
			write(t, root, "api/infrastructure/v1beta2/types.go", "package v1beta2\n")
			write(t, root, "api/infrastructure/v1beta2/conditions.go", replaced(t, documentedReasons, c.api))
			write(t, root, "internal/machinepool/decide.go", replaced(t, usesOfReasons, c.code))
			if c.config != "" {
				write(t, root, "internal/launchconfig/decide.go", strings.Replace(c.config, "package machinepool", "package launchconfig", 1))
			}
			pages, err := generate(root)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error is %v, not one with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, page := range pages {
				all.WriteString(page.content)
			}
			for _, row := range c.rows {
				if !strings.Contains(all.String(), row) {
					t.Errorf("no page has %q:\n%s", row, all.String())
				}
			}
		})
	}
}

// replaced replaces the text before => by the text after it.
func replaced(t *testing.T, code, change string) string {
	t.Helper()
	before, after, is := strings.Cut(change, "=>")
	if !is {
		return code
	}
	if !strings.Contains(code, before) {
		t.Fatalf("%q is not in the code", before)
	}
	return strings.Replace(code, before, after, 1)
}

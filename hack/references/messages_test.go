package main

import (
	"strings"
	"testing"
)

// TestMessages holds which texts of the code are found, each in the form in which code writes them.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, file, code, want string }{
		{
			reason: "the message of a condition", file: "internal/machinepool/a.go",
			code: `func f() { reconciling.False(object, infrav1.ReadyCondition, infrav1.BrokenReason, fmt.Sprintf("group %s is broken", name)) }`,
			want: "condition machinepool: group %s is broken",
		},
		{
			reason: "a message in a variable", file: "internal/machinepool/a.go",
			code: `func f() { message := "it is " + state; reconciling.False(object, infrav1.ReadyCondition, infrav1.BrokenReason, message) }`,
			want: "condition machinepool: it is %s",
		},
		{
			reason: "a message that a function returns", file: "internal/machinepool/a.go",
			code: `func f() { reconciling.False(object, infrav1.ReadyCondition, infrav1.BrokenReason, why()) }
				func why() string { return "because of that" }`,
			want: "condition machinepool: because of that",
		},
		{
			reason: "a reason and its message as results", file: "internal/pool/a.go",
			code: `func f() (string, string) { return infrav1.BrokenReason, "a disk is full" }`,
			want: "condition pool: a disk is full",
		},
		{
			reason: "a message before its reason", file: "internal/pool/a.go",
			code: `func f() (string, string) { return "a disk is full", infrav1.BrokenReason }`,
			want: "condition pool: a disk is full",
		},
		{
			reason: "an error with a reason", file: "internal/identity/a.go",
			code: `func f() error { return &Error{Reason: infrav1.BrokenReason, Message: "the key is gone"} }`,
			want: "condition identity: the key is gone",
		},
		{
			reason: "the text of an error", file: "internal/aws/a.go",
			code: `func (e *noRegion) Error() string { return "no AWS region: set one" }`,
			want: "error     aws: no AWS region: set one",
		},
		{
			reason: "an event", file: "internal/launchconfig/a.go",
			code: `func f() { plan.Tell(reconcile.Warningf(infrav1.GroupCreatedEvent, "Group %s is lost", name)) }`,
			want: "event     launchconfig: Group %s is lost",
		},
		{
			reason: "a warning at admission", file: "internal/webhooks/a.go",
			code: `func f() string { return "spec.a: it does nothing" }`,
			want: "warning   webhooks: spec.a: it does nothing",
		},
		{
			reason: "why a pod gets no node", file: "internal/provisioning/constraints/a.go",
			code: `func f() { refuse(fmt.Sprintf("asks for zone %s", zone)) }`,
			want: "pod       provisioning/constraints: asks for zone %s",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			root := repositoryWith(t, "[]")
			write(t, root, "api/infrastructure/v1beta2/conditions.go", documentedReasons)
			write(t, root, c.file, "package p\n"+c.code)
			code, err := load(root)
			if err != nil {
				t.Fatal(err)
			}
			catalog, _ := catalogOf(code)
			got, err := messagesPage(catalog)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.content, "\n"+c.want+"\n") {
				t.Errorf("the page lacks %q:\n%s", c.want, got.content)
			}
			if rule := "rule      api/infrastructure/v1beta2: min must not be above max"; !strings.Contains(got.content, rule) {
				t.Errorf("the page lacks %q", rule)
			}
		})
	}
}

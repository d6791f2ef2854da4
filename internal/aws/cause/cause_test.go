package cause

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestComment(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		cause  Cause
		want   string
	}{
		{
			"an edit of a pool",
			Cause{Kind: "AWSMachinePool", Namespace: "default", Name: "web", Generation: 3, Reason: "instance type t3.large → m6i.large"},
			"(AWSMachinePool default/web; generation 3; instance type t3.large -> m6i.large)",
		},
		{"a cluster-scoped object", Cause{Kind: "Provisioner", Name: "default", Reason: "a pod waits"}, "(Provisioner default; a pod waits)"},
		{
			"a call for three objects, two of them for the same reason",
			Several([]Cause{{Kind: "ProvisionedNode", Name: "a", Reason: "empty"}, {Kind: "ProvisionedNode", Name: "b", Reason: "empty"}, {Kind: "ProvisionedNode", Name: "c", Reason: "expired"}}),
			"(ProvisionedNode a and 2 more; empty)",
		},
		{"no object", Cause{Reason: "a pod waits"}, "(a pod waits)"},
		{
			"a tenant cannot end the comment, add a part, or add a header",
			Cause{Kind: "AWSMachinePool", Namespace: "default", Name: "web", Generation: 1, Reason: "image a) curl/8 (x; generation 9\r\nHost: \\evil é"},
			"(AWSMachinePool default/web; generation 1; image a' curl/8 'x, generation 9??Host: 'evil ?)",
		},
	} {
		if got := row.cause.Comment(); got != row.want {
			t.Errorf("%s: comment is %q, want %q", row.reason, got, row.want)
		}
	}
	long := Cause{Kind: "AWSMachinePool", Namespace: "default", Name: "web", Generation: 1, Reason: strings.Repeat("é", 5000)}.Comment()
	if len(long) > mostBytes+2 || !strings.HasSuffix(long, "?)") {
		t.Errorf("a long reason gives a comment of %d bytes, want at most %d", len(long), mostBytes+2)
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	if _, is := Of(t.Context()); is {
		t.Error("a context without a cause has one")
	}
	pool := &metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 3}
	want := Cause{Kind: "AWSMachinePool", Namespace: "default", Name: "web", Generation: 3, Reason: "an edit"}
	if got, is := Of(Because(For(t.Context(), "AWSMachinePool", pool), "an edit")); !is || got != want {
		t.Errorf("cause is %v, want %v", got, want)
	}
	if got, _ := Of(For(Because(t.Context(), "an edit"), "AWSMachinePool", pool)); got != want {
		t.Errorf("cause in the other order is %v, want %v", got, want)
	}
}

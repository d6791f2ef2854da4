package poolview

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestEventText holds that messages of events have no Go structs.
func TestEventText(t *testing.T) {
	t.Parallel()
	one := corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "ip-10-0-1-7", UID: "5f1c"}
	other := corev1.ObjectReference{Name: "ip-10-0-1-8"}
	for _, row := range []struct{ reason, message, want string }{
		{"Cluster API prints the list of Nodes", fmt.Sprintf("%+v", []corev1.ObjectReference{one, other}), "ip-10-0-1-7, ip-10-0-1-8"},
		{"the list has one", fmt.Sprintf("%+v", []corev1.ObjectReference{one}), "ip-10-0-1-7"},
		{"the list is empty", fmt.Sprintf("%+v", []corev1.ObjectReference{}), "none"},
		{"a reference in a sentence", fmt.Sprintf("Node %+v is gone", one), "Node ip-10-0-1-7 is gone"},
		{"a sentence", "Launched [2] instances {of m5.large}", "Launched [2] instances {of m5.large}"},
	} {
		if got := EventText(row.message); got != row.want {
			t.Errorf("%s: the text is %q, want %q", row.reason, got, row.want)
		}
	}
}

package fleet

import "testing"

// TestClientToken holds that a launch which an earlier release recorded keeps its token, and that
// the token of any other depends on its cluster.
func TestClientToken(t *testing.T) {
	t.Parallel()
	if token := clientToken(Request{Name: "one"}); token != "one" {
		t.Errorf("without a mark the token is %q", token)
	}
	a, b := clientToken(Request{Name: "one", ClusterUID: "a"}), clientToken(Request{Name: "one", ClusterUID: "b"})
	if a == b || len(a) > 64 {
		t.Errorf("the tokens are %q and %q", a, b)
	}
}

package clusteridentity

import (
	"crypto/sha256"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	absent, one, other := state{}, state{exists: true, digest: sha256.Sum256([]byte("one"))}, state{exists: true, digest: sha256.Sum256([]byte("other"))}
	static := string(aws.IdentityStatic)
	for _, row := range []struct {
		reason, kind string
		before, now  state
		want         audience
	}{
		{"an identity that never was", static, absent, absent, none},
		{"an identity is as it was", static, one, one, none},
		{"an identity is seen for the first time", static, absent, one, waiting},
		{"an identity, or its Secret, changed", static, one, other, all},
		{"an identity is gone", static, one, absent, all},
		{"a Namespace is seen for the first time", namespaceKind, absent, one, none},
		{"a Namespace has the labels that it had", namespaceKind, one, one, none},
		{"a Namespace has other labels", namespaceKind, one, other, namespace},
		{"a Namespace is gone", namespaceKind, one, absent, namespace},
	} {
		if got := decide(row.kind, row.before, row.now); got != row.want {
			t.Errorf("%s: %d is woken, want %d", row.reason, got, row.want)
		}
	}
}

// TestRemember holds that a change is decided from what was observed last.
func TestRemember(t *testing.T) {
	t.Parallel()
	var r Reconciler
	one := state{exists: true, digest: sha256.Sum256([]byte("one"))}
	for i, step := range []struct{ now, before state }{{one, state{}}, {one, one}, {state{}, one}, {one, state{}}} {
		if before := r.remember(types.NamespacedName{Namespace: "AWSClusterControllerIdentity", Name: "default"}, step.now); before != step.before {
			t.Errorf("step %d: before it was %+v", i, before)
		}
	}
}

// TestWaits holds which objects an identity that appears may help.
func TestWaits(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{infrav1.IdentityNotFoundReason: true, infrav1.CredentialsInvalidReason: true, infrav1.InvalidSpecReason: false} {
		config := &infrav1.AWSLaunchConfig{}
		config.Status.Conditions = []metav1.Condition{{Type: infrav1.DeletingCondition, Reason: reason}}
		if got := waitOf(config); slices.Contains(got, waits) != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
	if got := waitOf(&infrav1.AWSMachinePool{}); got != nil {
		t.Errorf("an object without conditions has %q", got)
	}
}

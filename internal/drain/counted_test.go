package drain

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
)

// answering answers every request to remove a pod with one error.
type answering struct {
	TrustedAPI
	err error
}

func (a answering) Evict(context.Context, *policyv1.Eviction) error { return a.err }

func (a answering) Delete(context.Context, *corev1.Pod, int64) error { return a.err }

// TestCounted holds that each answer to a request to remove a pod is reported, and passed on.
func TestCounted(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for _, row := range []struct {
		reason  string
		err     error
		evicted string
		deleted string
	}{
		{"it leaves", nil, OutcomeAccepted, OutcomeDeleted},
		{"a PodDisruptionBudget holds it", apierrors.NewTooManyRequests("", 1), OutcomeHeld, OutcomeHeld},
		{"it is gone", apierrors.NewNotFound(pods, "a"), OutcomeGone, OutcomeGone},
		{"another has its name", apierrors.NewConflict(pods, "a", errors.New("uid")), OutcomeGone, OutcomeGone},
		{"a permission is missing", apierrors.NewForbidden(pods, "a", errors.New("no")), OutcomeFailed, OutcomeFailed},
		{"there is no answer", errors.New("connection refused"), OutcomeFailed, OutcomeFailed},
	} {
		var got []string
		api := CountedTrusted(answering{err: row.err}, func(outcome string) { got = append(got, outcome) })
		if first, second := api.Evict(t.Context(), &policyv1.Eviction{}), api.Delete(t.Context(), pod("a"), 0); !errors.Is(first, row.err) || !errors.Is(second, row.err) {
			t.Errorf("%s: the errors are %v and %v", row.reason, first, second)
		}
		if diff := cmp.Diff([]string{row.evicted, row.deleted}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestDrainsAreCounted holds that a drain reports the results of its evictions, and works without a
// reporter.
func TestDrainsAreCounted(t *testing.T) {
	t.Parallel()
	api := Clientset(fake.NewClientset(node("True"), pod("a"), pod("b")))
	counts := map[string]int{}
	if _, err := Look(t.Context(), Counted(api, func(outcome string) { counts[outcome]++ }), nodeName, providerID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{OutcomeAccepted: 2}, counts); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if _, err := Look(t.Context(), Counted(api, nil), nodeName, providerID); err != nil {
		t.Error(err)
	}
}

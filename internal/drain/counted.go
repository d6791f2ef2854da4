package drain

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outcomes of requests that remove a pod from its node.
const (
	// OutcomeAccepted is an eviction that was accepted: the pod is ending.
	OutcomeAccepted = "accepted"
	// OutcomeHeld is an eviction that a PodDisruptionBudget did not allow.
	OutcomeHeld = "held"
	// OutcomeGone is an eviction of a pod that is gone, or was replaced by another of its name.
	OutcomeGone = "gone"
	// OutcomeFailed is an eviction or a deletion that failed for another reason.
	OutcomeFailed = "failed"
	// OutcomeDeleted is a pod that was deleted because the deadline of the drain had come.
	OutcomeDeleted = "deleted"
)

// Counted returns an API that reports the outcome of each eviction, unless there is nothing to report it to.
func Counted(api API, report func(outcome string)) API {
	if report == nil {
		return api
	}
	return &counted{api, report}
}

// CountedTrusted does the same as Counted for a cluster that is trusted. It also reports deletions.
func CountedTrusted(api TrustedAPI, report func(outcome string)) TrustedAPI {
	return &countedTrusted{counted{api, report}, api}
}

type counted struct {
	API
	report func(outcome string)
}

// Evict implements API.
func (c *counted) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	err := c.API.Evict(ctx, eviction)
	c.report(outcomeOf(err, OutcomeAccepted))
	return err
}

type countedTrusted struct {
	counted
	deleter Deleter
}

// Delete implements Deleter.
func (c *countedTrusted) Delete(ctx context.Context, pod *corev1.Pod, gracePeriod int64) error {
	err := c.deleter.Delete(ctx, pod, gracePeriod)
	c.report(outcomeOf(err, OutcomeDeleted))
	return err
}

// outcomeOf returns what became of a request, by its error.
func outcomeOf(err error, done string) string {
	switch {
	case err == nil:
		return done
	case apierrors.IsTooManyRequests(err):
		return OutcomeHeld
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return OutcomeGone
	}
	return OutcomeFailed
}

package reconciling

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Conditioned is an object whose status holds conditions.
type Conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// True sets a condition to True. The reason and the message must be stable: they contain no times
// and no request IDs.
func True(object Conditioned, conditionType, reason, message string) {
	set(object, conditionType, metav1.ConditionTrue, reason, message)
}

// False sets a condition to False.
func False(object Conditioned, conditionType, reason, message string) {
	set(object, conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown sets a condition to Unknown: an answer from AWS or another system is missing.
func Unknown(object Conditioned, conditionType, reason, message string) {
	set(object, conditionType, metav1.ConditionUnknown, reason, message)
}

// set sets a condition, and leaves open when it became so: deciding knows no clock. Stamp adds the time.
func set(object Conditioned, conditionType string, status metav1.ConditionStatus, reason, message string) {
	condition := metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: shown(message),
		ObservedGeneration: object.GetGeneration(),
	}
	present := object.GetConditions()
	place := slices.IndexFunc(present, func(one metav1.Condition) bool { return one.Type == conditionType })
	if place >= 0 && present[place].Status == status {
		condition.LastTransitionTime = present[place].LastTransitionTime
	}
	if place >= 0 && present[place] == condition {
		return // as in most passes
	}
	// A copy, because the object may share its conditions with its stored self.
	conditions := slices.Clone(present)
	if place < 0 {
		conditions = append(conditions, condition)
	} else {
		conditions[place] = condition
	}
	object.SetConditions(conditions)
}

// longestMessage bounds the message of a condition, in characters (Kubernetes: metav1.Condition). The
// API server refuses a status with a longer one.
const longestMessage = 32768

// shown returns a message on one line, without characters that a terminal interprets, cut to what a
// condition takes. Messages repeat what tenants and their servers wrote, and kubectl prints them as
// they are. Package terminal does the same for other texts, and this package imports none of Slipway.
func shown(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
	if len(message) <= longestMessage {
		return message
	}
	if runes := []rune(message); len(runes) > longestMessage {
		return string(runes[:longestMessage-1]) + "…"
	}
	return message
}

// Stamp sets the last transition of the conditions that have none yet. It is now, unless the stored
// object has the condition with the same status: a condition that was removed and set again has not
// changed, and a write for it would trigger the next pass, in an infinite loop.
func Stamp(object, stored Conditioned, now time.Time) {
	conditions := slices.Clone(object.GetConditions())
	for i := range conditions {
		condition := &conditions[i]
		if !condition.LastTransitionTime.IsZero() {
			continue
		}
		condition.LastTransitionTime = metav1.NewTime(now)
		if before := meta.FindStatusCondition(stored.GetConditions(), condition.Type); before != nil && before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	object.SetConditions(conditions)
}

// Remove removes a condition that no longer applies.
func Remove(object Conditioned, conditionType string) {
	if meta.FindStatusCondition(object.GetConditions(), conditionType) == nil {
		return // as in most passes
	}
	conditions := slices.Clone(object.GetConditions())
	meta.RemoveStatusCondition(&conditions, conditionType)
	object.SetConditions(conditions)
}

// PendingReason is the reason of a summary while a condition that it follows from has not been
// found for the current generation.
const PendingReason = "Pending"

// Summary computes one condition from others.
type Summary struct {
	// Target is the condition that is computed, usually "Ready".
	Target string
	// Of are the conditions that must be True, in the order in which they become so: the first that
	// is not explains the target.
	Of []string
	// Reason is the target's reason when all are True.
	Reason string
	// Unless is a condition that, while it is False, sets the target to Unknown for its reason,
	// since what the others say may no longer be so. A target that is False stays so, and the
	// message of Unless is appended to its own. None if empty.
	Unless string
	// UnlessStatus is what Unless makes the target instead of Unknown. It is False where the doubt
	// itself is what the target denies.
	UnlessStatus metav1.ConditionStatus
}

// Summarize computes the target. A condition that is missing, or was found for an earlier
// generation, is not known.
func (s Summary) Summarize(object Conditioned) {
	// The target is set once, since its last transition must not change with what it would be
	// without the doubt.
	status, reason, message := s.conclude(object)
	doubt := meta.FindStatusCondition(object.GetConditions(), s.Unless)
	switch {
	case doubt == nil || doubt.Status != metav1.ConditionFalse:
	case status == metav1.ConditionFalse:
		message += ". " + doubt.Message
	default:
		status, reason, message = cmp.Or(s.UnlessStatus, metav1.ConditionUnknown), doubt.Reason, doubt.Message
	}
	set(object, s.Target, status, reason, message)
}

// conclude returns what the target is by the conditions that it follows from.
func (s Summary) conclude(object Conditioned) (status metav1.ConditionStatus, reason, message string) {
	for _, conditionType := range s.Of {
		condition := meta.FindStatusCondition(object.GetConditions(), conditionType)
		if condition == nil || condition.ObservedGeneration != object.GetGeneration() {
			// A pass may stop at a step that reports to a later condition: what it found out counts
			// more than what it did not.
			if condition = s.failed(object); condition == nil {
				return metav1.ConditionUnknown, PendingReason, conditionType + " is not known yet"
			}
			conditionType = condition.Type
		}
		if condition.Status != metav1.ConditionTrue {
			message := conditionType
			if condition.Message != "" {
				message = strings.Join([]string{conditionType, condition.Message}, ": ")
			}
			return condition.Status, condition.Reason, message
		}
	}
	return metav1.ConditionTrue, s.Reason, ""
}

// failed is the first condition that was found False for the present generation.
func (s Summary) failed(object Conditioned) *metav1.Condition {
	for _, conditionType := range s.Of {
		condition := meta.FindStatusCondition(object.GetConditions(), conditionType)
		if condition != nil && condition.Status == metav1.ConditionFalse && condition.ObservedGeneration == object.GetGeneration() {
			return condition
		}
	}
	return nil
}

// Overview computes one condition that shows the most important of others that is not as it should
// be.
type Overview struct {
	// Target is the condition that is computed.
	Target string
	// Of are the others, the most important first. While the first is missing nothing is known yet,
	// and there is no target. Another one that is missing does not apply.
	Of []string
	// Reason is the target's reason when all are True.
	Reason string
}

// Summarize computes the target: from the first condition that is False, or else the first that is Unknown.
func (o Overview) Summarize(object Conditioned) {
	if meta.FindStatusCondition(object.GetConditions(), o.Of[0]) == nil {
		return
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, conditionType := range o.Of {
			if condition := meta.FindStatusCondition(object.GetConditions(), conditionType); condition != nil && condition.Status == status {
				set(object, o.Target, status, condition.Reason, condition.Message)
				return
			}
		}
	}
	True(object, o.Target, o.Reason, "")
}

// Restamp makes what was found for an earlier generation hold for the present one. It is for a spec
// that the pass itself wrote to, where that changed nothing that a user asked for.
func Restamp(object Conditioned, from int64) {
	conditions := slices.Clone(object.GetConditions())
	for i := range conditions {
		if conditions[i].ObservedGeneration == from {
			conditions[i].ObservedGeneration = object.GetGeneration()
		}
	}
	object.SetConditions(conditions)
}

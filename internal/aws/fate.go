package aws

import (
	"errors"
	"time"
)

// FateKind says who has to act next after a failure.
type FateKind string

const (
	// RetrySoon says that the same attempt may succeed shortly, and is safe to repeat.
	RetrySoon FateKind = "RetrySoon"
	// WaitForUser says that a person has to change something, in Kubernetes or in AWS. AWS does not
	// report when that has been done, so it is still retried, at long intervals.
	WaitForUser FateKind = "WaitForUser"
	// WaitForAWS says that AWS has to finish or to free something first.
	WaitForAWS FateKind = "WaitForAWS"
)

// Fate describes how a controller should react to a failure.
type Fate struct {
	Kind FateKind
	// After is when to try again. Zero leaves it to the work queue's own increasing delays.
	After time.Duration
}

const (
	// userRetry: a person who repaired something in AWS should not wait much longer than it took them.
	userRetry = 2 * time.Minute
	// busyRetry: scaling activities and refreshes take minutes, but may finish at any time.
	busyRetry = 20 * time.Second
	// capacityRetry: capacity comes back by the minute; asking more often is what gets accounts throttled.
	capacityRetry = time.Minute
	// throttleRetry lets the emptiest of EC2's buckets (five requests a second) refill by half.
	throttleRetry = 5 * time.Second
)

// userError is implemented by the errors of other packages that only a person can mend.
type userError interface{ WaitsForUser() bool }

// FateOf decides what to do about an error. Errors that are not AWS's are RetrySoon, unless they
// say by a method WaitsForUser() bool that they are not. A nil error has the zero Fate.
func FateOf(err error) Fate {
	if err == nil {
		return Fate{}
	}
	if throttled, ours := asThrottled(err); ours {
		return Fate{Kind: RetrySoon, After: throttled.RetryAfter}
	}
	var held *NotSentError
	if errors.As(err, &held) {
		return Fate{Kind: RetrySoon, After: throttleRetry}
	}
	var users userError
	if errors.As(err, &users) && users.WaitsForUser() {
		return Fate{Kind: WaitForUser, After: userRetry}
	}
	switch {
	case IsThrottled(err):
		return Fate{Kind: RetrySoon, After: throttleRetry}
	case isInsufficientCapacity(err):
		return Fate{Kind: WaitForAWS, After: capacityRetry}
	case IsConflict(err), IsInUse(err):
		return Fate{Kind: WaitForAWS, After: busyRetry}
	case IsAlreadyExists(err), IsLaunchTemplateNotFound(err), isGroupNotFound(err):
		// Templates, groups, and refreshes are ours. A new resource will become visible; a missing
		// one will be found missing, and a foreign one will be found foreign. With the queue's own
		// delays, because it may also stay like that.
		return Fate{Kind: RetrySoon}
	case neverSent(err):
		return Fate{Kind: WaitForUser, After: userRetry}
	case IsUncertain(err), Code(err) == "", Code(err) == "ServiceLinkedRoleFailure", Code(err) == "IDPCommunicationError":
		// STS reports the last one if it cannot reach the issuer of a pod's token (AWS:
		// API_AssumeRoleWithWebIdentity, Errors: "retry the request").
		return Fate{Kind: RetrySoon}
	default:
		// Whatever else AWS answers to is about what was asked for, or about the account:
		// permissions, quotas, values.
		return Fate{Kind: WaitForUser, After: userRetry}
	}
}

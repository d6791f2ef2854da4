package aws

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"k8s.io/utils/clock"
)

// defaultOutageAfter is the time for which calls to a service must have failed before that is an
// outage. A shorter failure is over before a user would act on it.
const defaultOutageAfter = time.Minute

// actionAfter is the time for which AWS must have failed or throttled every call of an action before
// that is an outage, and for which it is one after the last call. A burst of calls is over before.
const actionAfter = 5 * time.Minute

// serviceNames are services as their users call them, by their names in IAM policies.
var serviceNames = map[string]string{
	"autoscaling": "Auto Scaling", "ec2": "EC2", "eks": "EKS", "iam": "IAM", "s3": "S3", "sqs": "SQS", "ssm": "Systems Manager", "sts": "STS",
}

// Outage is a service of AWS that gives no answers, or fails every call of an action.
type Outage struct {
	// Service as its users call it, such as Auto Scaling.
	Service string
	// Action is the one whose calls fail, empty if the service gives no answers. Throttled is true if
	// AWS throttles all of them.
	Action    string
	Throttled bool
	// Since is the time of the first failure after which no call was answered.
	Since time.Time
}

// outages knows which services answer, and which actions fail. It is safe for concurrent use.
type outages struct {
	clock clock.PassiveClock
	// after is for how long calls to a service must have failed before that is an outage.
	after time.Duration

	mu       sync.Mutex
	services map[string]*responses
	// failing are the actions whose newest call AWS failed or throttled.
	failing map[failingAction]*failures
}

// failingAction identifies an action whose calls fail. AWS throttles the calls of an account in a region
// (AWS: throttling), so it is not a matter of one object.
type failingAction struct{ service, action string }

// responses records the recent responses of a service.
type responses struct {
	// since is when the first call failed since the last answer, and last when the newest failed;
	// zero while it answers.
	since, last time.Time
	// answers counts the calls that were answered.
	answers int
}

// failures records the calls of an action that failed in a row.
type failures struct {
	since, last time.Time
	// throttled is true if AWS throttled all of them.
	throttled bool
	// answers counts what the service had answered before the first, and alone is true if it has answered
	// anything since, if only by throttling. Otherwise the outage is the service's.
	answers int
	alone   bool
}

func newOutages(clk clock.PassiveClock, after time.Duration) *outages {
	return &outages{clock: clk, after: after, services: map[string]*responses{}, failing: map[failingAction]*failures{}}
}

// record notes the result of an attempt of a call.
func (o *outages) record(service, action string, err error) {
	if errors.Is(err, context.Canceled) || err != nil && neverSent(err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.services[service]
	if seen == nil {
		seen = &responses{}
		o.services[service] = seen
	}
	o.recordAction(failingAction{service, action}, seen.answers, err)
	if isAnswer(err) {
		*seen = responses{answers: seen.answers + 1}
		return
	}
	seen.last = o.clock.Now()
	if seen.since.IsZero() {
		seen.since = seen.last
	}
}

// recordAction notes whether AWS failed or throttled a call, to whose service it had answered so many. The
// outages are locked.
func (o *outages) recordAction(call failingAction, answers int, err error) {
	if isAnswer(err) && !IsThrottled(err) {
		delete(o.failing, call)
		return
	}
	now, seen := o.clock.Now(), o.failing[call]
	if seen == nil || now.Sub(seen.last) > actionAfter {
		seen = &failures{since: now, throttled: true, answers: answers}
		o.failing[call] = seen
	}
	seen.last, seen.throttled, seen.alone = now, seen.throttled && IsThrottled(err), answers > seen.answers
}

// isAnswer reports whether AWS did what was asked for, or said why not. A fault of its own is no answer.
// EC2 answers with such a status that it lacks capacity (AWS: EC2 error codes, server error codes).
func isAnswer(err error) bool {
	if err == nil || IsThrottled(err) || isInsufficientCapacity(err) {
		return true
	}
	var response *awshttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() < http.StatusInternalServerError && Code(err) != ""
}

// Outage returns the outage among services that is the oldest, nil if there is none. Answered is
// whether any of them has answered this process.
func (c *Clients) Outage(services ...string) (outage *Outage, answered bool) {
	return c.outages.among(services)
}

func (o *outages) among(services []string) (outage *Outage, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	consider := func(found Outage) {
		if outage == nil || found.Since.Before(outage.Since) {
			found.Service = cmp.Or(serviceNames[found.Service], found.Service)
			outage = &found
		}
	}
	for service, seen := range o.services {
		if !slices.Contains(services, service) {
			continue
		}
		answered = answered || seen.answers > 0
		if !seen.since.IsZero() && seen.last.Sub(seen.since) >= o.after {
			consider(Outage{Service: service, Since: seen.since})
		}
	}
	now := o.clock.Now()
	for call, seen := range o.failing {
		lasts, ago := seen.last.Sub(seen.since), now.Sub(seen.last)
		if slices.Contains(services, call.service) && seen.alone && lasts >= actionAfter && ago <= actionAfter {
			consider(Outage{Service: call.service, Action: call.action, Throttled: seen.throttled, Since: seen.since})
		}
	}
	return outage, answered
}

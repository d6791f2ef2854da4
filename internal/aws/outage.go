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

// throttledAfter is the time for which AWS must have throttled every call of an action before that is
// an outage, and for which it is one after the last call. A burst of calls is over before.
const throttledAfter = 5 * time.Minute

// serviceNames are services as their users call them, by their names in IAM policies.
var serviceNames = map[string]string{
	"autoscaling": "Auto Scaling", "ec2": "EC2", "eks": "EKS", "iam": "IAM", "s3": "S3", "sqs": "SQS", "ssm": "Systems Manager", "sts": "STS",
}

// Outage is a service of AWS that gives no answers, or throttles every call of an action.
type Outage struct {
	// Service as its users call it, such as Auto Scaling.
	Service string
	// Throttled is the action, empty if the service gives no answers.
	Throttled string
	// Since is the time of the first failure after which no call was answered.
	Since time.Time
}

// outages knows which services answer, and which actions are throttled. It is safe for concurrent use.
type outages struct {
	clock clock.PassiveClock
	// after is for how long calls to a service must have failed before that is an outage.
	after time.Duration

	mu       sync.Mutex
	services map[string]*responses
	// throttled are the actions whose newest call was throttled.
	throttled map[throttledAction]*responses
}

// throttledAction identifies an action that AWS throttles. It does so for all calls of an account in a
// region (AWS: throttling), so it is not a matter of one object.
type throttledAction struct{ service, action string }

// responses records the recent responses of a service.
type responses struct {
	// since is when the first call failed since the last answer, and last when the newest failed;
	// zero while it answers.
	since, last time.Time
	answered    bool
}

func newOutages(clk clock.PassiveClock, after time.Duration) *outages {
	return &outages{clock: clk, after: after, services: map[string]*responses{}, throttled: map[throttledAction]*responses{}}
}

// record notes the result of an attempt of a call.
func (o *outages) record(service, action string, err error) {
	if errors.Is(err, context.Canceled) || err != nil && neverSent(err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordThrottling(throttledAction{service, action}, err)
	seen := o.services[service]
	if seen == nil {
		seen = &responses{}
		o.services[service] = seen
	}
	if isAnswer(err) {
		*seen = responses{answered: true}
		return
	}
	seen.last = o.clock.Now()
	if seen.since.IsZero() {
		seen.since = seen.last
	}
}

// recordThrottling notes whether AWS throttled a call. The outages are locked.
func (o *outages) recordThrottling(call throttledAction, err error) {
	if !IsThrottled(err) {
		delete(o.throttled, call)
		return
	}
	now, seen := o.clock.Now(), o.throttled[call]
	if seen == nil || now.Sub(seen.last) > throttledAfter {
		seen = &responses{since: now}
		o.throttled[call] = seen
	}
	seen.last = now
}

// isAnswer reports whether AWS did what was asked for, or said why not. A fault of its own is no answer.
func isAnswer(err error) bool {
	if err == nil || IsThrottled(err) {
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
	consider := func(service, throttled string, since time.Time) {
		if outage == nil || since.Before(outage.Since) {
			outage = &Outage{Service: cmp.Or(serviceNames[service], service), Throttled: throttled, Since: since}
		}
	}
	for service, seen := range o.services {
		if !slices.Contains(services, service) {
			continue
		}
		answered = answered || seen.answered
		if !seen.since.IsZero() && seen.last.Sub(seen.since) >= o.after {
			consider(service, "", seen.since)
		}
	}
	now := o.clock.Now()
	for call, seen := range o.throttled {
		lasts, ago := seen.last.Sub(seen.since), now.Sub(seen.last)
		if slices.Contains(services, call.service) && lasts >= throttledAfter && ago <= throttledAfter {
			consider(call.service, call.action, seen.since)
		}
	}
	return outage, answered
}

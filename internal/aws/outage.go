package aws

import (
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

// serviceNames are services as their users call them, by their names in IAM policies.
var serviceNames = map[string]string{
	"autoscaling": "Auto Scaling", "ec2": "EC2", "eks": "EKS", "iam": "IAM", "s3": "S3", "sqs": "SQS", "ssm": "Systems Manager", "sts": "STS",
}

// Outage is a service of AWS that gives no answers.
type Outage struct {
	// Service as its users call it, such as Auto Scaling.
	Service string
	// Since is the time of the first failure after which no call was answered.
	Since time.Time
}

// outages knows which services answer. It is safe for concurrent use.
type outages struct {
	clock clock.PassiveClock
	// after is for how long calls to a service must have failed before that is an outage.
	after time.Duration

	mu       sync.Mutex
	services map[string]*responses
}

// responses records the recent responses of a service.
type responses struct {
	// since is when the first call failed since the last answer, and last when the newest failed;
	// zero while it answers.
	since, last time.Time
	answered    bool
}

func newOutages(clk clock.PassiveClock, after time.Duration) *outages {
	return &outages{clock: clk, after: after, services: map[string]*responses{}}
}

// record notes the result of an attempt of a call.
func (o *outages) record(service string, err error) {
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
	if isAnswer(err) {
		*seen = responses{answered: true}
		return
	}
	seen.last = o.clock.Now()
	if seen.since.IsZero() {
		seen.since = seen.last
	}
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
	for service, seen := range o.services {
		if !slices.Contains(services, service) {
			continue
		}
		answered = answered || seen.answered
		if !seen.since.IsZero() && seen.last.Sub(seen.since) >= o.after && (outage == nil || seen.since.Before(outage.Since)) {
			name := serviceNames[service]
			if name == "" {
				name = service
			}
			outage = &Outage{Service: name, Since: seen.since}
		}
	}
	return outage, answered
}

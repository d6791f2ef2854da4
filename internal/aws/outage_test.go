package aws

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	clocktesting "k8s.io/utils/clock/testing"
)

// response is an error answer of AWS with a status.
func response(status int, code string) error {
	var answer error = &smithy.GenericAPIError{Code: code, Message: "no"}
	if code == "" {
		answer = errors.New("no answer that is understood")
	}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: answer,
	}}
}

func TestOutages(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	broken := fmt.Errorf("dial tcp: connection refused")
	type call struct {
		after   time.Duration
		service string
		err     error
	}
	throttling := response(503, "RequestLimitExceeded")
	throttledFor := func(lasts time.Duration) []call {
		return []call{{0, "ec2", throttling}, {lasts / 2, "ec2", throttling}, {lasts - lasts/2, "ec2", throttling}}
	}
	for _, row := range []struct {
		reason string
		calls  []call
		// want is when the outage of EC2 or Auto Scaling began, after the start; negative for none.
		want    time.Duration
		service string
	}{
		{"nothing was called", nil, -1, ""},
		{"all is well", []call{{0, "ec2", nil}}, -1, ""},
		{"a short failure", []call{{0, "ec2", broken}, {30 * time.Second, "ec2", broken}}, -1, ""},
		{"one failure, long ago", []call{{0, "ec2", broken}}, -1, ""},
		{"no connection for a minute", []call{{time.Second, "ec2", broken}, {time.Minute, "ec2", broken}}, time.Second, "EC2"},
		{"faults of AWS's own", []call{{0, "autoscaling", response(503, "ServiceUnavailable")}, {time.Minute, "autoscaling", response(500, "InternalFailure")}}, 0, "Auto Scaling"},
		{"a page of a proxy", []call{{0, "ec2", response(404, "")}, {time.Minute, "ec2", response(404, "")}}, 0, "EC2"},
		{"refusals are answers", []call{{0, "ec2", response(403, "UnauthorizedOperation")}, {time.Minute, "ec2", response(400, "InvalidAMIID.NotFound")}}, -1, ""},
		{"throttling is one too", []call{{0, "ec2", response(503, "RequestLimitExceeded")}, {time.Minute, "ec2", response(503, "RequestLimitExceeded")}}, -1, ""},
		{"unless it lasts", throttledFor(throttledAfter), 0, "EC2"},
		{"not quite", throttledFor(throttledAfter - time.Second), -1, ""},
		{"the action is accepted again", append(throttledFor(throttledAfter), call{0, "ec2", nil}), -1, ""},
		{"an action that is no longer called says nothing", append(throttledFor(throttledAfter), call{throttledAfter + time.Second, "sts", nil}), -1, ""},
		{"nor do bursts that are far apart", append(throttledFor(time.Minute), call{throttledAfter + time.Second, "ec2", throttling}), -1, ""},
		{"what was not sent says nothing", []call{{0, "ec2", &NotSentError{Err: broken}}, {time.Minute, "ec2", &NotSentError{Err: broken}}}, -1, ""},
		{"it is over", []call{{0, "ec2", broken}, {time.Minute, "ec2", broken}, {time.Second, "ec2", nil}}, -1, ""},
		{"another begins", []call{{0, "ec2", broken}, {time.Minute, "ec2", nil}, {0, "ec2", broken}, {time.Minute, "ec2", broken}}, time.Minute, "EC2"},
		{"of a service that is not asked about", []call{{0, "s3", broken}, {time.Minute, "s3", broken}}, -1, ""},
		{"the oldest of two", []call{{0, "autoscaling", broken}, {time.Second, "ec2", broken}, {time.Minute, "ec2", broken}, {0, "autoscaling", broken}}, 0, "Auto Scaling"},
	} {
		clock := clocktesting.NewFakePassiveClock(start)
		seen := newOutages(clock, time.Minute)
		for _, call := range row.calls {
			clock.SetTime(clock.Now().Add(call.after))
			seen.record(call.service, "CreateFleet", call.err)
		}
		outage, _ := seen.among([]string{"ec2", "autoscaling"})
		if (outage == nil) != (row.want < 0) || outage != nil && (!outage.Since.Equal(start.Add(row.want)) || outage.Service != row.service) {
			t.Errorf("%s: outage %+v, want %q since %s", row.reason, outage, row.service, row.want)
		}
	}
}

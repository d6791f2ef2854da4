package aws

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
		service string // and the action, if it is not CreateFleet
		err     error
	}
	throttling := response(503, "RequestLimitExceeded")
	throttledFor := func(lasts time.Duration) []call {
		return []call{{0, "ec2", throttling}, {lasts / 2, "ec2", throttling}, {lasts - lasts/2, "ec2", throttling}}
	}
	// Calls of CreateFleet fail for a time, and EC2 answers others.
	fault := response(500, "InternalFailure")
	failedFor := func(lasts time.Duration, errs ...error) (calls []call) {
		for i := range 5 {
			calls = append(calls, call{service: "ec2", err: errs[i%len(errs)]}, call{service: "ec2:DescribeInstances"})
			if i > 0 {
				calls[2*i].after = lasts / 4
			}
		}
		return calls
	}
	capacity := response(500, "InsufficientInstanceCapacity")
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
		{"unless it lasts", throttledFor(actionAfter), 0, "EC2"},
		{"not quite", throttledFor(actionAfter - time.Second), -1, ""},
		{"the action is accepted again", append(throttledFor(actionAfter), call{0, "ec2", nil}), -1, ""},
		{"an action that is no longer called says nothing", append(throttledFor(actionAfter), call{actionAfter + time.Second, "sts", nil}), -1, ""},
		{"nor do bursts that are far apart", append(throttledFor(time.Minute), call{actionAfter + time.Second, "ec2", throttling}), -1, ""},
		{"AWS fails one action", failedFor(actionAfter, fault), 0, "EC2"},
		{"or fails and throttles it", failedFor(actionAfter, throttling, fault, broken), 0, "EC2"},
		{"not for long enough", failedFor(actionAfter-time.Second, fault), -1, ""},
		{"it is done again", append(failedFor(actionAfter, fault), call{0, "ec2", nil}), -1, ""},
		{"it is no longer called", append(failedFor(actionAfter, fault), call{actionAfter + time.Second, "sts", nil}), -1, ""},
		{"a lack of capacity is an answer", failedFor(actionAfter, capacity), -1, ""},
		{"what failed during an outage is over with it", []call{
			{0, "ec2", broken}, {actionAfter, "ec2", broken}, {0, "ec2:DescribeInstances", nil},
		}, -1, ""},
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
			service, action, _ := strings.Cut(call.service, ":")
			seen.record(service, cmp.Or(action, "CreateFleet"), call.err)
		}
		outage, _ := seen.among([]string{"ec2", "autoscaling"})
		if (outage == nil) != (row.want < 0) || outage != nil && (!outage.Since.Equal(start.Add(row.want)) || outage.Service != row.service) {
			t.Errorf("%s: outage %+v, want %q since %s", row.reason, outage, row.service, row.want)
		}
	}
}

// TestFailingAction holds that an outage names the action that fails, and says that AWS throttles it only if that is
// all that AWS does.
func TestFailingAction(t *testing.T) {
	t.Parallel()
	throttling, fault := response(400, "ThrottlingException"), response(500, "ServerException")
	for _, row := range []struct {
		reason    string
		errs      [3]error
		throttled bool
	}{
		{"throttled", [3]error{throttling, throttling, throttling}, true},
		{"failed", [3]error{fault, fault, fault}, false},
		{"both", [3]error{throttling, fault, throttling}, false},
	} {
		clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC))
		seen, began := newOutages(clock, time.Minute), clock.Now()
		for _, err := range row.errs {
			seen.record("eks", "UpdateNodegroupVersion", err)
			seen.record("eks", "DescribeNodegroup", nil)
			clock.SetTime(clock.Now().Add(actionAfter / 2))
		}
		want := Outage{Service: "EKS", Action: "UpdateNodegroupVersion", Throttled: row.throttled, Since: began}
		if outage, _ := seen.among([]string{"eks"}); outage == nil || *outage != want {
			t.Errorf("%s: outage %+v, want %+v", row.reason, outage, want)
		}
	}
}

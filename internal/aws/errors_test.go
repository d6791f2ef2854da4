package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
)

// answered is an error as the SDK returns it for an answer of AWS, inside what callers add.
func answered(status int, code, message string) error {
	return fmt.Errorf("doing a thing: %w", &smithy.OperationError{
		ServiceID: "EC2", OperationName: "DoThing",
		Err: &CallError{
			Service: "ec2", Action: "DoThing", RequestID: "11111111-2222-3333-4444-555555555555",
			Err: &awshttp.ResponseError{
				RequestID: "11111111-2222-3333-4444-555555555555",
				ResponseError: &smithyhttp.ResponseError{
					Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
					Err:      &smithy.GenericAPIError{Code: code, Message: message},
				},
			},
		},
	})
}

// unanswered is an error of the SDK without an answer.
func unanswered(err error) error {
	return fmt.Errorf("doing a thing: %w", &smithy.OperationError{ServiceID: "EC2", OperationName: "DoThing", Err: &CallError{Service: "ec2", Action: "DoThing", Err: err}})
}

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	classes := map[string]func(error) bool{
		"NotFound": IsNotFound, "LaunchTemplateNotFound": IsLaunchTemplateNotFound, "AlreadyExists": IsAlreadyExists,
		"Conflict": IsConflict, "InUse": IsInUse, "Throttled": IsThrottled, "Mismatch": IsIdempotentParameterMismatch,
		"AccessDenied": IsAccessDenied, "Capacity": isInsufficientCapacity, "Quota": IsQuotaExceeded,
		"Uncertain": IsUncertain,
	}
	soon := Fate{Kind: RetrySoon}
	visible := Fate{Kind: RetrySoon}
	user := Fate{Kind: WaitForUser, After: userRetry}
	busy := Fate{Kind: WaitForAWS, After: busyRetry}
	cases := []struct {
		name string
		err  error
		want string
		fate Fate
	}{
		{"none", nil, "", Fate{}},
		{"not AWS's", errors.New("x"), "", soon},
		{"image", answered(400, "InvalidAMIID.NotFound", "The image id '[ami-1]' does not exist"), "NotFound", user},
		{"image gone", answered(400, "InvalidAMIID.Unavailable", "gone"), "NotFound", user},
		{"subnet", answered(400, "InvalidSubnetID.NotFound", "no"), "NotFound", user},
		{"instance type", answered(400, "InvalidInstanceType", "The following supplied instance types do not exist: [x]"), "NotFound", user},
		{"template by name", answered(400, "InvalidLaunchTemplateName.NotFoundException", "no"), "LaunchTemplateNotFound NotFound", visible},
		{"template by id", answered(400, "InvalidLaunchTemplateId.NotFound", "no"), "LaunchTemplateNotFound NotFound", visible},
		{"version", answered(400, "InvalidLaunchTemplateId.VersionNotFound", "no"), "LaunchTemplateNotFound NotFound", visible},
		{"malformed template id", answered(400, "InvalidLaunchTemplateId.Malformed", "no"), "", user},
		{"parameter", answered(400, "ParameterNotFound", ""), "NotFound", user},
		{"group", answered(400, "ValidationError", "AutoScalingGroup name not found - AutoScalingGroup 'x' not found"), "NotFound", visible},
		{"group, the other wording", answered(400, "ValidationError", "AutoScalingGroup name not found - null"), "NotFound", visible},
		{"group's template", answered(400, "ValidationError", "You must use a valid fully-formed launch template. The specified launch template, with template ID lt-1, does not exist."), "LaunchTemplateNotFound NotFound", visible},
		{"group's version", answered(400, "ValidationError", "You must use a valid fully-formed launch template. Could not find the specified version 7 for the launch template with ID lt-1."), "LaunchTemplateNotFound NotFound", visible},
		{"group's key pair", answered(400, "ValidationError", "You must use a valid fully-formed launch template. The key pair 'x' does not exist"), "", user},
		{"group's target groups", answered(400, "ValidationError", "One or more target groups not found. Validating load balancer configuration failed."), "", user},
		{"group, a third wording", answered(400, "ValidationError", "Group x not found"), "NotFound", visible},
		{"group's value", answered(400, "ValidationError", "Max bound, 1, must be greater than or equal to min bound, 2"), "", user},
		{"group being deleted", answered(400, "ValidationError", "You cannot update an AutoScalingGroup that is pending deletion"), "Conflict", busy},
		{"group's name taken", answered(400, "AlreadyExists", "AutoScalingGroup by this name already exists"), "AlreadyExists", visible},
		{"template's name taken", answered(400, "InvalidLaunchTemplateName.AlreadyExistsException", "no"), "AlreadyExists", visible},
		{"refresh under way", answered(400, "InstanceRefreshInProgress", "no"), "Conflict", busy},
		{"no refresh", answered(400, "ActiveInstanceRefreshNotFound", "no"), "NotFound", visible},
		{"activity under way", answered(400, "ScalingActivityInProgress", "no"), "Conflict", busy},
		{"contention", answered(500, "ResourceContention", "no"), "Conflict Uncertain", busy},
		{"instances left", answered(400, "ResourceInUse", "no"), "InUse", busy},
		{"throttled by EC2", answered(503, "RequestLimitExceeded", "no"), "Throttled", Fate{Kind: RetrySoon, After: throttleRetry}},
		{"throttled by Auto Scaling", answered(400, "Throttling", "Rate exceeded"), "Throttled", Fate{Kind: RetrySoon, After: throttleRetry}},
		{"held back", unanswered(&ThrottledError{RetryAfter: time.Minute}), "Throttled", Fate{Kind: RetrySoon, After: time.Minute}},
		{"token reused", answered(400, "IdempotentParameterMismatch", "no"), "Mismatch", user},
		{"not allowed", answered(403, "UnauthorizedOperation", "no"), "AccessDenied", user},
		{"not allowed, Auto Scaling", answered(403, "AccessDenied", "no"), "AccessDenied", user},
		{"no capacity", answered(500, "InsufficientInstanceCapacity", "no"), "Capacity Uncertain", Fate{Kind: WaitForAWS, After: capacityRetry}},
		{"too many groups", answered(400, "LimitExceeded", "no"), "Quota", user},
		{"too many versions", answered(400, "VersionLimitExceeded", "no"), "Quota", user},
		{"dry run", answered(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set."), "", user},
		{"AWS failed", answered(500, "InternalError", "no"), "Uncertain", soon},
		{"AWS is down", answered(503, "Unavailable", "no"), "Uncertain", soon},
		{"connection", unanswered(errors.New("read: connection reset by peer")), "Uncertain", soon},
		{"canceled", unanswered(&smithy.CanceledError{Err: context.Canceled}), "Uncertain", soon},
		{"never sent", unanswered(&smithy.SerializationError{Err: errors.New("x")}), "", user},
		{"missing parameter", unanswered(smithy.InvalidParamsError{Context: "DoThingInput"}), "", user},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := map[string]bool{}
			for _, class := range strings.Fields(tc.want) {
				want[class] = true
			}
			got := map[string]bool{}
			for class, is := range classes {
				if is(tc.err) {
					got[class] = true
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.fate, FateOf(tc.err)); diff != "" {
				t.Errorf("fate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUserMessage(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, reason string
		err          error
		want         string
	}{
		{"none", "Nothing to say.", nil, ""},
		{"not AWS's", "Our own words are stable.", errors.New("own words"), "own words"},
		{"refused", "AWS's words, after the caller's.", answered(400, "InvalidParameterValue", "Invalid value 'x' for y."), "doing a thing: DoThing: InvalidParameterValue: Invalid value 'x' for y."},
		{"not allowed", "The encoded message differs in every answer.",
			answered(403, "UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: 8GmVzX_-a"),
			"doing a thing: DoThing: UnauthorizedOperation: You are not authorized to perform this operation."},
		{"answer in an answer", "Auto Scaling quotes EC2's request ids.",
			answered(400, "ValidationError", "Access denied (Service: AmazonEC2; Status Code: 403; Error Code: X; Request ID: 0b1c2d3e-aaaa-bbbb-cccc-0123456789ab; Proxy: null)"),
			"doing a thing: DoThing: ValidationError: Access denied (Service: AmazonEC2; Status Code: 403; Error Code: X; Proxy: null)"},
		{"connection", "Ports differ in every attempt.", unanswered(errors.New("read tcp 127.0.0.1:40001->127.0.0.1:443: connection reset by peer")), "doing a thing: DoThing: AWS could not be reached or gave no answer"},
		{"held back", "The time to wait differs.", unanswered(&ThrottledError{Service: "ec2", Action: "DoThing", RetryAfter: time.Second}), "doing a thing: delayed to stay within " +
			"AWS's request rate for ec2:DoThing"},
		{"never sent", "It is our mistake or the user's, and says so.", unanswered(&smithy.SerializationError{Err: errors.New("x")}), "doing a thing: DoThing: serialization failed: x"},
		{"bare answer", "As in a list of partial failures.", &smithy.GenericAPIError{Code: "A", Message: "b"}, "A: b"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, UserMessage(tc.err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

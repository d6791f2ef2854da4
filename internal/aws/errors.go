package aws

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/internal/aws/errorcode"
	"github.com/slipway-project/slipway/internal/boundedhttp"
)

// Where a service has only ValidationError for several things, its message is read; the wording that was
// seen is next to the pattern.
var (
	// Auto Scaling, where an action names a group: "AutoScalingGroup name not found - null",
	// "AutoScalingGroup name not found - AutoScalingGroup 'x' not found", "Group x not found". Not
	// "One or more target groups not found".
	groupNotFound = regexp.MustCompile(`(?i)\bgroup name not found\b|^group \S+ not found|\bautoscalinggroup \S+ not found`)
	// Auto Scaling puts EC2's words behind its own: "You must use a valid fully-formed launch
	// template. The specified launch template, with template ID lt-0, does not exist.", "... Could
	// not find the specified version 7 for the launch template with ID lt-0.", but also "... The
	// key pair 'x' does not exist".
	templatePrefix   = "You must use a valid fully-formed launch template."
	templateNotFound = regexp.MustCompile(`(?i)\blaunch template\b.*(does not exist|not found)|could not find the specified version`)
	pendingDelete    = regexp.MustCompile(`(?i)pending delet|marked for deletion|is being deleted`)
)

// Code returns AWS's error code, such as InvalidParameterValue, or "" if err is not an answer from
// AWS.
func Code(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

func message(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorMessage()
	}
	return ""
}

// IsNotFound says that what was named does not exist, or that AWS does not know it yet: reads in
// EC2 lag behind writes (AWS: EC2 developer guide, eventual-consistency).
func IsNotFound(err error) bool {
	code := Code(err)
	return errorcode.IsNotFound(code) || isGroupNotFound(err) || IsLaunchTemplateNotFound(err)
}

// IsLaunchTemplateNotFound says that a launch template or a version of it does not exist, or not
// yet, whichever service looked for it.
func IsLaunchTemplateNotFound(err error) bool {
	code := Code(err)
	return strings.HasPrefix(code, "InvalidLaunchTemplate") && strings.Contains(code, "NotFound") ||
		code == "ValidationError" && templateNotFound.MatchString(strings.TrimPrefix(message(err), templatePrefix))
}

// isGroupNotFound says that an Auto Scaling group or its instance refresh does not exist.
func isGroupNotFound(err error) bool {
	return Code(err) == "ActiveInstanceRefreshNotFound" || Code(err) == "ValidationError" && groupNotFound.MatchString(message(err))
}

// IsAlreadyExists says that the name is taken.
func IsAlreadyExists(err error) bool { return errorcode.IsAlreadyExists(Code(err)) }

// IsConflict says that something else is being done to the resource; the call may succeed when that is over.
func IsConflict(err error) bool {
	return errorcode.IsConflict(Code(err)) || Code(err) == "ValidationError" && pendingDelete.MatchString(message(err))
}

// IsInUse says that the resource cannot be removed or changed because something needs it.
func IsInUse(err error) bool { return errorcode.IsInUse(Code(err)) }

// IsThrottled says that the request rate was too high, by AWS's count or by ours.
func IsThrottled(err error) bool {
	if _, ours := asThrottled(err); ours {
		return true
	}
	return errorcode.IsThrottled(Code(err))
}

// IsIdempotentParameterMismatch says that a client token was used before with other parameters.
func IsIdempotentParameterMismatch(err error) bool {
	return Code(err) == "IdempotentParameterMismatch" || Code(err) == "IdempotentParameterMismatchException"
}

// IsAccessDenied says that the credentials are not valid or do not allow the call.
func IsAccessDenied(err error) bool { return errorcode.IsAccessDenied(Code(err)) }

// isInsufficientCapacity reports whether AWS currently has no capacity for a request.
func isInsufficientCapacity(err error) bool { return errorcode.IsCapacity(Code(err)) }

// isSessionOver reports whether the session of the credentials has expired by AWS's clock.
func isSessionOver(err error) bool { return errorcode.IsSessionOver(Code(err)) }

// IsQuotaExceeded says that the account has as many of these as it may have.
func IsQuotaExceeded(err error) bool { return errorcode.IsQuota(Code(err)) }

// IsUncertain says that the call may have had its effect although it failed: the connection broke,
// time ran out, or AWS failed inside. Only a read, or an idempotent repetition, shows it.
func IsUncertain(err error) bool {
	if err == nil || IsThrottled(err) || neverSent(err) {
		return false
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode() >= http.StatusInternalServerError || Code(err) == ""
	}
	var call *smithy.OperationError
	return Code(err) == "" && errors.As(err, &call)
}

// neverSent reports whether the SDK raised an error before it sent anything.
func neverSent(err error) bool {
	var (
		invalid     smithy.InvalidParamsError
		invalidPtr  *smithy.InvalidParamsError
		serializing *smithy.SerializationError
		throttled   *ThrottledError
		held        *NotSentError
	)
	return errors.As(err, &held) || errors.As(err, &invalid) || errors.As(err, &invalidPtr) || errors.As(err, &serializing) || errors.As(err, &throttled)
}

var (
	// "... Encoded authorization failure message: 8GmV..." differs in every answer. It is also of
	// no use to who cannot call sts:DecodeAuthorizationMessage; the log has it.
	encodedMessage = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)
	// Auto Scaling repeats answers of EC2: "(Service: AmazonEC2; Status Code: 400; Error Code: X;
	// Request ID: 0b1c...; Proxy: null)".
	requestID = regexp.MustCompile(`(?i)[;,]?\s*\(?request ?id:?\s*[0-9a-f-]{8,}\)?`)
)

// UserMessage returns the text of an error for conditions and events: the context that callers
// added, then AWS's code and message. It leaves out what differs from one answer to the next
// (request IDs, ports, encoded messages), so that a condition with this text does not flap.
func UserMessage(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	inner, stable := callPart(err)
	if inner == "" {
		return text
	}
	return strings.Replace(text, inner, stable, 1)
}

// AnswerMessage returns the part of UserMessage that says which call failed and what AWS answered,
// without the context that callers added. It returns "" if the error is not from a call.
func AnswerMessage(err error) string {
	if err == nil {
		return ""
	}
	_, stable := callPart(err)
	return stable
}

// callPart returns the text of the SDK's error inside err, and what to say in its place.
func callPart(err error) (inner, stable string) {
	var call interface {
		error
		Unwrap() error
	}
	var operation *smithy.OperationError
	var own *CallError
	name := ""
	switch {
	case errors.As(err, &operation):
		call, name = operation, operation.OperationName
	case errors.As(err, &own):
		call, name = own, own.Action
	case Code(err) != "":
		// An answer without its call, as in a list of partial failures.
		var answer smithy.APIError
		errors.As(err, &answer)
		return answer.Error(), stableAnswer(err)
	default:
		return "", ""
	}
	switch {
	case Code(err) != "":
		stable = name + ": " + stableAnswer(err)
	case IsThrottled(err):
		throttled, _ := asThrottled(err)
		stable = throttled.Error()
	case errors.Is(err, context.Canceled):
		stable = name + ": canceled"
	case boundedhttp.Explain(err) != "":
		stable = name + ": " + boundedhttp.Explain(err)
	case neverSent(err):
		stable = name + ": " + describe(innermost(call))
	default:
		stable = name + ": AWS could not be reached or gave no answer"
	}
	return call.Error(), stable
}

func stableAnswer(err error) string {
	text := encodedMessage.ReplaceAllString(message(err), "")
	text = requestID.ReplaceAllString(text, "")
	return strings.TrimSuffix(Code(err)+": "+strings.TrimSpace(text), ": ")
}

// innermost follows the layers that only say which call it was.
func innermost(err error) error {
	for {
		switch layer := err.(type) { //nolint:errorlint // the layers are peeled one by one
		case *smithy.OperationError:
			err = layer.Err
		case *CallError:
			err = layer.Err
		default:
			return err
		}
	}
}

// RequestID returns the ID under which AWS logged the call, or "" if AWS did not answer.
func RequestID(err error) string {
	var call *CallError
	if errors.As(err, &call) {
		return call.RequestID
	}
	return ""
}

package autoscaling

import (
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Error codes of the service (SDK types/errors.go; "Common errors" of the API reference for
// ValidationError). All answer status 400.
const (
	codeValidation          = "ValidationError"
	codeAlreadyExists       = "AlreadyExists"
	codeResourceInUse       = "ResourceInUse"
	codeScalingInProgress   = "ScalingActivityInProgress"
	codeRefreshInProgress   = "InstanceRefreshInProgress"
	codeNoActiveRefresh     = "ActiveInstanceRefreshNotFound"
	codeIrreversibleRefresh = "IrreversibleInstanceRefresh"
	codeLimitExceeded       = "LimitExceeded"
	codeInvalidNextToken    = "InvalidNextToken"
	codeAccessDenied        = "AccessDenied"
)

func invalid(format string, args ...any) *sim.Error {
	return sim.Errorf(codeValidation, format, args...)
}

func groupNotFound(name string) *sim.Error {
	return invalid("AutoScalingGroup name not found - AutoScalingGroup %s not found", name)
}

// badTemplate wraps what EC2 says about a launch into the words of Auto Scaling (UG ts-as-launch-template).
func badTemplate(err error) *sim.Error {
	return invalid("You must use a valid fully-formed launch template. %s", sim.AsError(err).Message)
}

// notInEnum is the answer of the API's own model validation.
func notInEnum[T ~string](member string, value T, values []T) *sim.Error {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return constraint(string(value), member, "Member must satisfy enum value set: ["+strings.Join(words, ", ")+"]")
}

func constraint(value, member, rule string) *sim.Error {
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", value, member, rule)
}

// required is the answer to a required member that is missing.
func required(member string) *sim.Error {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
}

package constraints

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Check returns the error with which the service refuses the input of an action, or nil if the input meets
// what the model demands.
func Check(service, action string, input any) error {
	found := violations(service, action, input)
	if len(found) == 0 {
		return nil
	}
	switch service {
	case "ec2":
		return refuseEC2(found[0])
	case "sqs":
		return refuseSQS(found[0])
	}
	return sim.Errorf(codes[service], "%s", sentence(found))
}

// codes are the codes of the services whose models are checked by AWS's common framework (API
// references, "Common errors"; the code of EKS is an inference from its other errors).
var codes = map[string]string{
	"autoscaling": "ValidationError",
	"iam":         "ValidationError",
	"sts":         "ValidationError",
	"pricing":     "InvalidParameterException",
	"ssm":         "ValidationException",
	"events":      "ValidationException",
	"eks":         "InvalidParameterException",
}

// sentence lists the violations as the framework does (https://github.com/boto/boto3/issues/3684).
func sentence(found []Violation) string {
	parts := make([]string, len(found))
	for i, v := range found {
		value := "'" + v.Value + "'"
		if v.Kind == Required {
			value = v.Value
		}
		parts[i] = fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", value, v.Path, v.Rule)
	}
	plural := "s"
	if len(parts) == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d validation error%s detected: %s", len(parts), plural, strings.Join(parts, "; "))
}

// refuseEC2 words the first violation as EC2 does (https://github.com/aws/aws-sdk-ruby/pull/2575 for a range;
// the rest follows package ec2).
func refuseEC2(v Violation) error {
	switch v.Kind {
	case Required:
		return sim.Errorf("MissingParameter", "The request must contain the parameter %s", v.Path)
	case MinValue:
		return sim.Errorf("InvalidParameterValue", "Value ( %s ) for parameter %s is invalid. Expecting a value greater than or equal to %d.", v.Value, v.Path, v.Bound)
	case MaxValue:
		return sim.Errorf("InvalidParameterValue", "Value ( %s ) for parameter %s is invalid. Expecting a value less than or equal to %d.", v.Value, v.Path, v.Bound)
	case Enum:
		return sim.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid.", v.Value, v.Path)
	default:
		return sim.Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. %s", v.Value, v.Path, v.Rule)
	}
}

// refuseSQS words the first violation as SQS does (AWS: SQS API reference, "Common errors"; the model of
// SQS has required members and enumerations only).
func refuseSQS(v Violation) error {
	if v.Kind == Required {
		return sim.Errorf("MissingParameter", "The request must contain the parameter %s.", goName(v.Path))
	}
	return sim.Errorf("InvalidAttributeName", "Unknown Attribute %s.", v.Value)
}

// exception is a constraint of a model that AWS is known not to enforce, or to word differently, in
// which case the service's own package does. It covers everything below the path as well.
type exception struct {
	service, action, path string
	kinds                 []Kind
}

var exceptions = []exception{
	// API_UpdateAutoScalingGroup, PlacementGroup: "To remove the placement group setting, pass an
	// empty string".
	{"autoscaling", "UpdateAutoScalingGroup", "placementGroup", []Kind{MinLength}},
	// API_TerminateInstanceInAutoScalingGroup: newer models have InstanceIds as well, and require neither.
	{"autoscaling", "TerminateInstanceInAutoScalingGroup", "instanceId", []Kind{Required}},
	// API_ReceiveMessage, AttributeNames: the values are values of messages, although the model has
	// the values of queues.
	{"sqs", "ReceiveMessage", "attributeNames", []Kind{Enum}},
	// EC2, "Error codes": InvalidLaunchTemplateName.MalformedException.
	{"ec2", "CreateLaunchTemplate", "launchTemplateName", []Kind{MinLength, MaxLength, Pattern}},
}

func excepted(service, action, path string, kind Kind) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool {
		return e.service == service && e.action == action && (e.path == path || strings.HasPrefix(path, e.path+".")) && slices.Contains(e.kinds, kind)
	})
}

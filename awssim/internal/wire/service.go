package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// protocol names the protocol of a service.
type protocol int

const (
	ec2Query  protocol = iota // flat lists in requests, no result envelope
	awsQuery                  // lists with "member", <XResult> envelope
	awsJSON11                 // X-Amz-Target and JSON bodies
	awsJSON10                 // the same, with an older content type
	restJSON1                 // methods, paths and JSON bodies
)

// service is a service as the wire knows it, by the name in its credential scope.
type service struct {
	protocol  protocol
	namespace string // of XML answers
	target    string // prefix of X-Amz-Target
	model     *model
	actions   map[string]bool
}

var services = map[string]*service{
	"ec2": {protocol: ec2Query, namespace: "http://ec2.amazonaws.com/doc/2016-11-15/", model: &ec2Model},
	"autoscaling": {
		protocol: awsQuery, namespace: "http://autoscaling.amazonaws.com/doc/2011-01-01/", model: &autoscalingModel,
	},
	"eks":     {protocol: restJSON1, model: &eksModel},
	"events":  {protocol: awsJSON11, target: "AWSEvents", model: &eventsModel},
	"iam":     {protocol: awsQuery, namespace: "https://iam.amazonaws.com/doc/2010-05-08/", model: &iamModel},
	"sts":     {protocol: awsQuery, namespace: "https://sts.amazonaws.com/doc/2011-06-15/", model: &stsModel},
	"pricing": {protocol: awsJSON11, target: "AWSPriceListService", model: &pricingModel},
	"sqs":     {protocol: awsJSON10, target: "AmazonSQS", model: &sqsModel},
	"ssm":     {protocol: awsJSON11, target: "AmazonSSM", model: &ssmModel},
}

func init() {
	for _, s := range services {
		s.actions = make(map[string]bool, len(s.model.actions))
		for _, a := range s.model.actions {
			s.actions[a] = true
		}
	}
}

// speaksJSON reports whether the bodies of the protocol are JSON.
func (s *service) speaksJSON() bool { return s.protocol >= awsJSON11 }

// Services returns the names of all services that have tables, sorted. S3 has none.
func Services() []string { return slices.Sorted(maps.Keys(services)) }

// Knows reports whether there are tables for the action.
func Knows(service, action string) bool {
	if service == s3Service {
		return restActions[action].decode != nil
	}
	s := services[service]
	return s != nil && s.actions[action]
}

func unknownService(name string) *sim.Error {
	return sim.Errorf("UnknownService", "The simulated AWS has no service %q. It has %s.",
		name, strings.Join(slices.Sorted(slices.Values(append(Services(), s3Service))), ", "))
}

// unknownAction returns an error worded as EC2 and the query services word it; JSON services call
// it UnknownOperationException.
func (s *service) unknownAction(action string) *sim.Error {
	switch s.protocol {
	case ec2Query:
		return sim.Errorf("InvalidAction", "The action %s is not valid for this web service.", action)
	case awsQuery:
		return sim.Errorf("InvalidAction", "Could not find operation %s for version %s", action, s.model.version)
	default:
		return sim.Errorf("UnknownOperationException", "The operation %s is not known.", action)
	}
}

// unknownParameter refuses what the SDK's model does not have. EC2 does so itself; that the others
// are as strict is the simulator's choice, since a misspelt parameter must not pass unnoticed.
func (s *service) unknownParameter(name string) *sim.Error {
	switch s.protocol {
	case ec2Query:
		return sim.Errorf("UnknownParameter", "The parameter %s is not recognized", name)
	case awsQuery:
		return sim.Errorf("ValidationError", "The parameter %s is not recognized", name)
	default:
		return sim.Errorf("SerializationException", "The member %s is not recognized", name)
	}
}

// malformed refuses a value that does not have its parameter's type.
func (s *service) malformed(name, value, want string) *sim.Error {
	switch s.protocol {
	case ec2Query:
		return sim.Errorf("InvalidParameterValue", "Invalid value '%s' for %s. It must be %s.", value, name, want)
	case awsQuery:
		return sim.Errorf("MalformedInput", "Value '%s' at '%s' must be %s", value, name, want)
	default:
		return sim.Errorf("SerializationException", "The member %s must be %s", name, want)
	}
}

// Actions returns the actions that the tables have for a service, sorted.
func Actions(service string) []string {
	s := services[service]
	if s == nil {
		return nil
	}
	return slices.Clone(s.model.actions)
}

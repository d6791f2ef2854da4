// Package eventbridge owns the simulated EventBridge: the default event bus, rules with event
// patterns, and SQS queues as their targets. The services' events come by Put. In addition to the
// rules of the API there are the world's rules, which the API does not show and which send whatever
// a queue's policy says. AWS delivers events within about a second, most often once, and promises
// neither (EventBridge user guide, "Event delivery level": best effort); here they are delivered
// once and at once. Other event buses, other targets, schedules that come due, input transformers,
// dead-letter queues and archives are not simulated.
package eventbridge

import (
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/sqs"
	"github.com/slipway-project/slipway/awssim/world"
)

// Event is an event that a service sends.
type Event struct {
	// Source is such as aws.ec2, DetailType such as "EC2 Instance State-change Notification".
	Source, DetailType string
	// Resources are ARNs of the resources that it is about.
	Resources []string
	// Detail is what encoding/json can write.
	Detail any
}

// envelope is an event as targets get it (EventBridge user guide, "Event structure").
type envelope struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"`
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     any      `json:"detail"`
}

const timeFormat = "2006-01-02T15:04:05Z"

// Put delivers an event to the queues whose rules want it. Only for code under the kernel's lock.
func Put(r *sim.Region, event Event) {
	if len(r.World().EventRules) == 0 && of(r).rules.Len() == 0 {
		return
	}
	deliver(r, envelope{
		Version: "0", ID: r.Kernel().NewUUID(), DetailType: event.DetailType, Source: event.Source, Account: r.Account.ID,
		Time: r.Kernel().Now().UTC().Format(timeFormat), Region: r.Name, Resources: event.Resources, Detail: event.Detail,
	})
}

func deliver(r *sim.Region, event envelope) {
	if event.Resources == nil {
		event.Resources = []string{}
	}
	content, err := json.Marshal(event)
	if err != nil {
		panic("eventbridge: an event can not be written as JSON: " + err.Error())
	}
	for _, rule := range r.World().EventRules {
		if wanted(rule, event) {
			sqs.Send(r, rule.Queue, string(content))
		}
	}
	// A rule that was just created or changed may not match yet (API PutRule: "allow a short period
	// of time for changes to take effect").
	rules := of(r).rules.VisibleAll()
	if len(rules) == 0 {
		return
	}
	var body any
	if err := json.Unmarshal(content, &body); err != nil {
		panic("eventbridge: an event can not be read as JSON: " + err.Error())
	}
	for _, rule := range rules {
		if rule.State == types.RuleStateDisabled || rule.pattern == nil || !rule.pattern.matches(body, true) {
			continue
		}
		for _, t := range rule.Targets {
			message := string(content)
			if t.Input != nil {
				message = *t.Input
			}
			sqs.Deliver(r, *t.Arn, sqs.Delivery{Service: "events.amazonaws.com", SourceARN: rule.ARN, Body: message})
		}
	}
}

// wanted reports whether a rule of the world is about an event.
func wanted(rule world.EventRule, event envelope) bool {
	return slices.Contains(rule.Sources, event.Source) && (len(rule.DetailTypes) == 0 || slices.Contains(rule.DetailTypes, event.DetailType))
}

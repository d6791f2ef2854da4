// Package eventbridge owns what of the simulated EventBridge others notice: the services' events, which the rules of the world put into
// queues. It has no API. AWS delivers events within about a second, most often once, and promises neither (EventBridge user guide,
// "Event delivery level": best effort); here they are delivered once and at once.
package eventbridge

import (
	"encoding/json"
	"slices"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/sqs"
)

// Event is what a service tells.
type Event struct {
	// Source is such as aws.ec2, DetailType such as "EC2 Instance State-change Notification".
	Source, DetailType string
	// Resources are ARNs of what it is about.
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

// Put delivers an event to the queues whose rules want it. Only for code under the kernel's lock.
func Put(r *sim.Region, event Event) {
	for _, rule := range r.World().EventRules {
		if !slices.Contains(rule.Sources, event.Source) || len(rule.DetailTypes) > 0 && !slices.Contains(rule.DetailTypes, event.DetailType) {
			continue
		}
		body, err := json.Marshal(envelope{
			Version: "0", ID: r.Kernel().NewUUID(), DetailType: event.DetailType, Source: event.Source, Account: r.Account.ID,
			Time: r.Kernel().Now().UTC().Format("2006-01-02T15:04:05Z"), Region: r.Name, Resources: event.Resources, Detail: event.Detail,
		})
		if err != nil {
			panic("eventbridge: an event can not be written as JSON: " + err.Error())
		}
		sqs.Send(r, rule.Queue, string(body))
	}
}

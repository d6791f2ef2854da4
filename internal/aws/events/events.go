// Package events listens to the events that AWS sends: EventBridge's events of EC2 instances and
// Auto Scaling groups, which a rule of the user's puts into an SQS queue. It says which instances
// and groups they are about, and whether it can listen at all; what is true of them is for others
// to look up, since events come late, twice, out of order or never (EventBridge user guide:
// delivered by best effort).
package events

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Happened lists the resources that some messages are about. All lists are sorted and contain only
// resources of the queue's account and region.
type Happened struct {
	// Instances have changed their state, or are about to. Ended are the ones among them that
	// terminate or have terminated: they never come back.
	Instances, Ended []string
	// Interrupted are Spot Instances that EC2 takes back within two minutes, and AtRisk Spot
	// Instances that it may take back soon.
	Interrupted, AtRisk []string
	// Groups are names of Auto Scaling groups in which something began or finished.
	Groups []string
}

// Empty reports whether no message was about a resource of interest.
func (h Happened) Empty() bool { return len(h.Instances) == 0 && len(h.Groups) == 0 }

// Fates of messages, as the metric names them.
const (
	heard      = "heard"
	foreign    = "foreign"
	unreadable = "unreadable"
)

// event contains the fields of a message that Slipway reads. (EC2 user guide, "State change events
// for your instances"; EC2 Auto Scaling user guide, "event reference".)
type event struct {
	Source     string    `json:"source"`
	DetailType string    `json:"detail-type"`
	Account    string    `json:"account"`
	Region     string    `json:"region"`
	Time       eventTime `json:"time"`
	Detail     struct {
		InstanceID string `json:"instance-id"`
		State      string `json:"state"`
		Group      string `json:"AutoScalingGroupName"`
	} `json:"detail"`
}

// eventTime records when something happened. It is zero if the event has no valid time. The time is
// only used for a metric, so an invalid one does not invalidate the event.
type eventTime struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *eventTime) UnmarshalJSON(text []byte) error {
	if t.Time.UnmarshalJSON(text) != nil {
		t.Time = time.Time{}
	}
	return nil
}

// Kinds of events that say more than that something happened (EC2 user guide: "Spot Instance
// interruption notices", "EC2 instance rebalance recommendations").
const (
	interruption = "EC2 Spot Instance Interruption Warning"
	rebalance    = "EC2 Instance Rebalance Recommendation"
)

// read adds what a message says, and returns its fate, and when it happened if it is of interest.
// The account and region are the queue's.
func (h *Happened) read(body, account, region string) (fate string, at time.Time) {
	var told event
	if err := json.Unmarshal([]byte(body), &told); err != nil || told.Source == "" {
		return unreadable, time.Time{}
	}
	if told.Account != account || told.Region != region {
		return foreign, time.Time{} // groups of the same name may be elsewhere
	}
	switch {
	case told.Source == "aws.ec2" && told.Detail.InstanceID != "":
		h.Instances = append(h.Instances, told.Detail.InstanceID)
		if told.Detail.State == "shutting-down" || told.Detail.State == "terminated" {
			h.Ended = append(h.Ended, told.Detail.InstanceID)
		}
		switch told.DetailType {
		case interruption:
			h.Interrupted = append(h.Interrupted, told.Detail.InstanceID)
		case rebalance:
			h.AtRisk = append(h.AtRisk, told.Detail.InstanceID)
		}
	case told.Source == "aws.autoscaling" && told.Detail.Group != "":
		h.Groups = append(h.Groups, told.Detail.Group)
	default:
		return foreign, time.Time{}
	}
	return heard, told.Time.Time
}

// settle sorts, and takes out what is there twice.
func (h *Happened) settle() {
	for _, list := range []*[]string{&h.Instances, &h.Ended, &h.Interrupted, &h.AtRisk, &h.Groups} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// accountOf returns the account in a queue's URL, such as
// https://sqs.eu-central-1.amazonaws.com/123456789012/slipway.
func accountOf(url string) string {
	parts := strings.Split(url, "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

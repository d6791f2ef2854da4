package eventbridge

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// mostEventBytes bounds the entries of a request together (SDK, PutEvents: "the total entry size
// must be less than 1MB").
const mostEventBytes = 1 << 20

func describeEventBus(c *sim.Call, in *eventbridge.DescribeEventBusInput) (*eventbridge.DescribeEventBusOutput, error) {
	s := of(c.Region)
	if err := s.checkBus(in.Name); err != nil {
		return nil, err
	}
	name, arn, born := defaultBus, s.busARN(), world.Born
	return &eventbridge.DescribeEventBusOutput{Name: &name, Arn: &arn, CreationTime: &born, LastModifiedTime: &born}, nil
}

// putEvents takes each entry by itself. An entry for an event bus that does not exist is accepted,
// and goes nowhere (SDK, PutEvents, and LocalStack,
// tests/aws/services/events/test_events.snapshot.json, which was recorded on AWS, also for codes
// and words).
func putEvents(c *sim.Call, in *eventbridge.PutEventsInput) (*eventbridge.PutEventsOutput, error) {
	if in.EndpointId != nil {
		return nil, invalid("The simulated EventBridge has no global endpoints.")
	}
	size := 0
	for _, entry := range in.Entries {
		size += sizeOf(entry)
	}
	if size > mostEventBytes {
		return nil, invalid("Total size of the entries in the request is over the limit.")
	}
	s, out := of(c.Region), &eventbridge.PutEventsOutput{Entries: []types.PutEventsResultEntry{}}
	for _, entry := range in.Entries {
		if code, message := refusal(entry); code != "" {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, types.PutEventsResultEntry{ErrorCode: &code, ErrorMessage: &message})
			continue
		}
		at := c.Now
		if entry.Time != nil {
			at = *entry.Time
		}
		event := envelope{
			Version: "0", ID: c.Kernel.NewUUID(), DetailType: *entry.DetailType, Source: *entry.Source, Account: c.Account.ID,
			Time: at.UTC().Format(timeFormat), Region: c.Region.Name, Resources: entry.Resources, Detail: json.RawMessage(*entry.Detail),
		}
		if s.checkBus(entry.EventBusName) == nil {
			deliver(c.Region, event)
		}
		out.Entries = append(out.Entries, types.PutEventsResultEntry{EventId: &event.ID})
	}
	return out, nil
}

// sizeOf returns an entry's size (EventBridge user guide, "Calculating PutEvents event entry
// size").
func sizeOf(entry types.PutEventsRequestEntry) int {
	size := 0
	if entry.Time != nil {
		size += 14
	}
	for _, text := range []*string{entry.Source, entry.DetailType, entry.Detail} {
		if text != nil {
			size += len(*text)
		}
	}
	for _, resource := range entry.Resources {
		size += len(resource)
	}
	return size
}

func refusal(entry types.PutEventsRequestEntry) (code, message string) {
	for _, required := range []struct {
		name  string
		value *string
	}{{"Source", entry.Source}, {"DetailType", entry.DetailType}, {"Detail", entry.Detail}} {
		if required.value == nil || *required.value == "" {
			return "InvalidArgument", "Parameter " + required.name + " is not valid. Reason: " + required.name + " is a required argument."
		}
	}
	// https://github.com/aws-samples/serverless-patterns/pull/3089
	if strings.HasPrefix(*entry.Source, "aws.") {
		return "NotAuthorizedForSourceException", "Not authorized for the source."
	}
	var detail map[string]json.RawMessage
	if json.Unmarshal([]byte(*entry.Detail), &detail) != nil || detail == nil {
		return "MalformedDetail", "Detail is malformed."
	}
	return "", ""
}

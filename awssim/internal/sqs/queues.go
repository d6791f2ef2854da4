package sqs

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file has the actions about queues as a whole. Sources named in comments: "API x" is the page
// API_x of the SQS API reference, "SDK" the doc comments of aws-sdk-go-v2's sqs module.

// Attributes that decide something here.
const (
	attributeVisibility = string(types.QueueAttributeNameVisibilityTimeout)
	attributeRetention  = string(types.QueueAttributeNameMessageRetentionPeriod)
	attributeDelay      = string(types.QueueAttributeNameDelaySeconds)
	attributeWait       = string(types.QueueAttributeNameReceiveMessageWaitTimeSeconds)
	attributeSize       = string(types.QueueAttributeNameMaximumMessageSize)
	attributeManagedSSE = string(types.QueueAttributeNameSqsManagedSseEnabled)
	attributePolicy     = string(types.QueueAttributeNamePolicy)
	attributeKeyReuse   = string(types.QueueAttributeNameKmsDataKeyReusePeriodSeconds)
)

// defaultSettings are AWS's (API SetQueueAttributes).
var defaultSettings = map[string]string{
	attributeVisibility: "30", attributeRetention: "345600", attributeDelay: "0", attributeWait: "0", attributeSize: strconv.Itoa(longestBody), attributeManagedSSE: "true",
}

// bounds are the bounds of attributes that are numbers (API SetQueueAttributes).
var bounds = map[string][2]int{
	attributeVisibility: {0, 43200}, attributeRetention: {60, 1209600}, attributeDelay: {0, longestDelay}, attributeWait: {0, longestWait}, attributeSize: {1024, longestBody},
	attributeKeyReuse: {60, 86400},
}

const (
	maxTags = 50 // API TagQueue
	// pause is the time for which a name cannot be used again after its queue was deleted, and the
	// duration of a purge (API CreateQueue: QueueDeletedRecently; API PurgeQueue).
	pause    = time.Minute
	mostList = 1000 // API ListQueues
)

// queueName (API CreateQueue: "a queue name can have up to 80 characters: alphanumeric characters,
// hyphens, and underscores").
var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// createQueue creates a queue, or answers the URL of the one that has the name, if it has all
// attributes that are given (API CreateQueue, also for the words).
func createQueue(c *sim.Call, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) {
	s, name := of(c.Region), ""
	if in.QueueName != nil {
		name = *in.QueueName
	}
	switch {
	case name == "":
		return nil, missing("QueueName")
	case strings.HasSuffix(name, ".fifo") || in.Attributes[string(types.QueueAttributeNameFifoQueue)] == "true":
		return nil, sim.Errorf("UnsupportedOperation", "The simulated queues are no FIFO queues.")
	case !queueName.MatchString(name):
		return nil, sim.Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if err := checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if q := s.queues[name]; q != nil {
		for _, attribute := range slices.Sorted(maps.Keys(in.Attributes)) {
			if q.settings[attribute] != in.Attributes[attribute] {
				return nil, sim.Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", attribute)
			}
		}
		return &sqs.CreateQueueOutput{QueueUrl: &q.url}, nil
	}
	if at, deleted := s.gone[name]; deleted && c.Now.Sub(at) < pause {
		return nil, sim.Errorf("QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	delete(s.gone, name)
	q := s.newQueue(name)
	maps.Copy(q.settings, in.Attributes)
	maps.Copy(q.tags, in.Tags)
	return &sqs.CreateQueueOutput{QueueUrl: &q.url}, nil
}

// checkAttributes checks the values of attributes (API SetQueueAttributes). Attributes of FIFO
// queues and of dead-letter queues are refused, because they would have no effect.
func checkAttributes(attributes map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		if bound, ok := bounds[name]; ok {
			if n, err := strconv.Atoi(value); err != nil || n < bound[0] || n > bound[1] {
				return invalidAttribute(name)
			}
			continue
		}
		switch types.QueueAttributeName(name) {
		case types.QueueAttributeNamePolicy:
			var document map[string]any
			if value != "" && json.Unmarshal([]byte(value), &document) != nil {
				return invalidAttribute(name)
			}
		case types.QueueAttributeNameSqsManagedSseEnabled:
			if value != "true" && value != "false" {
				return invalidAttribute(name)
			}
		case types.QueueAttributeNameKmsMasterKeyId:
		case types.QueueAttributeNameRedrivePolicy, types.QueueAttributeNameRedriveAllowPolicy:
			return sim.Errorf("UnsupportedOperation", "The simulated queues have no dead-letter queues.")
		default:
			return sim.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return nil
}

func invalidAttribute(name string) error {
	return sim.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

func deleteQueue(c *sim.Call, in *sqs.DeleteQueueInput) (*sqs.DeleteQueueOutput, error) {
	s := of(c.Region)
	q, err := s.find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	delete(s.queues, q.name)
	s.gone[q.name] = c.Now
	q.wake() // callers that wait for messages learn that the queue is gone
	return &sqs.DeleteQueueOutput{}, nil
}

// listQueues answers pages only if the request has their size (API ListQueues: without MaxResults
// up to 1,000 and no token).
func listQueues(c *sim.Call, in *sqs.ListQueuesInput) (*sqs.ListQueuesOutput, error) {
	s, prefix, size := of(c.Region), "", mostList
	if in.QueueNamePrefix != nil {
		prefix = *in.QueueNamePrefix
	}
	if in.MaxResults != nil {
		if size = int(*in.MaxResults); size < 1 || size > mostList {
			return nil, invalid(size, "MaxResults", "Must be between 1 and 1000, if provided")
		}
	}
	var urls []string
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if strings.HasPrefix(name, prefix) {
			urls = append(urls, s.queues[name].url)
		}
	}
	page, next, ok := sim.Page(urls, in.NextToken, size, func(url string) string { return url })
	if !ok {
		// inference for the words
		return nil, sim.Errorf("InvalidParameterValue", "Invalid or expired next token.")
	}
	if in.MaxResults == nil {
		next = nil
	}
	return &sqs.ListQueuesOutput{QueueUrls: page, NextToken: next}, nil
}

func setQueueAttributes(c *sim.Call, in *sqs.SetQueueAttributesInput) (*sqs.SetQueueAttributesOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if len(in.Attributes) == 0 {
		return nil, missing("Attribute.Name")
	}
	if err := checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	q.settings = maps.Clone(q.settings)
	maps.Copy(q.settings, in.Attributes)
	if q.settings[attributePolicy] == "" { // an empty policy takes it away
		delete(q.settings, attributePolicy)
	}
	q.modified = c.Now
	return &sqs.SetQueueAttributesOutput{}, nil
}

func getQueueAttributes(c *sim.Call, in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	all := q.attributes(c.Now)
	out := &sqs.GetQueueAttributesOutput{}
	for _, name := range in.AttributeNames {
		if out.Attributes == nil {
			out.Attributes = map[string]string{}
		}
		if name == types.QueueAttributeNameAll {
			out.Attributes = all
			break
		}
		value, ok := all[string(name)]
		if !ok {
			if slices.Contains(name.Values(), name) { // not set
				continue
			}
			return nil, sim.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
		out.Attributes[string(name)] = value
	}
	return out, nil
}

// attributes returns what can be set and what follows from the queue's messages.
func (q *queue) attributes(now time.Time) map[string]string {
	visible, delayed := 0, 0
	for _, m := range q.messages {
		switch {
		case !m.visible.After(now):
			visible++
		case m.received == 0:
			delayed++
		}
	}
	all := maps.Clone(q.settings)
	maps.Copy(all, map[string]string{
		"QueueArn": q.arn, "CreatedTimestamp": strconv.FormatInt(q.created.Unix(), 10), "LastModifiedTimestamp": strconv.FormatInt(q.modified.Unix(), 10),
		"ApproximateNumberOfMessages": strconv.Itoa(visible), "ApproximateNumberOfMessagesNotVisible": strconv.Itoa(len(q.messages) - visible - delayed),
		"ApproximateNumberOfMessagesDelayed": strconv.Itoa(delayed),
	})
	return all
}

// purgeQueue deletes all messages, including received ones, at most once a minute (API PurgeQueue).
func purgeQueue(c *sim.Call, in *sqs.PurgeQueueInput) (*sqs.PurgeQueueOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if !q.purged.IsZero() && c.Now.Sub(q.purged) < pause {
		return nil, sim.Errorf("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name).WithStatus(403)
	}
	q.purged, q.messages = c.Now, nil
	return &sqs.PurgeQueueOutput{}, nil
}

// checkTags (API TagQueue: up to 50; keys of 1 to 128, values of up to 256 characters, no prefix
// aws:). The words are an inference.
func checkTags(had, tags map[string]string) error {
	all := map[string]string{}
	maps.Copy(all, had)
	maps.Copy(all, tags)
	if len(all) > maxTags {
		return sim.Errorf("InvalidParameterValue", "Too many tags added for queue. Maximum number of tags allowed is %d.", maxTags)
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if key == "" || len(key) > 128 || len(tags[key]) > 256 || strings.HasPrefix(strings.ToLower(key), "aws:") {
			return sim.Errorf("InvalidParameterValue", "Tag %q is invalid.", key)
		}
	}
	return nil
}

func tagQueue(c *sim.Call, in *sqs.TagQueueInput) (*sqs.TagQueueOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, missing("Tags")
	}
	if err := checkTags(q.tags, in.Tags); err != nil {
		return nil, err
	}
	q.tags = maps.Clone(q.tags)
	maps.Copy(q.tags, in.Tags)
	return &sqs.TagQueueOutput{}, nil
}

func untagQueue(c *sim.Call, in *sqs.UntagQueueInput) (*sqs.UntagQueueOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.tags = maps.Clone(q.tags)
	for _, key := range in.TagKeys {
		delete(q.tags, key)
	}
	return &sqs.UntagQueueOutput{}, nil
}

func listQueueTags(c *sim.Call, in *sqs.ListQueueTagsInput) (*sqs.ListQueueTagsOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.ListQueueTagsOutput{Tags: maps.Clone(q.tags)}, nil
}

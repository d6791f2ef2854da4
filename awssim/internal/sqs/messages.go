package sqs

import (
	"crypto/md5" //nolint:gosec // it is what SQS answers, and SDKs check
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const (
	mostMessages = 10 // API ReceiveMessage, MaxNumberOfMessages
	longestWait  = 20 // seconds; API ReceiveMessage, WaitTimeSeconds
	mostEntries  = 10 // API DeleteMessageBatch
	longestBody  = 1 << 20
	longestDelay = 900 // seconds; API SendMessage
	handlePrefix = "AQEB"
)

func getQueueURL(c *sim.Call, in *sqs.GetQueueUrlInput) (*sqs.GetQueueUrlOutput, error) {
	if in.QueueName == nil || *in.QueueName == "" {
		return nil, missing("QueueName")
	}
	if owner := in.QueueOwnerAWSAccountId; owner != nil && *owner != c.Account.ID {
		// callers of other accounts do not get in, as above
		return nil, sim.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
	}
	q, err := of(c.Region).named(*in.QueueName)
	if err != nil {
		return nil, err
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: &q.url}, nil
}

// entryID is the form of ids in a batch (API DeleteMessageBatchRequestEntry, Id).
var entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// badCharacter finds what a message must not contain (API SendMessage, MessageBody:
// "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF").
func badCharacter(r rune) bool {
	return r < 0x20 && r != 0x9 && r != 0xA && r != 0xD || r == 0xFFFE || r == 0xFFFF
}

func sendMessage(c *sim.Call, in *sqs.SendMessageInput) (*sqs.SendMessageOutput, error) {
	s := of(c.Region)
	q, err := s.find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	m, err := s.accept(q, types.SendMessageBatchRequestEntry{
		MessageBody: in.MessageBody, DelaySeconds: in.DelaySeconds, MessageAttributes: in.MessageAttributes, MessageSystemAttributes: in.MessageSystemAttributes,
		MessageGroupId: in.MessageGroupId, MessageDeduplicationId: in.MessageDeduplicationId,
	})
	if err != nil {
		return nil, err
	}
	return &sqs.SendMessageOutput{MessageId: &m.id, MD5OfMessageBody: digest(m.body)}, nil
}

// accept checks a message and puts it into the queue. In Go, a delay of zero looks like none, so
// that the queue's counts.
func (s *state) accept(q *queue, in types.SendMessageBatchRequestEntry) (*message, error) {
	longest, _ := strconv.Atoi(q.settings[attributeSize]) // checked when it was set
	switch {
	case in.MessageBody == nil || *in.MessageBody == "":
		return nil, missing("MessageBody")
	case len(*in.MessageBody) > longest: // the words of this and the next: moto, sqs/responses.py and sqs/models.py
		return nil, sim.Errorf("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", longest)
	case !utf8.ValidString(*in.MessageBody) || strings.ContainsFunc(*in.MessageBody, badCharacter):
		return nil, sim.Errorf("InvalidMessageContents", "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | "+
			"#xE000 to #xFFFD | #x10000 to #x10FFFF")
	case in.DelaySeconds < 0 || in.DelaySeconds > longestDelay:
		return nil, invalid(in.DelaySeconds, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900")
	case len(in.MessageAttributes) > 0, len(in.MessageSystemAttributes) > 0, in.MessageGroupId != nil, in.MessageDeduplicationId != nil:
		return nil, sim.Errorf("UnsupportedOperation", "The simulated queues have no attributes, groups and deduplication of messages.")
	}
	delay := q.duration(attributeDelay)
	if in.DelaySeconds > 0 {
		delay = time.Duration(in.DelaySeconds) * time.Second
	}
	return s.send(q, *in.MessageBody, delay), nil
}

// sendMessageBatch takes each entry by itself: some may fail.
func sendMessageBatch(c *sim.Call, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
	s := of(c.Region)
	q, err := s.find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	ids, size := make([]*string, len(in.Entries)), 0
	for i, entry := range in.Entries {
		ids[i] = entry.Id
		if entry.MessageBody != nil {
			size += len(*entry.MessageBody)
		}
	}
	if err := checkBatch("SendMessageBatchRequestEntry", ids); err != nil {
		return nil, err
	}
	if size > longestBody { // API SendMessageBatch: the sum of all messages
		return nil, sim.Errorf("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", longestBody, size)
	}
	out := &sqs.SendMessageBatchOutput{Successful: []types.SendMessageBatchResultEntry{}, Failed: []types.BatchResultErrorEntry{}}
	for _, entry := range in.Entries {
		m, err := s.accept(q, entry)
		if err != nil {
			out.Failed = append(out.Failed, failed(entry.Id, err))
			continue
		}
		out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: entry.Id, MessageId: &m.id, MD5OfMessageBody: digest(m.body)})
	}
	return out, nil
}

func failed(id *string, err error) types.BatchResultErrorEntry {
	failure := sim.AsError(err)
	return types.BatchResultErrorEntry{Id: id, Code: &failure.Code, Message: &failure.Message, SenderFault: true}
}

// checkBatch holds the rules of the entries of a batch, which kind names.
func checkBatch(kind string, entries []*string) error {
	switch {
	case len(entries) == 0:
		return sim.Errorf("EmptyBatchRequest", "There should be at least one %s in the request.", kind)
	case len(entries) > mostEntries:
		return sim.Errorf("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", mostEntries, len(entries))
	}
	ids := map[string]bool{}
	for _, id := range entries {
		if id == nil {
			return missing(kind + ".Id")
		}
		if !entryID.MatchString(*id) {
			return sim.Errorf("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
		if ids[*id] {
			return sim.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", *id)
		}
		ids[*id] = true
	}
	return nil
}

func digest(body string) *string {
	sum := md5.Sum([]byte(body)) //nolint:gosec // see the import
	text := hex.EncodeToString(sum[:])
	return &text
}

// receiveMessage answers the oldest visible messages. If there is none it waits for one for as long
// as the request says (SQS developer guide, "Short and long polling").
func receiveMessage(c *sim.Call, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	s := of(c.Region)
	q, err := s.find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	most, err := atMost(in)
	if err != nil {
		return nil, err
	}
	if err := checkAttributeNames(in.AttributeNames); err != nil { //nolint:staticcheck // clients still send what is deprecated
		return nil, err
	}
	out := &sqs.ReceiveMessageOutput{}
	for _, m := range q.messages {
		if len(out.Messages) == most {
			break
		}
		if !m.visible.After(c.Now) {
			out.Messages = append(out.Messages, s.receive(q, m, in))
		}
	}
	wait := time.Duration(in.WaitTimeSeconds) * time.Second
	if wait == 0 { // which looks like none in Go
		wait = q.duration(attributeWait)
	}
	until := c.Began.Add(wait)
	if len(out.Messages) == 0 && c.Now.Before(until) {
		return nil, &sim.NotYetError{Until: until, Wake: q.changed}
	}
	return out, nil
}

// atMost checks the numbers of a request, and returns how many messages it wants. Zero counts as
// not given: SDKs for Go do not distinguish them.
func atMost(in *sqs.ReceiveMessageInput) (int, error) {
	switch {
	case in.MaxNumberOfMessages < 0 || in.MaxNumberOfMessages > mostMessages:
		return 0, invalid(in.MaxNumberOfMessages, "MaxNumberOfMessages", "Must be between 1 and 10, if provided")
	case in.WaitTimeSeconds < 0 || in.WaitTimeSeconds > longestWait:
		return 0, invalid(in.WaitTimeSeconds, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided")
	case in.VisibilityTimeout < 0 || time.Duration(in.VisibilityTimeout)*time.Second > longestVisibility:
		return 0, invalid(in.VisibilityTimeout, "VisibilityTimeout", "Must be between 0 and 43200, if provided")
	}
	return max(1, int(in.MaxNumberOfMessages)), nil
}

// checkAttributeNames checks the older member for the system attributes of messages. The model
// types it as attributes of queues, but the API reference lists attributes of messages (API
// ReceiveMessage, AttributeNames).
func checkAttributeNames(names []types.QueueAttributeName) error {
	for _, name := range names {
		system := types.MessageSystemAttributeName(name)
		if !slices.Contains(system.Values(), system) && !slices.Contains(name.Values(), name) {
			return sim.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return nil
}

// asksFor reports whether a request asks for a system attribute of messages, by either of its
// members.
func asksFor(in *sqs.ReceiveMessageInput, name types.MessageSystemAttributeName) bool {
	for _, wanted := range []types.MessageSystemAttributeName{name, types.MessageSystemAttributeNameAll} {
		older := slices.Contains(in.AttributeNames, types.QueueAttributeName(wanted)) //nolint:staticcheck // clients still send what is deprecated
		if older || slices.Contains(in.MessageSystemAttributeNames, wanted) {
			return true
		}
	}
	return false
}

func (s *state) receive(q *queue, m *message, in *sqs.ReceiveMessageInput) types.Message {
	kernel := s.region.Kernel()
	visibility := q.duration(attributeVisibility)
	if in.VisibilityTimeout > 0 {
		visibility = time.Duration(in.VisibilityTimeout) * time.Second
	}
	s.hide(q, m, visibility)
	if m.received == 0 {
		m.first = kernel.Now()
	}
	m.received++
	m.handle = handlePrefix + kernel.NewUUID()
	handle := m.handle
	answer := types.Message{MessageId: &m.id, Body: &m.body, MD5OfBody: digest(m.body), ReceiptHandle: &handle}
	for name, value := range map[types.MessageSystemAttributeName]string{
		types.MessageSystemAttributeNameSentTimestamp:                    strconv.FormatInt(m.sent.UnixMilli(), 10),
		types.MessageSystemAttributeNameApproximateReceiveCount:          strconv.Itoa(m.received),
		types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp: strconv.FormatInt(m.first.UnixMilli(), 10),
	} {
		if asksFor(in, name) {
			if answer.Attributes == nil {
				answer.Attributes = map[string]string{}
			}
			answer.Attributes[string(name)] = value
		}
	}
	return answer
}

// receivedBy finds the message of a receipt handle. The handle of an earlier receipt, or of a
// message that is gone, finds nothing, which is no error for a deletion (API DeleteMessage).
func (q *queue) receivedBy(handle *string) (*message, error) {
	switch {
	case handle == nil || *handle == "":
		return nil, missing("ReceiptHandle")
	case !strings.HasPrefix(*handle, handlePrefix):
		return nil, sim.Errorf("ReceiptHandleIsInvalid", "The input receipt handle %q is not a valid receipt handle.", *handle)
	}
	for _, m := range q.messages {
		if m.handle == *handle {
			return m, nil
		}
	}
	return nil, nil //nolint:nilnil // see above
}

func (q *queue) remove(handle *string) error {
	m, err := q.receivedBy(handle)
	if err != nil {
		return err
	}
	q.messages = slices.DeleteFunc(q.messages, func(other *message) bool { return other == m })
	return nil
}

func deleteMessage(c *sim.Call, in *sqs.DeleteMessageInput) (*sqs.DeleteMessageOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.DeleteMessageOutput{}, q.remove(in.ReceiptHandle)
}

func deleteMessageBatch(c *sim.Call, in *sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
	q, err := of(c.Region).find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	ids := make([]*string, len(in.Entries))
	for i, entry := range in.Entries {
		ids[i] = entry.Id
	}
	if err := checkBatch("DeleteMessageBatchRequestEntry", ids); err != nil {
		return nil, err
	}
	out := &sqs.DeleteMessageBatchOutput{Successful: []types.DeleteMessageBatchResultEntry{}, Failed: []types.BatchResultErrorEntry{}}
	for _, entry := range in.Entries {
		if err := q.remove(entry.ReceiptHandle); err != nil {
			out.Failed = append(out.Failed, failed(entry.Id, err))
			continue
		}
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: entry.Id})
	}
	return out, nil
}

func changeMessageVisibility(c *sim.Call, in *sqs.ChangeMessageVisibilityInput) (*sqs.ChangeMessageVisibilityOutput, error) {
	s := of(c.Region)
	q, err := s.find(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	m, err := q.receivedBy(in.ReceiptHandle)
	switch {
	case err != nil:
		return nil, err
	case in.VisibilityTimeout < 0 || time.Duration(in.VisibilityTimeout)*time.Second > longestVisibility:
		return nil, invalid(in.VisibilityTimeout, "VisibilityTimeout", "Must be between 0 and 43200")
	case m == nil: // LocalStack, services/sqs, with AWS's wording
		return nil, invalid(*in.ReceiptHandle, "ReceiptHandle", "Message does not exist or is not available for visibility timeout change")
	case !m.visible.After(c.Now):
		return nil, sim.Errorf("MessageNotInflight", "The specified message isn't in flight.")
	}
	s.hide(q, m, time.Duration(in.VisibilityTimeout)*time.Second)
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

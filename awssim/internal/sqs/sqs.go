// Package sqs owns the simulated Simple Queue Service: standard queues, which the world names or
// CreateQueue creates, with their attributes, tags and messages. They are stricter than AWS's in
// that a message is delivered in order and once, unless its visibility timeout passes. A queue's
// policy decides which AWS services send to it, and lets no other account in. FIFO queues,
// dead-letter queues and message attributes are not simulated.
package sqs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const (
	// longestVisibility is from when a message was received (API ChangeMessageVisibility: 12 hours).
	longestVisibility = 12 * time.Hour
)

// queue is a standard queue with its messages in the order in which they were sent.
type queue struct {
	name, url, arn    string
	settings          map[string]string // every attribute that can be set
	tags              map[string]string
	created, modified time.Time
	purged            time.Time
	messages          []*message
	// changed is closed when a message may have become visible, and replaced.
	changed chan struct{}
}

type message struct {
	id, body string
	sent     time.Time
	// visible is from when the message can be received.
	visible time.Time
	// handle is the handle of the last receipt, first the time of the first one; received counts
	// them.
	handle   string
	first    time.Time
	received int
}

type state struct {
	region *sim.Region
	queues map[string]*queue
	gone   map[string]time.Time // when a queue of that name was deleted
}

func of(r *sim.Region) *state { return sim.Store(r, build) }

func build(r *sim.Region) *state {
	s := &state{region: r, queues: map[string]*queue{}, gone: map[string]time.Time{}}
	for _, q := range r.World().Queues {
		made := s.newQueue(q.Name)
		if q.VisibilityTimeoutSeconds > 0 {
			made.settings[attributeVisibility] = strconv.Itoa(q.VisibilityTimeoutSeconds)
		}
	}
	return s
}

// newQueue adds a queue with AWS's defaults.
func (s *state) newQueue(name string) *queue {
	r := s.region
	q := &queue{
		name: name, settings: maps.Clone(defaultSettings), tags: map[string]string{}, created: r.Kernel().Now(), modified: r.Kernel().Now(), changed: make(chan struct{}),
		url: "https://sqs." + r.Name + ".amazonaws.com/" + r.Account.ID + "/" + name,
		arn: "arn:aws:sqs:" + r.Name + ":" + r.Account.ID + ":" + name,
	}
	s.queues[name] = q
	return q
}

// duration returns an attribute that is a number of seconds.
func (q *queue) duration(attribute string) time.Duration {
	n, err := strconv.Atoi(q.settings[attribute])
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, "sqs", "GetQueueUrl", getQueueURL)
	sim.Handle(reg, "sqs", "GetQueueAttributes", getQueueAttributes)
	sim.Handle(reg, "sqs", "CreateQueue", createQueue)
	sim.Handle(reg, "sqs", "DeleteQueue", deleteQueue)
	sim.Handle(reg, "sqs", "ListQueues", listQueues)
	sim.Handle(reg, "sqs", "SetQueueAttributes", setQueueAttributes)
	sim.Handle(reg, "sqs", "PurgeQueue", purgeQueue)
	sim.Handle(reg, "sqs", "TagQueue", tagQueue)
	sim.Handle(reg, "sqs", "UntagQueue", untagQueue)
	sim.Handle(reg, "sqs", "ListQueueTags", listQueueTags)
	sim.Handle(reg, "sqs", "SendMessageBatch", sendMessageBatch)
	sim.Handle(reg, "sqs", "SendMessage", sendMessage)
	sim.Handle(reg, "sqs", "ReceiveMessage", receiveMessage)
	sim.Handle(reg, "sqs", "DeleteMessage", deleteMessage)
	sim.Handle(reg, "sqs", "DeleteMessageBatch", deleteMessageBatch)
	sim.Handle(reg, "sqs", "ChangeMessageVisibility", changeMessageVisibility)
	reg.State("sqs", dump)
	registerAuthorization(reg)
}

func dump(r *sim.Region) any {
	queues := map[string]any{}
	for name, q := range of(r).queues {
		bodies := []string{}
		for _, m := range q.messages {
			bodies = append(bodies, m.body)
		}
		queues[name] = map[string]any{"arn": q.arn, "messages": bodies, "attributes": q.settings, "tags": q.tags}
	}
	return map[string]any{"queues": queues}
}

// Send puts a message into a queue on behalf of a service; into none if the region has no queue of
// that name. Only for code under the kernel's lock.
func Send(r *sim.Region, name, body string) {
	s := of(r)
	if q := s.queues[name]; q != nil {
		s.send(q, body, q.duration(attributeDelay))
	}
}

func (s *state) send(q *queue, body string, delay time.Duration) *message {
	kernel := s.region.Kernel()
	m := &message{id: kernel.NewUUID(), body: body, sent: kernel.Now(), visible: kernel.Now().Add(delay)}
	q.messages = append(q.messages, m)
	if delay > 0 {
		kernel.After(delay, func() { q.wake() })
	}
	q.wake()
	return m
}

// wake has callers that wait for messages check again.
func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// hide hides a message for d.
func (s *state) hide(q *queue, m *message, d time.Duration) {
	kernel := s.region.Kernel()
	m.visible = kernel.Now().Add(d)
	kernel.After(d, q.wake)
}

// forgetOld drops messages that were kept for as long as the queue keeps any.
func (q *queue) forgetOld(now time.Time) {
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return now.Sub(m.sent) > q.duration(attributeRetention) })
}

// find returns the queue of a URL. Only the account and the name at the end of the URL count:
// clients with an endpoint of their own send it as it is.
func (s *state) find(url *string) (*queue, error) {
	if url == nil || *url == "" {
		return nil, missing("QueueUrl")
	}
	parts := strings.Split(*url, "/")
	if len(parts) < 2 {
		return nil, sim.Errorf("InvalidAddress", "The address %s is not valid for this endpoint.", *url)
	}
	if account := parts[len(parts)-2]; account != s.region.Account.ID {
		// Queues' policies do not admit other accounts here.
		return nil, sim.Errorf("AccessDenied", "Access to the resource %s is denied.", *url).WithStatus(403)
	}
	return s.named(parts[len(parts)-1])
}

func (s *state) named(name string) (*queue, error) {
	q := s.queues[name]
	if q == nil {
		// API GetQueueUrl, Errors: QueueDoesNotExist, status 400.
		return nil, sim.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
	}
	q.forgetOld(s.region.Kernel().Now())
	return q, nil
}

func missing(parameter string) error {
	return sim.Errorf("MissingParameter", "The request must contain the parameter %s.", parameter)
}

func invalid(value any, parameter, reason string) error {
	return sim.Errorf("InvalidParameterValue", "Value %v for parameter %s is invalid. Reason: %s.", value, parameter, reason)
}

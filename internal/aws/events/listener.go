package events

import (
	"context"
	"fmt"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/aws"
)

const (
	// mostMessages and longestPoll are the most that SQS gives at a time, and the longest that it
	// waits for a message (AWS: ReceiveMessage).
	mostMessages = 10
	longestPoll  = 20
	// shortestWait and longestWait are between two attempts to read a queue that cannot be read.
	shortestWait = 5 * time.Second
	longestWait  = 5 * time.Minute
)

// Queues contains the SQS calls that a listener needs.
type Queues interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Listener reads one queue in one region as one identity.
type Listener struct {
	SQS Queues
	// Name is the queue's, in the identity's account.
	Name string
	// Identity and Region are the listener's labels in metrics and logs; the region is the region
	// of the events, too.
	Identity, Region string
	Clock            clock.Clock
	Metrics          *Metrics
	// Heard is called with what happened and the queue that reported it, before the messages are
	// deleted. Nothing else is heard until it returns. If it fails, the messages are left to come
	// again.
	Heard func(ctx context.Context, url string, happened Happened) error
	// Listening is called with the queue's URL when it is first read, and with "" when it can no
	// longer be read. Events that came before are not lost: the queue holds them.
	Listening func(url string)

	// silent is why nothing can be heard, as it was logged last; "" while it can.
	silent string
}

// Run listens until the context is done.
func (l *Listener) Run(ctx context.Context) {
	l.Metrics.working(l.Identity, l.Region, false)
	defer l.Listening("")
	wait := shortestWait
	for {
		listened, err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if listened {
			wait = shortestWait
		}
		l.fallSilent(ctx, err)
		timer := l.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		wait = min(2*wait, longestWait)
	}
}

// fallSilent reports that the queue cannot be read. It logs this once, until the reason changes.
func (l *Listener) fallSilent(ctx context.Context, err error) {
	l.Listening("")
	l.Metrics.working(l.Identity, l.Region, false)
	if why := aws.UserMessage(err); why != l.silent {
		l.silent = why
		log.FromContext(ctx).Info("AWS's events cannot be read; groups are looked at as often as without them until they can",
			"queue", l.Name, "region", l.Region, "identity", l.Identity, "reason", why)
	}
}

// listen finds the queue and reads it until that fails. It says whether the queue was read at all.
func (l *Listener) listen(ctx context.Context) (listened bool, err error) {
	found, err := l.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &l.Name})
	if err != nil {
		return false, fmt.Errorf("looking for queue %q: %w", l.Name, err)
	}
	url := awssdk.ToString(found.QueueUrl)
	// The first answer is not waited for: it shows at once whether the queue may be read.
	for poll := int32(0); ; poll = longestPoll {
		answer, err := l.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: mostMessages, WaitTimeSeconds: poll})
		if err != nil {
			return listened, fmt.Errorf("reading queue %q: %w", l.Name, err)
		}
		// Before the messages are passed on: they go to who listens to their queue.
		if !listened {
			listened = true
			l.Listening(url)
			l.Metrics.working(l.Identity, l.Region, true)
			log.FromContext(ctx).Info("AWS's events are read", "queue", l.Name, "region", l.Region, "identity", l.Identity)
			l.silent = ""
		}
		if err := l.hear(ctx, url, answer.Messages); err != nil {
			log.FromContext(ctx).Error(err, "Acting on AWS's events failed; they come again", "queue", l.Name)
			continue
		}
		if err := l.remove(ctx, url, answer.Messages); err != nil {
			return listened, err
		}
	}
}

func (l *Listener) hear(ctx context.Context, url string, messages []sqstypes.Message) error {
	happened := Happened{}
	for _, message := range messages {
		fate, at := happened.read(awssdk.ToString(message.Body), accountOf(url), l.Region)
		l.Metrics.received(l.Region, fate)
		if !at.IsZero() {
			l.Metrics.delayed(l.Region, l.Clock.Since(at))
		}
	}
	if happened.settle(); happened.Empty() {
		return nil
	}
	return l.Heard(ctx, url, happened)
}

// remove deletes messages, including messages that have no meaning for us: the queue has no other
// reader. A message that is left comes again, and does no harm.
func (l *Listener) remove(ctx context.Context, url string, messages []sqstypes.Message) error {
	if len(messages) == 0 {
		return nil
	}
	entries := make([]sqstypes.DeleteMessageBatchRequestEntry, len(messages))
	for i, message := range messages {
		entries[i] = sqstypes.DeleteMessageBatchRequestEntry{Id: awssdk.String(strconv.Itoa(i)), ReceiptHandle: message.ReceiptHandle}
	}
	if _, err := l.SQS.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: entries}); err != nil {
		return fmt.Errorf("deleting messages of queue %q: %w", l.Name, err)
	}
	return nil
}

package awssim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/slipway-project/slipway/awssim"
)

// attributes returns all attributes of a queue.
func (q *queueClient) attributes() map[string]string {
	q.Helper()
	return must[*sqs.GetQueueAttributesOutput](q)(q.GetQueueAttributes(q.Context(), &sqs.GetQueueAttributesInput{QueueUrl: q.url, AttributeNames: []types.QueueAttributeName{"All"}})).Attributes
}

func TestQueueIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := sqs.NewFromConfig(e.config(key))
	create := func(attributes map[string]string) (*sqs.CreateQueueOutput, error) {
		return c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("made"), Attributes: attributes, Tags: map[string]string{"team": "a"}})
	}
	first := must[*sqs.CreateQueueOutput](t)(create(map[string]string{"VisibilityTimeout": "5", "DelaySeconds": "10"}))
	q := &queueClient{t, c, first.QueueUrl}
	for _, row := range []struct {
		reason     string
		attributes map[string]string
		code       string
	}{
		{"the same attributes", map[string]string{"VisibilityTimeout": "5", "DelaySeconds": "10"}, ""},
		{"attributes that are left out do not count", nil, ""},
		{"another value", map[string]string{"VisibilityTimeout": "6"}, "QueueAlreadyExists"},
		{"a value out of bounds", map[string]string{"VisibilityTimeout": "43201"}, "InvalidAttributeValue"},
		{"an attribute that no queue has", map[string]string{"Color": "red"}, "InvalidAttributeName"},
		{"an attribute that follows from the queue", map[string]string{"QueueArn": "a"}, "InvalidAttributeName"},
	} {
		out, err := create(row.attributes)
		if code(err) != row.code || err == nil && *out.QueueUrl != *first.QueueUrl {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
	q.send("a")
	if got := q.receive(sqs.ReceiveMessageInput{}); len(got) != 0 || q.attributes()["ApproximateNumberOfMessagesDelayed"] != "1" {
		t.Errorf("before its delay has passed there are %d messages: %v", len(got), q.attributes())
	}
	e.Clock().Step(10 * time.Second)
	if got := bodies(q.receive(sqs.ReceiveMessageInput{})); !slices.Equal(got, []string{"a"}) {
		t.Errorf("received are %q", got)
	}
	if got := q.receive(sqs.ReceiveMessageInput{}); len(got) != 0 {
		t.Errorf("a message that is in flight was received again")
	}
	e.Clock().Step(5 * time.Second)
	if got := bodies(q.receive(sqs.ReceiveMessageInput{})); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after its visibility timeout received are %q", got)
	}
	must[*sqs.DeleteQueueOutput](t)(c.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: q.url}))
	if _, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("made")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("of a queue that was deleted: %v", err)
	}
	if _, err := create(nil); code(err) != "AWS.SimpleQueueService.QueueDeletedRecently" {
		t.Errorf("at once after its deletion: %v", err)
	}
	e.Clock().Step(time.Minute)
	must[*sqs.CreateQueueOutput](t)(create(nil))
	if n := q.attributes()["ApproximateNumberOfMessages"]; n != "0" {
		t.Errorf("the new queue has %s messages of the old one", n)
	}
}

func TestQueueAttributesTagsAndPurge(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "quick")
	set := func(attributes map[string]string) error {
		_, err := q.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: attributes})
		return err
	}
	if err := set(map[string]string{"MaximumMessageSize": "1024", "Policy": `{"Version":"2012-10-17"}`}); err != nil {
		t.Fatal(err)
	}
	if got := q.attributes(); got["MaximumMessageSize"] != "1024" || got["Policy"] == "" || got["VisibilityTimeout"] != "5" {
		t.Errorf("the attributes are %v", got)
	}
	if err := set(map[string]string{"Policy": "{"}); code(err) != "InvalidAttributeValue" {
		t.Errorf("a policy that is no JSON: %v", err)
	}
	if err := set(map[string]string{"Policy": ""}); err != nil || q.attributes()["Policy"] != "" {
		t.Errorf("an empty policy: %v, %v", err, q.attributes())
	}
	batch := must[*sqs.SendMessageBatchOutput](t)(q.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: q.url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("1"), MessageBody: aws.String("a")}, {Id: aws.String("2"), MessageBody: aws.String(strings.Repeat("x", 1025))}, {Id: aws.String("3"), MessageBody: aws.String("b")},
	}}))
	if len(batch.Successful) != 2 || len(batch.Failed) != 1 || *batch.Failed[0].Id != "2" || *batch.Failed[0].Code != "InvalidParameterValue" {
		t.Errorf("the batch answers %+v", batch)
	}
	if got := bodies(q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("received are %q", got)
	}
	purge := func() error {
		_, err := q.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: q.url})
		return err
	}
	if err := purge(); err != nil {
		t.Fatal(err)
	}
	if err := purge(); code(err) != "AWS.SimpleQueueService.PurgeQueueInProgress" {
		t.Errorf("twice in a minute: %v", err)
	}
	e.Clock().Step(time.Minute)
	if got := q.receive(sqs.ReceiveMessageInput{}); len(got) != 0 {
		t.Errorf("after the purge received are %q", bodies(got))
	}
	must[*sqs.TagQueueOutput](t)(q.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: q.url, Tags: map[string]string{"a": "b", "c": "d"}}))
	must[*sqs.UntagQueueOutput](t)(q.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: q.url, TagKeys: []string{"a"}}))
	if tags := must[*sqs.ListQueueTagsOutput](t)(q.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: q.url})).Tags; len(tags) != 1 || tags["c"] != "d" {
		t.Errorf("the tags are %v", tags)
	}
	pages := sqs.NewListQueuesPaginator(q.Client, &sqs.ListQueuesInput{MaxResults: aws.Int32(1)})
	var urls []string
	for pages.HasMorePages() {
		urls = append(urls, must[*sqs.ListQueuesOutput](t)(pages.NextPage(t.Context())).QueueUrls...)
	}
	if len(urls) != 2 || !strings.HasSuffix(urls[0], "/events") || urls[1] != *q.url {
		t.Errorf("the queues are %v", urls)
	}
	if some := must[*sqs.ListQueuesOutput](t)(q.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("qu")})).QueueUrls; len(some) != 1 {
		t.Errorf("with a prefix the queues are %v", some)
	}
}

// TestQueuesAreAuthorizedByTags holds that a queue with a tag can be reached by a caller that may
// reach resources with the tag.
func TestQueuesAreAuthorizedByTags(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	if err := e.SetPolicies(limited, `{"Statement":[{"Effect":"Allow","Action":["sqs:CreateQueue","sqs:TagQueue"],"Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/team":"blue"}}},
		{"Effect":"Allow","Action":"sqs:*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/team":"blue"}}}]}`); err != nil {
		t.Fatal(err)
	}
	c := sqs.NewFromConfig(e.config(limited))
	for team, want := range map[string]string{"blue": "", "red": "AccessDeniedException"} {
		if _, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("of-" + team), Tags: map[string]string{"team": team}}); code(err) != want {
			t.Errorf("creating the queue of %s: %v, want %q", team, err, want)
		}
	}
	must[*sqs.CreateQueueOutput](t)(sqs.NewFromConfig(e.config(key)).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("of-red"), Tags: map[string]string{"team": "red"}}))
	for team, want := range map[string]string{"blue": "", "red": "AccessDeniedException"} {
		if _, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(e.url + "/" + account + "/of-" + team), MessageBody: aws.String("a")}); code(err) != want {
			t.Errorf("sending to the queue of %s: %v, want %q", team, err, want)
		}
	}
}

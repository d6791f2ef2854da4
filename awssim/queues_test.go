package awssim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// queues is the default world with a queue that gets all events of EC2 and Auto Scaling, and one
// that gets none.
func queues() *world.World {
	w := *world.Default()
	w.Regions = slices.Clone(w.Regions)
	w.Regions[0].Queues = []world.Queue{{Name: "events"}, {Name: "quick", VisibilityTimeoutSeconds: 5}}
	w.Regions[0].EventRules = []world.EventRule{{Name: "all", Sources: []string{"aws.ec2", "aws.autoscaling"}, Queue: "events"}}
	return &w
}

// queueClient is one client of one queue.
type queueClient struct {
	testing.TB
	*sqs.Client
	url *string
}

func (e *endpoint) queue(t testing.TB, name string) *queueClient {
	t.Helper()
	c := sqs.NewFromConfig(e.config(key))
	out, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return &queueClient{t, c, out.QueueUrl}
}

func (q *queueClient) send(bodies ...string) {
	q.Helper()
	for _, body := range bodies {
		if _, err := q.SendMessage(q.Context(), &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: &body}); err != nil {
			q.Fatal(err)
		}
	}
}

func (q *queueClient) receive(in sqs.ReceiveMessageInput) []types.Message {
	q.Helper()
	in.QueueUrl = q.url
	out, err := q.ReceiveMessage(q.Context(), &in)
	if err != nil {
		q.Fatal(err)
	}
	return out.Messages
}

func bodies(messages []types.Message) []string {
	list := []string{}
	for _, m := range messages {
		list = append(list, *m.Body)
	}
	return list
}

func TestQueueVisibility(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "quick")
	if want := "https://sqs.us-east-1.amazonaws.com/" + account + "/quick"; *q.url != want {
		t.Errorf("the URL is %s, want %s", *q.url, want)
	}
	q.send("a", "b", "c")
	ten := sqs.ReceiveMessageInput{MaxNumberOfMessages: 10}
	first := q.receive(sqs.ReceiveMessageInput{})
	if diff := cmp.Diff([]string{"a"}, bodies(first)); diff != "" {
		t.Errorf("without a number, one message is received: %s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, bodies(q.receive(ten))); diff != "" {
		t.Errorf("those that were not received before: %s", diff)
	}
	if got := q.receive(ten); len(got) != 0 {
		t.Errorf("hidden messages were received: %v", bodies(got))
	}
	attributes, err := q.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: q.url, AttributeNames: []types.QueueAttributeName{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "VisibilityTimeout",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "3", "VisibilityTimeout": "5",
	}, attributes.Attributes); diff != "" {
		t.Error(diff)
	}
	if _, err := q.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: first[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(5 * time.Second)
	again := q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"ApproximateReceiveCount"}})
	if diff := cmp.Diff([]string{"b", "c"}, bodies(again)); diff != "" {
		t.Errorf("after the visibility timeout: %s", diff)
	}
	if got := again[0].Attributes["ApproximateReceiveCount"]; got != "2" {
		t.Errorf("the message was received %s times, want 2", got)
	}
	if _, err := q.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
		QueueUrl: q.url, ReceiptHandle: again[1].ReceiptHandle, VisibilityTimeout: 0,
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c"}, bodies(q.receive(ten))); diff != "" {
		t.Errorf("after a message was given back: %s", diff)
	}
}

// TestAttributesOfMessages holds that the system attributes of messages are asked for by the member
// of today and by the older one.
func TestAttributesOfMessages(t *testing.T) {
	t.Parallel()
	times := []string{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SentTimestamp"}
	for _, row := range []struct {
		reason string
		in     sqs.ReceiveMessageInput
		want   []string
	}{
		{"none", sqs.ReceiveMessageInput{}, nil},
		{"one", sqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{"SentTimestamp"}}, times[2:]},
		{"all", sqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}}, times},
		{"one by the older member", sqs.ReceiveMessageInput{AttributeNames: []types.QueueAttributeName{"SentTimestamp"}}, times[2:]}, //nolint:staticcheck // clients still send what is deprecated
		{"all by the older member", sqs.ReceiveMessageInput{AttributeNames: []types.QueueAttributeName{"All"}}, times},               //nolint:staticcheck // clients still send what is deprecated
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			q := serve(t, awssim.Options{World: queues()}).queue(t, "quick")
			q.send("a")
			received := q.receive(row.in)
			if diff := cmp.Diff(row.want, slices.Sorted(maps.Keys(received[0].Attributes))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeleteMessageBatch(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "quick")
	q.send("a", "b")
	received := q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
	out, err := q.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("0"), ReceiptHandle: received[0].ReceiptHandle},
		{Id: aws.String("1"), ReceiptHandle: received[1].ReceiptHandle},
		{Id: aws.String("2"), ReceiptHandle: aws.String("no handle")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("successful %v, failed %v", out.Successful, out.Failed)
	}
	e.Clock().Step(time.Minute)
	if left := q.receive(sqs.ReceiveMessageInput{}); len(left) != 0 {
		t.Errorf("deleted messages were received: %v", bodies(left))
	}
}

// TestLongPolling holds that a call that waits is answered by the clock, or by the message that it
// waits for.
func TestLongPolling(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		end    func(*endpoint, *queueClient)
		want   []string
	}{
		{"its time passes", func(e *endpoint, _ *queueClient) { e.Clock().Step(20 * time.Second) }, []string{}},
		{"a message comes", func(_ *endpoint, q *queueClient) { q.send("news") }, []string{"news"}},
		{"a hidden one becomes visible", func(e *endpoint, _ *queueClient) { e.Clock().Step(5 * time.Second) }, []string{"hidden"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			e := serve(t, awssim.Options{World: queues()})
			q := e.queue(t, "quick")
			if slices.Contains(row.want, "hidden") {
				q.send("hidden")
				q.receive(sqs.ReceiveMessageInput{})
			}
			waiting := make(chan struct{})
			if _, err := e.AddFault(awssim.Fault{Action: "ReceiveMessage", Place: awssim.Before, Callback: func(*awssim.FaultContext) { close(waiting) }, Count: 1}); err != nil {
				t.Fatal(err)
			}
			answer := make(chan []types.Message, 1)
			go func() { answer <- q.receive(sqs.ReceiveMessageInput{WaitTimeSeconds: 20}) }()
			<-waiting
			row.end(e, q)
			if diff := cmp.Diff(row.want, bodies(<-answer)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQueueErrors(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "quick")
	ctx := t.Context()
	handle := aws.String("AQEBgone")
	for _, row := range []struct {
		reason string
		call   func() error
		want   string
	}{
		{"no such queue", func() error {
			_, err := q.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
			return err
		}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"a URL of no queue", func() error {
			_, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(*q.url + "-none")})
			return err
		}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"another account's", func() error {
			_, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String("https://sqs.us-east-1.amazonaws.com/444455556666/quick")})
			return err
		}, "AccessDenied"},
		{"an id of a batch has a form", func() error {
			_, err := q.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String("a b"), ReceiptHandle: handle},
			}})
			return err
		}, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"an id of a batch has at most 80 characters", func() error {
			_, err := q.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String(strings.Repeat("a", 81)), ReceiptHandle: handle},
			}})
			return err
		}, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"a message of control characters", func() error {
			_, err := q.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: aws.String("a\x01b")})
			return err
		}, "InvalidMessageContents"},
		{"too many messages", func() error {
			_, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q.url, MaxNumberOfMessages: 11})
			return err
		}, "InvalidParameterValue"},
		{"too long a wait", func() error {
			_, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q.url, WaitTimeSeconds: 21})
			return err
		}, "InvalidParameterValue"},
		{"an empty batch", func() error {
			_, err := q.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{}})
			return err
		}, "AWS.SimpleQueueService.EmptyBatchRequest"},
		{"the same id twice", func() error {
			entry := types.DeleteMessageBatchRequestEntry{Id: aws.String("0"), ReceiptHandle: handle}
			_, err := q.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: []types.DeleteMessageBatchRequestEntry{entry, entry}})
			return err
		}, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
		{"deleting what is gone", func() error {
			_, err := q.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: handle})
			return err
		}, ""},
		{"hiding what is gone", func() error {
			_, err := q.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: q.url, ReceiptHandle: handle})
			return err
		}, "InvalidParameterValue"},
		{"hiding what is visible again", func() error {
			q.send("seen")
			received := q.receive(sqs.ReceiveMessageInput{})
			e.Clock().Step(time.Minute)
			_, err := q.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: q.url, ReceiptHandle: received[0].ReceiptHandle})
			return err
		}, "AWS.SimpleQueueService.MessageNotInflight"},
		{"an attribute of neither messages nor queues", func() error {
			_, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q.url, AttributeNames: []types.QueueAttributeName{"Color"}}) //nolint:staticcheck // clients still send what is deprecated
			return err
		}, "InvalidAttributeName"},
		{"a policy that is no object", func() error {
			_, err := q.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: map[string]string{"Policy": "[]"}})
			return err
		}, "InvalidAttributeValue"},
		{"a data key that is reused for too short a time", func() error {
			_, err := q.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: map[string]string{"KmsDataKeyReusePeriodSeconds": "59"}})
			return err
		}, "InvalidAttributeValue"},
	} {
		if err := row.call(); code(err) != row.want {
			t.Errorf("%s: got %v, want %q", row.reason, err, row.want)
		}
	}
}

// TestEventsOfGroups holds that a group's instance is launched, terminated, and replaced; the queue
// gets all of it, with AWS's wording.
func TestEventsOfGroups(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "events")
	instances, groups := ec2.NewFromConfig(e.config(key)), autoscaling.NewFromConfig(e.config(key))
	if _, err := instances.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "m5.large", ImageId: aws.String("resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"),
		},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := groups.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), MinSize: aws.Int32(1), MaxSize: aws.Int32(1), VPCZoneIdentifier: &e.World().Regions[0].Subnets[0].ID,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes"), Version: aws.String("1")},
		LifecycleHookSpecificationList: []asgtypes.LifecycleHookSpecification{{
			LifecycleHookName: aws.String("drain"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"), DefaultResult: aws.String("CONTINUE"),
			HeartbeatTimeout: aws.Int32(30),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(10 * time.Second)
	first := e.told(t, q)
	if diff := cmp.Diff([]string{"state pending", "state running", "EC2 Instance Launch Successful nodes"}, first.words); diff != "" {
		t.Fatalf("a launch: %s", diff)
	}
	if _, err := instances.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{first.instance}}); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(10 * time.Second)
	second := e.told(t, q)
	for _, want := range []string{"state terminated", "EC2 Instance-terminate Lifecycle Action nodes"} {
		if !slices.Contains(second.words, want) {
			t.Errorf("after a termination, the queue got %q, want %q", second.words, want)
		}
	}
	e.Clock().Step(time.Minute)
	if third := e.told(t, q); !slices.Contains(third.words, "EC2 Instance Terminate Successful nodes") {
		t.Errorf("after the hook, the queue got %q", third.words)
	}
}

// TestEventsOfRootVolumeReplacements holds that the events of hooks say that an instance gets a new
// root volume, and neither leaves nor joins the group.
func TestEventsOfRootVolumeReplacements(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues()})
	q := e.queue(t, "events")
	instances, groups := ec2.NewFromConfig(e.config(key)), autoscaling.NewFromConfig(e.config(key))
	images, err := instances.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("architecture"), Values: []string{"x86_64"}}, {Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-*"}},
	}})
	if err != nil || len(images.Images) < 2 {
		t.Fatalf("%d images, %v", len(images.Images), err)
	}
	template, err := instances.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large", ImageId: images.Images[0].ImageId},
	})
	if err != nil {
		t.Fatal(err)
	}
	policy := func(image *string) *asgtypes.MixedInstancesPolicy {
		return &asgtypes.MixedInstancesPolicy{LaunchTemplate: &asgtypes.LaunchTemplate{
			LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: template.LaunchTemplate.LaunchTemplateId, Version: aws.String("1")},
			Overrides:                   []asgtypes.LaunchTemplateOverrides{{InstanceType: aws.String("m5.large"), ImageId: image}},
		}}
	}
	if _, err := groups.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), MinSize: aws.Int32(1), MaxSize: aws.Int32(1), VPCZoneIdentifier: &e.World().Regions[0].Subnets[0].ID,
		MixedInstancesPolicy: policy(images.Images[0].ImageId),
	}); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(10 * time.Second)
	for _, transition := range []string{"autoscaling:EC2_INSTANCE_TERMINATING", "autoscaling:EC2_INSTANCE_LAUNCHING"} {
		if _, err := groups.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
			AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String(transition[12:]), LifecycleTransition: &transition, DefaultResult: aws.String("CONTINUE"),
			HeartbeatTimeout: aws.Int32(30),
		}); err != nil {
			t.Fatal(err)
		}
	}
	e.told(t, q)
	if _, err := groups.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: aws.String("nodes"), Strategy: asgtypes.RefreshStrategyReplaceRootVolume,
		DesiredConfiguration: &asgtypes.DesiredConfiguration{MixedInstancesPolicy: policy(images.Images[1].ImageId)},
	}); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(5 * time.Minute)
	want := []string{
		"EC2 Instance-terminate Lifecycle Action nodes: ReplaceRootVolume from AutoScalingGroup to AutoScalingGroup",
		"EC2 Instance-launch Lifecycle Action nodes: ReplaceRootVolume from AutoScalingGroup to AutoScalingGroup",
		"EC2 Auto Scaling Instance Refresh Succeeded nodes",
	}
	if diff := cmp.Diff(want, e.told(t, q).words); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

type told struct {
	words    []string
	instance string // the last one that changed its state
}

// told returns what is in the queue, and empties it.
func (e *endpoint) told(t testing.TB, q *queueClient) told {
	t.Helper()
	var all told
	for {
		messages := q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
		if len(messages) == 0 {
			return all
		}
		for _, m := range messages {
			if _, err := q.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
			var event struct {
				DetailType string         `json:"detail-type"`
				Source     string         `json:"source"`
				Account    string         `json:"account"`
				Region     string         `json:"region"`
				Detail     map[string]any `json:"detail"`
			}
			if err := json.Unmarshal([]byte(*m.Body), &event); err != nil {
				t.Fatal(err)
			}
			if event.Account != account || event.Region != region {
				t.Errorf("an event is of account %s in %s", event.Account, event.Region)
			}
			if event.Source == "aws.ec2" {
				all.words, all.instance = append(all.words, fmt.Sprint("state ", event.Detail["state"])), fmt.Sprint(event.Detail["instance-id"])
				continue
			}
			words := event.DetailType + " " + fmt.Sprint(event.Detail["AutoScalingGroupName"])
			if action, named := event.Detail["Action"]; named {
				words += fmt.Sprintf(": %v from %v to %v", action, event.Detail["Origin"], event.Detail["Destination"])
			}
			all.words = append(all.words, words)
		}
	}
}

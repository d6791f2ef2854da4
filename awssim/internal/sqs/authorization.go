package sqs

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_amazonsqs). A batch needs the permission of its action.

const service = "sqs"

func registerAuthorization(reg *sim.Registry) {
	// API common errors. Clients that speak JSON get this code, others AccessDenied.
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDeniedException", "%s", message) })
	sim.AuthorizeUnscoped(reg, service, "ListQueues")
	sim.Authorize(reg, service, "CreateQueue", func(c *sim.Call, in *sqs.CreateQueueInput) []sim.Question {
		asked := ask(c, "CreateQueue", in.QueueName, sim.Tagging(iampolicy.Context{}, in.Tags))
		if len(in.Tags) > 0 {
			asked = append(asked, ask(c, "TagQueue", in.QueueName, sim.Tagging(iampolicy.Context{}, in.Tags))...)
		}
		return asked
	})
	sim.Authorize(reg, service, "TagQueue", func(c *sim.Call, in *sqs.TagQueueInput) []sim.Question {
		return ask(c, "TagQueue", in.QueueUrl, sim.Tagging(iampolicy.Context{}, in.Tags))
	})
	sim.Authorize(reg, service, "UntagQueue", func(c *sim.Call, in *sqs.UntagQueueInput) []sim.Question {
		return ask(c, "UntagQueue", in.QueueUrl, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
	onQueue(reg, "GetQueueUrl", "GetQueueUrl", func(in *sqs.GetQueueUrlInput) *string { return in.QueueName })
	onQueue(reg, "GetQueueAttributes", "GetQueueAttributes", func(in *sqs.GetQueueAttributesInput) *string { return in.QueueUrl })
	onQueue(reg, "SetQueueAttributes", "SetQueueAttributes", func(in *sqs.SetQueueAttributesInput) *string { return in.QueueUrl })
	onQueue(reg, "DeleteQueue", "DeleteQueue", func(in *sqs.DeleteQueueInput) *string { return in.QueueUrl })
	onQueue(reg, "PurgeQueue", "PurgeQueue", func(in *sqs.PurgeQueueInput) *string { return in.QueueUrl })
	onQueue(reg, "ListQueueTags", "ListQueueTags", func(in *sqs.ListQueueTagsInput) *string { return in.QueueUrl })
	onQueue(reg, "ReceiveMessage", "ReceiveMessage", func(in *sqs.ReceiveMessageInput) *string { return in.QueueUrl })
	onQueue(reg, "ChangeMessageVisibility", "ChangeMessageVisibility", func(in *sqs.ChangeMessageVisibilityInput) *string { return in.QueueUrl })
	onQueue(reg, "DeleteMessage", "DeleteMessage", func(in *sqs.DeleteMessageInput) *string { return in.QueueUrl })
	onQueue(reg, "DeleteMessageBatch", "DeleteMessage", func(in *sqs.DeleteMessageBatchInput) *string { return in.QueueUrl })
	onQueue(reg, "SendMessage", "SendMessage", func(in *sqs.SendMessageInput) *string { return in.QueueUrl })
	onQueue(reg, "SendMessageBatch", "SendMessage", func(in *sqs.SendMessageBatchInput) *string { return in.QueueUrl })
}

// onQueue registers an action on one queue, with the permission that it needs.
func onQueue[I any](reg *sim.Registry, action, permission string, queue func(*I) *string) {
	sim.Authorize(reg, service, action, func(c *sim.Call, in *I) []sim.Question { return ask(c, permission, queue(in), iampolicy.Context{}) })
}

// ask asks for a queue by name or URL.
func ask(c *sim.Call, action string, queue *string, context iampolicy.Context) []sim.Question {
	name := ""
	if queue != nil {
		name = (*queue)[strings.LastIndex(*queue, "/")+1:]
	}
	if q := of(c.Region).queues[name]; q != nil {
		context = sim.Tagged(context, q.tags)
	}
	return []sim.Question{{Request: iampolicy.Request{
		Action: service + ":" + action, Resource: "arn:aws:sqs:" + c.Region.Name + ":" + c.Account.ID + ":" + name, Context: context,
	}}}
}

package sqs

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference, list_amazonsqs). A batch needs the permission of its action.

const service = "sqs"

func registerAuthorization(reg *sim.Registry) {
	// API common errors. Clients that speak JSON are told this code, others AccessDenied.
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDeniedException", "%s", message) })
	sim.Authorize(reg, service, "GetQueueUrl", func(c *sim.Call, in *sqs.GetQueueUrlInput) []sim.Question { return ask(c, "GetQueueUrl", in.QueueName) })
	sim.Authorize(reg, service, "ReceiveMessage", func(c *sim.Call, in *sqs.ReceiveMessageInput) []sim.Question {
		return ask(c, "ReceiveMessage", in.QueueUrl)
	})
	sim.Authorize(reg, service, "DeleteMessage", func(c *sim.Call, in *sqs.DeleteMessageInput) []sim.Question {
		return ask(c, "DeleteMessage", in.QueueUrl)
	})
	sim.Authorize(reg, service, "DeleteMessageBatch", func(c *sim.Call, in *sqs.DeleteMessageBatchInput) []sim.Question {
		return ask(c, "DeleteMessage", in.QueueUrl)
	})
	sim.Authorize(reg, service, "SendMessage", func(c *sim.Call, in *sqs.SendMessageInput) []sim.Question { return ask(c, "SendMessage", in.QueueUrl) })
}

// ask asks for a queue by name or URL.
func ask(c *sim.Call, action string, queue *string) []sim.Question {
	name := ""
	if queue != nil {
		name = (*queue)[strings.LastIndex(*queue, "/")+1:]
	}
	return []sim.Question{{Request: iampolicy.Request{
		Action: service + ":" + action, Resource: "arn:aws:sqs:" + c.Region.Name + ":" + c.Account.ID + ":" + name,
	}}}
}

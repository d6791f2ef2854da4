package eventbridge

import (
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference, list_amazoneventbridge).

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDeniedException", "%s", message) })
	sim.AuthorizeUnscoped(reg, service, "ListRules", "ListRuleNamesByTarget")
	sim.Authorize(reg, service, "PutRule", askPutRule)
	sim.Authorize(reg, service, "PutTargets", askPutTargets)
	onRule(reg, "DescribeRule", func(in *eventbridge.DescribeRuleInput) *string { return in.Name })
	onRule(reg, "DeleteRule", func(in *eventbridge.DeleteRuleInput) *string { return in.Name })
	onRule(reg, "EnableRule", func(in *eventbridge.EnableRuleInput) *string { return in.Name })
	onRule(reg, "DisableRule", func(in *eventbridge.DisableRuleInput) *string { return in.Name })
	onRule(reg, "RemoveTargets", func(in *eventbridge.RemoveTargetsInput) *string { return in.Rule })
	onRule(reg, "ListTargetsByRule", func(in *eventbridge.ListTargetsByRuleInput) *string { return in.Rule })
	sim.Authorize(reg, service, "TagResource", func(c *sim.Call, in *eventbridge.TagResourceInput) []sim.Question {
		return ask(c, "TagResource", *in.ResourceARN, sim.Tagging(iampolicy.Context{}, tagMap(in.Tags)))
	})
	sim.Authorize(reg, service, "UntagResource", func(c *sim.Call, in *eventbridge.UntagResourceInput) []sim.Question {
		return ask(c, "UntagResource", *in.ResourceARN, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
	sim.Authorize(reg, service, "ListTagsForResource", func(c *sim.Call, in *eventbridge.ListTagsForResourceInput) []sim.Question {
		return ask(c, "ListTagsForResource", *in.ResourceARN, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "DescribeEventBus", func(c *sim.Call, _ *eventbridge.DescribeEventBusInput) []sim.Question {
		return ask(c, "DescribeEventBus", of(c.Region).busARN(), iampolicy.Context{})
	})
	sim.Authorize(reg, service, "PutEvents", askPutEvents)
}

// askPutRule: a rule that is created with tags needs the permission to tag it too (API PutRule:
// "you must have both the events:PutRule and events:TagResource permissions").
func askPutRule(c *sim.Call, in *eventbridge.PutRuleInput) []sim.Question {
	arn, tags := of(c.Region).ruleARN(*in.Name), tagMap(in.Tags)
	asked := ask(c, "PutRule", arn, sim.Tagging(iampolicy.Context{}, tags))
	if len(tags) > 0 {
		asked = append(asked, ask(c, "TagResource", arn, sim.Tagging(iampolicy.Context{}, tags))...)
	}
	return asked
}

func askPutTargets(c *sim.Call, in *eventbridge.PutTargetsInput) []sim.Question {
	context := iampolicy.Context{}
	for _, t := range in.Targets {
		context["events:TargetArn"] = append(context["events:TargetArn"], *t.Arn)
	}
	return ask(c, "PutTargets", of(c.Region).ruleARN(*in.Rule), context)
}

// askPutEvents asks for each entry, since conditions may be on its source and type.
func askPutEvents(c *sim.Call, in *eventbridge.PutEventsInput) []sim.Question {
	var asked []sim.Question
	for _, entry := range in.Entries {
		context := iampolicy.Context{}
		if entry.Source != nil {
			context["events:source"] = []string{*entry.Source}
		}
		if entry.DetailType != nil {
			context["events:detail-type"] = []string{*entry.DetailType}
		}
		asked = append(asked, ask(c, "PutEvents", of(c.Region).busARN(), context)...)
	}
	return asked
}

func onRule[I any](reg *sim.Registry, action string, name func(*I) *string) {
	sim.Authorize(reg, service, action, func(c *sim.Call, in *I) []sim.Question {
		return ask(c, action, of(c.Region).ruleARN(*name(in)), iampolicy.Context{})
	})
}

// ask asks for a resource by its ARN.
func ask(c *sim.Call, action, arn string, context iampolicy.Context) []sim.Question {
	tags, _ := of(c.Region).tags.Get(arn)
	return []sim.Question{{Request: iampolicy.Request{Action: service + ":" + action, Resource: arn, Context: sim.Tagged(context, tags)}}}
}

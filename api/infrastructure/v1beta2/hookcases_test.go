package v1beta2_test

import (
	"fmt"
	"strings"
)

// hookCases are about lifecycleHooks and nodeDrain.
var hookCases = []ruleCase{
	{
		rule: "HK1", reason: "Auto Scaling's alphabet for names", accept: hook(`name: team/a_b-1`), refuse: hook(`name: "a b"`),
		says: "a lifecycle hook name must contain only letters, digits, and - _ /",
	},
	{
		rule: "HK1", reason: "the controller has hooks of its own", accept: hook(`name: my-slipway-hook`),
		refuse: hook(`name: slipway-drain`), says: "choose another name",
	},
	{
		rule: "HK1", reason: "50 hooks in a group, with the controller's", accept: hooks(49), refuse: hooks(50),
		says: "must have at most 49 items",
	},
	{
		rule: "HK2", reason: "heartbeats begin at 30 seconds", accept: hook(`name: a, heartbeatTimeout: 30s`),
		refuse: hook(`name: a, heartbeatTimeout: 29s`), says: "heartbeatTimeout must be between 30s and 2h, in whole seconds; a program that holds instances longer must send heartbeats",
	},
	{
		rule: "HK2", reason: "and end at two hours", accept: hook(`name: a, heartbeatTimeout: 2h0m0s`),
		refuse: hook(`name: a, heartbeatTimeout: 2h1s`), says: "heartbeatTimeout must be between 30s and 2h, in whole seconds; a program that holds instances longer must send heartbeats",
	},
	{
		rule: "HK3", reason: "a target needs a role",
		accept: hook(`name: a, notificationTargetARN: "arn:aws:sqs:us-east-1:123456789012:q.fifo", roleARN: "arn:aws:iam::123456789012:role/x/y"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:sqs:us-east-1:123456789012:q"`), says: "notificationTargetARN requires roleARN",
	},
	{
		rule: "HK3", reason: "a role needs a target", accept: hook(`name: a, roleARN: "", notificationTargetARN: ""`),
		refuse: hook(`name: a, roleARN: "arn:aws:iam::123456789012:role/x"`), says: "roleARN has no effect without notificationTargetARN",
	},
	{
		rule: "HK3", reason: "a target is a queue or a topic",
		accept: hook(`name: a, notificationTargetARN: "arn:aws-cn:sns:cn-north-1:123456789012:t", roleARN: "arn:aws-cn:iam::123456789012:role/x"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:lambda:us-east-1:123456789012:function:f", roleARN: "arn:aws:iam::123456789012:role/x"`),
		says:   "SQS queue or an SNS topic",
	},
	{
		rule: "HK3", reason: "a role is a role",
		accept: hook(`name: a, notificationTargetARN: "arn:aws:sns:us-east-1:123456789012:t", roleARN: "arn:aws:iam::123456789012:role/x"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:sns:us-east-1:123456789012:t", roleARN: "arn:aws:iam::123456789012:user/x"`),
		says:   "ARN of an IAM role",
	},
	{
		rule: "HK3", reason: "AWS's pattern for metadata", accept: hook(`name: a, notificationMetadata: "{\"a\":\t1}\n"`),
		refuse: hook(`name: a, notificationMetadata: "größe"`), says: "printable ASCII characters",
	},
	{
		rule: "HK3", reason: "AWS's limit for metadata", accept: hook(`name: a, notificationMetadata: "` + strings.Repeat("a", 4000) + `"`),
		refuse: hook(`name: a, notificationMetadata: "` + strings.Repeat("a", 4001) + `"`), says: "may not be more than 4000 bytes",
	},
	{
		rule: "SL4", reason: "Auto Scaling holds an instance for 48 hours", accept: `{nodeDrain: {timeout: 48h}}`,
		refuse: `{nodeDrain: {timeout: 49h}}`, says: "timeout must be between 1m and 48h, in whole seconds, such as 15m",
	},
	{
		rule: "SL4", reason: "a node that gets no time is not drained", accept: `{nodeDrain: {disable: true}}`,
		refuse: `{nodeDrain: {timeout: 0s}}`, says: "timeout must be between 1m and 48h, in whole seconds, such as 15m",
	},
}

func hook(of string) string {
	return `{lifecycleHooks: [{lifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", ` + of + `}]}`
}

func hooks(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{name: hook-%d, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}`, i))
	}
	return "{lifecycleHooks: [" + strings.Join(all, ", ") + "]}"
}

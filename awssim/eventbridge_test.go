package awssim_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func ruleARN(name string) string { return "arn:aws:events:" + region + ":" + account + ":rule/" + name }

func queueARN(name string) string { return "arn:aws:sqs:" + region + ":" + account + ":" + name }

// sendPolicy lets EventBridge send to a queue for a rule.
func sendPolicy(queue, rule string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":%q,
		"Condition":{"ArnEquals":{"aws:SourceArn":%q}}}]}`, queueARN(queue), ruleARN(rule))
}

// newQueue creates a queue with a policy, or none.
func (e *endpoint) newQueue(t testing.TB, name, policy string) *queueClient {
	t.Helper()
	attributes := map[string]string{}
	if policy != "" {
		attributes["Policy"] = policy
	}
	c := sqs.NewFromConfig(e.config(key))
	out := must[*sqs.CreateQueueOutput](t)(c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}))
	return &queueClient{t, c, out.QueueUrl}
}

// newRule creates a rule with a pattern and one queue as its target.
func (e *endpoint) newRule(t testing.TB, name, pattern, queue string) *eventbridge.Client {
	t.Helper()
	c := eventbridge.NewFromConfig(e.config(key))
	out := must[*eventbridge.PutRuleOutput](t)(c.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &name, EventPattern: &pattern}))
	if *out.RuleArn != ruleARN(name) {
		t.Errorf("the rule is %s", *out.RuleArn)
	}
	must[*eventbridge.PutTargetsOutput](t)(c.PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: &name, Targets: []types.Target{{Id: aws.String("q"), Arn: aws.String(queueARN(queue))}}}))
	return c
}

// runSpot runs a Spot Instance.
func (e *endpoint) runSpot(t testing.TB) string {
	t.Helper()
	image := ""
	for _, candidate := range e.World().Region(region).Images {
		if candidate.Architecture == "x86_64" {
			image = candidate.ID
		}
	}
	out := must[*ec2.RunInstancesOutput](t)(ec2.NewFromConfig(e.config(key)).RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: &image, InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String("subnet-0b2000000000000ab"),
		InstanceMarketOptions: &ec2types.InstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot},
	}))
	return *out.Instances[0].InstanceId
}

// launchGroup creates a group of one instance.
func (e *endpoint) launchGroup(t testing.TB) {
	t.Helper()
	must[*ec2.CreateLaunchTemplateOutput](t)(ec2.NewFromConfig(e.config(key)).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "m5.large", ImageId: aws.String("resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"),
		},
	}))
	must[*autoscaling.CreateAutoScalingGroupOutput](t)(autoscaling.NewFromConfig(e.config(key)).CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), MinSize: aws.Int32(1), MaxSize: aws.Int32(1), VPCZoneIdentifier: &e.World().Regions[0].Subnets[0].ID,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes"), Version: aws.String("1")},
	}))
	e.Clock().Step(10 * time.Second)
}

// kinds empties the queue, and returns each detail-type, with the state or action of its detail.
func (q *queueClient) kinds() []string {
	q.Helper()
	var kinds []string
	for {
		messages := q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10})
		if len(messages) == 0 {
			return kinds
		}
		for _, m := range messages {
			var event struct {
				Kind   string `json:"detail-type"`
				Detail struct {
					State string `json:"state"`
				} `json:"detail"`
			}
			if err := json.Unmarshal([]byte(*m.Body), &event); err != nil {
				q.Fatal(err)
			}
			kinds = append(kinds, strings.TrimSpace(event.Kind+" "+event.Detail.State))
			if _, err := q.DeleteMessage(q.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				q.Fatal(err)
			}
		}
	}
}

// TestRulesDeliverEvents holds that a user who creates queues and rules gets the events of
// instances and groups that the patterns match and the queues' policies allow.
func TestRulesDeliverEvents(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, pattern, policy string
		want                    []string
	}{
		{
			"all that happens", `{"source": ["aws.ec2", "aws.autoscaling"]}`, sendPolicy("made", "mine"),
			[]string{
				"EC2 Instance State-change Notification pending", "EC2 Instance State-change Notification running", "EC2 Spot Instance Interruption Warning",
				"EC2 Instance State-change Notification pending", "EC2 Instance State-change Notification running", "EC2 Instance Launch Successful",
			},
		},
		{"a state only", `{"source": ["aws.ec2"], "detail": {"state": ["running"]}}`, sendPolicy("made", "mine"), []string{"EC2 Instance State-change Notification running", "EC2 Instance State-change Notification running"}},
		{"a prefix", `{"detail-type": [{"prefix": "EC2 Spot"}]}`, sendPolicy("made", "mine"), []string{"EC2 Spot Instance Interruption Warning"}},
		{"the group's name", `{"detail": {"AutoScalingGroupName": ["nodes"]}}`, sendPolicy("made", "mine"), []string{"EC2 Instance Launch Successful"}},
		{"another group's name", `{"detail": {"AutoScalingGroupName": ["other"]}}`, sendPolicy("made", "mine"), nil},
		{"a policy for another rule", `{"source": ["aws.ec2"]}`, sendPolicy("made", "other"), nil},
		{"a policy for another queue", `{"source": ["aws.ec2"]}`, sendPolicy("other", "mine"), nil},
		{"no policy", `{"source": ["aws.ec2"]}`, "", nil},
		{"a policy for another service", `{"detail-type": [{"prefix": "EC2 Spot"}]}`, strings.Replace(sendPolicy("made", "mine"), "events.amazonaws.com", "sns.amazonaws.com", 1), nil},
		{"a policy that denies too", `{"source": ["aws.ec2"]}`, strings.Replace(sendPolicy("made", "mine"), `[{`, `[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*"},{`, 1), nil},
		{"a policy for all principals", `{"detail-type": [{"prefix": "EC2 Spot"}]}`, `{"Statement":{"Effect":"Allow","Principal":"*","Action":"SQS:Send*","Resource":"*"}}`, []string{"EC2 Spot Instance Interruption Warning"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			e := serve(t, awssim.Options{})
			q := e.newQueue(t, "made", row.policy)
			e.newRule(t, "mine", row.pattern, "made")
			spot := e.runSpot(t)
			e.Clock().Step(time.Second)
			if err := e.Region(account, region).InterruptSpotInstance(spot); err != nil {
				t.Fatal(err)
			}
			e.launchGroup(t)
			if diff := cmp.Diff(row.want, q.kinds()); diff != "" {
				t.Errorf("the queue got: %s", diff)
			}
		})
	}
}

var (
	docPattern = regexp.MustCompile(`(?s)put-rule --name slipway-events --event-pattern '(.*?)'`)
	docQueue   = regexp.MustCompile("(?s)```json\n(.*?)```")
)

// TestQueueOfTheDocumentation holds that the rules that docs/how-to/aws-events.md has users create work, and
// get the events that they are for.
func TestQueueOfTheDocumentation(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/how-to/aws-events.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("eu-central-1", region, "111122223333", account).Replace(string(content))
	pattern, queue := docPattern.FindStringSubmatch(page), docQueue.FindStringSubmatch(page)
	if pattern == nil || queue == nil {
		t.Fatal("docs/how-to/aws-events.md has no rule or no queue")
	}
	var attributes map[string]string
	if err := json.Unmarshal([]byte(queue[1]), &attributes); err != nil {
		t.Fatal(err)
	}
	e := serve(t, awssim.Options{})
	c := sqs.NewFromConfig(e.config(key))
	out := must[*sqs.CreateQueueOutput](t)(c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("slipway-events"), Attributes: attributes}))
	e.newRule(t, "slipway-events", pattern[1], "slipway-events")
	spot := e.runSpot(t)
	e.Clock().Step(time.Second)
	if err := e.Region(account, region).InterruptSpotInstance(spot); err != nil {
		t.Fatal(err)
	}
	e.launchGroup(t)
	got := (&queueClient{t, c, out.QueueUrl}).kinds()
	for _, want := range []string{"EC2 Instance State-change Notification running", "EC2 Spot Instance Interruption Warning", "EC2 Instance Launch Successful"} {
		if !slices.Contains(got, want) {
			t.Errorf("the queue got %q, want %q", got, want)
		}
	}
}

// TestRuleIsAdministered walks a rule through its life: it is disabled, enabled, tagged, listed,
// stripped of its targets, and deleted.
func TestRuleIsAdministered(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	q := e.newQueue(t, "made", sendPolicy("made", "mine"))
	c := e.newRule(t, "mine", `{"source": ["my.app"]}`, "made")
	ctx, name := t.Context(), aws.String("mine")
	put := func(source, detail string) types.PutEventsResultEntry {
		t.Helper()
		out := must[*eventbridge.PutEventsOutput](t)(c.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{Source: &source, DetailType: aws.String("a"), Detail: &detail}}}))
		return out.Entries[0]
	}
	must[*eventbridge.DisableRuleOutput](t)(c.DisableRule(ctx, &eventbridge.DisableRuleInput{Name: name}))
	if put("my.app", `{}`); len(q.kinds()) != 0 {
		t.Error("a rule that is disabled delivered")
	}
	must[*eventbridge.EnableRuleOutput](t)(c.EnableRule(ctx, &eventbridge.EnableRuleInput{Name: name}))
	if put("my.app", `{}`); len(q.kinds()) != 1 {
		t.Error("a rule that is enabled again did not deliver")
	}
	if got := put("aws.ec2", `{}`); aws.ToString(got.ErrorCode) != "NotAuthorizedForSourceException" {
		t.Errorf("an event in the name of AWS: %v", got)
	}
	if got := put("my.app", `[]`); aws.ToString(got.ErrorCode) != "MalformedDetail" {
		t.Errorf("a detail that is no object: %v", got)
	}
	must[*eventbridge.TagResourceOutput](t)(c.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: aws.String(ruleARN("mine")), Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}, {Key: aws.String("c"), Value: aws.String("d")}}}))
	must[*eventbridge.UntagResourceOutput](t)(c.UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: aws.String(ruleARN("mine")), TagKeys: []string{"a"}}))
	if tags := must[*eventbridge.ListTagsForResourceOutput](t)(c.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: aws.String(ruleARN("mine"))})).Tags; len(tags) != 1 || *tags[0].Key != "c" {
		t.Errorf("the tags are %v", tags)
	}
	must[*eventbridge.PutRuleOutput](t)(c.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("nightly"), ScheduleExpression: aws.String("cron(0 20 * * ? *)")}))
	first := must[*eventbridge.ListRulesOutput](t)(c.ListRules(ctx, &eventbridge.ListRulesInput{Limit: aws.Int32(1)}))
	second := must[*eventbridge.ListRulesOutput](t)(c.ListRules(ctx, &eventbridge.ListRulesInput{Limit: aws.Int32(1), NextToken: first.NextToken}))
	if *first.Rules[0].Name != "mine" || *second.Rules[0].Name != "nightly" || second.NextToken != nil {
		t.Errorf("the pages are %v and %v", first.Rules, second.Rules)
	}
	if names := must[*eventbridge.ListRuleNamesByTargetOutput](t)(c.ListRuleNamesByTarget(ctx, &eventbridge.ListRuleNamesByTargetInput{TargetArn: aws.String(queueARN("made"))})).RuleNames; !slices.Equal(names, []string{"mine"}) {
		t.Errorf("the rules of the queue are %v", names)
	}
	if _, err := c.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name}); code(err) != "ValidationException" || !strings.Contains(err.Error(), "Rule can't be deleted since it has targets.") {
		t.Errorf("deleting a rule with targets: %v", err)
	}
	if out := must[*eventbridge.RemoveTargetsOutput](t)(c.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: name, Ids: []string{"q", "none"}})); out.FailedEntryCount != 1 || *out.FailedEntries[0].TargetId != "none" {
		t.Errorf("removing a target that is there and one that is not: %v", out.FailedEntries)
	}
	must[*eventbridge.DeleteRuleOutput](t)(c.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name}))
	if _, err := c.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: name}); code(err) != "ResourceNotFoundException" {
		t.Errorf("describing a rule that was deleted: %v", err)
	}
	if put("my.app", `{}`); len(q.kinds()) != 0 {
		t.Error("a rule that was deleted delivered")
	}
}

func TestRulesAreRefused(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := e.newRule(t, "mine", `{"source": ["my.app"]}`, "made")
	rule := func(in eventbridge.PutRuleInput) func() error {
		in.Name = aws.String("new")
		return func() error { _, err := c.PutRule(t.Context(), &in); return err }
	}
	targets := func(rule string, arns ...string) func() error {
		in := &eventbridge.PutTargetsInput{Rule: &rule}
		for i, arn := range arns {
			in.Targets = append(in.Targets, types.Target{Id: aws.String(fmt.Sprint(i)), Arn: &arn})
		}
		return func() error { _, err := c.PutTargets(t.Context(), in); return err }
	}
	for _, row := range []struct {
		reason string
		call   func() error
		code   string
	}{
		{"neither pattern nor schedule", rule(eventbridge.PutRuleInput{}), "ValidationException"},
		{"a rate in the wrong number", rule(eventbridge.PutRuleInput{ScheduleExpression: aws.String("rate(1 minutes)")}), "ValidationException"},
		{"both days of a schedule", rule(eventbridge.PutRuleInput{ScheduleExpression: aws.String("cron(0 20 * * * *)")}), "ValidationException"},
		{"an hour that no day has", rule(eventbridge.PutRuleInput{ScheduleExpression: aws.String("cron(0 24 * * ? *)")}), "ValidationException"},
		{"a rate", rule(eventbridge.PutRuleInput{ScheduleExpression: aws.String("rate(5 minutes)")}), ""},
		{"a pattern that is no JSON", rule(eventbridge.PutRuleInput{EventPattern: aws.String(`{`)}), "InvalidEventPatternException"},
		{"another event bus", rule(eventbridge.PutRuleInput{EventPattern: aws.String(`{"source":["a"]}`), EventBusName: aws.String("other")}), "ResourceNotFoundException"},
		{"targets of no rule", targets("none", queueARN("made")), "ResourceNotFoundException"},
		{"a target that is no ARN", targets("mine", "made"), "ValidationException"},
		{"a queue of another account", targets("mine", "arn:aws:sqs:us-east-1:444455556666:made"), "ValidationException"},
		{"five targets with the one that is there", targets("mine", queueARN("a"), queueARN("b"), queueARN("c"), queueARN("d")), ""},
		{"a sixth target", targets("mine", queueARN("a"), queueARN("b"), queueARN("c"), queueARN("d"), queueARN("e")), "LimitExceededException"},
	} {
		if err := row.call(); code(err) != row.code {
			t.Errorf("%s: %v, want %q", row.reason, err, row.code)
		}
	}
}

// TestRulesAreAuthorized holds that a caller is held to the rule's ARN and tags.
func TestRulesAreAuthorized(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	e.newRule(t, "mine", `{"source": ["my.app"]}`, "made")
	if err := e.SetPolicies(limited, fmt.Sprintf(`{"Statement":{"Effect":"Allow","Action":["events:PutRule","events:DescribeRule","events:PutTargets"],"Resource":%q}}`, ruleARN("m*"))); err != nil {
		t.Fatal(err)
	}
	c := eventbridge.NewFromConfig(e.config(limited))
	put := func(name string, tags ...types.Tag) error {
		_, err := c.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(`{"source":["a"]}`), Tags: tags})
		return err
	}
	_, disable := c.DisableRule(t.Context(), &eventbridge.DisableRuleInput{Name: aws.String("mine")})
	for reason, row := range map[string]struct {
		err  error
		code string
	}{
		"a rule that the policy has":      {put("mine"), ""},
		"a rule that it has not":          {put("yours"), "AccessDeniedException"},
		"a tag without events:Tag":        {put("m-tagged", types.Tag{Key: aws.String("a"), Value: aws.String("b")}), "AccessDeniedException"},
		"an action that the policy lacks": {disable, "AccessDeniedException"},
	} {
		if code(row.err) != row.code {
			t.Errorf("%s: %v, want %q", reason, row.err, row.code)
		}
	}
}

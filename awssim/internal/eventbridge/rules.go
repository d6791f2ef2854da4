package eventbridge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// putRule creates a rule, or replaces all of one except for its targets and tags (SDK, PutRule: "If
// you are updating an existing rule, the rule is replaced with what you specify", "Tags ... are not
// updated").
func putRule(c *sim.Call, in *eventbridge.PutRuleInput) (*eventbridge.PutRuleOutput, error) {
	s := of(c.Region)
	if err := s.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	made := rule{
		Name: *in.Name, ARN: s.ruleARN(*in.Name), Description: in.Description, EventPattern: given(in.EventPattern),
		Schedule: given(in.ScheduleExpression), Role: in.RoleArn, State: cmp.Or(in.State, types.RuleStateEnabled),
	}
	if made.EventPattern == nil && made.Schedule == nil {
		// https://github.com/awsdocs/aws-cloudformation-user-guide/pull/456
		return nil, invalid("Parameter(s) EventPattern or ScheduleExpression must be specified.")
	}
	if made.Schedule != nil && !isSchedule(*made.Schedule) {
		return nil, invalid("Parameter ScheduleExpression is not valid.")
	}
	if made.EventPattern != nil {
		pattern, err := parsePattern(*made.EventPattern)
		if err != nil {
			return nil, sim.Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %s", err)
		}
		made.pattern = pattern
	}
	had, exists := s.rules.Get(made.Name)
	if exists {
		made.Targets = had.Targets
	} else {
		if s.rules.Len() >= mostRules {
			return nil, tooMany()
		}
		tags, err := tagged(nil, in.Tags)
		if err != nil {
			return nil, err
		}
		s.tags.Put(made.ARN, tags)
	}
	s.rules.Put(made.Name, made)
	return &eventbridge.PutRuleOutput{RuleArn: &made.ARN}, nil
}

// given takes an empty text for none.
func given(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	return text
}

func describeRule(c *sim.Call, in *eventbridge.DescribeRuleInput) (*eventbridge.DescribeRuleOutput, error) {
	r, err := of(c.Region).find(in.Name, in.EventBusName, (*sim.Table[rule]).Visible)
	if err != nil {
		return nil, err
	}
	bus := defaultBus
	return &eventbridge.DescribeRuleOutput{
		Name: &r.Name, Arn: &r.ARN, Description: r.Description, EventPattern: r.EventPattern, ScheduleExpression: r.Schedule, RoleArn: r.Role,
		State: r.State, EventBusName: &bus, CreatedBy: &c.Account.ID,
	}, nil
}

func listRules(c *sim.Call, in *eventbridge.ListRulesInput) (*eventbridge.ListRulesOutput, error) {
	s := of(c.Region)
	if err := s.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	found := s.visible(func(r rule) bool { return in.NamePrefix == nil || strings.HasPrefix(r.Name, *in.NamePrefix) })
	page, next, err := paged(found, in.NextToken, in.Limit, func(r rule) string { return r.Name })
	if err != nil {
		return nil, err
	}
	out, bus := &eventbridge.ListRulesOutput{NextToken: next, Rules: []types.Rule{}}, defaultBus
	for _, r := range page {
		out.Rules = append(out.Rules, types.Rule{
			Name: &r.Name, Arn: &r.ARN, Description: r.Description, EventPattern: r.EventPattern, ScheduleExpression: r.Schedule, RoleArn: r.Role,
			State: r.State, EventBusName: &bus,
		})
	}
	return out, nil
}

// visible returns the rules that are wanted, by name.
func (s *state) visible(want func(rule) bool) []rule {
	found := slices.DeleteFunc(s.rules.VisibleAll(), func(r rule) bool { return !want(r) })
	slices.SortFunc(found, func(a, b rule) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// paged returns a page of up to 100, or of limit (API ListRules). The words are an inference.
func paged[V any](items []V, token *string, limit *int32, key func(V) string) ([]V, *string, error) {
	size := 100
	if limit != nil {
		size = int(*limit)
	}
	page, next, ok := sim.Page(items, token, size, key)
	if !ok {
		return nil, nil, invalid("Parameter NextToken is not valid.")
	}
	return page, next, nil
}

// deleteRule succeeds for a rule that does not exist (moto verified it on AWS: tests/test_events,
// test_delete_unknown_rule). Force is for rules of AWS's services, which are not simulated.
func deleteRule(c *sim.Call, in *eventbridge.DeleteRuleInput) (*eventbridge.DeleteRuleOutput, error) {
	s := of(c.Region)
	if err := s.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	r, ok := s.rules.Get(*in.Name)
	if ok && len(r.Targets) > 0 {
		return nil, invalid("Rule can't be deleted since it has targets.")
	}
	s.rules.Delete(*in.Name)
	s.tags.Delete(s.ruleARN(*in.Name))
	return &eventbridge.DeleteRuleOutput{}, nil
}

func enableRule(c *sim.Call, in *eventbridge.EnableRuleInput) (*eventbridge.EnableRuleOutput, error) {
	return &eventbridge.EnableRuleOutput{}, of(c.Region).set(in.Name, in.EventBusName, types.RuleStateEnabled)
}

func disableRule(c *sim.Call, in *eventbridge.DisableRuleInput) (*eventbridge.DisableRuleOutput, error) {
	return &eventbridge.DisableRuleOutput{}, of(c.Region).set(in.Name, in.EventBusName, types.RuleStateDisabled)
}

func (s *state) set(name, bus *string, to types.RuleState) error {
	r, err := s.find(name, bus, (*sim.Table[rule]).Get)
	if err != nil {
		return err
	}
	r.State = to
	s.rules.Put(r.Name, r)
	return nil
}

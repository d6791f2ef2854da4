package eventbridge

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// anyARN matches what AWS accepts as an ARN (moto, events/models.py, put_targets; so is the wording
// of the refusals).
var anyARN = regexp.MustCompile(`^arn:[\w:\-/]*`)

// putTargets adds targets to a rule, or replaces those with the same IDs. Whether a queue exists,
// and lets the rule send, is not asked (inference: the user guide, "Troubleshooting", has rules
// whose queues get nothing for want of a policy).
func putTargets(c *sim.Call, in *eventbridge.PutTargetsInput) (*eventbridge.PutTargetsOutput, error) {
	s := of(c.Region)
	for _, t := range in.Targets {
		if err := s.checkTarget(t); err != nil {
			return nil, err
		}
	}
	r, err := s.find(in.Rule, in.EventBusName, (*sim.Table[rule]).Get)
	if err != nil {
		return nil, err
	}
	r.Targets = slices.Clone(r.Targets)
	for _, t := range in.Targets {
		if i := slices.IndexFunc(r.Targets, func(had types.Target) bool { return *had.Id == *t.Id }); i >= 0 {
			r.Targets[i] = t
			continue
		}
		r.Targets = append(r.Targets, t)
	}
	if len(r.Targets) > mostTargets {
		return nil, tooMany()
	}
	s.rules.Put(r.Name, r)
	return &eventbridge.PutTargetsOutput{FailedEntries: []types.PutTargetsResultEntry{}}, nil
}

// checkTarget refuses what is no ARN, as AWS does, and, with a message of its own, targets that
// would get nothing here.
func (s *state) checkTarget(t types.Target) error {
	arn := *t.Arn
	switch {
	case !anyARN.MatchString(arn):
		return invalid("Parameter %s is not valid. Reason: Provided Arn is not in correct format.", arn)
	case strings.Contains(arn, ":sqs:") && strings.HasSuffix(arn, ".fifo") && t.SqsParameters == nil:
		return invalid("Parameter(s) SqsParameters must be specified for target: %s.", *t.Id)
	case !strings.HasPrefix(arn, "arn:aws:sqs:"+s.region.Name+":"+s.region.Account.ID+":") || strings.HasSuffix(arn, ".fifo"):
		return invalid("The simulated EventBridge has no targets but standard SQS queues of the rule's account and region: %s.", arn)
	case t.InputPath != nil || t.InputTransformer != nil || t.DeadLetterConfig != nil:
		return invalid("The simulated EventBridge has no input paths, input transformers and dead-letter queues: target %s.", *t.Id)
	case t.Input != nil && !json.Valid([]byte(*t.Input)):
		// inference for the words
		return invalid("Parameter Input is not valid. Reason: Provided input is not valid JSON for target: %s.", *t.Id)
	}
	return nil
}

// removeTargets takes each ID by itself (LocalStack, services/events/target.py and rule.py, for the
// wording about targets that the rule does not have).
func removeTargets(c *sim.Call, in *eventbridge.RemoveTargetsInput) (*eventbridge.RemoveTargetsOutput, error) {
	s := of(c.Region)
	r, err := s.find(in.Rule, in.EventBusName, (*sim.Table[rule]).Get)
	if err != nil {
		return nil, err
	}
	r.Targets = slices.Clone(r.Targets)
	out := &eventbridge.RemoveTargetsOutput{FailedEntries: []types.RemoveTargetsResultEntry{}}
	for _, id := range in.Ids {
		i := slices.IndexFunc(r.Targets, func(had types.Target) bool { return *had.Id == id })
		if i < 0 {
			code, message := "ResourceNotFoundException", "Rule '"+r.Name+"' does not have a target with the Id '"+id+"'."
			out.FailedEntries = append(out.FailedEntries, types.RemoveTargetsResultEntry{TargetId: &id, ErrorCode: &code, ErrorMessage: &message})
			out.FailedEntryCount++
			continue
		}
		r.Targets = slices.Delete(r.Targets, i, i+1)
	}
	s.rules.Put(r.Name, r)
	return out, nil
}

func listTargetsByRule(c *sim.Call, in *eventbridge.ListTargetsByRuleInput) (*eventbridge.ListTargetsByRuleOutput, error) {
	r, err := of(c.Region).find(in.Rule, in.EventBusName, (*sim.Table[rule]).Visible)
	if err != nil {
		return nil, err
	}
	page, next, err := paged(r.Targets, in.NextToken, in.Limit, func(t types.Target) string { return *t.Id })
	if err != nil {
		return nil, err
	}
	return &eventbridge.ListTargetsByRuleOutput{Targets: append([]types.Target{}, page...), NextToken: next}, nil
}

func listRuleNamesByTarget(c *sim.Call, in *eventbridge.ListRuleNamesByTargetInput) (*eventbridge.ListRuleNamesByTargetOutput, error) {
	s := of(c.Region)
	if err := s.checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	found := s.visible(func(r rule) bool {
		return slices.ContainsFunc(r.Targets, func(t types.Target) bool { return *t.Arn == *in.TargetArn })
	})
	page, next, err := paged(found, in.NextToken, in.Limit, func(r rule) string { return r.Name })
	if err != nil {
		return nil, err
	}
	out := &eventbridge.ListRuleNamesByTargetOutput{RuleNames: []string{}, NextToken: next}
	for _, r := range page {
		out.RuleNames = append(out.RuleNames, r.Name)
	}
	return out, nil
}

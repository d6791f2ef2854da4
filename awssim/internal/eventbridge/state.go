package eventbridge

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Sources named in comments of this package: "API x" is the page API_x of the EventBridge API
// reference, "SDK" the doc comments of aws-sdk-go-v2's eventbridge module.

const (
	service    = "events"
	defaultBus = "default"

	// "EventBridge quotas": rules for each event bus, targets for each rule.
	mostRules   = 300
	mostTargets = 5
)

// rule is a rule of the default event bus.
type rule struct {
	Name         string          `json:"name"`
	ARN          string          `json:"arn"`
	Description  *string         `json:"description,omitempty"`
	EventPattern *string         `json:"eventPattern,omitempty"`
	Schedule     *string         `json:"schedule,omitempty"`
	Role         *string         `json:"role,omitempty"`
	State        types.RuleState `json:"state"`
	Targets      []types.Target  `json:"targets,omitempty"`

	pattern *object // of EventPattern; nil without one
}

type state struct {
	region *sim.Region
	rules  *sim.Table[rule]
	tags   *sim.Table[map[string]string] // by ARN
}

func of(r *sim.Region) *state {
	return sim.Store(r, func(r *sim.Region) *state {
		return &state{region: r, rules: sim.NewTable[rule](r.Kernel()), tags: sim.NewTable[map[string]string](r.Kernel())}
	})
}

func (s *state) arn(resource string) string {
	return "arn:aws:events:" + s.region.Name + ":" + s.region.Account.ID + ":" + resource
}

func (s *state) busARN() string { return s.arn("event-bus/" + defaultBus) }

func (s *state) ruleARN(name string) string { return s.arn("rule/" + name) }

// checkBus refuses every event bus but the default one, which may be named by its ARN.
func (s *state) checkBus(name *string) error {
	if name == nil || *name == defaultBus || *name == s.busARN() {
		return nil
	}
	return sim.Errorf("ResourceNotFoundException", "Event bus %s does not exist.", (*name)[strings.LastIndex(*name, "/")+1:])
}

// find returns a rule as get sees it. The words are AWS's
// (https://github.com/turbot/steampipe-plugin-aws/issues/1591).
func (s *state) find(name, bus *string, get func(*sim.Table[rule], string) (rule, bool)) (rule, error) {
	if err := s.checkBus(bus); err != nil {
		return rule{}, err
	}
	found, ok := get(s.rules, *name)
	if !ok {
		return rule{}, noRule(*name)
	}
	return found, nil
}

func noRule(name string) error {
	return sim.Errorf("ResourceNotFoundException", "Rule %s does not exist on EventBus %s.", name, defaultBus)
}

func invalid(format string, args ...any) error {
	return sim.Errorf("ValidationException", format, args...)
}

// tooMany has AWS's words (https://github.com/aws-cloudformation/cfn-lint/issues/306).
func tooMany() error {
	return sim.Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
}

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, service, "PutRule", putRule)
	sim.Handle(reg, service, "DescribeRule", describeRule)
	sim.Handle(reg, service, "ListRules", listRules)
	sim.Handle(reg, service, "DeleteRule", deleteRule)
	sim.Handle(reg, service, "EnableRule", enableRule)
	sim.Handle(reg, service, "DisableRule", disableRule)
	sim.Handle(reg, service, "PutTargets", putTargets)
	sim.Handle(reg, service, "RemoveTargets", removeTargets)
	sim.Handle(reg, service, "ListTargetsByRule", listTargetsByRule)
	sim.Handle(reg, service, "ListRuleNamesByTarget", listRuleNamesByTarget)
	sim.Handle(reg, service, "TagResource", tagResource)
	sim.Handle(reg, service, "UntagResource", untagResource)
	sim.Handle(reg, service, "ListTagsForResource", listTagsForResource)
	sim.Handle(reg, service, "DescribeEventBus", describeEventBus)
	sim.Handle(reg, service, "PutEvents", putEvents)
	reg.State(service, dump)
	registerAuthorization(reg)
}

func dump(r *sim.Region) any {
	type tagged struct {
		rule
		Tags map[string]string `json:"tags,omitempty"`
	}
	s, rules := of(r), map[string]any{}
	for _, found := range s.rules.All() {
		tags, _ := s.tags.Get(found.ARN)
		rules[found.Name] = tagged{found, tags}
	}
	return map[string]any{"rules": rules}
}

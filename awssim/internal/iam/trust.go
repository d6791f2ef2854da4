package iam

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/world"
)

// policy is as much of a trust policy as AssumeRole decides by
// (AWS: "IAM JSON policy elements reference").
type policy struct {
	Version   string
	Statement statements
}

type statement struct {
	Effect    string
	Principal principal
	Action    words
	Condition iampolicy.Condition `json:",omitempty"`
}

// words is a string or a list of strings.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// statements is a statement or a list of them.
type statements []statement

func (s *statements) UnmarshalJSON(data []byte) error {
	var one statement
	if len(data) > 0 && data[0] == '{' {
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*s = statements{one}
		return nil
	}
	return json.Unmarshal(data, (*[]statement)(s))
}

// principal is "*" or {"AWS": …, "Service": …, "Federated": …}.
type principal map[string]words

func (p *principal) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if one != "*" {
			return fmt.Errorf("principal %q is neither * nor an object", one)
		}
		*p = principal{"AWS": {"*"}}
		return nil
	}
	return json.Unmarshal(data, (*map[string]words)(p))
}

// federated matches the names of identity providers: web identity services by domain, OpenID Connect and SAML
// providers by ARN.
var federated = regexp.MustCompile(`^([\w-]+(\.[\w-]+)+|arn:aws[a-z-]*:iam::\d{12}:(oidc|saml)-provider/.+)$`)

// errFederated is IAM's answer
// (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2594).
var errFederated = errors.New("Federated principals must be valid domain names or SAML metadata ARNs") //nolint:staticcheck // AWS's words

func parsePolicy(document string) (policy, error) {
	var p policy
	if err := json.Unmarshal([]byte(document), &p); err != nil {
		return p, fmt.Errorf("parsing a trust policy: %w", err)
	}
	if len(p.Statement) == 0 {
		return p, fmt.Errorf("a trust policy without statements")
	}
	for _, s := range p.Statement {
		if s.Effect != "Allow" && s.Effect != "Deny" || len(s.Principal) == 0 || len(s.Action) == 0 {
			return p, fmt.Errorf("a statement lacks effect, principal or action")
		}
		if i := slices.IndexFunc(s.Principal["Federated"], func(name string) bool { return !federated.MatchString(name) }); i >= 0 {
			return p, errFederated
		}
	}
	return p, nil
}

// trustPolicyOf writes the trust policy of a role of the world. A role that names no principal
// trusts its own account, as the console's default does.
func trustPolicyOf(account string, r world.Role) string {
	s := statement{Effect: "Allow", Principal: principal{}, Action: words{"sts:AssumeRole"}}
	for _, p := range r.TrustedPrincipals {
		kind := "AWS"
		if strings.HasSuffix(p, ".amazonaws.com") {
			kind = "Service"
		}
		s.Principal[kind] = append(s.Principal[kind], p)
	}
	if len(s.Principal) == 0 {
		s.Principal["AWS"] = words{"arn:aws:iam::" + account + ":root"}
	}
	if r.ExternalID != "" {
		s.Condition = iampolicy.Condition{"StringEquals": {"sts:ExternalId": {r.ExternalID}}}
	}
	// Strings, lists and maps of them always marshal.
	document, _ := json.Marshal(policy{Version: "2012-10-17", Statement: statements{s}})
	return string(document)
}

// Trusts reports whether the role's trust policy lets the principal with that ARN, calling from that
// account, assume the role.
func (r Role) Trusts(callerARN, callerAccount, externalID string) bool {
	context := iampolicy.Context{"aws:PrincipalArn": {callerARN}, "aws:PrincipalAccount": {callerAccount}}
	if externalID != "" {
		context["sts:ExternalId"] = []string{externalID}
	}
	return r.allows("sts:AssumeRole", context, func(p principal) bool {
		return slices.ContainsFunc(p["AWS"], func(name string) bool {
			return name == "*" || name == callerAccount || name == "arn:aws:iam::"+callerAccount+":root" || name == callerARN || name == roleOfSession(callerARN)
		})
	})
}

// TrustsProvider reports whether the role's trust policy lets users of an identity provider assume the role.
// context has the claims of the user's token, such as <issuer>:sub.
func (r Role) TrustsProvider(providerARN string, context iampolicy.Context) bool {
	return r.allows("sts:AssumeRoleWithWebIdentity", context, func(p principal) bool {
		return slices.Contains(p["Federated"], providerARN) || slices.Contains(p["AWS"], "*")
	})
}

// allows decides an action by the statements whose principals are covered. A statement whose condition
// cannot be decided does not allow, and denies whatever it covers.
func (r Role) allows(action string, context iampolicy.Context, covered func(principal) bool) bool {
	p, err := parsePolicy(r.TrustPolicy)
	if err != nil {
		return false // CreateRole and UpdateAssumeRolePolicy let no such document in
	}
	allowed := false
	for _, s := range p.Statement {
		if !covered(s.Principal) {
			continue
		}
		undecidable := s.Condition.Check() != nil
		if undecidable {
			s.Condition = nil
		}
		if applies := s.applies(action, context); applies && s.Effect == "Deny" {
			return false
		} else if applies && !undecidable {
			allowed = true
		}
	}
	return allowed
}

// applies reports whether the statement is about the action, and its condition is met.
func (s statement) applies(action string, context iampolicy.Context) bool {
	about := iampolicy.Statement{Effect: iampolicy.Allow, Action: iampolicy.Strings(s.Action), Resource: iampolicy.Strings{"*"}, Condition: s.Condition}
	return iampolicy.Evaluate([]iampolicy.Policy{{Statements: []iampolicy.Statement{about}}},
		iampolicy.Request{Action: action, Resource: "*", Context: context}) == iampolicy.Allowed
}

// TrustsService reports whether the role's trust policy lets an AWS service, such as
// ec2.amazonaws.com, assume the role.
func (r Role) TrustsService(service string) bool {
	p, err := parsePolicy(r.TrustPolicy)
	if err != nil {
		return false // CreateRole and UpdateAssumeRolePolicy let no such document in
	}
	return slices.ContainsFunc(p.Statement, func(s statement) bool {
		s.Condition = nil // conditions on which resource a service acts for are ignored
		return s.Effect == "Allow" && slices.Contains(s.Principal["Service"], service) && s.applies("sts:AssumeRole", nil)
	})
}

// roleOfSession returns the ARN of the role behind an assumed-role session, as far as it follows
// from the session's ARN, which leaves out the role's path.
func roleOfSession(arn string) string {
	before, after, found := strings.Cut(arn, ":assumed-role/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, "/")
	return strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + name
}

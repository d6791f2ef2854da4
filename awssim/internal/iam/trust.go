package iam

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	Condition map[string]map[string]words `json:",omitempty"`
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
	}
	return p, nil
}

// trustPolicyOf writes the trust policy of a role of the world. One that names nobody trusts its own
// account, as the console's default does.
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
		s.Condition = map[string]map[string]words{"StringEquals": {"sts:ExternalId": {r.ExternalID}}}
	}
	// Strings, lists and maps of them always marshal.
	document, _ := json.Marshal(policy{Version: "2012-10-17", Statement: statements{s}})
	return string(document)
}

// Trusts reports whether the role's trust policy lets the principal with that ARN, calling from that
// account, assume the role. Of conditions it knows StringEquals and StringLike without wildcards on
// sts:ExternalId; any other keeps a statement from allowing.
func (r Role) Trusts(callerARN, callerAccount, externalID string) bool {
	p, err := parsePolicy(r.TrustPolicy)
	if err != nil {
		return false // CreateRole and UpdateAssumeRolePolicy let no such document in
	}
	allowed := false
	for _, s := range p.Statement {
		if !s.covers(callerARN, callerAccount) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = allowed || s.met(externalID)
	}
	return allowed
}

func (s statement) covers(arn, account string) bool {
	if !slices.ContainsFunc(s.Action, func(a string) bool { return a == "sts:AssumeRole" || a == "sts:*" || a == "*" }) {
		return false
	}
	return slices.ContainsFunc(s.Principal["AWS"], func(p string) bool {
		return p == "*" || p == account || p == "arn:aws:iam::"+account+":root" || p == arn || p == roleOfSession(arn)
	})
}

// TrustsService reports whether the role's trust policy lets an AWS service, such as ec2.amazonaws.com, assume the role.
func (r Role) TrustsService(service string) bool {
	p, err := parsePolicy(r.TrustPolicy)
	if err != nil {
		return false // CreateRole and UpdateAssumeRolePolicy let no such document in
	}
	return slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == "Allow" && slices.Contains(s.Principal["Service"], service) &&
			slices.ContainsFunc(s.Action, func(a string) bool { return a == "sts:AssumeRole" || a == "sts:*" || a == "*" })
	})
}

// roleOfSession returns the ARN of the role behind an assumed-role session, as far as it can be told
// from the session's ARN, which leaves out the role's path.
func roleOfSession(arn string) string {
	before, after, found := strings.Cut(arn, ":assumed-role/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, "/")
	return strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + name
}

func (s statement) met(externalID string) bool {
	for operator, keys := range s.Condition {
		for key, values := range keys {
			known := (operator == "StringEquals" || operator == "StringLike") && strings.EqualFold(key, "sts:ExternalId")
			if !known || !slices.Contains(values, externalID) {
				return false
			}
		}
	}
	return true
}

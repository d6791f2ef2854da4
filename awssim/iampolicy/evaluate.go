package iampolicy

import (
	"slices"
	"strings"
)

// Request is one thing that a caller wants: an action on a resource. One call of AWS's may be
// several of them.
type Request struct {
	// Action is an action of the Service Authorization Reference, such as ec2:CreateTags.
	Action string `json:"action"`
	// Resource is an ARN, or * for actions that have no resources. Of a resource that does not
	// exist yet, what is not known yet is *.
	Resource string `json:"resource"`
	// Context are the values of condition keys, such as aws:ResourceTag/Name.
	Context Context `json:"context,omitempty"`
}

// Context holds values by condition key. Keys are compared without regard to case, keys of tags too
// (AWS: "IAM JSON policy elements: Condition": "condition key names are not case-sensitive").
type Context map[string][]string

func (c Context) values(key string) []string {
	if values, same := c[key]; same {
		return values
	}
	for name, values := range c {
		if strings.EqualFold(name, key) {
			return values
		}
	}
	return nil
}

// Decision is the decision of policies about a request.
type Decision string

// The decisions. A request that no statement is about is denied too.
const (
	Allowed          Decision = "allowed"
	ImplicitlyDenied Decision = "implicitDeny"
	ExplicitlyDenied Decision = "explicitDeny"
)

// Evaluate decides a request by all policies of a caller together: a Deny wins over every Allow.
func Evaluate(policies []Policy, request Request) Decision {
	decision := ImplicitlyDenied
	for _, policy := range policies {
		for _, statement := range policy.Statements {
			if !statement.covers(request) {
				continue
			}
			if statement.Effect == Deny {
				return ExplicitlyDenied
			}
			decision = Allowed
		}
	}
	return decision
}

func (s Statement) covers(request Request) bool {
	return s.coversAction(request.Action) && s.coversResource(request.Resource) && s.Condition.Met(request.Context)
}

// coversAction compares without regard to case (AWS: "IAM JSON policy elements: Action").
func (s Statement) coversAction(action string) bool {
	matches := func(pattern string) bool {
		if !strings.ContainsAny(pattern, "*?") {
			return strings.EqualFold(action, pattern)
		}
		return like(strings.ToLower(action), strings.ToLower(pattern))
	}
	if len(s.NotAction) > 0 {
		return !slices.ContainsFunc(s.NotAction, matches)
	}
	return slices.ContainsFunc(s.Action, matches)
}

func (s Statement) coversResource(resource string) bool {
	matches := func(pattern string) bool { return pattern == "*" || likeARN(resource, pattern) }
	if len(s.NotResource) > 0 {
		return !slices.ContainsFunc(s.NotResource, matches)
	}
	return slices.ContainsFunc(s.Resource, matches)
}

// arnSegments is the number of parts of an ARN; the last, which names the resource, may have colons
// in it.
const arnSegments = 6

// likeARN compares segment by segment: a wildcard does not match beyond its own segment, except for
// the last one's (AWS: "IAM JSON policy elements: Resource").
func likeARN(arn, pattern string) bool {
	segments, patterns := strings.SplitN(arn, ":", arnSegments), strings.SplitN(pattern, ":", arnSegments)
	if len(segments) != len(patterns) {
		return false
	}
	for i := range segments {
		if !like(segments[i], patterns[i]) {
			return false
		}
	}
	return true
}

// like compares with a pattern in which * stands for any characters and ? for one.
func like(text, pattern string) bool {
	// A star is tried with as little as possible; a mismatch gives the last star one character more.
	t, p, star, retry := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			t, p = t+1, p+1
		case star >= 0:
			retry++
			t, p = retry, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

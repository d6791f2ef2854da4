// Package iampolicy decides by IAM policies as AWS does: identity-based policies, which a request
// for an action on a resource is held against. It is pure, and knows neither services nor callers.
// It refuses unknown elements, such as a condition operator or a policy variable, when it reads a
// policy, so that no statement ever counts for more or less than in AWS (AWS: IAM user guide, "IAM
// JSON policy elements reference" and "Policy evaluation logic").
package iampolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// MostCharacters bounds the length of a managed policy, white space apart (AWS: "IAM and AWS STS
// quotas", IAM policies character limits).
const MostCharacters = 6144

// Policy is a policy document.
type Policy struct {
	Version    string
	ID         string      `json:"Id,omitempty"`
	Statements []Statement `json:"Statement"`
}

// Statement is one statement of a policy. Exactly one of Action and NotAction is given, and of
// Resource and NotResource.
type Statement struct {
	SID         string    `json:"Sid,omitempty"`
	Effect      Effect    `json:"Effect"`
	Action      Strings   `json:"Action,omitempty"`
	NotAction   Strings   `json:"NotAction,omitempty"`
	Resource    Strings   `json:"Resource,omitempty"`
	NotResource Strings   `json:"NotResource,omitempty"`
	Condition   Condition `json:"Condition,omitempty"`
}

// Effect says whether a statement allows or denies.
type Effect string

// The effects.
const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// Condition holds values by operator and key. All operators and all keys must be met.
type Condition map[string]map[string]Strings

// Strings is a value or a list of values. One of them suffices.
type Strings []string

// UnmarshalJSON takes a value or a list; IAM takes true and false for "true" and "false" too.
func (s *Strings) UnmarshalJSON(data []byte) error {
	var one any
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	list, isList := one.([]any)
	if !isList {
		list = []any{one}
	}
	*s = Strings{}
	for _, value := range list {
		switch value := value.(type) {
		case string:
			*s = append(*s, value)
		case bool:
			*s = append(*s, fmt.Sprint(value))
		default:
			return fmt.Errorf("%v is neither a string nor a truth value", value)
		}
	}
	return nil
}

// Parse reads a policy document. It fails for one that IAM refuses as malformed, and for one that
// this package cannot decide by.
func Parse(document string) (Policy, error) {
	var raw struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if err := decodeStrictly([]byte(document), &raw); err != nil {
		return Policy{}, fmt.Errorf("parsing a policy: %w", err)
	}
	policy := Policy{Version: raw.Version, ID: raw.ID}
	list := raw.Statement
	if trimmed := bytes.TrimSpace(list); len(trimmed) > 0 && trimmed[0] == '{' {
		list = slices.Concat([]byte{'['}, trimmed, []byte{']'})
	}
	if err := decodeStrictly(list, &policy.Statements); err != nil {
		return Policy{}, fmt.Errorf("parsing the statements of a policy: %w", err)
	}
	if err := policy.check(); err != nil {
		return Policy{}, fmt.Errorf("parsing a policy: %w", err)
	}
	return policy, nil
}

func decodeStrictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// Characters returns how many characters of a document count (AWS: "IAM does not count white
// space").
func Characters(document string) int {
	count := 0
	for _, character := range document {
		if !unicode.IsSpace(character) {
			count++
		}
	}
	return count
}

func (p Policy) check() error {
	if p.Version != "2012-10-17" && p.Version != "2008-10-17" && p.Version != "" {
		return fmt.Errorf("version %q is none of IAM's", p.Version)
	}
	if len(p.Statements) == 0 {
		return errors.New("it has no statements")
	}
	seen := map[string]bool{}
	for i, statement := range p.Statements {
		if err := statement.check(); err != nil {
			return fmt.Errorf("statement %d %q: %w", i, statement.SID, err)
		}
		if seen[statement.SID] && statement.SID != "" {
			return fmt.Errorf("two statements have the Sid %q", statement.SID)
		}
		seen[statement.SID] = true
	}
	return nil
}

func (s Statement) check() error {
	switch {
	case s.Effect != Allow && s.Effect != Deny:
		return fmt.Errorf("effect %q is neither Allow nor Deny", s.Effect)
	case (len(s.Action) == 0) == (len(s.NotAction) == 0):
		return errors.New("one of Action and NotAction must be given")
	case (len(s.Resource) == 0) == (len(s.NotResource) == 0):
		return errors.New("one of Resource and NotResource must be given")
	case strings.Trim(s.SID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != "":
		return errors.New("a Sid is made of letters and digits")
	}
	for _, action := range slices.Concat(s.Action, s.NotAction) {
		service, name, found := strings.Cut(action, ":")
		if action != "*" && (!found || service == "" || name == "" || strings.ContainsAny(service, "*?")) {
			return fmt.Errorf("action %q must begin with the prefix of a service", action)
		}
	}
	for _, resource := range slices.Concat(s.Resource, s.NotResource) {
		if err := checkResource(resource); err != nil {
			return err
		}
	}
	return s.Condition.Check()
}

// checkResource holds a resource to its form (AWS: "IAM JSON policy elements: Resource": no
// wildcard in the service segment).
func checkResource(resource string) error {
	if resource == "*" {
		return nil
	}
	segments := strings.SplitN(resource, ":", arnSegments)
	switch {
	case len(segments) < arnSegments || segments[0] != "arn":
		return fmt.Errorf("resource %q must be * or an ARN", resource)
	case strings.ContainsAny(segments[2], "*?"):
		return fmt.Errorf("resource %q must name its service", resource)
	case strings.Contains(resource, "${"):
		return fmt.Errorf("resource %q has a policy variable, which is not simulated", resource)
	}
	return nil
}

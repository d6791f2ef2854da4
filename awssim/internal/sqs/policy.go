package sqs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file evaluates a queue's policy as far as needed: whether an AWS service may send to it.

// Delivery is a message that a service sends for a resource of its own, such as an EventBridge
// rule.
type Delivery struct {
	// Service is such as events.amazonaws.com, SourceARN the resource's ARN.
	Service, SourceARN string
	Body               string
}

// Deliver puts a message into the queue with that ARN, if the queue's policy lets the service send
// it, and the queue takes messages of that size. Otherwise, or if the region has no such queue,
// nothing happens. Only for code under the kernel's lock.
func Deliver(r *sim.Region, arn string, d Delivery) {
	s := of(r)
	q := s.queues[arn[strings.LastIndex(arn, ":")+1:]]
	if q == nil || q.arn != arn || !q.lets(d, r.Account.ID) {
		return
	}
	if longest, err := strconv.Atoi(q.settings[attributeSize]); err == nil && len(d.Body) > longest {
		return
	}
	s.send(q, d.Body, q.duration(attributeDelay))
}

// policy is as much of a queue's policy as is decided by.
type policy struct {
	Statement json.RawMessage
}

type statement struct {
	iampolicy.Statement
	Principal, NotPrincipal json.RawMessage
}

func (q *queue) statements() []statement {
	var p policy
	if json.Unmarshal([]byte(q.settings[attributePolicy]), &p) != nil {
		return nil
	}
	if list := bytes.TrimSpace(p.Statement); len(list) > 0 && list[0] == '{' {
		p.Statement = slices.Concat([]byte{'['}, list, []byte{']'})
	}
	var statements []statement
	if json.Unmarshal(p.Statement, &statements) != nil {
		return nil
	}
	return statements
}

// lets decides by the queue's policy alone: a service has no other permission. A statement whose
// condition cannot be decided does not allow, and denies whatever it covers.
func (q *queue) lets(d Delivery, account string) bool {
	// The keys are the ones that services send (AWS: IAM user guide, "AWS global condition context
	// keys", aws:SourceArn and following).
	request := iampolicy.Request{Action: "sqs:SendMessage", Resource: q.arn, Context: iampolicy.Context{
		"aws:SourceArn": {d.SourceARN}, "aws:SourceAccount": {account}, "aws:PrincipalIsAWSService": {"true"},
		"aws:PrincipalServiceName": {d.Service}, "aws:SecureTransport": {"true"},
	}}
	allowed := false
	for _, s := range q.statements() {
		if !s.isFor(d.Service) {
			continue
		}
		undecidable := s.Condition.Check() != nil
		if undecidable {
			s.Condition = nil
		}
		effect := s.Effect
		s.Effect = iampolicy.Allow // what is asked is whether the statement covers the request
		if iampolicy.Evaluate([]iampolicy.Policy{{Statements: []iampolicy.Statement{s.Statement}}}, request) != iampolicy.Allowed {
			continue
		}
		switch {
		case effect == iampolicy.Deny:
			return false
		case effect == iampolicy.Allow && !undecidable:
			allowed = true
		}
	}
	return allowed
}

// isFor reports whether a statement is about a service. A statement that has neither Principal nor
// NotPrincipal is about none.
func (s statement) isFor(service string) bool {
	if len(s.Action)+len(s.NotAction) == 0 || len(s.Resource)+len(s.NotResource) == 0 {
		return false
	}
	if len(s.NotPrincipal) > 0 {
		return !names(s.NotPrincipal, service)
	}
	return names(s.Principal, service)
}

// names reports whether a principal stands for everyone or has the service (AWS: "AWS JSON policy
// elements: Principal": in a resource's policy "*" and {"AWS": "*"} stand for everyone).
func names(principal json.RawMessage, service string) bool {
	var wildcard string
	if json.Unmarshal(principal, &wildcard) == nil {
		return wildcard == "*"
	}
	var kinds map[string]iampolicy.Strings
	if json.Unmarshal(principal, &kinds) != nil {
		return false
	}
	return slices.Contains(kinds["AWS"], "*") || slices.Contains(kinds["Service"], service)
}

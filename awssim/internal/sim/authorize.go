package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/slipway-project/slipway/awssim/iampolicy"
)

// This file is the seam between the services and package iampolicy. A caller with policies is held
// to them; one without is the account's administrator.

// Question is something that a call needs a permission for.
type Question struct {
	iampolicy.Request
	// Refusal is what is answered if there is none; nil for the words of the service that is called.
	Refusal error
	// Granted is true if a policy of the resource allows it, so that only a Deny counts.
	Granted bool
}

// Authorization is a question that was asked for a caller with policies, and how it was decided.
type Authorization struct {
	iampolicy.Request
	Decision iampolicy.Decision `json:"decision"`
	// Principal asked, by the call Service Action with that request id.
	Principal string `json:"principal"`
	Call      string `json:"call"`
	RequestID string `json:"requestId"`
	Account   string `json:"account"`
}

// Authorize registers the permissions that a call of an action needs, in the order in which they
// are checked. Actions that are checked without resources, or need no permission, use
// AuthorizeUnscoped and AuthorizeFree. It panics if the action has no handler, which is a
// programming error.
func Authorize[I any](reg *Registry, service, action string, questions func(*Call, *I) []Question) {
	handler := reg.Handler(service, action)
	if handler == nil {
		panic(fmt.Sprintf("sim: no handler for %s %s", service, action))
	}
	handler.questions = func(c *Call, in any) []Question { return questions(c, in.(*I)) }
}

// AuthorizeUnscoped registers actions that have no resources: a policy must allow them on *.
func AuthorizeUnscoped(reg *Registry, service string, actions ...string) {
	for _, action := range actions {
		reg.Handler(service, action).questions = func(*Call, any) []Question {
			return []Question{{Request: iampolicy.Request{Action: service + ":" + action, Resource: "*"}}}
		}
	}
}

// AuthorizeFree registers actions that every caller may use.
func AuthorizeFree(reg *Registry, service string, actions ...string) {
	for _, action := range actions {
		reg.Handler(service, action).questions = func(*Call, any) []Question { return nil }
	}
}

// Permissions are the policies that a caller is held to. Without policies it is the account's
// administrator, within its permissions boundary, if it has one.
type Permissions struct {
	Policies []iampolicy.Policy
	// Boundary is the permissions boundary. There is one at most.
	Boundary []iampolicy.Policy
}

// decide returns what the policies and the boundary say together: both must allow a request, and a
// Deny of either wins (AWS: IAM user guide, "Permissions boundaries for IAM entities").
func (p Permissions) decide(request iampolicy.Request) iampolicy.Decision {
	decision := iampolicy.Allowed
	for _, policies := range [][]iampolicy.Policy{p.Policies, p.Boundary} {
		if len(policies) == 0 {
			continue
		}
		switch of := iampolicy.Evaluate(policies, request); {
		case of == iampolicy.ExplicitlyDenied:
			return of
		case of != iampolicy.Allowed:
			decision = of
		}
	}
	return decision
}

// OfRoles sets the function that returns the permissions of a session: the permissions of its role.
func (reg *Registry) OfRoles(find func(account *Account, session string) (Permissions, error)) {
	reg.ofRoles = find
}

// Refuse sets the error with which a service denies.
func (reg *Registry) Refuse(service string, refusal func(message string) *Error) {
	reg.refusals[service] = refusal
}

// authorize refuses a call that the policies of its caller do not allow.
func (k *Kernel) authorize(h *Handler, c *Call, input any) error {
	permissions, err := k.permissionsOf(c)
	if err != nil {
		return err
	}
	if c.permissions = permissions; c.administers() {
		return nil
	}
	if h.questions == nil {
		return &Error{
			Code: "NotImplemented", Status: http.StatusNotImplemented,
			Message: fmt.Sprintf("The simulated AWS does not know what permissions %s %s needs: only callers without policies may call it.", c.Service, c.Action),
		}
	}
	for _, question := range h.questions(c, input) {
		if err := c.ask(question); err != nil {
			return err
		}
	}
	return nil
}

// Permissions returns the policies that the caller is held to, none if it is the account's
// administrator.
func (c *Call) Permissions() Permissions { return c.permissions }

// administers reports whether the caller may do everything.
func (c *Call) administers() bool {
	return len(c.permissions.Policies)+len(c.permissions.Boundary) == 0
}

func (k *Kernel) permissionsOf(c *Call) (Permissions, error) {
	if policies := k.Callers.policiesOf(c.AccessKey); len(policies) > 0 {
		return Permissions{Policies: policies}, nil
	}
	if _, session := k.Callers.session(c.AccessKey); session && k.registry.ofRoles != nil {
		return k.registry.ofRoles(c.Account, c.Principal)
	}
	return Permissions{}, nil
}

// ask decides a question, writes it down, and returns the refusal, if any.
func (c *Call) ask(question Question) error {
	decision := c.permissions.decide(question.Request)
	if question.Granted && decision == iampolicy.ImplicitlyDenied {
		return nil // not written down: no policy of the caller has a part in it
	}
	c.Kernel.Callers.asked(Authorization{
		Request: question.Request, Decision: decision, Principal: c.Principal, Call: c.Service + " " + c.Action, RequestID: c.RequestID, Account: c.Account.ID,
	})
	switch {
	case decision == iampolicy.Allowed:
		return nil
	case question.Refusal != nil:
		return question.Refusal
	}
	// AWS: IAM user guide, "Troubleshoot access denied error messages".
	because := "because no identity-based policy allows the " + question.Action + " action"
	if decision == iampolicy.ExplicitlyDenied {
		because = "with an explicit deny in an identity-based policy"
	}
	on := ""
	if question.Resource != "*" {
		on = " on resource: " + question.Resource
	}
	return c.Kernel.registry.refusals[c.Service](fmt.Sprintf("User: %s is not authorized to perform: %s%s %s", c.Principal, question.Action, on, because))
}

// Permits reports whether the caller may do something that a call does not need, but that changes
// what it answers.
func (c *Call) Permits(request iampolicy.Request) bool {
	return c.administers() || c.ask(Question{Request: request}) == nil
}

// Tagged returns the context of a resource with tags: aws:ResourceTag, and the service's own key
// for the same if it has one, such as ec2:ResourceTag.
func Tagged(context iampolicy.Context, tags map[string]string, services ...string) iampolicy.Context {
	for _, prefix := range append(services, "aws") {
		for key, value := range tags {
			context[prefix+":ResourceTag/"+key] = []string{value}
		}
	}
	return context
}

// Tagging returns the context of a request that sets tags (AWS: IAM user guide, "AWS global
// condition context keys": aws:RequestTag, aws:TagKeys).
func Tagging(context iampolicy.Context, tags map[string]string) iampolicy.Context {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		context["aws:RequestTag/"+key] = []string{tags[key]}
		context["aws:TagKeys"] = append(context["aws:TagKeys"], key)
	}
	return context
}

// Untagging returns the context of a request that removes tags.
func Untagging(context iampolicy.Context, keys []string) iampolicy.Context {
	if len(keys) > 0 {
		context["aws:TagKeys"] = keys
	}
	return context
}

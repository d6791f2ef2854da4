// Package cause carries why an AWS API is called, in the context of the call. The user agent of a
// call that changes something says it, and CloudTrail records the user agent.
package cause

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cause explains a call to an AWS API.
type Cause struct {
	// Kind, Namespace and Name identify the Kubernetes object that the call is sent for. Namespace
	// is empty for a cluster-scoped object, and all are empty if there is no object.
	Kind, Namespace, Name string
	// Generation is the object's generation that the call was decided from; zero if there is none.
	Generation int64
	// Reason explains the call to users.
	Reason string
	// Others is for how many further objects the same call is made.
	Others int
}

// Several returns the cause of one call that is made for many. It is the first of causes, and counts
// the other ones that differ.
func Several(causes []Cause) Cause {
	if len(causes) == 0 {
		return Cause{}
	}
	known := map[Cause]bool{}
	for _, one := range causes {
		known[one] = true
	}
	first := causes[0]
	first.Others = len(known) - 1
	return first
}

// With returns a context whose calls have a cause.
func With(ctx context.Context, cause Cause) context.Context {
	return context.WithValue(ctx, key{}, cause)
}

type key struct{}

// Object is a Kubernetes object.
type Object interface {
	GetNamespace() string
	GetName() string
	GetGeneration() int64
}

// For returns a context whose calls are made for an object of a kind.
func For(ctx context.Context, kind string, object Object) context.Context {
	why, _ := Of(ctx)
	why.Kind, why.Namespace, why.Name, why.Generation = kind, object.GetNamespace(), object.GetName(), object.GetGeneration()
	return With(ctx, why)
}

// Because returns a context whose calls are made for a reason.
func Because(ctx context.Context, reason string) context.Context {
	why, _ := Of(ctx)
	why.Reason = reason
	return With(ctx, why)
}

// Of returns the cause of the calls of a context, and whether there is one.
func Of(ctx context.Context) (Cause, bool) {
	cause, is := ctx.Value(key{}).(Cause)
	return cause, is
}

// mostBytes bounds a comment. CloudTrail cuts a user agent off after 1 KB, and the SDK's part takes
// up to 300 bytes.
// https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
const mostBytes = 600

// Comment returns the cause as a comment of a user agent, for example
// "(AWSMachinePool default/web; generation 3; instance type t3.large -> m6i.large)". It contains
// printable ASCII characters only, and no parentheses but the outer ones, whatever names and reasons
// contain.
func (c Cause) Comment() string {
	var parts []string
	if c.Kind != "" {
		name := c.Name
		if c.Namespace != "" {
			name = c.Namespace + "/" + name
		}
		if c.Others > 0 {
			name = fmt.Sprintf("%s and %d more", name, c.Others)
		}
		parts = append(parts, plain(c.Kind+" "+name))
	}
	if c.Generation > 0 {
		parts = append(parts, fmt.Sprintf("generation %d", c.Generation))
	}
	if c.Reason != "" {
		parts = append(parts, plain(c.Reason))
	}
	comment := strings.Join(parts, "; ")
	return "(" + comment[:min(len(comment), mostBytes)] + ")"
}

// plain returns text with nothing that ends a comment, a part of it, or a header.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '→':
			b.WriteString("->")
		case r == ';':
			b.WriteByte(',')
		case r == '(' || r == ')' || r == '\\':
			b.WriteByte('\'')
		case r < ' ' || r >= utf8.RuneSelf-1:
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Package boundedhttp bounds how much memory the server at the other end of a connection can cause
// this process to use, and what it can cause it to connect to. Every client of a server that is not
// the management cluster uses it: a workload cluster's API server belongs to a tenant, and AWS's
// answers pass through endpoints and proxies.
package boundedhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Limits are the most bytes that are read of one response.
type Limits struct {
	// Body bounds a body, after decompression if the transport decompresses.
	Body int64
	// Failure bounds the body of a response with a status of 300 or more, which clients decode in
	// full to find a message. Body if zero.
	Failure int64
}

// TooLargeError reports a response that is longer than its limit.
type TooLargeError struct{ Limit int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the response is larger than the limit of %s", size(e.Limit))
}

// EncodedError reports a response that is compressed though that was not asked for.
type EncodedError struct{}

// Error implements error.
func (*EncodedError) Error() string {
	return "the response is compressed, although the request did not accept " +
		"compression"
}

// RedirectError reports a redirect, which is not followed: it could lead to any address that this
// process reaches.
type RedirectError struct{}

// Error implements error.
func (*RedirectError) Error() string {
	return "the server responded with a redirect, which Slipway does not follow"
}

// Explain describes a refused response or address by the message of its own error, without the
// layers around it. It returns "" for any other error.
func Explain(err error) string {
	var large *TooLargeError
	var encoded *EncodedError
	var redirect *RedirectError
	var address *AddressError
	switch {
	case errors.As(err, &large):
		return large.Error()
	case errors.As(err, &encoded):
		return encoded.Error()
	case errors.As(err, &redirect):
		return redirect.Error()
	case errors.As(err, &address):
		return address.Error()
	}
	return ""
}

// RefuseRedirects refuses all redirects. It is for the field CheckRedirect of an http.Client.
func RefuseRedirects(*http.Request, []*http.Request) error { return &RedirectError{} }

// Bound bounds the body of a response. It closes the response and returns an error if its length is
// known to be too large, or if it has a content encoding, which a caller would decompress without a
// bound.
func Bound(response *http.Response, limits Limits) (*http.Response, error) {
	if response.Body == nil || response.Body == http.NoBody {
		return response, nil
	}
	limit := limits.Body
	if response.StatusCode >= http.StatusMultipleChoices && limits.Failure > 0 {
		limit = limits.Failure
	}
	encoding := response.Header.Get("Content-Encoding")
	var refusal error
	switch {
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		refusal = &EncodedError{}
	case response.ContentLength > limit:
		refusal = &TooLargeError{Limit: limit}
	}
	if refusal != nil {
		_ = response.Body.Close() // nothing of it is wanted
		return nil, refusal
	}
	response.Body = &body{ReadCloser: response.Body, limit: limit, left: limit}
	return response, nil
}

// body fails when more than its limit was read.
type body struct {
	io.ReadCloser
	limit, left int64
}

// Read implements io.Reader.
func (b *body) Read(target []byte) (int, error) {
	if b.left < 0 {
		return 0, &TooLargeError{Limit: b.limit}
	}
	// One byte beyond the limit distinguishes a body that is complete from a longer one.
	if int64(len(target)) > b.left+1 {
		target = target[:b.left+1]
	}
	n, err := b.ReadCloser.Read(target)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, &TooLargeError{Limit: b.limit}
	}
	return n, err
}

// Transport is a transport whose responses are bounded.
type Transport struct {
	Next   http.RoundTripper
	Limits Limits
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return Bound(response, t.Limits)
}

// WrappedRoundTripper implements net.RoundTripperWrapper of k8s.io/apimachinery, so that idle
// connections are found and closed.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.Next }

// Doer is the HTTP client of the AWS SDK.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Client is an HTTP client of the AWS SDK whose responses are bounded.
type Client struct {
	Next   Doer
	Limits Limits
}

// Do implements Doer.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	response, err := c.Next.Do(request)
	if err != nil {
		return response, err
	}
	return Bound(response, c.Limits)
}

// size renders a number of bytes with its unit.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

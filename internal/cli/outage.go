package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// awayError reports an API server that did not answer, and that may answer later.
type awayError struct{ err error }

// Error implements error.
func (e *awayError) Error() string { return e.err.Error() }

// Unwrap returns why the API server did not answer.
func (e *awayError) Unwrap() error { return e.err }

// outageOr returns an error of a request as an awayError if the API server may answer the request
// later.
func outageOr(err error) error {
	if temporary(err) {
		return &awayError{err}
	}
	return err
}

// temporary reports whether a request to the API server failed for a reason that passes without a
// change of the request: the connection failed, or the server reports an error of its own.
func temporary(err error) bool {
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		code := refusal.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || disconnected(err)
}

// disconnected reports whether a connection ended before the answer was complete.
func disconnected(err error) bool {
	return errors.Is(err, io.EOF) || utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// unansweredText describes in one sentence, without its period, why the API server did not answer.
func unansweredText(err error) string {
	return printable(strings.TrimSuffix(unanswered(err), "."))
}

func unanswered(err error) string {
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		status := refusal.Status()
		switch status.Code {
		case http.StatusTooManyRequests:
			return "The API server is overloaded: " + status.Message
		case http.StatusServiceUnavailable, http.StatusBadGateway:
			return "The API server is not available: " + status.Message
		case http.StatusGatewayTimeout, http.StatusRequestTimeout:
			return "The API server did not answer in time: " + status.Message
		}
		return "The API server failed: " + status.Message
	}
	server := "The API server"
	var request *url.Error
	if errors.As(err, &request) {
		if address, parseErr := url.Parse(request.URL); parseErr == nil {
			server += " at " + address.Host
		}
		err = request.Err
	}
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("The name %s of the API server cannot be resolved: %s", name.Name, name.Err)
	case errors.As(err, &certificate):
		return server + " has a certificate that is not valid: " + certificate.Err.Error()
	case utilnet.IsConnectionRefused(err):
		return server + " refuses connections"
	case disconnected(err):
		return server + " closed the connection"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return server + " did not answer in time"
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return server + " cannot be reached: " + number.Error()
	}
	return server + " cannot be reached: " + err.Error()
}

package awssim

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// errReset is the answer to a request whose connection a fault drops.
var errReset = errors.New("awssim: connection reset by peer")

// RoundTrip answers a request without a network. It implements http.RoundTripper, so that a
// Simulator is the transport of clients in its own process.
func (s *Simulator) RoundTrip(request *http.Request) (response *http.Response, err error) {
	arrived := request.Clone(request.Context())
	arrived.RequestURI = request.URL.RequestURI()
	if arrived.Host == "" {
		arrived.Host = request.URL.Host
	}
	if arrived.Body == nil {
		arrived.Body = http.NoBody
	}
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			response, err = nil, errReset
		default:
			panic(cause)
		}
	}()
	answer := &inProcess{header: http.Header{}, status: http.StatusOK}
	s.handler.ServeHTTP(answer, arrived)
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Header: answer.header, Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()),
	}, nil
}

// inProcess is an http.ResponseWriter that keeps the response.
type inProcess struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *inProcess) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *inProcess) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *inProcess) Write(data []byte) (int, error) { return r.body.Write(data) }

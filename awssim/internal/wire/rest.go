package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// s3Service is the one service that speaks REST: the action is in method, path and query, members
// are in headers, and objects are bodies.
const s3Service = "s3"

// restRequest is a request to S3, taken apart.
type restRequest struct {
	method      string
	bucket, key string
	query       url.Values
	header      http.Header
	body        []byte
}

// restAction says how an action of S3 is read and written.
type restAction struct {
	decode func(*restRequest) (any, error)
	// encode writes an output into headers and returns the body.
	encode func(output any, header http.Header) ([]byte, error)
	// queries and headers are what the action understands besides what all do.
	queries, headers []string
	// status of success; 0 is 200.
	status int
}

func notImplemented(format string, args ...any) *sim.Error {
	// AWS: S3 API reference, error responses: "A header that you provided implies functionality
	// that is not implemented."
	return sim.Errorf("NotImplemented", format, args...).WithStatus(http.StatusNotImplemented)
}

// parseREST finds out what a request to S3 asks for.
func parseREST(r *http.Request, body []byte, signed *Request) (*Request, error) {
	req := signed
	rest := &restRequest{method: r.Method, query: r.URL.Query(), header: r.Header}
	req.rest = rest
	rest.bucket, rest.key = bucketAndKey(r)
	var err error
	if rest.body, err = unchunked(r.Header, body); err != nil {
		return req, sim.Errorf("IncompleteBody", "The body is not what its headers say: %v", err)
	}
	if req.Action = rest.action(); req.Action == "" {
		return req, notImplemented("%s %s is not simulated.", r.Method, r.URL.RequestURI())
	}
	return req, rest.check(req.Action)
}

// virtualHosts are the suffixes of host names before which the name of a bucket may stand (AWS: S3
// user guide, virtual hosting of buckets; SDKs derive localhost from an endpoint of that name).
var virtualHosts = []string{".localhost", ".s3.amazonaws.com", ".s3."}

// bucketAndKey reads either style of address: bucket in the path, or before the host.
func bucketAndKey(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, end := range virtualHosts {
		if before, _, found := strings.Cut(host, end); found && before != "" {
			return before, path
		}
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// unchunked undoes S3's own framing of bodies, which SDKs use to send a checksum behind the content
// (AWS: S3 API reference, sigv4-streaming): "<hexadecimal
// size>[;chunk-signature=…]\r\n<bytes>\r\n", terminated by a chunk of size 0 and trailers.
func unchunked(header http.Header, body []byte) ([]byte, error) {
	if !strings.Contains(header.Get("Content-Encoding"), "aws-chunked") && !strings.HasPrefix(header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return body, nil
	}
	reader := bufio.NewReader(bytes.NewReader(body))
	var content bytes.Buffer
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		size, err := strconv.ParseInt(digits, 16, 32)
		if err != nil || size < 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if size == 0 {
			return content.Bytes(), nil
		}
		if _, err := io.CopyN(&content, reader, size); err != nil {
			return nil, err
		}
		if _, err := reader.ReadString('\n'); err != nil {
			return nil, err
		}
	}
}

// action names what method, path and query mean. It is empty for what is not simulated.
func (rest *restRequest) action() string {
	subresource := ""
	for _, name := range []string{"tagging", "location", "delete", "list-type", "policy", "lifecycle", "encryption", "versioning", "acl", "uploads", "uploadId"} {
		if rest.query.Has(name) {
			subresource = name
			break
		}
	}
	level := "service"
	switch {
	case rest.key != "":
		level = "object"
	case rest.bucket != "":
		level = "bucket"
	}
	return map[string]string{
		"GET service ":          "ListBuckets",
		"PUT bucket ":           "CreateBucket",
		"DELETE bucket ":        "DeleteBucket",
		"HEAD bucket ":          "HeadBucket",
		"GET bucket location":   "GetBucketLocation",
		"GET bucket list-type":  "ListObjectsV2",
		"POST bucket delete":    "DeleteObjects",
		"PUT object ":           "PutObject",
		"GET object ":           "GetObject",
		"HEAD object ":          "HeadObject",
		"DELETE object ":        "DeleteObject",
		"GET object tagging":    "GetObjectTagging",
		"PUT object tagging":    "PutObjectTagging",
		"DELETE object tagging": "DeleteObjectTagging",
	}[rest.method+" "+level+" "+subresource]
}

// Parameters that clients add to any request: signatures, and checksums of the content, which are
// not verified.
var (
	commonQueries = []string{"x-id", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders",
		"X-Amz-Signature", "X-Amz-Security-Token", "X-Amz-Content-Sha256"}
	commonHeaders = []string{"X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-User-Agent", "X-Amz-Trailer",
		"X-Amz-Decoded-Content-Length", "X-Amz-Sdk-Checksum-Algorithm", "X-Amz-Checksum-Mode", "X-Amz-Expected-Bucket-Owner"}
)

// check refuses what would otherwise be ignored without a word: the simulator does not know what it means.
func (rest *restRequest) check(action string) error {
	known := restActions[action]
	for name := range rest.query {
		if !slices.Contains(commonQueries, name) && !slices.Contains(known.queries, name) {
			return notImplemented("The query parameter %s of %s is not simulated.", name, action)
		}
	}
	for name := range rest.header {
		switch {
		case !strings.HasPrefix(name, "X-Amz-"), strings.HasPrefix(name, "X-Amz-Meta-"), strings.HasPrefix(name, "X-Amz-Checksum-"),
			slices.Contains(commonHeaders, name), slices.Contains(known.headers, name):
		default:
			return notImplemented("The header %s of %s is not simulated.", name, action)
		}
	}
	return nil
}

func (req *Request) decodeREST() (any, error) { return restActions[req.Action].decode(req.rest) }

func (req *Request) encodeREST(requestID string, output any) (*Response, error) {
	known := restActions[req.Action]
	header := req.restHeader(requestID)
	body, err := known.encode(output, header)
	if err != nil {
		return nil, err
	}
	return &Response{Status: req.SuccessStatus(), Header: header, Body: body}, nil
}

// SuccessStatus returns the HTTP status of every answer to the request that is no error.
func (req *Request) SuccessStatus() int {
	if req.rest != nil {
		return cmp.Or(restActions[req.Action].status, http.StatusOK)
	}
	return http.StatusOK
}

func (req *Request) restHeader(requestID string) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/xml")
	header.Set("X-Amz-Request-Id", requestID)
	header.Set("X-Amz-Id-2", requestID)
	return header
}

// encodeRESTError writes an error as S3 does (AWS: S3 API reference, error responses). The answer
// to HEAD has no body: the status is all that its caller learns.
func (req *Request) encodeRESTError(requestID string, err *sim.Error) *Response {
	response := &Response{Status: err.HTTPStatus(), Header: req.restHeader(requestID)}
	if req.rest.method == http.MethodHead {
		return response
	}
	e := &xmlEncoder{}
	e.raw(`<?xml version="1.0" encoding="UTF-8"?>`)
	e.element("Error", func() {
		for _, member := range [][2]string{
			{"Code", err.Code}, {"Message", err.Message}, {"BucketName", req.rest.bucket}, {"Key", req.rest.key}, {"RequestId", requestID},
		} {
			if member[1] != "" {
				e.element(member[0], func() { e.text(member[1]) })
			}
		}
	})
	response.Body = e.b.Bytes()
	return response
}

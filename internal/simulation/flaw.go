package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Flaw is a deliberate mistake of a process: at its edges, so that it stays the same mistake
// however the product is written. The invariants must notice each. The zero Flaw is none.
type Flaw struct {
	// Request changes what the process asks of AWS, in the services whose requests are forms, and
	// Body in the services whose requests are JSON.
	Request func(action string, form url.Values)
	Body    func(action string, body map[string]any)
	// Patch changes what the process writes: a merge patch of an object, or of its status.
	Patch func(kind string, ofStatus bool, patch map[string]any)
	// Create changes an object that the process creates.
	Create func(object client.Object)
	// Remembers has the process take the first answer to a request for the answer to all equal
	// ones, for reads of AWS of this action.
	Remembers string
	// Deaf is a kind whose watch events wake nothing.
	Deaf string
	// NoCordons has nodes not cordoned, and Deletes has pods deleted rather than evicted.
	NoCordons, Deletes bool
	// NoSweeps, NoSecrets, NoReturns, and NoRetries prevent the process from polling AWS, polling
	// Secrets, coming back when a pass asked for it, and retrying failures.
	NoSweeps, NoSecrets, NoReturns, NoRetries bool
}

// request returns a request to AWS as the flaw has it.
func (f Flaw) request(action string, request *http.Request) (*http.Request, error) {
	text, err := f.changed(action, request)
	if err != nil || text == "" {
		return request, err
	}
	changed := request.Clone(request.Context())
	changed.Body, changed.ContentLength = io.NopCloser(bytes.NewReader([]byte(text))), int64(len(text))
	changed.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return changed, nil
}

// changed returns the body of a request as the flaw has it, empty if the flaw leaves it as it is.
func (f Flaw) changed(action string, request *http.Request) (string, error) {
	switch kind := request.Header.Get("Content-Type"); {
	case request.Body == nil || request.Body == http.NoBody:
		return "", nil
	case f.Request != nil && strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		form, err := formOf(request)
		if err != nil {
			return "", err
		}
		f.Request(action, form)
		return form.Encode(), nil
	case f.Body != nil && strings.HasPrefix(kind, "application/json"):
		text, err := bodyOf(request)
		if err != nil {
			return "", err
		}
		body := map[string]any{}
		if err := json.Unmarshal(text, &body); err != nil {
			return "", fmt.Errorf("reading a request: %w", err)
		}
		f.Body(action, body)
		text, err = json.Marshal(body)
		return string(text), err
	}
	return "", nil
}

// patch returns a patch as the flaw has it.
func (f Flaw) patch(kind string, ofStatus bool, object client.Object, patch client.Patch) (client.Patch, error) {
	if f.Patch == nil || patch.Type() != types.MergePatchType {
		return patch, nil
	}
	data, err := patch.Data(object)
	if err != nil {
		return nil, err
	}
	members := map[string]any{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("reading a patch: %w", err)
	}
	f.Patch(kind, ofStatus, members)
	if data, err = json.Marshal(members); err != nil {
		return nil, fmt.Errorf("writing a patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// result returns what a process does about the result of a pass.
func (f Flaw) result(result reconcile.Result, err error) (reconcile.Result, error) {
	if f.NoReturns {
		result.RequeueAfter = 0
	}
	if f.NoRetries {
		err = nil
	}
	return result, err
}

// never is the delay of work that a flaw leaves out.
const never = 1000 * time.Hour

// answer is one that AWS gave, which a process remembers.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) response(request *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.status, Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
	}
}

// remembered answers a request as an equal one was answered before, if the flaw has that remembered.
func (f Flaw) remembered(answers map[string]answer, action string, request *http.Request, serve func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if f.Remembers == "" || f.Remembers != action {
		return serve(request)
	}
	body := []byte(nil)
	if request.Body != nil {
		var err error
		if body, err = bodyOf(request); err != nil {
			return nil, err
		}
	}
	asked := request.URL.Path + " " + string(body)
	if before, known := answers[asked]; known {
		return before.response(request), nil
	}
	response, err := serve(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	first := answer{status: response.StatusCode, header: response.Header, body: body}
	answers[asked] = first
	return first.response(request), nil
}

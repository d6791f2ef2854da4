package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// pastList answers a manager's lists and watches of AWSMachinePools with one object of the past,
// until it is released.
type pastList struct {
	next   http.RoundTripper
	object []byte
	// live is how often the object was read past the cache.
	live *atomic.Int32
	over chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (p *pastList) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-p.over:
		return p.next.RoundTrip(request)
	default:
	}
	query := request.URL.Query()
	switch path := request.URL.Path; {
	case request.Method != http.MethodGet || !strings.Contains(path, "/awsmachinepools"):
	case !strings.HasSuffix(path, "/awsmachinepools"):
		if strings.HasSuffix(path, "/"+poolName) {
			p.live.Add(1)
		}
	case query.Get("watch") == "":
		return p.answer(request, io.NopCloser(strings.NewReader(fmt.Sprintf(
			`{"apiVersion":%q,"kind":"AWSMachinePoolList","metadata":{"resourceVersion":"1"},"items":[%s]}`, infrav1.GroupVersion, p.object)))), nil
	default:
		events := ""
		if query.Get("sendInitialEvents") == "true" {
			events = fmt.Sprintf(`{"type":"ADDED","object":%s}
{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":"AWSMachinePool","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}
`, p.object, infrav1.GroupVersion)
		}
		return p.answer(request, &stream{Reader: strings.NewReader(events), request: request, over: p.over}), nil
	}
	return p.next.RoundTrip(request)
}

func (*pastList) answer(request *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request, ContentLength: -1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	}
}

// stream is a watch that ends when the past is over.
type stream struct {
	io.Reader
	request *http.Request
	over    chan struct{}
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (int, error) {
	read, err := s.Reader.Read(into)
	if !errors.Is(err, io.EOF) {
		return read, err
	}
	select {
	case <-s.over:
	case <-s.request.Context().Done():
	}
	return 0, io.EOF
}

// Close implements io.Closer.
func (*stream) Close() error { return nil }

// TestStaleList starts a manager on a list of the past, which shows the deletion of a pool that
// another of the same name has taken the place of since. The new pool has the group of the old one,
// and the manager must not delete it.
func TestStaleList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.stopManager()
	w.remove(&infrav1.AWSMachinePool{}, poolName)
	past := w.mustPool()
	past.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	object, err := json.Marshal(past)
	if err != nil {
		t.Fatal(err)
	}
	edited(w, &infrav1.AWSMachinePool{}, poolName, func(pool *infrav1.AWSMachinePool) { pool.Finalizers = nil })
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	w.applyExample()
	if now := w.mustPool(); now.UID == past.UID || now.DeletionTimestamp != nil {
		t.Fatalf("the pool is still the one of before: %+v", now.ObjectMeta)
	}
	w.Cloud.AWS.ClearCalls()
	stale := &pastList{object: bytes.TrimSpace(object), live: &atomic.Int32{}, over: make(chan struct{})}
	w.settings.WrapKubernetes = func(next http.RoundTripper) http.RoundTripper {
		return &pastList{next: next, object: stale.object, live: stale.live, over: stale.over}
	}
	w.startManager()
	// The second one belongs to a pass that began after the first had finished.
	w.Eventually("the manager has confirmed the deletion past its cache", func() error {
		if count := stale.live.Load(); count < 2 {
			return fmt.Errorf("it read the pool %d times", count)
		}
		return nil
	})
	w.expectCounts(map[string]int{"DeleteAutoScalingGroup": 0, "UpdateAutoScalingGroup": 0, "DeleteLaunchTemplate": 0})
	close(stale.over)
	w.Eventually("the new pool has its two nodes", func() error { return w.settled(2) })
	w.expectCounts(map[string]int{"DeleteAutoScalingGroup": 0, "CreateAutoScalingGroup": 0})
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(past), past); err != nil {
		t.Error(err)
	}
}

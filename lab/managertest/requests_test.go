package managertest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// requests records a manager's requests to the API server, as its authorizer understands them.
type requests struct {
	mu        sync.Mutex
	used      sets.Set[string]
	forbidden []string
}

var parser = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(asked *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(asked)
		info, parseErr := parser.NewRequestInfo(asked)
		if parseErr != nil {
			return answer, errors.Join(err, parseErr)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil && answer.StatusCode == http.StatusForbidden {
			r.forbidden = append(r.forbidden, asked.Method+" "+asked.URL.Path)
		}
		if info.IsResourceRequest {
			if r.used == nil {
				r.used = sets.New[string]()
			}
			resource := strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/")
			verb := info.Verb
			if resource == "secrets" && info.Name == "" {
				verb += " all"
			}
			r.used.Insert(right(verb, info.APIGroup, resource))
		}
		return answer, err
	})
}

// right is a verb on a resource of a group, for a person to read.
func right(verb, group, resource string) string {
	return fmt.Sprintf("%s %s", verb, strings.TrimSuffix(resource+"."+group, "."))
}

func (r *requests) seen() (used sets.Set[string], forbidden []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used.Clone(), slices.Clone(r.forbidden)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(asked *http.Request) (*http.Response, error) { return f(asked) }

// line is a connection that can be cut, and counts what went through it.
type line struct {
	cut   atomic.Bool
	count atomic.Int64
}

var errCut = errors.New("the line is cut")

func (l *line) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(asked *http.Request) (*http.Response, error) {
		if l.cut.Load() {
			return nil, errCut
		}
		l.count.Add(1)
		return next.RoundTrip(asked)
	})
}

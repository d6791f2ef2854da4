package manager

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// world is an API server that has kinds, but no objects except namespace kube-system and the leases
// that are written to it. It records the requests.
type world struct {
	*testing.T
	server *httptest.Server

	mu       sync.Mutex
	kinds    []schema.GroupVersionKind
	refused  map[string]int
	requests []string
	lease    *coordinationv1.Lease
	leases   []string
	// done is closed when the test finishes, which stops the watches.
	done chan struct{}
}

// clusterWide are kinds whose objects are in no namespace. The identities of CAPA are others.
var clusterWide = sets.New("Node", "Namespace", "Provisioner", "ProvisionedNode")

// resourceOf returns the name of a kind in paths.
func resourceOf(kind string) string {
	if before, found := strings.CutSuffix(kind, "y"); found {
		return strings.ToLower(before) + "ies"
	}
	return strings.ToLower(kind) + "s"
}

func serve(t *testing.T, kinds ...schema.GroupVersionKind) *world {
	t.Helper()
	for _, kind := range []string{"Pod", "Node", "Namespace"} {
		kinds = append(slices.Clip(kinds), corev1.SchemeGroupVersion.WithKind(kind))
	}
	w := &world{T: t, kinds: kinds, refused: map[string]int{}, done: make(chan struct{})}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	t.Cleanup(func() { close(w.done) })
	return w
}

// ServeHTTP implements http.Handler.
func (w *world) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	path, query := request.URL.Path, request.URL.Query()
	verb := request.Method
	if query.Get("watch") != "" {
		verb = "WATCH"
	}
	w.requests = append(w.requests, verb+" "+path)
	status := w.refused[path]
	w.mu.Unlock()
	if status != 0 {
		w.reply(answer, status, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": http.StatusText(status)})
		return
	}
	switch {
	case path == "/version":
		w.reply(answer, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	case path == "/api" || path == "/apis" || path == "/api/v1" || strings.HasPrefix(path, "/apis/") && strings.Count(path, "/") < 4:
		w.discover(answer, path)
	case path == "/api/v1/namespaces/kube-system":
		w.reply(answer, http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]string{"name": "kube-system", "uid": "cluster-uid"}})
	case strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Count(path, "/") == 4 && verb == http.MethodGet:
		w.reply(answer, http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]string{"name": filepath.Base(path)}})
	case strings.HasSuffix(path, "/tokenreviews"), strings.HasSuffix(path, "/subjectaccessreviews"):
		w.review(answer, request)
	case strings.Contains(path, "/leases"):
		w.lead(answer, request)
	case verb == "WATCH":
		w.watch(answer, request)
	case verb == http.MethodGet:
		w.list(answer, request)
	default:
		w.reply(answer, http.StatusCreated, map[string]string{})
	}
}

func (w *world) reply(answer http.ResponseWriter, status int, object any) {
	answer.Header().Set("Content-Type", "application/json")
	answer.WriteHeader(status)
	if err := json.NewEncoder(answer).Encode(object); err != nil {
		w.Logf("answering: %v", err)
	}
}

// discover answers which groups, versions and kinds there are.
func (w *world) discover(answer http.ResponseWriter, path string) {
	switch path {
	case "/api":
		w.reply(answer, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
		return
	case "/apis":
		var groups []any
		for _, kind := range w.kinds {
			if kind.Group == "" {
				continue
			}
			version := map[string]string{"groupVersion": kind.GroupVersion().String(), "version": kind.Version}
			groups = append(groups, map[string]any{"name": kind.Group, "versions": []any{version}, "preferredVersion": version})
		}
		w.reply(answer, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
		return
	}
	resources := []any{}
	for _, kind := range w.kinds {
		if strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/") == kind.GroupVersion().String() {
			resources = append(resources, map[string]any{"name": resourceOf(kind.Kind), "kind": kind.Kind, "namespaced": !clusterWide.Has(kind.Kind) && !strings.HasSuffix(kind.Kind, "Identity"), "verbs": []string{"get", "list", "watch"}})
		}
	}
	if len(resources) == 0 {
		http.NotFound(answer, &http.Request{})
		return
	}
	w.reply(answer, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"), "resources": resources})
}

// kindOf returns the kind that a path is of, as the request wants it.
func (w *world) kindOf(request *http.Request) (apiVersion, kind string) {
	if strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return "meta.k8s.io/v1", "PartialObjectMetadata"
	}
	parts := strings.Split(request.URL.Path, "/")
	for _, known := range w.kinds {
		if resourceOf(known.Kind) == parts[len(parts)-1] {
			return known.GroupVersion().String(), known.Kind
		}
	}
	return "v1", "Status"
}

func (w *world) list(answer http.ResponseWriter, request *http.Request) {
	apiVersion, kind := w.kindOf(request)
	if kind == "Status" {
		w.reply(answer, http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusNotFound, "reason": "NotFound"})
		return
	}
	w.reply(answer, http.StatusOK, map[string]any{"kind": kind + "List", "apiVersion": apiVersion, "metadata": map[string]string{"resourceVersion": "1"}, "items": []any{}})
}

// watch has nothing to report but that the beginning is complete.
func (w *world) watch(answer http.ResponseWriter, request *http.Request) {
	apiVersion, kind := w.kindOf(request)
	answer.Header().Set("Content-Type", "application/json")
	if request.URL.Query().Get("sendInitialEvents") == "true" {
		_ = json.NewEncoder(answer).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"kind": kind, "apiVersion": apiVersion,
			"metadata": map[string]any{"resourceVersion": "1", "annotations": map[string]string{"k8s.io/initial-events-end": "true"}},
		}})
	}
	answer.(http.Flusher).Flush()
	select {
	case <-request.Context().Done():
	case <-w.done:
	}
}

// lead keeps the one lease that there is, and who held it.
func (w *world) lead(answer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request.Method == http.MethodGet && w.lease == nil {
		w.reply(answer, http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusNotFound, "reason": "NotFound"})
		return
	}
	if request.Method != http.MethodGet {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			w.Error(err)
		}
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			w.Error(err)
			return
		}
		w.lease = object.(*coordinationv1.Lease)
		w.lease.APIVersion, w.lease.Kind, w.lease.ResourceVersion = "coordination.k8s.io/v1", "Lease", "1"
		w.leases = append(w.leases, *w.lease.Spec.HolderIdentity)
	}
	w.reply(answer, http.StatusOK, w.lease)
}

// review answers who a token is of, and what a user may do: a token is the name of its user, "stranger" is no
// user, and the user "viewer" may get the dashboard.
func (w *world) review(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		w.Error(err)
	}
	object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		w.Error(err)
		return
	}
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		review.Status.Authenticated, review.Status.User.Username = review.Spec.Token != "stranger", review.Spec.Token
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
		w.reply(answer, http.StatusCreated, review)
	case *authorizationv1.SubjectAccessReview:
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "viewer" && asked != nil && asked.Verb == "get" && strings.HasPrefix(asked.Path, "/dashboard/")
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		w.reply(answer, http.StatusCreated, review)
	}
}

// seen returns the distinct requests with a verb so far, sorted.
func (w *world) seen(verb string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var paths []string
	for _, request := range w.requests {
		if path, is := strings.CutPrefix(request, verb+" "); is {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// holders returns who held the lease, one after another; empty where it was given back.
func (w *world) holders() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Clone(w.leases))
}

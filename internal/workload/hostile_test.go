package workload

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/drain"
)

// hostile is a workload cluster's API server that answers as a handler of a test does.
func hostile(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{Server: httptest.NewTLSServer(handler)}
	t.Cleanup(s.Close)
	return s
}

// repeat writes text until the client is gone, or often enough.
func repeat(w io.Writer, text string, most int) {
	chunk := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	for written := 0; written < most; written += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// endless is more than what is accepted of anything.
const endless = 128 << 20

// bomb is an endless list of empty Nodes, compressed to some hundred kilobytes.
func bomb(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(writer, `{"kind":"NodeList","apiVersion":"v1","items":[{}`)
	repeat(writer, `,{}`, endless)
	_ = writer.Close()
	return packed.Bytes()
}

// TestHostileAnswers has a tenant's API server send answers that take memory, or are endless, and
// measures how much memory the manager takes.
func TestHostileAnswers(t *testing.T) {
	packed := bomb(t)
	for _, row := range []struct {
		reason  string
		handler http.HandlerFunc
		want    string
	}{
		{"gzip that was not requested", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed)
		}, "compressed"},
		{"a list of empty Nodes without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{}`)
			repeat(w, `,{}`, endless)
		}, "more than 100000 Nodes"},
		{"a Node with a name without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"`)
			repeat(w, `a`, endless)
		}, "larger than the limit of 1 MiB"},
		{"a Node with a name that is too long", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"items":[{"metadata":{"name":"%s"}}]}`, strings.Repeat("a", 500<<10))
		}, "too long"},
		{"a Node with conditions without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"status":{"conditions":[{}`)
			repeat(w, `,{}`, endless)
		}, "larger than the limit of 1 MiB"},
		{"Nodes nested without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[`)
			repeat(w, `{"a":`, endless)
		}, "something else than Kubernetes objects"},
		{"metadata without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"`)
			repeat(w, `a`, endless)
		}, "larger than the limit of 1 MiB"},
		{"a list of other things without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"a":0`)
			repeat(w, `,"a":"`+strings.Repeat("a", 500<<10)+`"`, endless)
		}, "larger than the limit of 16 MiB"},
		{"pages without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"x"},"items":[{}`)
			repeat(w, `,{}`, 64<<10)
			_, _ = io.WriteString(w, `]}`)
		}, "more than 100000 Nodes"},
		{"empty pages without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"x"},"items":[]}`)
		}, "more than 1000 pages"},
		{"a header without end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
		}, "does not respond"},
		{"a refusal without end", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"`)
			repeat(w, `a`, endless)
		}, ""},
		{"a refusal that claims to be a list", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{}`)
			repeat(w, `,{}`, 60<<10)
			_, _ = io.WriteString(w, `]}`)
		}, ""},
		{"protobuf", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = io.WriteString(w, "k8s\x00\x0a")
		}, "something else than Kubernetes objects"},
		{"no list", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }, "something else than a list"},
		{"a redirect", func(w http.ResponseWriter, request *http.Request) {
			http.Redirect(w, request, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}, "redirect"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			s := hostile(t, row.handler)
			r := newRig(t, s.kubeconfig(`{token: one}`))
			r.clusters.limit = time.Minute // a busy machine reads 16 MiB in more than five seconds
			api := r.mustClient()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := r.list(api)
			runtime.ReadMemStats(&after)
			if words := Explain(err); err == nil || !strings.Contains(words, row.want) || len(words) > 2*longestMessage {
				t.Errorf("error %v, explained as %.600q", err, words)
			}
			// Memory from the system grows with what is held, and not with what is read and
			// dropped.
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// TestHangingAnswers holds that a server which sends a byte now and then costs one call, and is
// left alone after it.
func TestHangingAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, first string }{
		{"nothing", ""},
		{"the beginning of a list", `{"items":[`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := hostile(t, func(w http.ResponseWriter, request *http.Request) {
				_, _ = io.WriteString(w, row.first)
				for request.Context().Err() == nil {
					_, _ = io.WriteString(w, " ")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-request.Context().Done():
					case <-time.After(50 * time.Millisecond):
					}
				}
			})
			r := newRig(t, s.kubeconfig(`{token: one}`))
			api := r.mustClient()
			begun := time.Now()
			if err := r.list(api); err == nil || time.Since(begun) > 2*callLimit {
				t.Errorf("after %s: error %v", time.Since(begun), err)
			}
			var unreachable *UnreachableError
			if _, err := r.clusters.Client(t.Context(), capa); !errors.As(err, &unreachable) {
				t.Errorf("the next client: %v", err)
			}
		})
	}
}

// TestAddresses holds which servers are called at all.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, row := range []struct{ reason, server, want string }{
		{"this machine", s.URL, "loopback address"},
		{"this machine, by a name", strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "loopback address"},
		{"the metadata of an instance", "https://169.254.169.254", "link-local"},
		{"the metadata of an instance, by HTTP", "http://169.254.169.254", "not an https URL"},
		{"the metadata in IPv6", "https://[fd00:ec2::254]", "instance metadata"},
		{"no TLS", "http://10.0.0.1", "not an https URL"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, []byte(strings.Replace(string(s.kubeconfig(`{token: one}`)), s.URL, row.server, 1)))
			r.clusters.Loopback = false
			api, err := r.clusters.Client(t.Context(), capa)
			if err == nil {
				err = r.list(api)
			}
			if words := Explain(err); err == nil || !strings.Contains(words, row.want) {
				t.Errorf("error %v, explained as %q", err, words)
			}
		})
	}
}

// TestCallsAreBounded holds that the calls under way for one namespace leave room for others, and
// that a finished call frees its room.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	underWay := newCalls(3, 2)
	for _, step := range []struct {
		reason, namespace string
		ends, want        bool
	}{
		{"the first", "a", false, true}, {"the second", "a", false, true}, {"a third in the namespace", "a", false, false},
		{"another namespace", "b", false, true}, {"a fourth in all", "c", false, false},
		{"one ends", "a", true, true}, {"there is room again", "c", false, true},
	} {
		got := true
		if step.ends {
			underWay.end(step.namespace)
		} else {
			got = underWay.begin(step.namespace)
		}
		if got != step.want {
			t.Errorf("%s: %v", step.reason, got)
		}
	}
	s := newServer(t)
	r := newRig(t, s.kubeconfig(`{token: one}`))
	api := r.mustClient()
	for range callsInNamespace + 1 { // none stays under way
		if err := r.list(api); err != nil {
			t.Fatal(err)
		}
	}
	if r.clusters.calls.all != 0 || len(r.clusters.calls.inOne) != 0 {
		t.Errorf("calls under way: %+v", r.clusters.calls)
	}
}

// TestClientsExpire holds that the clients of clusters that are gone are dropped, and that no
// number of clusters has more of them kept than the bound.
func TestClientsExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t, newServer(t).kubeconfig(`{token: one}`))
	first := r.mustClient()
	gone := types.NamespacedName{Namespace: "gone", Name: "gone"}
	r.clusters.entries.Put(gone.Namespace, gone, &entry{transport: &http.Transport{}})
	r.clock.Step(renewAfter - time.Second)
	if r.mustClient() != first {
		t.Error("a client in use was dropped")
	}
	r.clock.Step(time.Second)
	if r.mustClient() == first {
		t.Error("a client was not renewed")
	}
	if _, kept, _ := r.clusters.entries.Get(gone); kept {
		t.Error("the client of a cluster that is gone was kept")
	}
	for i := range 2 * mostClients {
		flood := types.NamespacedName{Namespace: "flood", Name: fmt.Sprint("cluster-", i)}
		r.clusters.entries.Put(flood.Namespace, flood, &entry{transport: &http.Transport{}})
	}
	if got := r.clusters.entries.Len(); got > mostClients {
		t.Errorf("%d clients are kept", got)
	}
	second := r.mustClient()
	if r.mustClient() != second {
		t.Error("the clusters of another namespace have a client dropped")
	}
}

// TestFieldsForDraining reads a Node and pods as an API server writes them, and writes what draining writes.
func TestFieldsForDraining(t *testing.T) {
	t.Parallel()
	var requests []string
	s := hostile(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		requests = append(requests, request.Method+" "+request.URL.String()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case request.Method == http.MethodPost:
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"no",
				"details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}`)
		case request.URL.Path == "/api/v1/nodes/gone":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
		case request.URL.Path == "/api/v1/pods" && request.URL.Query().Get("continue") == "":
			fmt.Fprint(w, `{"kind":"PodList","metadata":{"continue":"next"},"items":[{"metadata":{"name":"a","namespace":"default","uid":"1",
				"labels":{"x":"y","cluster.x-k8s.io/drain":"skip"},"annotations":{"kubernetes.io/config.mirror":"m"},"deletionTimestamp":"2026-11-21T10:00:00Z",
				"ownerReferences":[{"kind":"X"},{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","controller":true}]},
				"spec":{"priority":7,"containers":[{}],"volumes":[{"name":"tmp","emptyDir":{}},
				{"name":"data","persistentVolumeClaim":{"claimName":"data-0","readOnly":true}},{"name":"scratch","ephemeral":{"volumeClaimTemplate":{}}}]},
				"status":{"phase":"Running"}}]}`)
		case request.URL.Path == "/api/v1/pods":
			fmt.Fprint(w, `{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"b","namespace":"default"}},
				{"metadata":{"name":"c","namespace":"default","creationTimestamp":"2026-11-21T10:00:02Z"},"spec":{"tolerations":[{"operator":"Exists"}]}}]}`)
		default:
			fmt.Fprint(w, `{"kind":"Node","metadata":{"name":"n"},"spec":{"providerID":"aws:///x/i-1","unschedulable":true,"taints":[{"key":"x","effect":"NoExecute"},
				{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule","timeAdded":"2026-11-21T10:00:01Z"}]},
				"status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"Unknown"}],
				"volumesInUse":["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]}}`)
		}
	})
	r := newRig(t, s.kubeconfig(`{token: one}`))
	api := r.mustClient()
	node, err := api.Node(t.Context(), "n")
	if err != nil || node.Spec.ProviderID != "aws:///x/i-1" || !node.Spec.Unschedulable || len(node.Status.Conditions) != 1 ||
		node.Status.Conditions[0].Type != corev1.NodeReady || node.Status.Conditions[0].Status != corev1.ConditionUnknown ||
		!slices.Equal(node.Status.VolumesInUse, []corev1.UniqueVolumeName{"kubernetes.io/csi/ebs.csi.aws.com^vol-1"}) {
		t.Errorf("Node %+v, error %v", node, err)
	}
	if _, err := api.Node(t.Context(), "gone"); !apierrors.IsNotFound(err) {
		t.Errorf("a Node that is gone: %v", err)
	}
	pods, err := api.Pods(t.Context(), "n")
	if err != nil || len(pods) != 3 {
		t.Fatalf("pods %+v, error %v", pods, err)
	}
	first := pods[0]
	if owner := metav1.GetControllerOf(&first); owner == nil || owner.Kind != "DaemonSet" || owner.APIVersion != "apps/v1" || first.UID != "1" ||
		first.Labels["cluster.x-k8s.io/drain"] != "skip" || first.Annotations[corev1.MirrorPodAnnotationKey] != "m" || first.DeletionTimestamp == nil ||
		*first.Spec.Priority != 7 || first.Status.Phase != corev1.PodRunning || pods[1].Name != "b" {
		t.Errorf("pods %+v", pods)
	}
	volumes := []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
	}
	if diff := cmp.Diff(volumes, first.Spec.Volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if err := api.Cordon(t.Context(), "n"); err != nil {
		t.Error(err)
	}
	progress, err := drain.Look(t.Context(), api, "n", "aws:///x/i-1")
	if err != nil || progress.Ending != 0 || progress.Held["default/web"] != 1 { // c returned to the cordoned node
		t.Errorf("progress %+v, error %v", progress, err)
	}
	err = api.Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction that a budget holds: %v", err)
	}
	said := strings.Join(requests, "\n")
	for _, want := range []string{
		"GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=200&", "continue=next", "PATCH /api/v1/nodes/n?timeout=5s " + drain.CordonPatch,
		`POST /api/v1/namespaces/default/pods/b/eviction?timeout=5s {"kind":"Eviction","apiVersion":"policy/v1"`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no request %q among\n%s", want, said)
		}
	}
}

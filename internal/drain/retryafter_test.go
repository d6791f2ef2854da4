package drain

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestEvictionsAreNotRepeated holds that an eviction that the API server refuses with Retry-After
// returns at once, and is sent once.
func TestEvictionsAreNotRepeated(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		refusal := apierrors.NewTooManyRequests("The disruption budget web is still being processed by the server.", 3600).Status()
		refusal.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if err := json.NewEncoder(w).Encode(refusal); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	set, err := kubernetes.NewForConfig(WithoutRetries(&rest.Config{Host: server.URL, Transport: server.Client().Transport}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = Clientset(set).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	if seconds, suggested := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !suggested || seconds != 3600 || sent.Load() != 1 {
		t.Errorf("after %d requests: %v", sent.Load(), err)
	}
}

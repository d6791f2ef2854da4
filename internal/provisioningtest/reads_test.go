package provisioningtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestReads holds that a list from memory is what the API server would answer, after every kind of
// write, and whatever callers do with an earlier answer.
func TestReads(t *testing.T) {
	t.Parallel()
	stored := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first", Labels: map[string]string{"app": "web"}}}
	api := fake.NewClientBuilder().WithStatusSubresource(stored).Build()
	c, ctx := interceptor.NewClient(api, (&reads{}).funcs()), t.Context()
	second := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "second"}}
	merge := func(patch string) client.Patch { return client.RawPatch("application/merge-patch+json", []byte(patch)) }
	for _, row := range []struct {
		reason string
		write  func() error
		pods   int
	}{
		{"nothing is there", func() error { return nil }, 0},
		{"a pod is created", func() error { return c.Create(ctx, stored) }, 1},
		{"another is created in another namespace", func() error { return c.Create(ctx, second) }, 2},
		{"a pod is updated", func() error { stored.Labels["app"] = "db"; return c.Update(ctx, stored) }, 2},
		{"a pod is patched", func() error { return c.Patch(ctx, stored, merge(`{"metadata":{"labels":{"app":"web"}}}`)) }, 2},
		{"its status is patched", func() error { return c.Status().Patch(ctx, stored, merge(`{"status":{"phase":"Running"}}`)) }, 2},
		{"its status is updated", func() error { stored.Status.Phase = corev1.PodFailed; return c.Status().Update(ctx, stored) }, 2},
		{"a pod is deleted", func() error { return c.Delete(ctx, stored) }, 1},
		{"all pods of a namespace are deleted", func() error { return c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("other")) }, 0},
	} {
		if err := row.write(); err != nil {
			t.Fatalf("%s: %v", row.reason, err)
		}
		for _, options := range [][]client.ListOption{nil, {client.InNamespace("team")}, {client.MatchingLabels{"app": "web"}}} {
			var want corev1.PodList
			if err := api.List(ctx, &want, options...); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				var got corev1.PodList
				if err := c.List(ctx, &got, options...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" || options == nil && len(got.Items) != row.pods {
					t.Errorf("%s: %d pods for %v (-want +got):\n%s", row.reason, len(got.Items), options, diff)
				}
				for i := range got.Items {
					got.Items[i].Name = "changed by its reader"
				}
			}
		}
	}
}

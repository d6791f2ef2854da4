package workload

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatIsReadOfBudgets holds what plans learn from a list of PodDisruptionBudgets, and that hostile
// answers are errors about the API server.
func TestWhatIsReadOfBudgets(t *testing.T) {
	t.Parallel()
	const name = `"metadata":{"name":"web","namespace":"shop","annotations":{"a":"b"}}`
	described := func(budget *policyv1.PodDisruptionBudget) string {
		return fmt.Sprintf("%s/%s %s allows %d, %d of %d healthy, %d required", budget.Namespace, budget.Name, metav1.FormatLabelSelector(budget.Spec.Selector),
			budget.Status.DisruptionsAllowed, budget.Status.CurrentHealthy, budget.Status.ExpectedPods, budget.Status.DesiredHealthy)
	}
	for _, row := range []struct {
		reason, items string
		want          []string
		wrong         string
	}{
		{reason: "none"},
		{
			reason: "the fields that plans read, among others",
			items: `{` + name + `,"spec":{"minAvailable":"50%","selector":{"matchLabels":{"app":"web"}}},"status":{"conditions":[{}],"disruptedPods":{"a":"2026-11-22T10:00:00Z"},` +
				`"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":4}}`,
			want: []string{"shop/web app=web allows 1, 3 of 4 healthy, 2 required"},
		},
		{reason: "no selector, which selects no pod", items: `{` + name + `}`, want: []string{"shop/web <none> allows 0, 0 of 0 healthy, 0 required"}},
		{reason: "a selector that is null", items: `{` + name + `,"spec":{"selector":null}}`, want: []string{"shop/web <none> allows 0, 0 of 0 healthy, 0 required"}},
		{reason: "a selector that is too long", items: `{` + name + `,"spec":{"selector":{"x":"` + strings.Repeat("y", longestSelector) + `"}}}`, wrong: "too long"},
		{reason: "a selector that is a list", items: `{` + name + `,"spec":{"selector":[]}}`, wrong: "something else than Kubernetes objects"},
		{reason: "a name that is too long", items: `{"metadata":{"name":"` + strings.Repeat("x", longestName+1) + `"}}`, wrong: "too long"},
		{reason: "a number that is none", items: `{` + name + `,"status":{"disruptionsAllowed":"many"}}`, wrong: "something else than Kubernetes objects"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if request.URL.Path != "/apis/policy/v1/poddisruptionbudgets" {
					http.NotFound(w, request)
					return
				}
				fmt.Fprintf(w, `{"items":[%s]}`, row.items)
			})
			api, err := newRig(t, s.kubeconfig(`{token: one}`)).clusters.API(t.Context(), capa)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = api.EachBudget(t.Context(), func(budget *policyv1.PodDisruptionBudget) bool {
				got = append(got, described(budget))
				return true
			})
			var answer *AnswerError
			if row.wrong != "" && (!errors.As(err, &answer) || !strings.Contains(err.Error(), row.wrong)) || row.wrong == "" && err != nil {
				t.Errorf("EachBudget: got error %v, want one with %q", err, row.wrong)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("EachBudget: -want +got:\n%s", diff)
			}
		})
	}
}

// TestLabeledPods holds that plans see the labels of pods, by which budgets select them.
func TestLabeledPods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, labels string
		want           map[string]string
		wrong          string
	}{
		{reason: "all labels", labels: `{"app":"web","tier":"front"}`, want: map[string]string{"app": "web", "tier": "front"}},
		{reason: "no labels", labels: `null`},
		{reason: "labels that are too long", labels: `{"app":"` + strings.Repeat("x", longestLabels) + `"}`, wrong: "too long"},
		{reason: "labels that are no texts", labels: `{"app":{}}`, wrong: "something else than Kubernetes objects"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"items":[{"metadata":{"name":"a","namespace":"b","labels":%s}}]}`, row.labels)
			})
			api, err := newRig(t, s.kubeconfig(`{token: one}`)).clusters.API(t.Context(), capa)
			if err != nil {
				t.Fatal(err)
			}
			pods, err := api.LabeledPods(t.Context(), "node")
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) {
					t.Errorf("LabeledPods: got error %v, want one with %q", err, row.wrong)
				}
				return
			}
			if err != nil || len(pods) != 1 {
				t.Fatalf("LabeledPods: got %d pods and error %v, want 1", len(pods), err)
			}
			if diff := cmp.Diff(row.want, pods[0].Labels); diff != "" {
				t.Errorf("labels: -want +got:\n%s", diff)
			}
		})
	}
}

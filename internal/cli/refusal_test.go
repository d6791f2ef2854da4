package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// TestRefusal holds that a refusal of the API server names the field, and does not repeat the object.
func TestRefusal(t *testing.T) {
	t.Parallel()
	object := `"{\"apiVersion\":\"infrastructure.cluster.x-k8s.io/v1beta2\",\"spec\":{` + strings.Repeat("a", 5000) + `}}"`
	invalid := func(causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "is invalid: " + causes[0].Field + ": " + causes[0].Message,
			Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"UnknownField": {
			reason: "The answer to a patch begins with the whole object.",
			err:    invalid(metav1.StatusCause{Field: "patch", Message: "Invalid value: " + object + `: strict decoding error: unknown field "spec.maxSiz"`}),
			want:   `unknown field "spec.maxSiz". Correct the name: "kubectl explain awsmachinepool.spec" lists the fields`,
		},
		"UnknownFieldOfNew": {
			reason: "The answer to a creation is another one.",
			err:    apierrors.NewBadRequest(`AWSMachinePool in version "v1beta2" cannot be handled as a AWSMachinePool: strict decoding error: unknown field "spec.maxSiz"`),
			want:   `unknown field "spec.maxSiz". Correct the name: "kubectl explain awsmachinepool.spec" lists the fields`,
		},
		"Type": {
			reason: "Rules that could not be checked are no cause.",
			err: invalid(
				metav1.StatusCause{Field: "spec.maxSize", Message: `Invalid value: "string": spec.maxSize in body must be of type integer: "string"`},
				metav1.StatusCause{Field: "<nil>", Message: "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"},
			),
			want: `spec.maxSize: must be of type integer: "string"`,
		},
		"Several": {
			reason: "All causes are shown.",
			err:    invalid(metav1.StatusCause{Field: "spec.a", Message: "Required value"}, metav1.StatusCause{Field: "spec.b", Message: `Invalid value: "x": is not b`}),
			want:   "spec.a: Required value; spec.b: is not b",
		},
		"Namespace": {
			reason: "A namespace is named as a user knows it.",
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusNotFound, Message: `namespaces "nowhere" not found`, Details: &metav1.StatusDetails{Kind: "namespaces", Name: "nowhere"},
			}},
			want: "namespace nowhere does not exist",
		},
		"Other": {reason: "Other errors stay as they are.", err: errors.New("broken"), want: "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusal("AWSMachinePool", tc.err)
			if got.Error() != tc.want || !errors.Is(got, tc.err) {
				t.Errorf("%s refusal: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestPlanIsStrict holds that edits by files and by fields ask the API server to refuse fields that do not exist, as
// kubectl apply does.
func TestPlanIsStrict(t *testing.T) {
	pool := map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachinePool",
		"metadata": map[string]any{"namespace": "blue", "name": "workers"}, "spec": map[string]any{"maxSize": 3},
	}
	file := filepath.Join(t.TempDir(), "pool.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachinePool\nmetadata: {name: workers}\nspec: {maxSiz: 5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	resources := map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "resources": []any{
		map[string]any{"name": "awsmachinepools", "singularName": "awsmachinepool", "namespaced": true, "kind": "AWSMachinePool", "verbs": []string{"get", "patch"}},
	}}
	served := map[string]any{"groupVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "version": "v1beta2"}
	groups := map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{
		map[string]any{"name": "infrastructure.cluster.x-k8s.io", "versions": []any{served}, "preferredVersion": served},
	}}
	var validations []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case request.Method == http.MethodPatch:
			validations = append(validations, request.URL.Query().Get("fieldValidation"))
			w.WriteHeader(http.StatusBadRequest)
			refused := apierrors.NewBadRequest(`strict decoding error: unknown field "spec.maxSiz"`).ErrStatus
			refused.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			answer = refused
		case strings.HasSuffix(request.URL.Path, "/awsmachinepools/workers"):
			answer = pool
		case strings.HasSuffix(request.URL.Path, "/infrastructure.cluster.x-k8s.io/v1beta2"):
			answer = resources
		case request.URL.Path == "/apis":
			answer = groups
		case request.URL.Path == "/api":
			answer = map[string]any{"kind": "APIVersions", "versions": []string{}}
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = apierrors.NewNotFound(schema.GroupResource{}, "").ErrStatus
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, workloadtest.Kubeconfig(server, "{token: one}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"awsmachinepool/workers", "--set", "spec.maxSiz=5"}, {"-f", file}} {
		command := New()
		command.SetArgs(append([]string{"plan", "-n", "blue", "--kubeconfig", kubeconfig}, args...))
		err := command.ExecuteContext(t.Context())
		if want := `trying the edit of AWSMachinePool "workers": unknown field "spec.maxSiz"`; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("slipway plan %v: got error %v, want %q", args, err, want)
		}
	}
	if len(validations) != 2 || validations[0] != metav1.FieldValidationStrict || validations[1] != metav1.FieldValidationStrict {
		t.Errorf("the field validations are %q, want Strict twice", validations)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// TestCompletionOfFlags holds that a shell completes the values of flags, and the names of pools for the commands that
// plan.
func TestCompletionOfFlags(t *testing.T) {
	t.Parallel()
	version := func(group, version string) map[string]any {
		return map[string]any{"groupVersion": group + "/" + version, "version": version}
	}
	resource := func(name, kind string, namespaced bool) map[string]any {
		return map[string]any{"name": name, "singularName": strings.ToLower(kind), "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "list"}}
	}
	named := func(names ...string) []any {
		var items []any
		for _, name := range names {
			items = append(items, map[string]any{"metadata": map[string]any{"name": name}})
		}
		return items
	}
	const group = "infrastructure.cluster.x-k8s.io"
	list := func(items []any) map[string]any {
		return map[string]any{"kind": "List", "apiVersion": "v1", "items": items}
	}
	pools := list(named("workers"))
	pools["apiVersion"], pools["kind"] = group+"/v1beta2", "AWSMachinePoolList"
	answers := map[string]any{
		"/api":               map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/api/v1":            map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{resource("namespaces", "Namespace", false)}},
		"/api/v1/namespaces": map[string]any{"kind": "NamespaceList", "apiVersion": "v1", "items": named("green", "blue", "b\u202e")},
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{
			map[string]any{"name": group, "versions": []any{version(group, "v1beta2")}, "preferredVersion": version(group, "v1beta2")},
		}},
		"/apis/" + group + "/v1beta2":                                 map[string]any{"kind": "APIResourceList", "groupVersion": group + "/v1beta2", "resources": []any{resource("awsmachinepools", "AWSMachinePool", true)}},
		"/apis/" + group + "/v1beta2/namespaces/blue/awsmachinepools": pools,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := answers[request.URL.Path]
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": http.StatusNotFound, "reason": "NotFound"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, workloadtest.Kubeconfig(server, "{token: one}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"plan CLUSTER -n blue ":          "workers\n",
		"simulate CLUSTER -n blue wo":    "workers\n",
		"undo CLUSTER -n blue ":          "workers\n",
		"plan CLUSTER -n blue workers ":  "",
		"status CLUSTER -n b":            "b\nblue\n",
		"rollout pause CLUSTER -n g":     "green\n",
		"status --kubeconfig /none -n b": "",
		"status CLUSTER --context ":      "c\n",
		"status -o ":                     "text\njson\nyaml\n",
		"plan -o ":                       "text\njson\nyaml\n",
		"version -o ":                    "text\njson\nyaml\n",
		"undo workers --dry-run ":        "none\nserver\n",
	} {
		command, out := New(), &bytes.Buffer{}
		line = strings.Replace(line, "CLUSTER", "--kubeconfig "+kubeconfig, 1)
		command.SetArgs(append([]string{"__complete"}, strings.Split(line, " ")...))
		command.SetOut(out)
		command.SetErr(&bytes.Buffer{})
		err := command.ExecuteContext(t.Context())
		offered, _, _ := strings.Cut(out.String(), ":4\n")
		if diff := cmp.Diff(want, offered); diff != "" || err != nil {
			t.Errorf("slipway __complete %s: error %v, -want +got:\n%s", line, err, diff)
		}
	}
}

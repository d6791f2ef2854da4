package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"

	"github.com/slipway-project/slipway/internal/permissions"
)

// TestRelease holds that a release has the IAM policies that the command prints, and components
// with the image of the release.
func TestRelease(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := Write("../..", directory, "registry.example.com:5000/slipway:v1.2.3"); err != nil {
		t.Fatal(err)
	}
	policies, err := permissions.Policies(permissions.Scope{}, permissions.Defaults(permissions.Scope{})...)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, policy := range policies {
		want = append(want, policy.String()+"\n")
	}
	paths, err := filepath.Glob(filepath.Join(directory, "iam-policy-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		got = append(got, read(t, path))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%d policies (-want +got):\n%s", len(got), diff)
	}
	if components := read(t, filepath.Join(directory, ComponentsFile)); !strings.Contains(components, "image: registry.example.com:5000/slipway:v1.2.3") {
		t.Error("the components do not have the image of the release")
	}
	for file, source := range map[string]string{KubeStateMetricsFile: "kube-state-metrics", ProvisionerKubeStateMetricsFile: "provisioner/kube-state-metrics"} {
		holdsConfiguration(t, read(t, filepath.Join(directory, file)), read(t, filepath.Join("../../config", source, "custom-resource-state.yaml")))
	}
	if err := Write("../..", directory, "registry.example.com:5000/slipway"); err == nil {
		t.Error("an image without a tag is taken")
	}
}

// holdsConfiguration fails unless a manifest has a ConfigMap in kube-system with the configuration, and
// the permissions of kube-state-metrics.
func holdsConfiguration(t *testing.T, manifest, configuration string) {
	t.Helper()
	objects, err := utilyaml.ToUnstructured([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i := range objects {
		kinds[objects[i].GetKind()]++
		if objects[i].GetKind() != "ConfigMap" {
			continue
		}
		data, _, err := unstructured.NestedStringMap(objects[i].Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"custom-resource-state.yaml": configuration}, data); diff != "" || objects[i].GetNamespace() != "kube-system" {
			t.Errorf("the ConfigMap in namespace %q has (-want +got):\n%s", objects[i].GetNamespace(), diff)
		}
	}
	if diff := cmp.Diff(map[string]int{"ClusterRole": 1, "ClusterRoleBinding": 1, "ConfigMap": 1}, kinds); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/preflight"
)

// TestVersionAsJSON holds what programs read of a version.
func TestVersionAsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	command := New()
	command.SetOut(&out)
	command.SetArgs([]string{"version", "-o", "json"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, key := range []string{"commit", "date", "kubernetesClient"} { // a test binary may not know them
		if value, is := got[key].(string); !is || value == "" {
			t.Errorf("%s is %v", key, got[key])
		}
		delete(got, key)
	}
	want := map[string]any{
		"version": buildinfo.Version(), "goVersion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "clusterAPI": "v1beta2",
		"apiVersions": []any{"infrastructure.cluster.x-k8s.io/v1beta2", "provisioning.karpenter.sh/v1alpha2"},
		"kubernetes":  map[string]any{"minimum": preflight.MinimumKubernetes, "tested": preflight.TestedKubernetes},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slipway version -o json (-want +got):\n%s", diff)
	}
	command.SetOut(io.Discard)
	command.SetArgs([]string{"version", "-o", "yaml"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--output") {
		t.Errorf("an unknown format: error %v", err)
	}
}

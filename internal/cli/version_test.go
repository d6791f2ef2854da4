package cli

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

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
}

// TestVersionFormats holds that a version is printed in the formats of the other commands.
func TestVersionFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": "slipway " + buildinfo.Version(), "yaml": "clusterAPI: v1beta2\n"} {
		out, err := execute(t, "version", "-o", format)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("slipway version -o %s: got error %v and\n%s\nwant %q", format, err, out, want)
		}
	}
	if _, err := execute(t, "version", "-o", "table"); err == nil || !strings.Contains(err.Error(), "must be text, json, or yaml") {
		t.Errorf("a format that does not exist: got error %v", err)
	}
}

// TestVersionForUsers holds that the text has what the data has.
func TestVersionForUsers(t *testing.T) {
	t.Parallel()
	out, err := execute(t, "version")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"slipway " + buildinfo.Version() + " " + runtime.Version(), "Commit: " + buildinfo.Revision() + ", of " + buildinfo.Committed(),
		"Kubernetes: " + preflight.MinimumKubernetes + " to " + preflight.TestedKubernetes, "Cluster API: v1beta2", "API versions: infrastructure.cluster.x-k8s.io/v1beta2, provisioning.karpenter.sh/v1alpha2",
	} {
		if !strings.Contains(spaces.ReplaceAllString(out, " "), want) {
			t.Errorf("slipway version lacks %q:\n%s", want, out)
		}
	}
}

// TestOutputFormatsAgree holds that all commands that print data take the same formats.
func TestOutputFormatsAgree(t *testing.T) {
	t.Parallel()
	printing := 0
	var check func(*cobra.Command)
	check = func(command *cobra.Command) {
		if flag := command.Flags().Lookup("output"); flag != nil {
			printing++
			if flag.DefValue != "text" || flag.Usage != "format of the output: text, json, or yaml" || flag.Shorthand != "o" {
				t.Errorf("%s: --output (-%s) is %q by default, and its usage is %q", command.CommandPath(), flag.Shorthand, flag.DefValue, flag.Usage)
			}
		}
		for _, sub := range command.Commands() {
			check(sub)
		}
	}
	check(New())
	if printing < 12 {
		t.Errorf("%d commands have --output, want all that print data", printing)
	}
}

package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// TestWriteCharts holds that Helm reads the charts of a release, that they have its version and its
// image, that nothing else differs from the sources, and that they are the same when they are
// written again.
func TestWriteCharts(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	for _, directory := range []string{first, second} {
		if err := WriteCharts("../..", directory, "registry.example.com:5000/nodes/slipway:v1.2.3", "v1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range Charts {
		if read(t, filepath.Join(first, ChartFile(name))) != read(t, filepath.Join(second, ChartFile(name))) {
			t.Errorf("%s differs when it is written again", ChartFile(name))
		}
		chart, err := loader.LoadFile(filepath.Join(first, ChartFile(name)))
		if err != nil {
			t.Fatal(err)
		}
		if chart.Metadata.Version != "1.2.3" || chart.Metadata.AppVersion != "v1.2.3" {
			t.Errorf("%s has version %s of version %s", name, chart.Metadata.Version, chart.Metadata.AppVersion)
		}
		source, err := loader.LoadDir(filepath.Join("../../charts", name))
		if err != nil {
			t.Fatal(err)
		}
		source.Values["image"].(map[string]any)["repository"] = "registry.example.com:5000/nodes/slipway"
		if diff := cmp.Diff(source.Values, chart.Values); diff != "" {
			t.Errorf("the values of %s (-want +got):\n%s", name, diff)
		}
		contents := [2]map[string]string{{}, {}}
		for _, file := range source.Raw {
			contents[0][file.Name] = string(file.Data)
		}
		for _, file := range chart.Raw {
			contents[1][file.Name] = string(file.Data)
		}
		for _, changed := range []string{"Chart.yaml", "values.yaml"} {
			delete(contents[0], changed)
			delete(contents[1], changed)
		}
		if diff := cmp.Diff(contents[0], contents[1]); diff != "" {
			t.Errorf("the files of %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRefusedReleases holds that a release that could not be installed is not written.
func TestRefusedReleases(t *testing.T) {
	t.Parallel()
	const image = "registry.example.com/slipway:v0.1.0"
	for _, row := range []struct{ reason, image, version, says string }{
		{"a version without its v", image, "0.1.0", "is not a semantic version"},
		{"a version that is a word", image, "latest", "is not a semantic version"},
		{"a version of a series that clusterctl does not find", image, "v99.0.0", "has no release series"},
		{"an image without a tag", "registry.example.com:5000/slipway", "v0.1.0", "has no tag"},
	} {
		if err := WriteInstallation("../..", t.TempDir(), row.image, row.version); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: the error is %v, want one with %q", row.reason, err, row.says)
		}
	}
	root := t.TempDir()
	chart := filepath.Join(root, "charts", "slipway")
	if err := os.MkdirAll(chart, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "values.yaml"), []byte("image:\n  repository: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteCharts(root, t.TempDir(), image, "v0.1.0"); err == nil || !strings.Contains(err.Error(), "0 lines") {
		t.Errorf("a chart whose image cannot be set: the error is %v", err)
	}
}

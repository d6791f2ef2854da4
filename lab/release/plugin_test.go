package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestWritePlugin holds that the krew manifest has what krew validates (krew:
// internal/index/validation/validate.go), a platform for each program, and the checksums of archives
// with the plugin and the license.
func TestWritePlugin(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	var want []string
	for _, platform := range []string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"} {
		for _, suffix := range []string{"", sbomSuffix} {
			if err := os.WriteFile(filepath.Join(directory, pluginProgram+"-"+platform+suffix), []byte("the program for "+platform), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, platform)
	}
	const downloads = "https://example.com/releases/download/v1.2.3"
	for range 2 { // the second time over what the first has written
		if err := WritePlugin("../..", directory, "v1.2.3", downloads); err != nil {
			t.Fatal(err)
		}
	}
	manifest := plugin{}
	if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join(directory, PluginFile))), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || manifest.Metadata.Name != "slipway" {
		t.Errorf("the manifest is %s %s of %q", manifest.APIVersion, manifest.Kind, manifest.Metadata.Name)
	}
	spec := manifest.Spec
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(spec.Version) || spec.ShortDescription == "" || strings.ContainsAny(spec.ShortDescription, "\r\n") || len(spec.ShortDescription) > 50 {
		t.Errorf("version %q, short description %q", spec.Version, spec.ShortDescription)
	}
	var got []string
	for _, platform := range spec.Platforms {
		name := platform.Selector.MatchLabels["os"] + "-" + platform.Selector.MatchLabels["arch"]
		got = append(got, name)
		path := filepath.Join(directory, "kubectl-slipway-"+name+".tar.gz")
		if want := downloads + "/" + filepath.Base(path); platform.URI != want || platform.Bin != "kubectl-slipway" || len(platform.Selector.MatchLabels) != 2 {
			t.Errorf("platform %+v, want the archive at %s", platform, want)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path)))); platform.SHA256 != sum {
			t.Errorf("%s has checksum %s, want %s", name, platform.SHA256, sum)
		}
		files := map[string]string{"-rw-r--r-- LICENSE": read(t, "../../LICENSE"), "-rwxr-xr-x kubectl-slipway": "the program for " + name}
		if diff := cmp.Diff(files, unpack(t, path)); diff != "" {
			t.Errorf("the archive for %s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if err := WritePlugin("../..", t.TempDir(), "v1.2.3", downloads); err == nil {
		t.Error("a release without programs is accepted")
	}
}

// unpack returns the content of the files of an archive, by their modes and names.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.FileInfo().Mode().String()+" "+header.Name] = string(content)
	}
}

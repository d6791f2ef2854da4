package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err := Write("../..", directory, "registry.example.com:5000/slipway"); err == nil {
		t.Error("an image without a tag is taken")
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

package document_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/bench/document"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "document.md")
	if err := os.WriteFile(path, []byte("# Text\n\n<!-- measured: one -->\nold\n<!-- end -->\n\n<!-- measured: two -->\n\nkept\n\n<!-- end -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := document.Replace(path, "one", "new\n"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path) // #nosec G304 -- the test's own
	if err != nil {
		t.Fatal(err)
	}
	want := "# Text\n\n<!-- measured: one -->\n\nnew\n\n<!-- end -->\n\n<!-- measured: two -->\n\nkept\n\n<!-- end -->\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
	if err := document.Replace(path, "three", ""); err == nil {
		t.Error("a section that is not there is no error")
	}
}

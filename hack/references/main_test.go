package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const repository = "../.."

// TestPagesAreCurrent fails if the code changed and make generate was not run, and if a rule has no
// example.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	pages, err := generate(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		kept, err := os.ReadFile(filepath.Join(repository, page.path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(kept), page.content); diff != "" {
			t.Errorf("%s: run make generate (-kept +wanted):\n%s", page.path, diff)
		}
	}
}

// write creates a file of a repository for a test.
func write(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exampleAPI has a kind with a CEL rule and a check of the schema.
const exampleAPI = `package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +slipway:rule=AA1
// +kubebuilder:validation:XValidation:rule=` + "`self.min <= self.max`" + `,message="min must not be above max",fieldPath=".min"
type PoolSpec struct {
	// +slipway:rule=AA2
	// +kubebuilder:validation:Minimum=1
	Max int32 ` + "`json:\"max\"`" + `
}

type Pool struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `
	Spec PoolSpec ` + "`json:\"spec\"`" + `
}
`

func repositoryWith(t *testing.T, examples string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "api/infrastructure/v1beta2/types.go", exampleAPI)
	write(t, root, "api/infrastructure/v1beta2/testdata/examples.json", examples)
	write(t, root, "api/provisioning/v1alpha2/types.go", "package v1alpha2\n")
	write(t, root, "api/provisioning/v1alpha2/testdata/examples.json", "[]")
	write(t, root, "internal/doc.go", "package internal\n")
	return root
}

func TestRulesPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, examples string
		want             []string // lines of the page
		fails            string
	}{
		{
			reason: "a CEL rule has its message and field, and a check of the schema the API server's words",
			examples: `[{"rule": "AA2", "kind": "Pool", "accept": "spec: {max: 1}", "refuse": "spec: {max: 0}", "says": "should be greater than or equal to 1"},
				{"rule": "AA1", "kind": "Pool", "accept": "spec: {min: 1}", "refuse": "spec: {min: 9}", "says": "must not be above"}]`,
			want: []string{
				"| AA1 | Pool `spec.min` | min must not be above max | `spec: {min: 1}` | `spec: {min: 9}` |",
				"| AA2 | Pool `spec.max` | should be greater than or equal to 1 | `spec: {max: 1}` | `spec: {max: 0}` |",
			},
		},
		{
			reason:   "a rule that no test tries is an error",
			examples: `[{"rule": "AA2", "kind": "Pool", "accept": "a", "refuse": "b", "says": "should be greater than or equal to 1"}]`,
			fails:    `rule AA1: no case of a test refuses "min must not be above max"`,
		},
		{
			reason: "a case with another message is not an example of the rule",
			examples: `[{"rule": "AA2", "kind": "Pool", "refuse": "b", "says": "should be less than or equal to 5"},
				{"rule": "AA1", "kind": "Pool", "refuse": "b", "says": "must not be above"}]`,
			fails: "rule AA2: no case of a test refuses",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			code, err := load(repositoryWith(t, c.examples))
			if err != nil {
				t.Fatal(err)
			}
			got, err := rulesPage(code)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error is %v, not one with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range c.want {
				if !strings.Contains(got.content, line+"\n") {
					t.Errorf("the page lacks %q:\n%s", line, got.content)
				}
			}
		})
	}
}

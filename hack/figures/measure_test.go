package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFigures measures small packages.
func TestFigures(t *testing.T) {
	t.Parallel()
	long := "package a\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", 60) + "}\n"
	for _, row := range []struct {
		reason, figure string
		files          map[string]string
		measured       string
		met            bool
	}{
		{"a function of 62 lines is long", "functions of more", map[string]string{"a/a.go": long}, "1", false},
		{"tests may be as long as the story is", "functions of more", map[string]string{"a/a_test.go": long}, "0", true},
		{
			"methods of embedded types count", "methods of the largest", map[string]string{
				"a/a.go": "package a\n\ntype inner struct{}\n\ntype outer struct{ *inner }\n\nfunc (inner) One() {}\n\nfunc (*outer) Two() {}\n",
			}, "2", true,
		},
		{"names of types and functions are exported, methods are not counted", "exported names", map[string]string{
			"a/a.go": "package a\n\ntype One struct{}\n\nfunc (One) Method() {}\n\nfunc Two() {}\n\nfunc three() {}\n",
		}, "2", true},
		{"two files that refer to each other", "pairs of files", map[string]string{
			"a/a.go": "package a\n\nfunc one() { two() }\n", "a/b.go": "package a\n\nfunc two() { one() }\n\nvar x = func() {}\n",
		}, "1", true},
		{"one visit and three returns", "functions of decide files", map[string]string{
			"a/decide.go": "package a\n\nfunc decide() { one(); own(); one(); own(); one(); own(); one() }\n\nfunc own() {}\n", "a/b.go": "package a\n\nfunc one() {}\n",
		}, "1", false},
		{"as many lines of tests as of code", "lines of tests", map[string]string{
			"internal/a/a.go": "package a\n", "internal/a/a_test.go": "package a\n",
		}, "1.00 (1 to 1)", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, content := range row.files {
				path := filepath.Join(root, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(strings.TrimSuffix(content, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := parse(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range figuresOf(tree) {
				if strings.HasPrefix(f.name, row.figure) && (f.measured != row.measured || f.met != row.met) {
					t.Errorf("%s: measured %s, met %v; want %s, %v", f.name, f.measured, f.met, row.measured, row.met)
				}
			}
		})
	}
}

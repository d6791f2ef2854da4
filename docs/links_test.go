package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	target  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// TestLinks holds that every relative link of the documentation leads to a file, and to a heading
// where it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		content := fence.ReplaceAllString(read(t, page), "")
		for _, match := range link.FindAllStringSubmatch(content, -1) {
			path, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(match[1], "://") || strings.HasPrefix(match[1], "mailto:") {
				continue
			}
			to := page
			if path != "" {
				to = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, match[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: the link %s names a heading that does not exist", page, match[1])
			}
		}
	}
}

// TestIndexListsEveryPage holds that docs/README.md links every page of the four parts.
func TestIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, "README.md")
	for _, page := range pages(t) {
		part, _, _ := strings.Cut(page, "/")
		switch part {
		case "tutorials", "how-to", "reference", "explanation":
			if !strings.Contains(index, "]("+page+")") {
				t.Errorf("docs/README.md does not link %s", page)
			}
		}
	}
}

// pages returns the pages in docs, and the pages of the repository, by their paths from docs.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, pattern := range []string{"../*.md", "../*/README.md"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, matches...)
	}
	for _, page := range walk(t, ".", ".md") {
		if page != "README.md" {
			found = append(found, page)
		}
	}
	if len(found) < 20 {
		t.Fatalf("found only %d pages", len(found))
	}
	return found
}

// walk returns the files below root with the extension.
func walk(t *testing.T, root, extension string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, extension) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// anchors returns the anchors of a page's headings, as GitHub names them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		text := target.ReplaceAllString(match[1], "$1")
		found[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

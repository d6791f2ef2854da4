// Command references writes the parts of docs/reference that follow from the code: the rules of the
// CRDs with examples, the conditions and their reasons, the events, and the templates of all
// messages. It writes the documentation of reasons as Go code too, for commands that print it. It parses the Go code and does not compile it. It fails if the code uses a reason
// that has no documentation.
//
// Users look up a reason or a message there when they see it on an object, so the pages must list
// everything that Slipway reports, and nothing else. Generating them from the code guarantees this,
// and shows every changed message in the diff of a pull request. `make generate` runs the command,
// and a test fails if the committed pages are not current.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "directory of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "references:", err)
		os.Exit(1)
	}
}

// run writes all pages below root.
func run(root string) error {
	pages, err := generate(root)
	if err != nil {
		return err
	}
	for _, page := range pages {
		path := filepath.Join(root, page.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("creating the directory of a page: %w", err)
		}
		if err := os.WriteFile(path, []byte(page.content), 0o644); err != nil {
			return fmt.Errorf("writing a page: %w", err)
		}
	}
	return nil
}

// closing closes the generated section that a page begins with, for hack/linttext.
const closing = "\n<!-- end -->\n"

// page is a generated file.
type page struct{ path, content string }

// generate returns the pages for the code below root, and every defect of the code that keeps a
// page from being complete.
func generate(root string) ([]page, error) {
	code, err := load(root)
	if err != nil {
		return nil, err
	}
	rules, ruleErr := rulesPage(code)
	catalog, problems := catalogOf(code)
	conditions, conditionErr := conditionsPage(catalog)
	events, eventErr := eventsPage(catalog)
	messages, messageErr := messagesPage(catalog)
	help, helpErr := helpPage(catalog)
	return []page{rules, conditions, events, messages, help}, errors.Join(ruleErr, joined(problems), conditionErr, eventErr, messageErr, helpErr)
}

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/buildinfo"
)

var manDirectory = flag.String("man", "", "directory into which the manual pages are written, for make release")

// TestManPages holds that every command has a manual page with its flags and examples. With -man, the pages are
// kept. A test writes them, so that the program does not link what formats them.
func TestManPages(t *testing.T) {
	t.Parallel()
	directory := *manDirectory
	if directory == "" {
		directory = t.TempDir()
	} else if err := os.MkdirAll(directory, 0o750); err != nil {
		t.Fatal(err)
	}
	command := newCommand()
	command.Annotations = nil
	command.DisableAutoGenTag = true
	// The date of the pages is SOURCE_DATE_EPOCH.
	header := &doc.GenManHeader{Title: "SLIPWAY", Section: "1", Source: "Slipway " + buildinfo.Version(), Manual: "Slipway"}
	if err := doc.GenManTree(command, header, directory); err != nil {
		t.Fatal(err)
	}
	requirePages(t, command, directory)
}

// requirePages checks the page of a command, and the pages of all commands below it.
func requirePages(t *testing.T, command *cobra.Command, directory string) {
	t.Helper()
	name := strings.ReplaceAll(command.CommandPath(), " ", "-") + ".1"
	content, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil {
		t.Errorf("slipway has no manual page of %s: %v", command.CommandPath(), err)
		return
	}
	page := strings.ReplaceAll(string(content), `\-`, "-")
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(page, "--"+f.Name) {
			t.Errorf("%s lacks the flag --%s", name, f.Name)
		}
	})
	if command.Example != "" && !strings.Contains(page, "EXAMPLE") {
		t.Errorf("%s lacks the examples of the command", name)
	}
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			requirePages(t, child, directory)
		}
	}
}

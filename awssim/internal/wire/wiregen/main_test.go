package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedFilesAreUpToDate holds that the tables that are checked in equal the tables of the
// SDK versions in go.mod and of actions.txt.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	t.Chdir("..")
	files, err := generate("actions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(serviceNames) {
		t.Fatalf("got %d files, want one for each of %v", len(files), serviceNames)
	}
	for name, want := range files {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, run go generate ./awssim/internal/wire:\n%s", name, diff)
		}
	}
}

func TestUnknownActionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"ec2 LaunchRockets", "ssm LaunchRockets", "lightsail GetBlueprints", "ec2"} {
		path := t.TempDir() + "/actions.txt"
		if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := generate(path); err == nil {
			t.Errorf("the line %q was accepted", line)
		}
	}
}

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	progress := newProgress("./cmd/lab", []string{"a/one", "a/two", "a/three", "a/four"}, began)
	for _, row := range []struct {
		reason, line string
		counts       bool
		shows        string
	}{
		{"a package that was stale", "a/one", true, "Building ./cmd/lab: compiled 1 of 4 packages, about 30s left"},
		{"the same one once more", "a/one", false, "Building ./cmd/lab: compiled 1 of 4 packages, about 30s left"},
		{"an error of the compiler", "a/two/x.go:1:1: undefined: y", false, "Building ./cmd/lab: compiled 1 of 4 packages, about 30s left"},
		{"half of them", "a/two", true, "Building ./cmd/lab: compiled 2 of 4 packages, about 10s left"},
		{"all but one", "a/three", true, "Building ./cmd/lab: compiled 3 of 4 packages, about 3s left"},
		{"the last", "a/four", true, "Building ./cmd/lab: compiled 4 packages, linking"},
	} {
		if counts := progress.compiled(row.line); counts != row.counts {
			t.Errorf("%s: counted: %t, want %t", row.reason, counts, row.counts)
		}
		if shows := progress.at(began.Add(10 * time.Second)); shows != row.shows {
			t.Errorf("%s: shows %q, want %q", row.reason, shows, row.shows)
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	const lines = "a/one\na/x.go:1:1: undefined: y\na/two\n"
	for _, row := range []struct {
		reason   string
		terminal bool
		want     string
	}{
		{"a terminal has one line of progress", true, "\r\x1b[KBuilding x: compiled 1 of 2 packages, about 0s left\na/x.go:1:1: undefined: y\n\r\x1b[KBuilding x: compiled 2 packages, linking\n"},
		{"elsewhere a line comes now and then", false, "Building x: compiled 1 of 2 packages, about 0s left\na/x.go:1:1: undefined: y\n"},
	} {
		var out strings.Builder
		follow(strings.NewReader(lines), newProgress("x", []string{"a/one", "a/two"}, time.Now()), &display{out: &out, terminal: row.terminal})
		if diff := cmp.Diff(row.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"golang.org/x/tools/cover"
)

func TestReport(t *testing.T) {
	t.Parallel()
	file := func(name string, executed, missed int) *cover.Profile {
		return &cover.Profile{FileName: name, Blocks: []cover.ProfileBlock{{NumStmt: executed, Count: 1}, {NumStmt: missed}}}
	}
	for _, row := range []struct {
		reason   string
		profiles []*cover.Profile
		err      string
	}{
		{reason: "enough is covered", profiles: []*cover.Profile{file("a/decide.go", 95, 5), file("a/act.go", 0, 10)}},
		{reason: "too little of one file is", profiles: []*cover.Profile{file("a/decide.go", 95, 5), file("a/decide_drain.go", 94, 6)}, err: "a/decide_drain.go"},
		{reason: "a file without statements lacks nothing", profiles: []*cover.Profile{file("a/decide.go", 0, 0)}},
		{reason: "a profile of something else shows nothing", profiles: []*cover.Profile{file("a/act.go", 1, 0)}, err: "no decide*.go file"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			err := report(new(strings.Builder), row.profiles, 95)
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}

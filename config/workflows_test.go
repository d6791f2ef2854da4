package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pinned matches an action at a commit, with the version of the commit as a comment, which Dependabot updates
// with it.
var pinned = regexp.MustCompile(`^[A-Za-z0-9._/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned holds that workflows use actions at a commit. The tag of a version can be moved to
// other code, which would run with the permissions of the workflow.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	workflows, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	commits, uses := map[string]string{}, 0
	for _, workflow := range workflows {
		for line := range strings.SplitSeq(string(read(t, workflow)), "\n") {
			_, action, is := strings.Cut(line, "uses: ")
			if !is {
				continue
			}
			uses++
			name, _, _ := strings.Cut(action, "@")
			if !pinned.MatchString(action) {
				t.Errorf("%s uses %s, want a commit and its version", filepath.Base(workflow), action)
			}
			if other, seen := commits[name]; seen && other != action {
				t.Errorf("%s uses %s, and another workflow %s", filepath.Base(workflow), action, other)
			}
			commits[name] = action
		}
	}
	if uses < 10 {
		t.Errorf("%d uses of actions were found", uses)
	}
}

package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// versionRow matches a row of the compatibility matrix: the version, the module, and its go.mod.
var versionRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| ([0-9.]+) \\| `([^`]+)` in `([^`]*go\\.mod)` \\|")

// TestCompatibilityIsThatOfTheModules holds that the matrix has the versions of the go.mod files.
func TestCompatibilityIsThatOfTheModules(t *testing.T) {
	t.Parallel()
	rows := versionRow.FindAllStringSubmatch(read(t, "reference/compatibility.md"), -1)
	if len(rows) < 8 {
		t.Fatalf("found only %d rows", len(rows))
	}
	for _, row := range rows {
		version, module, file := row[1], row[2], row[3]
		if !strings.Contains(read(t, "../"+file), module+" v"+version) {
			t.Errorf("reference/compatibility.md: %s does not require %s v%s", file, module, version)
		}
	}
}

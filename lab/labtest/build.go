package labtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the program of a package into a file. The package is given as in a command line in the
// directory, whose module decides the versions of what the program links.
func Build(ctx context.Context, directory, program, to string) error {
	path, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, program) // #nosec G204 -- paths of tests
	command.Dir, command.Env = directory, append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %w: %s", program, directory, err, output)
	}
	return nil
}

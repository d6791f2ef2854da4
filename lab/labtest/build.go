package labtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Build builds the program of a package into a file. The package is given as in a command line in the
// directory, whose module decides the versions of what the program links. The flags are passed to go
// build.
func Build(ctx context.Context, directory, program, to string, flags ...string) error {
	path, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	arguments := slices.Concat([]string{"build", "-buildvcs=false", "-o", path}, flags, []string{program})
	command := exec.CommandContext(ctx, "go", arguments...) // #nosec G204 -- paths of tests
	command.Dir, command.Env = directory, append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %w: %s", program, directory, err, output)
	}
	return nil
}

// BuildSlipway builds Slipway's program from its sources into a file, with the build tags of its image.
func BuildSlipway(ctx context.Context, sources, to string) error {
	text, err := os.ReadFile(filepath.Join(sources, ".ko.yaml")) // #nosec G304 -- paths of tests
	if err != nil {
		return fmt.Errorf("reading how the image is built: %w", err)
	}
	var config struct {
		Builds []struct {
			ID    string   `json:"id"`
			Flags []string `json:"flags"`
		} `json:"builds"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("reading how the image is built: %w", err)
	}
	var tags []string
	for _, build := range config.Builds {
		if build.ID == "slipway" {
			tags = slices.DeleteFunc(build.Flags, func(flag string) bool { return !strings.HasPrefix(flag, "-tags=") })
		}
	}
	return Build(ctx, sources, "./cmd/slipway", to, tags...)
}

// Command generate writes the bundles that package crds embeds. Run it with
// `go generate ./crds` after the version of Cluster API or of Cluster API
// Provider AWS changed in go.mod, or the version of cert-manager in certmanager/go.mod.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-project/slipway/lab/crds/bundle"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	bundles, err := bundle.Build(bundle.ModuleDir)
	if err != nil {
		return err
	}
	for name, content := range bundles {
		compressed, err := bundle.Compress(content)
		if err != nil {
			return fmt.Errorf("compressing bundle %q: %w", name, err)
		}
		// #nosec G306 -- source, not a secret
		if err := os.WriteFile(filepath.Clean(name+".json.gz"), compressed, 0o644); err != nil {
			return fmt.Errorf("writing bundle %q: %w", name, err)
		}
	}
	return nil
}

// Command release writes what a release of Slipway gives to clusterctl. `make release-manifests` runs it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/slipway-project/slipway/lab/release"
)

func main() {
	root := flag.String("root", "..", "where the sources are")
	out := flag.String("out", "../out", "directory for the release")
	image := flag.String("image", "", "image of the manager, with its tag")
	flag.Parse()
	if err := release.Write(*root, *out, *image); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

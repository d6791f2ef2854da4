// Command release writes the manifests of a release of Slipway, and the bills of materials of its
// programs. `make release-manifests` and `make release` run it.
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
	version := flag.String("version", "", "version of the programs in the directory, which get SBOMs; none if empty")
	flag.Parse()
	err := release.Write(*root, *out, *image)
	if err == nil && *version != "" {
		err = release.WriteSBOMs(*out, *version)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

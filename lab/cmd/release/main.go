// Command release writes the files of a release of Slipway: manifests, and with a version also charts,
// and for the programs in the directory bills of materials and the plugin of kubectl.
// `make release-manifests` and `make release` run it.
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
	version := flag.String("version", "", "version of the release, such as v0.1.0; only manifests if empty")
	downloads := flag.String("downloads", "", "URL that files of the release are downloaded from")
	flag.Parse()
	if err := write(*root, *out, *image, *version, *downloads); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func write(root, out, image, version, downloads string) error {
	if version == "" {
		return release.Write(root, out, image)
	}
	if err := release.WriteInstallation(root, out, image, version); err != nil {
		return err
	}
	if err := release.WriteSBOMs(out, version); err != nil {
		return err
	}
	return release.WritePlugin(root, out, version, downloads)
}

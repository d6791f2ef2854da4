package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set when a release is linked (-X main.release=v1.2.3).
var release string

// commit is set when a release is linked (-X main.commit=…).
var commit string

// revision returns the commit that the program was built from, or "unknown".
func revision() string {
	if commit != "" {
		return commit
	}
	if build, known := debug.ReadBuildInfo(); known {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}

// version returns the release, or the version of the module that the Go tool recorded, or "dev".
func version() string {
	if release != "" {
		return release
	}
	build, known := debug.ReadBuildInfo()
	if !known || build.Main.Version == "" || build.Main.Version == "(devel)" {
		return "dev"
	}
	return build.Main.Version
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(command.OutOrStdout(), "slipway %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

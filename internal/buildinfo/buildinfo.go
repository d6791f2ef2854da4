// Package buildinfo returns the version and the commit that a program was built from.
package buildinfo

import "runtime/debug"

// These are set when a release is linked, as in
// -X github.com/slipway-project/slipway/internal/buildinfo.release=v1.2.3.
var (
	release string
	commit  string
	// date is the date of the commit, such as 2026-01-31T00:00:00Z.
	date string
)

// Revision returns the commit that the program was built from, or "unknown".
func Revision() string {
	if commit != "" {
		return commit
	}
	return setting("vcs.revision")
}

// Version returns the release, or the version of the module that the Go tool recorded, or "dev".
func Version() string {
	if release != "" {
		return release
	}
	build, known := debug.ReadBuildInfo()
	if !known || build.Main.Version == "" || build.Main.Version == "(devel)" {
		return "dev"
	}
	return build.Main.Version
}

// Committed returns when the commit was made that the program was built from, or "unknown".
func Committed() string {
	if date != "" {
		return date
	}
	return setting("vcs.time")
}

// setting returns what the Go tool recorded when it built the program, or "unknown".
func setting(key string) string {
	if build, known := debug.ReadBuildInfo(); known {
		for _, setting := range build.Settings {
			if setting.Key == key {
				return setting.Value
			}
		}
	}
	return "unknown"
}

// ModuleVersion returns the version of a module that is linked, or "unknown".
func ModuleVersion(path string) string {
	if build, known := debug.ReadBuildInfo(); known {
		for _, module := range build.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}

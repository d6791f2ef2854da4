// Package crd owns the custom resource definitions of Slipway, as hack/generate.sh writes them from the Go types in
// api. It offers them to programs, so that the laboratory and the tests install exactly what a release ships.
package crd

import "embed"

// FS holds the definitions, one YAML document per file, in the directory bases.
//
//go:embed bases/*.yaml
var FS embed.FS

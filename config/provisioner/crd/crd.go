// Package crd owns the custom resource definitions of just-in-time nodes, as hack/generate.sh writes them from the Go types in
// api/provisioning. They are apart from the definitions of machine pools because they belong into the cluster whose pods wait, which need not be the
// management cluster.
package crd

import "embed"

// FS holds the definitions, one YAML document per file, in the directory bases.
//
//go:embed bases/*.yaml
var FS embed.FS

package controlplane

import (
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// KubernetesVersion is the version of the API server, from the module k8s.io/kubernetes that is
// linked in.
const KubernetesVersion = "v1.36.3"

// The API server reports the version that Kubernetes' own build sets with the
// linker's -X flag. Plain `go build` and `go test` do not, and clients cannot
// parse the placeholder that remains. Setting the variables here works for
// every way of building, with no flags to forget.

//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

//go:linkname gitMajor k8s.io/component-base/version.gitMajor
var gitMajor string

//go:linkname gitMinor k8s.io/component-base/version.gitMinor
var gitMinor string

func init() {
	gitVersion, gitMajor, gitMinor = KubernetesVersion, "1", "36"
	if err := version.SetDynamicVersion(KubernetesVersion); err != nil {
		panic("the linked Kubernetes version is not a version: " + err.Error())
	}
}

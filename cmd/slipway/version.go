package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/preflight"
)

// release is set when a release is linked (-X main.release=v1.2.3).
var release string

// commit is set when a release is linked (-X main.commit=…).
var commit string

// date is set when a release is linked (-X main.date=2026-01-31T00:00:00Z): the date of the commit.
var date string

// revision returns the commit that the program was built from, or "unknown".
func revision() string {
	if commit != "" {
		return commit
	}
	return setting("vcs.revision")
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

// committed returns when the commit was made that the program was built from, or "unknown".
func committed() string {
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

// moduleVersion returns the version of a module that is linked, or "unknown".
func moduleVersion(path string) string {
	if build, known := debug.ReadBuildInfo(); known {
		for _, module := range build.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}

// versionInfo describes the output of `slipway version -o json`. Fields are only added.
type versionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Date      string `json:"date"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// KubernetesClient is the version of k8s.io/client-go: v0.36.3 belongs to Kubernetes 1.36.3.
	KubernetesClient string `json:"kubernetesClient"`
	// ClusterAPI is the API version, and so the contract, of Cluster API that the manager uses.
	ClusterAPI string `json:"clusterAPI"`
	// APIVersions lists the API versions of Slipway's kinds.
	APIVersions []string `json:"apiVersions"`
	// Kubernetes are the versions that a management cluster may have.
	Kubernetes kubernetesVersions `json:"kubernetes"`
}

// kubernetesVersions are the oldest version of Kubernetes that Slipway supports, and the newest that it
// was tested with. `slipway preflight` checks them.
type kubernetesVersions struct {
	Minimum string `json:"minimum"`
	Tested  string `json:"tested"`
}

func newVersionInfo() versionInfo {
	return versionInfo{
		Version: version(), Commit: revision(), Date: committed(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		KubernetesClient: moduleVersion("k8s.io/client-go"), ClusterAPI: clusterv1.GroupVersion.Version,
		APIVersions: []string{infrav1.GroupVersion.String(), provisioningv1.GroupVersion.String()},
		Kubernetes:  kubernetesVersions{Minimum: preflight.MinimumKubernetes, Tested: preflight.TestedKubernetes},
	}
}

func newVersionCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the API versions that it supports",
		Args:  noArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return printVersion(command.OutOrStdout(), output) },
	}
	command.Flags().StringVarP(&output, "output", "o", "", "format of the output: json has all details, and empty prints one line")
	return command
}

func printVersion(out io.Writer, format string) error {
	info := newVersionInfo()
	switch format {
	case "":
		if _, err := fmt.Fprintf(out, "slipway %s %s %s\n", info.Version, info.GoVersion, info.Platform); err != nil {
			return fmt.Errorf("printing the version: %w", err)
		}
		return nil
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(info); err != nil {
			return fmt.Errorf("printing the version: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("--output is %q, and must be json or empty", format)
	}
}

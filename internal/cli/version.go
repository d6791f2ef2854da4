package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/preflight"
)

// versionInfo describes the output of `slipway version -o json` and `-o yaml`. Fields are only added.
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
		Version: buildinfo.Version(), Commit: buildinfo.Revision(), Date: buildinfo.Committed(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		KubernetesClient: buildinfo.ModuleVersion("k8s.io/client-go"), ClusterAPI: clusterv1.GroupVersion.Version,
		APIVersions: []string{infrav1.GroupVersion.String(), provisioningv1.GroupVersion.String()},
		Kubernetes:  kubernetesVersions{Minimum: preflight.MinimumKubernetes, Tested: preflight.TestedKubernetes},
	}
}

func newVersionCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and as JSON or YAML the API versions that it supports, too",
		Args:  NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return printVersion(command.OutOrStdout(), output) },
	}
	bindOutput(command.Flags(), &output)
	return command
}

func printVersion(out io.Writer, format string) error {
	if err := checkOutput(format); err != nil {
		return err
	}
	info := newVersionInfo()
	var err error
	if format == textOutput {
		_, err = fmt.Fprintf(out, "slipway %s %s %s\n", info.Version, info.GoVersion, info.Platform)
	} else {
		err = encode(out, info, format)
	}
	if err != nil {
		return fmt.Errorf("printing the version: %w", err)
	}
	return nil
}

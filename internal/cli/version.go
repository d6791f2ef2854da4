package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/terminal"
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
		Short: "Print the version, its commit, and the versions of Kubernetes, Cluster API and APIs that it supports",
		Args:  NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return printVersion(command.OutOrStdout(), output) },
	}
	bindOutput(command.Flags(), &output)
	return command
}

// print prints the version for users. The first line is the shortest description of the program.
func (i versionInfo) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "slipway %s %s %s\n", i.Version, i.GoVersion, i.Platform)
	if err != nil {
		return err
	}
	table := terminal.NewTable(out, terminal.ScreenOf(out, os.Getenv))
	fmt.Fprintf(table, "Commit:\t%s, of %s\n", i.Commit, i.Date)
	fmt.Fprintf(table, "Kubernetes:\t%s to %s in management clusters\n", i.Kubernetes.Minimum, i.Kubernetes.Tested)
	fmt.Fprintf(table, "Cluster API:\t%s\n", i.ClusterAPI)
	fmt.Fprintf(table, "API versions:\t%s\n", strings.Join(i.APIVersions, ", "))
	return table.Flush()
}

func printVersion(out io.Writer, format string) error {
	if err := checkOutput(format); err != nil {
		return err
	}
	info := newVersionInfo()
	var err error
	if format == textOutput {
		err = info.print(out)
	} else {
		err = encode(out, info, format)
	}
	if err != nil {
		return fmt.Errorf("printing the version: %w", err)
	}
	return nil
}

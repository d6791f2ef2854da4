// Command lab runs the laboratory: a real API server, Cluster API and a
// simulated AWS in one process. See lab/README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// statusLaboratoryFailed is the exit status when the laboratory itself failed, as other programs
// that run programs have it.
const statusLaboratoryFailed = 125

// statusError is an error that only carries the status to exit with.
type statusError int

// Error implements error.
func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	var status statusError
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(statusLaboratoryFailed)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "A Kubernetes management cluster with Cluster API and a simulated AWS, in one process",
		Long: "lab starts etcd, kube-apiserver, Cluster API core with the kubeadm bootstrap provider, a simulated AWS, " +
			"and Slipway's manager, all in this process, and stops them when it ends.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newUpCommand(), newRunCommand(), newDemoCommand(), newBenchCommand())
	return root
}

func newUpCommand() *cobra.Command {
	flags := &labFlags{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Run until interrupted, and print how to reach everything",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return up(command.Context(), flags, command.OutOrStdout())
		},
	}
	flags.register(command.Flags())
	return command
}

func newRunCommand() *cobra.Command {
	flags := &labFlags{}
	command := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENTS...]",
		Short: "Run a command against a laboratory of its own, and exit with its status",
		Long: "run starts a laboratory, then the command with KUBECONFIG, WORKLOAD_KUBECONFIG, AWS_ENDPOINT_URL, AWS_REGION " +
			"and credentials in its environment, and stops the laboratory when the command has ended.",
		Example: "  lab run -- kubectl get nodes\n  lab run --no-manager --crds ./config/crd/bases -- ./my-controller",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return run(command.Context(), flags, args)
		},
	}
	flags.register(command.Flags())
	// Flags after the command are the command's.
	command.Flags().SetInterspersed(false)
	return command
}

// Command slipway runs Kubernetes nodes on AWS from EC2 launch templates.
//
// `slipway manager` runs next to Cluster API in a management cluster. It reconciles AWSMachinePools,
// AWSManagedMachinePools and AWSLaunchConfigs into launch templates, Auto Scaling groups and EKS
// node groups. `slipway provisioner` runs in a workload cluster and launches instances for pods
// that are pending. `slipway iam policy` prints the IAM policies that both need.
//
// This package only parses flags, sets up logs, metrics and traces, and starts the components of
// internal/manager.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on, a second one exits the process at once.
	context.AfterFunc(ctx, stop)
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "slipway:", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "slipway",
		Short:         "Kubernetes nodes on AWS, from launch templates",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newManagerCommand(), newProvisionerCommand(), newIAMCommand(), newVersionCommand())
	return command
}

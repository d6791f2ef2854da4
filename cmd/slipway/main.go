// Command slipway runs Kubernetes nodes on AWS from launch templates. `slipway manager` is the
// controller manager, `slipway provisioner` launches nodes for pods that are pending, and
// `slipway iam policy` prints what they may do.
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

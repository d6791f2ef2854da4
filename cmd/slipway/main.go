// Command slipway runs Kubernetes nodes on AWS from EC2 launch templates.
//
// `slipway manager` runs next to Cluster API in a management cluster. It reconciles AWSMachinePools,
// AWSManagedMachinePools and AWSLaunchConfigs into launch templates, Auto Scaling groups and EKS
// node groups. `slipway provisioner` runs in a workload cluster and launches instances for pods
// that are pending. `slipway iam policy` prints the IAM policies that both need. `slipway preflight`
// checks what the manager needs from its cluster and from AWS. `slipway plan` shows what an edit does
// to nodes, and `slipway simulate` performs the edit on a copy in a simulated AWS. `slipway status`, `history`, `diff`, `explain`, `trace`, `tree` and `events` show pools.
// `slipway undo`, `slipway unpin` and `slipway rollout` control roll-outs. `slipway migrate capa` moves
// the pools of a management cluster from Cluster API Provider AWS to Slipway and back.
//
// This package only parses flags, sets up logs, metrics and traces, and starts the components of
// internal/manager.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
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
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "slipway:", text)
		}
		return exitCode(err)
	}
	return 0
}

// exitError is an error with an exit code. Without an error, it is a result that is no failure.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error without its exit code.
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the exit code for an error: 1 unless the error has its own.
func exitCode(err error) int {
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return 1
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "slipway",
		Short:         "Kubernetes nodes on AWS, from launch templates",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.SetFlagErrorFunc(seeHelp)
	// kubectl runs a program of this name as its plugin.
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-slipway") {
		command.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slipway"}
	}
	command.AddCommand(newManagerCommand(), newProvisionerCommand(), newIAMCommand(), newPlanCommand(), newPreflightCommand(), newMigrateCommand(), newVersionCommand())
	command.AddCommand(newUndoCommand(), newUnpinCommand(), newRolloutCommand(), newDashboardCommand(), newSimulateCommand(prepareInCluster))
	command.AddCommand(newReadCommands(connectClusters)...)
	return command
}

// Package cli holds the commands that users run, for the program slipway and the plugin of kubectl: plans
// and simulations of edits, the state of pools, the control of roll-outs, the dashboard, checks of an
// installation, migrations from Cluster API Provider AWS, and IAM policies.
//
// The package parses flags, connects to clusters and AWS, and prints the results of internal/plan,
// internal/poolview, internal/rolloutcontrol and others.
package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/buildinfo"
)

// wallClock is the clock of commands: a user waits in real time.
var wallClock clock.Clock = clock.RealClock{}

// sleep waits for a duration, and returns the context's error if the context is done before.
func sleep(ctx context.Context, timers clock.Clock, duration time.Duration) error {
	timer := timers.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Main runs the command with the arguments of the process, and returns the exit code. SIGTERM and SIGINT end
// it in good order.
func Main(ctx context.Context, command *cobra.Command) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on, a second one exits the process at once.
	context.AfterFunc(ctx, stop)
	if err := command.ExecuteContext(ctx); err != nil {
		if text := errorText(err); text != "" {
			fmt.Fprintln(os.Stderr, "slipway:", text)
		}
		return exitCode(err)
	}
	return 0
}

// mostErrorLines bounds the lines of an error that are printed.
const mostErrorLines = 20

// errorText returns the text of an error without characters that a terminal interprets: servers wrote parts of it.
func errorText(err error) string {
	lines := strings.Split(explained(err), "\n")
	if more := len(lines) - mostErrorLines; more > 0 {
		lines = append(lines[:mostErrorLines], fmt.Sprintf("and %d more lines", more))
	}
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// explained returns the text of an error. An API server that cannot be reached, and a call to AWS that failed, are
// described without what Go's packages add.
func explained(err error) string {
	if aws.AnswerMessage(err) != "" {
		return aws.UserMessage(err)
	}
	if text := workloadText(err); text != err.Error() {
		return text
	}
	var request *url.Error
	var known *noKindError
	var unserved *meta.NoKindMatchError
	switch {
	case errors.As(err, &unserved) && unserved.GroupKind.Group == infrav1.GroupVersion.Group && !errors.As(err, &known):
		return (&noKindError{kind: infrav1.GroupVersion.WithKind(unserved.GroupKind.Kind)}).Error()
	case apierrors.IsUnauthorized(err):
		return err.Error() + ". Check the credentials in the kubeconfig"
	case errors.As(err, &request) && temporary(err):
		return unansweredText(err) + ". Check the kubeconfig, its context, and the network"
	}
	return err.Error()
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

// New returns the command with the subcommands for users, and with others.
func New(others ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use:           "slipway",
		Short:         "Kubernetes nodes on AWS, from launch templates",
		Version:       buildinfo.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          NoArgs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.SetFlagErrorFunc(flagError)
	command.AddCommand(newIAMCommand(), newPlanCommand(prepareInCluster), newPreflightCommand(), newMigrateCommand(), newVersionCommand())
	command.AddCommand(newUndoCommand(), newUnpinCommand(), newRolloutCommand(), newDashboardCommand(), newSimulateCommand(prepareInCluster))
	command.AddCommand(newReadCommands(connectClusters)...)
	command.AddCommand(others...)
	completeFlags(command)
	completeDefaults(command)
	// kubectl runs a program of this name as its plugin.
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-slipway") {
		showAsPlugin(command)
	}
	return command
}

// showAsPlugin names the command kubectl slipway in its usage, and in the texts and examples of its
// subcommands, so that they can be copied.
func showAsPlugin(command *cobra.Command) {
	command.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slipway"}
	var names []string
	for _, sub := range command.Commands() {
		names = append(names, "slipway "+sub.Name(), "kubectl slipway "+sub.Name())
	}
	renamed := strings.NewReplacer(names...)
	var rename func([]*cobra.Command)
	rename = func(commands []*cobra.Command) {
		for _, sub := range commands {
			sub.Long, sub.Example = renamed.Replace(sub.Long), renamed.Replace(sub.Example)
			rename(sub.Commands())
		}
	}
	rename(command.Commands())
}

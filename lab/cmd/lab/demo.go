package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/awssim"

	"github.com/slipway-project/slipway/lab/demo"
)

// demoRate lets five simulated minutes, in which an instance warms up, pass in two seconds.
const demoRate = 150

func newDemoCommand() *cobra.Command {
	flags := &labFlags{provisioner: true}
	keep := false
	command := &cobra.Command{
		Use:   "demo",
		Short: "Walk the main job of Slipway and compare what is seen with what is expected",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runDemo(command.Context(), flags, keep, command.OutOrStdout())
		},
	}
	flags.register(command.Flags())
	command.Flags().BoolVar(&keep, "keep", false, "stay afterwards, until interrupted")
	flags.clusters = []string{"capa"}
	flags.clockRate = demoRate
	flags.instanceTimes = awssim.InstanceTimes{Pending: 15 * time.Second, Boot: 40 * time.Second, ShuttingDown: 20 * time.Second}
	return command
}

func runDemo(ctx context.Context, flags *labFlags, keep bool, out io.Writer) error {
	begin := time.Now()
	fmt.Fprintln(out, "Starting etcd, kube-apiserver, Cluster API, the simulated AWS and Slipway's manager and provisioner in one process ...")
	l, closer, err := flags.start(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Ready after %.1fs; %v of simulated time pass in a second.\n", time.Since(begin).Seconds(), demoRate*time.Second)
	failures, err := demo.Run(ctx, l, out)
	if err == nil && keep && ctx.Err() == nil {
		err = errors.Join(describe(out, l, time.Since(begin)), wait(ctx, l))
	}
	if err := errors.Join(err, closer()); err != nil {
		return err
	}
	if failures > 0 {
		return statusError(1)
	}
	return nil
}

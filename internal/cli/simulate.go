//go:build !image

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/rehearsal"
)

// simulateFlags holds the flags of `slipway simulate`.
type simulateFlags struct {
	planFlags
	failAt                       string
	nodeStart, drainTime, length time.Duration
}

// errNotAtRest reports the outcome of a simulation.
var errNotAtRest = errors.New("a pool did not come to rest with nodes that work")

func newSimulateCommand(prepare preparation) *cobra.Command {
	flags := &simulateFlags{}
	command := &cobra.Command{
		Use:   "simulate [POOL] [--set PATH=VALUE | -f FILE | -k DIRECTORY]",
		Short: "Perform an edit on a copy of a pool in a simulated AWS",
		Long: `Perform an edit on a copy of a pool in a simulated AWS, in fast motion, and show what happens over time: the
versions, the instance refresh or the update of the node group, which instances are replaced in which order, the
conditions, and how many nodes are up.

The command changes nothing in the management cluster and in AWS, and nothing is launched. It plans the edit first, as
"slipway plan" does, and reads the same with your credentials. Then Slipway's controllers run a copy of the pool in this
process, until the roll-out is complete, or does not go on.

With --fail-at, instances with the new configuration stop starting once that share of the nodes is replaced: their nodes
do not join. For an AWSMachinePool, EC2's status checks fail after two minutes. For an AWSManagedMachinePool, EKS gives up
after 15 minutes. You see whether the roll-out stops, whether the pool is rolled back, and how many nodes are up at the
worst moment.

Versions of the copy begin with 1, and the IDs of its instances are made up. Nodes take --node-start to become ready, and
--drain-time to drain: pods and PodDisruptionBudgets of the workload cluster are not read. EC2 has capacity for every
instance.

The exit code is 0 if nothing changes in AWS, 2 if the pool is rolled out or, with --fail-at, rolled back, and 1 if the
edit is refused, or the pool does not come to rest with nodes that work.`,
		Example: `  slipway simulate workers -n blue --set spec.awsLaunchTemplate.instanceType=m7i.large
  slipway simulate system -n blue --set spec.amiVersion=1.34.2-20260115 --fail-at 30%
  slipway simulate -f pool.yaml --node-start 3m --drain-time 10m -o json`,
		Args: atMostOne,
		RunE: func(command *cobra.Command, args []string) error { return flags.run(command, args, prepare) },

		ValidArgsFunction: flags.complete,
	}
	set := command.Flags()
	flags.bind(set)
	set.StringVar(&flags.failAt, "fail-at", "", "share of replaced nodes from which new instances fail, such as 30%; none fail if empty")
	set.DurationVar(&flags.nodeStart, "node-start", 2*time.Minute, "time from the launch of an instance until its node is ready")
	set.DurationVar(&flags.drainTime, "drain-time", time.Minute, "time that the pods of a node take to terminate")
	set.DurationVar(&flags.length, "length", 24*time.Hour, "simulated time after which the simulation stops in any case")
	return command
}

func (f *simulateFlags) run(command *cobra.Command, args []string, prepare preparation) error {
	ctx, cancel := context.WithTimeout(command.Context(), planTimeout)
	defer cancel()
	options, err := f.options()
	if err != nil {
		return err
	}
	planner, edited, err := prepare(ctx, &f.planFlags, command, args)
	if err != nil {
		return err
	}
	result, err := rehearsal.Run(ctx, planner, options, edited...)
	switch {
	case errors.Is(err, plan.ErrNoCopy):
		return fmt.Errorf("%w, so that there is nothing to simulate", err)
	case err != nil:
		return err
	}
	if f.output == textOutput {
		err = rehearsal.Print(command.OutOrStdout(), result)
	} else {
		err = encode(command.OutOrStdout(), result, f.output)
	}
	switch {
	case err != nil:
		return fmt.Errorf("printing the simulation: %w", err)
	case result.Failed():
		return errNotAtRest
	}
	return exitOf(result.Plan)
}

// options returns the options of the simulation.
func (f *simulateFlags) options() (rehearsal.Options, error) {
	options := rehearsal.Options{NodeStart: f.nodeStart, DrainTime: f.drainTime, Limit: f.length}
	switch {
	case min(f.nodeStart, f.drainTime) < 0:
		return options, errors.New("--node-start and --drain-time must not be negative")
	case f.length <= 0:
		return options, errors.New("--length must be positive, such as 24h")
	case f.failAt == "":
		return options, nil
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(f.failAt, "%"))
	if err != nil || percent < 0 || percent > 100 {
		return options, fmt.Errorf("--fail-at is %.64q, and must be a share from 0%% to 100%%, such as 30%%", f.failAt)
	}
	options.FailAt = &percent
	return options, nil
}

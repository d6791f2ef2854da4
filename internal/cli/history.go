package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/userdata"
)

func newHistoryCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &readFlags{connect: connect}
	command := &cobra.Command{
		Use:   "history POOL",
		Short: "Show what the instances of a pool were launched with, one row for each launch",
		Long: `Show what the instances of a pool were launched with: one row for each launch, the newest last. A launch is a
configuration that an instance ran after the instances had run another one. A new join token is not a launch.

BY is the field manager whose edit the version was created for, or launched again for. It is known only for recent
launches, because the API server keeps only the last edit of each manager. If the clock of AWS is ahead of yours, as the
simulated clock of a laboratory is, it is known only for the newest launch. NODES is the number of instances of the pool that
run the configuration now.

OUTCOME is Current for the wanted configuration that all instances run, InProgress while they are replaced, Incomplete if
some instances keep another one, RolledBack for a launch that a roll-back followed, and Replaced for any other.`,
		Example: `  slipway history workers
  slipway history awsmanagedmachinepool/workers -n blue -o json`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			return flags.withPool(command, args[0], func(_ context.Context, from *source, objects poolview.Objects) error {
				view := poolview.Of(objects, from.clock.Now())
				if view.History == nil {
					view.History = []poolview.Launch{}
				}
				return show(flags, command.OutOrStdout(), view.History, from.printer(command.OutOrStdout()).History)
			})
		},
	}
	flags.bind(command, poolNames)
	return command
}

func newDiffCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &readFlags{connect: connect}
	command := &cobra.Command{
		Use:   "diff POOL VERSION VERSION",
		Short: "Show how two launch template versions of a pool differ",
		Long: `Show how two launch template versions of a pool differ: each field, and the user data as a unified diff.

Join tokens, keys, passwords, and everything else that looks like a secret are redacted. For encoded pieces of the user data,
only their size and the beginning of a hash are shown. Where the user data points to a parameter or to an object in S3, the pointer
is compared and not what it points to.

The versions are read from EC2 with the identity of the Cluster, based on your AWS credentials. This needs the permission
ec2:DescribeLaunchTemplateVersions.`,
		Example: `  slipway history workers   # lists the versions
  slipway diff workers 6 7`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error { return runDiff(command, flags, args) },
	}
	flags.bind(command, poolNames)
	flags.bindAWS(command.Flags())
	return command
}

func runDiff(command *cobra.Command, flags *readFlags, args []string) error {
	var numbers [2]int64
	for i, text := range args[1:] {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number < 1 {
			return fmt.Errorf("%.64q is no version: use its number, such as 7", text)
		}
		numbers[i] = number
	}
	return flags.withPool(command, args[0], func(ctx context.Context, from *source, objects poolview.Objects) error {
		diff, err := from.diff(ctx, args[0], objects, numbers)
		if err != nil {
			return err
		}
		return show(flags, command.OutOrStdout(), &diff, from.printer(command.OutOrStdout()).Diff)
	})
}

// diff compares two versions of the launch template of a pool.
func (s *source) diff(ctx context.Context, pool string, objects poolview.Objects, numbers [2]int64) (poolview.Diff, error) {
	template := poolview.Of(objects, s.clock.Now()).LaunchTemplateID
	if template == "" {
		return poolview.Diff{}, errors.New("the pool has no launch template yet: see slipway status " + pool)
	}
	cluster, err := s.pools.ClusterOf(ctx, objects)
	if err != nil {
		return poolview.Diff{}, err
	}
	reader, err := s.aws(ctx)
	if err != nil {
		return poolview.Diff{}, err
	}
	before, after, err := reader.Versions(ctx, cluster, template, numbers[0], numbers[1])
	if err != nil {
		return poolview.Diff{}, err
	}
	return diffOf(template, before, after)
}

// diffOf compares two versions of a launch template.
func diffOf(template string, before, after launchtemplate.Data) (poolview.Diff, error) {
	diff := poolview.Diff{
		LaunchTemplateID: template, From: before.Version().Number, To: after.Version().Number, Changes: launchtemplate.ChangesBetween(before, after),
		SameNodes: before.Fingerprints().Config != "" && before.Fingerprints().Config == after.Fingerprints().Config,
	}
	if diff.Changes == nil {
		diff.Changes = []string{}
	}
	old, err := before.Contents()
	if err != nil {
		return diff, err
	}
	present, err := after.Contents()
	if err != nil {
		return diff, err
	}
	if string(old.UserData) == string(present.UserData) {
		return diff, nil
	}
	was, isText := userdata.Redacted(old.UserData)
	with, stayedText := userdata.Redacted(present.UserData)
	if !isText || !stayedText {
		diff.UserData = fmt.Sprintf("The user data is no text: %d bytes before, %d bytes after.\n", len(old.UserData), len(present.UserData))
		return diff, nil
	}
	diff.SecretsDiffer = was == with
	diff.UserData, err = difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(was), B: difflib.SplitLines(with), Context: 3,
		FromFile: fmt.Sprintf("user data of version %d", diff.From), ToFile: fmt.Sprintf("user data of version %d", diff.To),
	})
	if err != nil {
		return diff, fmt.Errorf("comparing the user data: %w", err)
	}
	return diff, nil
}

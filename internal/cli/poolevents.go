package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/internal/poolview"
)

func newEventsCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &readFlags{connect: connect}
	command := &cobra.Command{
		Use:   "events POOL",
		Short: "Show the events of a pool, merged from Kubernetes and Amazon EC2 Auto Scaling",
		Long: `Show the events of a pool, the newest last: the Kubernetes events about the pool, its MachinePool, and its
AWSLaunchConfig, and the newest 100 scaling activities of its Auto Scaling group.

Kubernetes keeps events for an hour by default, and AWS keeps activities for six weeks. The activities are read with the
identity of the Cluster, based on your AWS credentials, and left out with a note if that is not possible. This needs the
permission autoscaling:DescribeScalingActivities. If the clock of AWS is ahead of yours, as the simulated clock of a laboratory
is, the activities follow the events.`,
		Example: `  slipway events workers
  slipway events workers -n blue -o json`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			return flags.withPool(command, args[0], func(ctx context.Context, from *source, objects poolview.Objects) error {
				view := poolview.Of(objects, from.clock.Now())
				events, err := eventsOf(ctx, from, view.Namespace, aboutPool(&view, objects))
				if err != nil {
					return err
				}
				activities, failure := from.activities(ctx, &view, objects)
				noted(command.ErrOrStderr(), "The activities of the Auto Scaling group are missing", failure)
				events, merged := merge(events, activities, from.clock.Now())
				if !merged {
					fmt.Fprintln(command.ErrOrStderr(), "The clock of AWS is ahead of this computer's: the activities follow the events instead of being merged with them.")
				}
				return show(flags, command.OutOrStdout(), events, from.printer(command.OutOrStdout()).Events)
			})
		},
	}
	flags.bind(command, poolNames)
	flags.bindAWS(command.Flags())
	return command
}

// clocksAgree is by how much AWS's clock may be ahead of this computer's, at most, for times of both to be
// compared.
const clocksAgree = time.Minute

// merge returns the events of Kubernetes and AWS in the order of their times. It reports false if an activity
// is in the future: the clocks differ, as they do in the laboratory, and all activities follow the events.
func merge(events, activities []poolview.Event, now time.Time) (all []poolview.Event, merged bool) {
	poolview.SortEvents(activities)
	if len(activities) > 0 && activities[len(activities)-1].Time.Sub(now) > clocksAgree {
		poolview.SortEvents(events)
		return slices.Concat(events, activities), false
	}
	all = slices.Concat(events, activities)
	poolview.SortEvents(all)
	return all, true
}

// aboutPool returns the objects of a pool by kind and name.
func aboutPool(view *poolview.View, objects poolview.Objects) map[string]bool {
	about := map[string]bool{view.Kind + "/" + view.Name: true}
	if objects.MachinePool != nil {
		about["MachinePool/"+objects.MachinePool.Name] = true
	}
	if view.LaunchConfig != "" {
		about["AWSLaunchConfig/"+view.LaunchConfig] = true
	}
	return about
}

// activities returns the scaling activities of a pool's group as events.
func (s *source) activities(ctx context.Context, view *poolview.View, objects poolview.Objects) ([]poolview.Event, error) {
	if view.Group == "" {
		return nil, nil
	}
	cluster, err := s.pools.ClusterOf(ctx, objects)
	if err != nil {
		return nil, err
	}
	reader, err := s.aws(ctx)
	if err != nil {
		return nil, err
	}
	activities, err := reader.Activities(ctx, cluster, view.Group)
	if err != nil {
		return nil, err
	}
	events := make([]poolview.Event, 0, len(activities))
	for _, activity := range activities {
		message := activity.Description
		if activity.Message != "" {
			message += ": " + activity.Message
		}
		if activity.Cause != "" {
			message += ". " + activity.Cause
		}
		events = append(events, poolview.Event{Time: activity.Time, Source: view.Group, Warning: activity.Status == "Failed" || activity.Status == "Cancelled", Reason: activity.Status, Message: message})
	}
	return events, nil
}

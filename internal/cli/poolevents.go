package cli

import (
	"context"

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
permission autoscaling:DescribeScalingActivities.`,
		Example: `  slipway events workers
  slipway events workers -n blue -o json`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			return flags.withPool(command, args[0], func(ctx context.Context, from *source, objects poolview.Objects) error {
				view := poolview.Of(objects, from.clock.Now())
				events, err := from.eventsOf(ctx, view.Namespace, aboutPool(&view, objects))
				if err != nil {
					return err
				}
				activities, failure := from.activities(ctx, &view, objects)
				noted(command.ErrOrStderr(), "The activities of the Auto Scaling group are missing", failure)
				events = append(events, activities...)
				poolview.SortEvents(events)
				return show(flags, command.OutOrStdout(), events, from.printer(command.OutOrStdout()).Events)
			})
		},
	}
	flags.bind(command, poolNames)
	flags.bindAWS(command.Flags())
	return command
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

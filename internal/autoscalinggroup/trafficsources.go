package autoscalinggroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TrafficSource is what instances are registered with: a target group, or a Classic Load Balancer.
type TrafficSource struct{ Identifier, Type string }

// TrafficSourcesOf returns the traffic sources that a pool lists, sorted by identifier.
func TrafficSourcesOf(listed []infrav1.TrafficSource) []TrafficSource {
	var sources []TrafficSource
	for _, source := range listed {
		sources = append(sources, TrafficSource{Identifier: source.Identifier, Type: source.Type})
	}
	return sortSources(sources)
}

// Identifiers returns the identifiers of traffic sources.
func Identifiers(sources []TrafficSource) []string {
	var names []string
	for _, source := range sources {
		names = append(names, source.Identifier)
	}
	return names
}

// sortSources sorts in place.
func sortSources(sources []TrafficSource) []TrafficSource {
	slices.SortFunc(sources, func(a, b TrafficSource) int { return cmp.Compare(a.Identifier, b.Identifier) })
	return sources
}

// trafficSourcesWithGroup returns the traffic sources that a group is created with. A request with target groups has none, so that they are attached after it: the
// two members are alternatives (Terraform: aws_autoscaling_group, traffic_source).
func trafficSourcesWithGroup(desired Desired) []asgtypes.TrafficSourceIdentifier {
	if len(desired.TargetGroupARNs) > 0 {
		return nil
	}
	return sourceIdentifiers(desired.TrafficSources)
}

func sourceIdentifiers(sources []TrafficSource) []asgtypes.TrafficSourceIdentifier {
	var list []asgtypes.TrafficSourceIdentifier
	for i := range sources {
		list = append(list, asgtypes.TrafficSourceIdentifier{Identifier: &sources[i].Identifier, Type: given(sources[i].Type)})
	}
	return list
}

// EnsureTrafficSources attaches the traffic sources that are wanted, and detaches those whose identifiers are retired and that are still attached. Traffic sources of
// others stay. It changes the group that was seen accordingly, and returns what it did.
func (g *Groups) EnsureTrafficSources(ctx context.Context, desired Desired, retired []string, group *Group) ([]string, error) {
	var done []string
	attached := slices.Concat(Identifiers(group.TrafficSources), group.TargetGroupARNs)
	missing := slices.DeleteFunc(slices.Clone(desired.TrafficSources), func(source TrafficSource) bool { return slices.Contains(attached, source.Identifier) })
	for batch := range slices.Chunk(missing, targetGroupBatch) {
		if _, err := g.api.AttachTrafficSources(ctx, attachInput(group.Name, batch, desired.Settings)); err != nil {
			return done, fmt.Errorf("attaching traffic sources %q to Auto Scaling group %q: %w", Identifiers(batch), group.Name, err)
		}
		group.TrafficSources = sortSources(slices.Concat(group.TrafficSources, batch))
		done = append(done, "attached "+strings.Join(Identifiers(batch), ", "))
	}
	gone := without(retired, Identifiers(desired.TrafficSources))
	surplus := slices.DeleteFunc(slices.Clone(group.TrafficSources), func(source TrafficSource) bool { return !slices.Contains(gone, source.Identifier) })
	for batch := range slices.Chunk(surplus, targetGroupBatch) {
		if _, err := g.api.DetachTrafficSources(ctx, &autoscaling.DetachTrafficSourcesInput{
			AutoScalingGroupName: &group.Name, TrafficSources: sourceIdentifiers(batch),
		}); err != nil {
			return done, fmt.Errorf("detaching traffic sources %q from Auto Scaling group %q: %w", Identifiers(batch), group.Name, err)
		}
		group.TrafficSources = slices.DeleteFunc(slices.Clone(group.TrafficSources), func(source TrafficSource) bool { return slices.Contains(batch, source) })
		done = append(done, "detached "+strings.Join(Identifiers(batch), ", "))
	}
	return done, nil
}

// attachInput returns the request that attaches traffic sources.
func attachInput(group string, sources []TrafficSource, settings Settings) *autoscaling.AttachTrafficSourcesInput {
	input := &autoscaling.AttachTrafficSourcesInput{AutoScalingGroupName: &group, TrafficSources: sourceIdentifiers(sources)}
	if settings.SkipZonalShiftValidation {
		input.SkipZonalShiftValidation = &settings.SkipZonalShiftValidation
	}
	return input
}

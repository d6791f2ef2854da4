package autoscalinggroup

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

// TrafficSource is a target group or a Classic Load Balancer that instances are registered with.
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

// trafficSourcesWithGroup returns the traffic sources that a group is created with. A request with
// target groups has none, so that they are attached after it: the two members are alternatives
// (Terraform: aws_autoscaling_group, traffic_source).
func trafficSourcesWithGroup(desired Desired) []asgtypes.TrafficSourceIdentifier {
	if len(desired.TargetGroupARNs) > 0 {
		return nil
	}
	return sourceIdentifiers(desired.TrafficSources)
}

func sourceIdentifiers(sources []TrafficSource) []asgtypes.TrafficSourceIdentifier {
	var list []asgtypes.TrafficSourceIdentifier
	for i := range sources {
		list = append(list, asgtypes.TrafficSourceIdentifier{Identifier: &sources[i].Identifier, Type: optional.Text(sources[i].Type)})
	}
	return list
}

// attachInput returns the request that attaches traffic sources.
func attachInput(group string, sources []TrafficSource, settings Settings) *autoscaling.AttachTrafficSourcesInput {
	input := &autoscaling.AttachTrafficSourcesInput{AutoScalingGroupName: &group, TrafficSources: sourceIdentifiers(sources)}
	if settings.SkipZonalShiftValidation {
		input.SkipZonalShiftValidation = &settings.SkipZonalShiftValidation
	}
	return input
}

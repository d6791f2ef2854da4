package autoscalinggroup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// Given lists what a pool gave its group earlier. Entries of these lists that are no longer desired
// are removed, whether or not the group is seen to have them: AWS may not show recent changes yet.
// Processes and attachments of others stay.
type Given struct {
	// Processes are suspended, TargetGroups are ARNs, and TrafficSources are identifiers.
	Processes, TargetGroups, TrafficSources []string
}

// Operation is the kind of call that applies a Change.
type Operation string

// The operations, in the order in which they are done. First come the calls that keep instances
// from coming or going unseen. Whatever conflicts with the new configuration, such as a warm pool
// that it does not allow, is removed before it is applied.
const (
	Suspend              Operation = "SuspendProcesses"
	Resume               Operation = "ResumeProcesses"
	EndWarmPool          Operation = "DeleteWarmPool"
	Update               Operation = "UpdateAutoScalingGroup"
	AttachTargetGroups   Operation = "AttachLoadBalancerTargetGroups"
	DetachTargetGroups   Operation = "DetachLoadBalancerTargetGroups"
	AttachTrafficSources Operation = "AttachTrafficSources"
	DetachTrafficSources Operation = "DetachTrafficSources"
	SetWarmPool          Operation = "PutWarmPool"
)

// Change is one call that brings a group closer to what is desired.
type Change struct {
	Operation Operation
	// Effects describe what differs afterwards.
	Effects []string
	// Names are the processes, ARNs or identifiers that the call is about.
	Names []string
	// Sources are the traffic sources that the call is about.
	Sources []TrafficSource
	// Unseen is true if the group is not seen to have what the call detaches. It is no error then if
	// the group does not have it.
	Unseen bool
}

// Changes returns the calls that bring a group to the desired state, hooks and tags apart, in
// order. It returns none for a group that is as desired.
func Changes(desired Desired, given Given, group Group) []Change {
	var changes []Change
	for _, part := range []func(Desired, Given, Group) []Change{
		processChanges, warmPoolDeletion, updates, targetGroupChanges, trafficSourceChanges, warmPoolChanges,
	} {
		// The parts after this one see the group as its changes leave it.
		for _, change := range part(desired, given, group) {
			change.show(desired, &group)
			changes = append(changes, change)
		}
	}
	return changes
}

// Effects describe what a list of changes does.
func Effects(changes []Change) []string {
	var effects []string
	for _, change := range changes {
		effects = append(effects, change.Effects...)
	}
	return effects
}

func processChanges(desired Desired, given Given, group Group) []Change {
	var changes []Change
	if missing := without(desired.Suspended, group.Suspended); len(missing) > 0 {
		changes = append(changes, Change{Operation: Suspend, Names: missing, Effects: []string{"suspended " + strings.Join(missing, ", ")}})
	}
	if ended := without(given.Processes, desired.Suspended); len(ended) > 0 {
		changes = append(changes, Change{Operation: Resume, Names: ended, Effects: []string{"resumed " + strings.Join(ended, ", ")}})
	}
	return changes
}

func warmPoolDeletion(desired Desired, _ Given, group Group) []Change {
	if desired.WarmPool != nil || group.WarmPool == nil || group.WarmPoolDeleting {
		return nil
	}
	return []Change{{Operation: EndWarmPool, Effects: []string{"warm pool is deleted"}}}
}

func updates(desired Desired, _ Given, group Group) []Change {
	reasons := updateReasons(desired, group)
	if len(reasons) == 0 {
		return nil
	}
	return []Change{{Operation: Update, Effects: reasons}}
}

func targetGroupChanges(desired Desired, given Given, group Group) []Change {
	var changes []Change
	attached := slices.Concat(group.TargetGroupARNs, Identifiers(group.TrafficSources))
	for batch := range slices.Chunk(without(desired.TargetGroupARNs, attached), targetGroupBatch) {
		changes = append(changes, Change{Operation: AttachTargetGroups, Names: batch, Effects: []string{"attached " + strings.Join(batch, ", ")}})
	}
	retired := without(given.TargetGroups, desired.TargetGroupARNs)
	for batch := range slices.Chunk(both(retired, group.TargetGroupARNs), targetGroupBatch) {
		changes = append(changes, Change{Operation: DetachTargetGroups, Names: batch, Effects: []string{"detached " + strings.Join(batch, ", ")}})
	}
	for _, arn := range without(retired, group.TargetGroupARNs) {
		changes = append(changes, Change{Operation: DetachTargetGroups, Names: []string{arn}, Unseen: true, Effects: []string{"detached " + arn}})
	}
	return changes
}

func trafficSourceChanges(desired Desired, given Given, group Group) []Change {
	var changes []Change
	attached := slices.Concat(Identifiers(group.TrafficSources), group.TargetGroupARNs)
	missing := slices.DeleteFunc(slices.Clone(desired.TrafficSources), func(source TrafficSource) bool { return slices.Contains(attached, source.Identifier) })
	for batch := range slices.Chunk(missing, targetGroupBatch) {
		changes = append(changes, Change{Operation: AttachTrafficSources, Sources: batch, Effects: []string{"attached " + strings.Join(Identifiers(batch), ", ")}})
	}
	retired := without(given.TrafficSources, Identifiers(desired.TrafficSources))
	surplus := slices.DeleteFunc(slices.Clone(group.TrafficSources), func(source TrafficSource) bool { return !slices.Contains(retired, source.Identifier) })
	for batch := range slices.Chunk(surplus, targetGroupBatch) {
		changes = append(changes, Change{Operation: DetachTrafficSources, Sources: batch, Effects: []string{"detached " + strings.Join(Identifiers(batch), ", ")}})
	}
	for _, identifier := range without(retired, Identifiers(group.TrafficSources)) {
		unseen := TrafficSource{Identifier: identifier, Type: sourceType(identifier)}
		changes = append(changes, Change{Operation: DetachTrafficSources, Sources: []TrafficSource{unseen}, Unseen: true, Effects: []string{"detached " + identifier}})
	}
	return changes
}

// sourceType returns the type of a traffic source by its identifier: target groups have ARNs, and
// Classic Load Balancers have names.
func sourceType(identifier string) string {
	switch parsed, err := arn.Parse(identifier); {
	case err != nil:
		return "elb"
	case parsed.Service == "vpc-lattice":
		return "vpc-lattice"
	default:
		return "elbv2"
	}
}

// warmPoolChanges returns no change while an earlier warm pool is being deleted, which must be gone first.
func warmPoolChanges(desired Desired, _ Given, group Group) []Change {
	if desired.WarmPool == nil || group.WarmPoolDeleting || group.WarmPool != nil && *group.WarmPool == *desired.WarmPool {
		return nil
	}
	return []Change{{Operation: SetWarmPool, Effects: []string{"warm pool is set"}}}
}

// show applies a change to a group that was seen. Its slices, which may be shared, are replaced and
// not changed.
func (c Change) show(desired Desired, group *Group) {
	switch c.Operation {
	case Suspend:
		group.Suspended = sorted(slices.Concat(group.Suspended, c.Names))
	case Resume:
		group.Suspended = without(group.Suspended, c.Names)
	case EndWarmPool:
		group.WarmPoolDeleting = true
	case Update:
		Apply(desired, group)
	case AttachTargetGroups:
		group.TargetGroupARNs = sorted(slices.Concat(group.TargetGroupARNs, c.Names))
	case DetachTargetGroups:
		group.TargetGroupARNs = without(group.TargetGroupARNs, c.Names)
	case AttachTrafficSources:
		group.TrafficSources = sortSources(slices.Concat(group.TrafficSources, c.Sources))
	case DetachTrafficSources:
		group.TrafficSources = slices.DeleteFunc(slices.Clone(group.TrafficSources), func(source TrafficSource) bool { return slices.Contains(c.Sources, source) })
	case SetWarmPool:
		wanted := *desired.WarmPool
		group.WarmPool = &wanted
	}
}

// Make applies one change, and updates the group that was seen.
func (g *Groups) Make(ctx context.Context, desired Desired, change Change, group *Group) error {
	if err := g.make(ctx, desired, change, *group); err != nil {
		return err
	}
	change.show(desired, group)
	return nil
}

func (g *Groups) make(ctx context.Context, desired Desired, change Change, group Group) error {
	name := &group.Name
	var err error
	switch change.Operation {
	case Suspend:
		_, err = g.api.SuspendProcesses(ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: name, ScalingProcesses: change.Names})
	case Resume:
		_, err = g.api.ResumeProcesses(ctx, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: name, ScalingProcesses: change.Names})
	case EndWarmPool:
		return g.DeleteWarmPool(ctx, group.Name)
	case Update:
		return g.Update(ctx, desired, group)
	case AttachTargetGroups:
		_, err = g.api.AttachLoadBalancerTargetGroups(ctx, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: name, TargetGroupARNs: change.Names})
	case DetachTargetGroups:
		_, err = g.api.DetachLoadBalancerTargetGroups(ctx, &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: name, TargetGroupARNs: change.Names})
	case AttachTrafficSources:
		_, err = g.api.AttachTrafficSources(ctx, attachInput(group.Name, change.Sources, desired.Settings))
	case DetachTrafficSources:
		_, err = g.api.DetachTrafficSources(ctx, &autoscaling.DetachTrafficSourcesInput{AutoScalingGroupName: name, TrafficSources: sourceIdentifiers(change.Sources)})
	case SetWarmPool:
		_, err = g.api.PutWarmPool(ctx, warmPoolInput(group.Name, *desired.WarmPool))
	}
	if err != nil && (!change.Unseen || !notAttached(err)) {
		return fmt.Errorf("%s for Auto Scaling group %q: %w", change.doing(), group.Name, err)
	}
	return nil
}

// notAttached reports whether Auto Scaling refused to detach what is not attached. It answers a
// ValidationError, for target groups that "are not part of the group"; its words for traffic sources
// are not documented. A ValidationError for too many changes at once is another matter (Terraform's
// AWS provider, internal/service/autoscaling/attachment.go).
func notAttached(err error) bool {
	return aws.Code(err) == "ValidationError" && !strings.Contains(err.Error(), "too many")
}

// doing describes a change that failed.
func (c Change) doing() string {
	names := strings.Join(c.Names, ", ")
	if len(c.Sources) > 0 {
		names = strings.Join(Identifiers(c.Sources), ", ")
	}
	switch c.Operation {
	case Suspend:
		return "suspending processes " + names
	case Resume:
		return "resuming processes " + names
	case AttachTargetGroups:
		return "attaching target groups " + names
	case DetachTargetGroups:
		return "detaching target groups " + names
	case AttachTrafficSources:
		return "attaching traffic sources " + names
	case DetachTrafficSources:
		return "detaching traffic sources " + names
	case SetWarmPool:
		return "creating the warm pool"
	default:
		return string(c.Operation)
	}
}

// TagChanges returns the keys of the tags that must be set or removed for a group's tags to be as
// desired, sorted.
func TagChanges(desired Desired, group Group) []string {
	return changedKeys(tagdiff.Stale(desired.Tags, group.Tags), tagdiff.Retired(desired.RetiredTags, desired.Tags))
}

// changedKeys returns the keys of the tags that are set or removed, sorted.
func changedKeys(stale map[string]string, retired []string) []string {
	return sorted(slices.Concat(slices.Collect(maps.Keys(stale)), retired))
}

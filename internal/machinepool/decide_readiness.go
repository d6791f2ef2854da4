package machinepool

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Auto Scaling replaces the next instances once the new ones have been in service for their warm-up
// (AWS: asg-instance-refresh). It does not know whether a Node came of them. So Slipway stops a roll-out
// itself if it would replace nodes that work with nodes that do not.

const (
	// leastWarmup is the default warm-up. A shorter one says how fast instances are replaced, and not
	// how fast nodes start.
	leastWarmup = 5 * time.Minute
	// beforeWarmup has a Node be Ready some time before its warm-up has passed, because AWS then
	// replaces the next instances.
	beforeWarmup = time.Minute
	// brokenLook is the delay before the nodes of a roll-out that was stopped are checked again.
	brokenLook = 2 * time.Minute
)

// readinessKnown has Nodes read once an instance that runs what is wanted should have a Ready one, while
// others are still to be replaced. A cluster that does not answer is no reason to wait.
func readinessKnown(in input) bool {
	return in.Seen.Readiness.Read || in.Seen.Readiness.Err != nil || len(overdue(in)) == 0
}

// broken reports whether the nodes of instances that run what is wanted do not become Ready. While the
// workload cluster cannot be read, what was found last is still so.
func broken(in input) bool {
	if in.Seen.Readiness.Err != nil {
		shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition)
		return shown != nil && shown.Reason == infrav1.NodesNotReadyReason && len(overdue(in)) > 0
	}
	return in.Seen.Readiness.Read && len(unready(in)) > 0
}

// overdue returns the instances that run what is wanted and should have a Ready Node already,
// if others must still be replaced.
func overdue(in input) []autoscalinggroup.Instance {
	if launchable(in) == nil || in.Seen.Group == nil || !drainPossible(in) {
		return nil
	}
	target, outdated := wanted(in), false
	var found []autoscalinggroup.Instance
	for _, instance := range in.Seen.Group.Instances {
		switch since := inServiceTime(in, instance); {
		case !instance.InService():
		case !target.Runs(instance):
			outdated = true
		case since != nil && in.Now.Sub(since.Time) >= readyAfter(in):
			found = append(found, instance)
		}
	}
	if !outdated {
		return nil
	}
	return found
}

// readyAfter returns how long after it came into service an instance should have a Ready Node.
func readyAfter(in input) time.Duration {
	seconds := int64(ptr.Deref(in.Object.Spec.DefaultInstanceWarmup, metav1.Duration{}).Seconds())
	if preferences := in.Object.Spec.RefreshPreferences; preferences != nil && preferences.InstanceWarmup != nil {
		seconds = *preferences.InstanceWarmup
	}
	return max(leastWarmup, time.Duration(seconds)*time.Second) - beforeWarmup
}

// unready returns the instances that are overdue, if no instance that runs what is wanted has a Ready
// Node and one that is to be replaced has. A configuration that works on one instance is not broken, and
// where no node is Ready there is nothing to lose.
func unready(in input) []autoscalinggroup.Instance {
	late := overdue(in)
	if len(late) == 0 {
		return nil
	}
	target, works := wanted(in), false
	for _, instance := range in.Seen.Group.Instances {
		switch ready := in.Seen.Readiness.Ready[instance.ProviderID()]; {
		case !ready || !instance.InService():
		case target.Runs(instance):
			return nil
		default:
			works = true
		}
	}
	if !works {
		return nil
	}
	return late
}

// brokenBecause describes which nodes do not become Ready, and what that means.
func brokenBecause(in input) string {
	late := unready(in)
	if len(late) == 0 {
		late = overdue(in)
	}
	ids := instanceIDs(late)
	slices.Sort(ids)
	names := named(ids[:min(len(ids), mostShown)])
	if more := len(ids) - mostShown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("no instance with the desired configuration has a Ready node, %s after it came into service: %s. Slipway replaces no more nodes until one is Ready or "+
		"the spec changes", readyAfter(in), names)
}

// inServiceTime returns since when an instance is in service with what it runs, as status has it, nil if it
// is not.
func inServiceTime(in input, instance autoscalinggroup.Instance) *metav1.Time {
	if !instance.InService() {
		return nil
	}
	current := instanceStatus(instance)
	for _, before := range in.Object.Status.Instances {
		if before.InstanceID == instance.ID && before.InServiceTime != nil && before.LifecycleState == current.LifecycleState &&
			before.LaunchTemplateVersion == current.LaunchTemplateVersion {
			return before.InServiceTime
		}
	}
	return ptr.To(metav1.NewTime(in.Now))
}

// waitAnew has instances that are in service wait for their nodes again.
func waitAnew(in input) {
	for i := range in.Object.Status.Instances {
		in.Object.Status.Instances[i].InServiceTime = nil
	}
}

// showBroken shows that a roll-out was stopped, because the nodes that it brings do not become Ready.
func showBroken(in input, message string) {
	reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.NodesNotReadyReason, because(cause(in), message+"; "+brokenBecause(in)))
}

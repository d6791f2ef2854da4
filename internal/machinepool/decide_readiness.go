package machinepool

import (
	"fmt"
	"slices"
	"strconv"
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
	return in.Seen.Readiness.Read && unready(in)
}

// overdue returns the instances that run what is wanted and should have a Ready Node already,
// if others must still be replaced.
func overdue(in input) []autoscalinggroup.Instance {
	if launchable(in) == nil || in.Seen.Group == nil || !drainPossible(in) {
		return nil
	}
	target, instances := wanted(in), in.Seen.Group.Instances
	outdated := func(instance autoscalinggroup.Instance) bool { return instance.InService() && !target.Runs(instance) }
	if !slices.ContainsFunc(instances, outdated) {
		return nil
	}
	times, due := inServiceTimes(in), readyAfter(in)
	var found []autoscalinggroup.Instance
	for _, instance := range instances {
		if instance.InService() && target.Runs(instance) && in.Now.Sub(times[instance.ID].Time) >= due {
			found = append(found, instance)
		}
	}
	return found
}

// readyAfter returns how long after it came into service an instance should have a Ready Node.
func readyAfter(in input) time.Duration {
	seconds := int64(autoscalinggroup.SettingsOf(&in.Object.Spec).Warmup)
	if preferences := in.Object.Spec.RefreshPreferences; preferences != nil && preferences.InstanceWarmup != nil {
		seconds = *preferences.InstanceWarmup
	}
	return max(leastWarmup, time.Duration(seconds)*time.Second) - beforeWarmup
}

// unready reports whether most instances that run what is wanted have no Ready Node although they are
// overdue, while earlier ones do better. One broken machine among others says nothing about a
// configuration, and where earlier nodes do no better there is nothing to lose.
func unready(in input) bool {
	missing, ready := judged(in)
	target, earlier, working := wanted(in), 0, 0
	for _, instance := range in.Seen.Group.Instances {
		if !instance.InService() || target.Runs(instance) {
			continue
		}
		earlier++
		if in.Seen.Readiness.Ready[instance.ProviderID()] {
			working++
		}
	}
	return len(missing) > ready && working*(len(missing)+ready) > ready*earlier
}

// judged returns the instances that run what is wanted and have no Ready Node although they are overdue,
// and how many have one. An instance that is not overdue counts only once its Node is Ready.
func judged(in input) (missing []autoscalinggroup.Instance, ready int) {
	works := func(instance autoscalinggroup.Instance) bool { return in.Seen.Readiness.Ready[instance.ProviderID()] }
	missing = slices.DeleteFunc(overdue(in), works)
	if len(missing) == 0 {
		return nil, 0
	}
	target := wanted(in)
	for _, instance := range in.Seen.Group.Instances {
		if instance.InService() && target.Runs(instance) && works(instance) {
			ready++
		}
	}
	return missing, ready
}

// brokenBecause describes which nodes do not become Ready, and what that means.
func brokenBecause(in input) string {
	if in.Seen.Readiness.Err != nil {
		return "most instances with the desired configuration had no Ready node when the workload cluster last answered. " + replacesNoMore
	}
	missing, ready := judged(in)
	ids := instanceIDs(missing)
	slices.Sort(ids)
	return fmt.Sprintf("%d of %d instances with the desired configuration have no Ready node %s after they came into service: %s. %s",
		len(missing), len(missing)+ready, readyAfter(in), named(ids), replacesNoMore)
}

// replacesNoMore says what a roll-out whose nodes do not become Ready means.
const replacesNoMore = "Slipway replaces no more nodes until most of them are Ready or the spec changes"

// inServiceTimes returns since when instances are in service with what they run, by ID, as status has it.
func inServiceTimes(in input) map[string]*metav1.Time {
	shown := make(map[string]infrav1.AWSMachinePoolInstanceStatus, len(in.Object.Status.Instances))
	for _, status := range in.Object.Status.Instances {
		shown[status.InstanceID] = status
	}
	times := make(map[string]*metav1.Time, len(in.Seen.Group.Instances))
	for _, instance := range in.Seen.Group.Instances {
		if !instance.InService() {
			continue
		}
		before := shown[instance.ID]
		times[instance.ID] = before.InServiceTime
		if before.InServiceTime == nil || before.LifecycleState != instance.LifecycleState || before.LaunchTemplateVersion != strconv.FormatInt(instance.Version, 10) {
			times[instance.ID] = ptr.To(metav1.NewTime(in.Now))
		}
	}
	return times
}

// waitAnew has instances that are in service wait for their nodes again.
func waitAnew(in input) {
	for i := range in.Object.Status.Instances {
		in.Object.Status.Instances[i].InServiceTime = nil
	}
}

// showBroken shows that a roll-out was stopped, because the nodes that it brings do not become Ready.
func showBroken(in input, message string) {
	if in.Seen.Readiness.Err != nil {
		return // what was found last is shown
	}
	reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.NodesNotReadyReason, because(cause(in), message+"; "+brokenBecause(in)))
}

package autoscalinggroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ProcessLaunch is the process that adds instances. A group without it stays as small as it is.
const ProcessLaunch = "Launch"

// SuspendedOf are the processes that a pool stops, sorted: all but those that it says false to, or those that it says true to.
func SuspendedOf(wanted *infrav1.SuspendProcessesTypes) []string {
	if wanted == nil {
		return nil
	}
	named := wanted.Processes
	if named == nil {
		named = &infrav1.Processes{}
	}
	var suspended []string
	for _, process := range []struct {
		name string
		stop *bool
	}{
		{"AZRebalance", named.AZRebalance}, {"AddToLoadBalancer", named.AddToLoadBalancer}, {"AlarmNotification", named.AlarmNotification},
		{"HealthCheck", named.HealthCheck}, {"InstanceRefresh", named.InstanceRefresh}, {ProcessLaunch, named.Launch},
		{"ReplaceUnhealthy", named.ReplaceUnhealthy}, {"ScheduledActions", named.ScheduledActions}, {"Terminate", named.Terminate},
	} {
		stop := wanted.All
		set(&stop, process.stop)
		if stop {
			suspended = append(suspended, process.name)
		}
	}
	return suspended
}

// EnsureProcesses suspends what is wanted, and resumes those of retired that are still suspended. What others suspended stays so. It changes the group
// that was seen accordingly, and says in words what it did.
func (g *Groups) EnsureProcesses(ctx context.Context, wanted, retired []string, group *Group) ([]string, error) {
	var done []string
	if missing := without(wanted, group.Suspended); len(missing) > 0 {
		if _, err := g.api.SuspendProcesses(ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: &group.Name, ScalingProcesses: missing}); err != nil {
			return done, fmt.Errorf("suspending processes %q of Auto Scaling group %q: %w", missing, group.Name, err)
		}
		group.Suspended = sorted(slices.Concat(group.Suspended, missing))
		done = append(done, "suspended "+strings.Join(missing, ", "))
	}
	if ended := both(without(retired, wanted), group.Suspended); len(ended) > 0 {
		if _, err := g.api.ResumeProcesses(ctx, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: &group.Name, ScalingProcesses: ended}); err != nil {
			return done, fmt.Errorf("resuming processes %q of Auto Scaling group %q: %w", ended, group.Name, err)
		}
		group.Suspended = without(group.Suspended, ended)
		done = append(done, "resumed "+strings.Join(ended, ", "))
	}
	return done, nil
}

// without and both return what of a list is not, or is, in another one.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(other, one) })
}

func both(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return !slices.Contains(other, one) })
}

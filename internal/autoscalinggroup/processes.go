package autoscalinggroup

import (
	"slices"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ProcessLaunch is the process that adds instances. A group without it stays as small as it is.
const ProcessLaunch = "Launch"

// SuspendedOf returns the processes that a pool suspends, sorted: all processes except for the ones
// set to false, or only the ones set to true.
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

// without and both return what of a list is not, or is, in another one.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(other, one) })
}

func both(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return !slices.Contains(other, one) })
}

package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Processes that can be suspended (UG as-suspend-resume-processes). AddToLoadBalancer and
// AlarmNotification have nothing to do here: the simulation has no load balancers, and no alarms
// that execute scaling policies.
const (
	processLaunch           = "Launch"
	processTerminate        = "Terminate"
	processAZRebalance      = "AZRebalance"
	processHealthCheck      = "HealthCheck"
	processInstanceRefresh  = "InstanceRefresh"
	processReplaceUnhealthy = "ReplaceUnhealthy"
)

var processNames = []string{
	"AddToLoadBalancer", "AlarmNotification", processAZRebalance, processHealthCheck, processInstanceRefresh, processLaunch,
	processReplaceUnhealthy, processScheduledActions, processTerminate,
}

func (g *group) suspends(process string) bool {
	return slices.ContainsFunc(g.suspended, func(p types.SuspendedProcess) bool { return *p.ProcessName == process })
}

// processes returns the processes that a call names, or all of them if it names none.
func processes(named []string) ([]string, error) {
	if len(named) == 0 {
		return processNames, nil
	}
	for _, n := range named {
		if !slices.Contains(processNames, n) {
			return nil, invalid("Invalid process type: %s. Valid process types are: [AddToLoadBalancer, AlarmNotification, AZRebalance, HealthCheck, InstanceRefresh, Launch, ReplaceUnhealthy, ScheduledActions, Terminate]", n)
		}
	}
	return named, nil
}

// processActions suspends and resumes the processes of groups.
type processActions struct {
	groups *groups
}

func (api *processActions) suspend(c *sim.Call, in *autoscaling.SuspendProcessesInput) (*autoscaling.SuspendProcessesOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	names, err := processes(in.ScalingProcesses)
	if err != nil {
		return nil, err
	}
	suspended := slices.Clone(g.suspended)
	for _, n := range names {
		if !g.suspends(n) {
			suspended = append(suspended, types.SuspendedProcess{ProcessName: ptr(n), SuspensionReason: ptr("User suspended at " + stamp(c.Now))})
		}
	}
	slices.SortFunc(suspended, func(a, b types.SuspendedProcess) int {
		return slices.Index(processNames, *a.ProcessName) - slices.Index(processNames, *b.ProcessName)
	})
	g.suspended = suspended
	api.groups.changed(g)
	return &autoscaling.SuspendProcessesOutput{}, nil
}

func (api *processActions) resume(c *sim.Call, in *autoscaling.ResumeProcessesInput) (*autoscaling.ResumeProcessesOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	names, err := processes(in.ScalingProcesses)
	if err != nil {
		return nil, err
	}
	g.suspended = list.Filter(g.suspended, func(p types.SuspendedProcess) bool { return !slices.Contains(names, *p.ProcessName) })
	api.groups.changed(g)
	return &autoscaling.ResumeProcessesOutput{}, nil
}

func describeScalingProcessTypes(*sim.Call,
	*autoscaling.DescribeScalingProcessTypesInput) (*autoscaling.DescribeScalingProcessTypesOutput, error) {
	out := &autoscaling.DescribeScalingProcessTypesOutput{}
	for _, n := range processNames {
		out.Processes = append(out.Processes, types.ProcessType{ProcessName: ptr(n)})
	}
	return out, nil
}

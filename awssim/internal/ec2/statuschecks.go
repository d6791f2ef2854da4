package ec2

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The status checks of an instance that can fail (User Guide, "Status checks for Amazon EC2 instances").
const (
	// SystemStatusCheck fails when the host of the instance fails.
	SystemStatusCheck = "system"
	// InstanceStatusCheck fails when the instance does not answer on the network.
	InstanceStatusCheck = "instance"
)

// statusChecks records which check of an instance fails; the zero value is none.
type statusChecks struct {
	failing string
	since   time.Time
}

func (c statusChecks) systemFails() bool { return c.failing == SystemStatusCheck }

// instanceFails reports whether the instance check fails. It does so when the system check fails
// too (User Guide, "Status checks for Amazon EC2 instances", "Instance status checks": the first of
// the problems that cause it is "Failed system status checks").
func (c statusChecks) instanceFails() bool { return c.failing != "" }

// FailStatusCheck has a status check of a running instance fail, until the instance is rebooted or
// stopped, or with an empty name none. It fails if there is no such instance or check. A reboot
// keeps the instance on its host, so that it does not clear a failure of the system check (User
// Guide, "Reboot your Amazon EC2 instance").
func FailStatusCheck(r *sim.Region, id, check string) error {
	s := stateOf(r)
	i, ok := s.instances.Get(id)
	switch {
	case check != "" && check != SystemStatusCheck && check != InstanceStatusCheck:
		return fmt.Errorf("there is no status check %q: the checks are %q and %q", check, SystemStatusCheck, InstanceStatusCheck)
	case !ok || !i.in(types.InstanceStateNameRunning) || !i.booted:
		return fmt.Errorf("there is no instance %q that is running and whose status checks have passed", id)
	case i.checks.failing == check:
		return nil
	}
	i.checks = statusChecks{}
	if check != "" {
		i.checks = statusChecks{failing: check, since: s.kernel.Now()}
	}
	s.instances.Put(id, i)
	return nil
}

// rebooted returns the checks after a reboot.
func (c statusChecks) rebooted() statusChecks {
	if c.systemFails() {
		return c
	}
	return statusChecks{}
}

// status returns the result of a status check. Checks pass once the instance has booted (User
// Guide, "Status checks for Amazon EC2 instances").
func (i instance) status(fails bool) types.SummaryStatus {
	switch {
	case i.booted && fails:
		return types.SummaryStatusImpaired
	case i.booted:
		return types.SummaryStatusOk
	case i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning):
		return types.SummaryStatusInitializing
	default:
		return types.SummaryStatusNotApplicable
	}
}

func (i instance) reachability(fails bool) types.StatusType {
	switch {
	case i.booted && fails:
		return types.StatusTypeFailed
	case i.booted:
		return types.StatusTypePassed
	}
	return types.StatusTypeInitializing
}

// summary returns a status check as DescribeInstanceStatus shows it.
func (i instance) summary(fails bool) *types.InstanceStatusSummary {
	summary := &types.InstanceStatusSummary{Status: i.status(fails)}
	if summary.Status == types.SummaryStatusNotApplicable {
		return summary
	}
	details := types.InstanceStatusDetails{Name: types.StatusNameReachability, Status: i.reachability(fails)}
	if summary.Status == types.SummaryStatusImpaired {
		details.ImpairedSince = ptr(i.checks.since)
	}
	summary.Details = []types.InstanceStatusDetails{details}
	return summary
}

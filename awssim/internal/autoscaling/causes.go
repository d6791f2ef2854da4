package autoscaling

import (
	"fmt"
	"time"
)

// This file has the sentences that the causes of activities consist of (UG
// as-verify-scaling-activity, CHAP_Troubleshooting, replace-unhealthy-instance).

// Reasons of launches and terminations, as they are worded in causes of activities.
const (
	reasonHealth   = "an EC2 health check indicating it has been terminated or stopped"
	reasonUserSick = "a user health-check"
	reasonRefresh  = "an instance refresh"
	reasonLifetime = "the maximum instance lifetime being exceeded"
	reasonBalance  = "Availability Zones of the group not being balanced"
	reasonMaintain = "an instance needing to be replaced"
)

func causeCapacity(now time.Time, from, to int) string {
	if to > from {
		return fmt.Sprintf("At %s an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d.",
			stamp(now), from, to)
	}
	return fmt.Sprintf("At %s an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from %d to %d.",
		stamp(now), from, to)
}

func causeSelected(now time.Time, id string) string {
	return fmt.Sprintf("At %s instance %s was selected for termination.", stamp(now), id)
}

func causeOutOfService(now time.Time, why string) string {
	return fmt.Sprintf("At %s an instance was taken out of service in response to %s.", stamp(now), why)
}

func causeLaunched(now time.Time, why string) string {
	return fmt.Sprintf("At %s an instance was launched in response to %s.", stamp(now), why)
}

// join puts sentences of a cause together as AWS does, with two spaces.
func join(sentences ...string) string {
	text := ""
	for _, s := range sentences {
		if s == "" {
			continue
		}
		if text != "" {
			text += "  "
		}
		text += s
	}
	return text
}

// stamp writes a time as causes of activities do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

package autoscaling

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Bounds of scheduled actions (UG ec2-auto-scaling-quotas; SDK
// BatchPutScheduledUpdateGroupActionInput and BatchDeleteScheduledActionInput).
const (
	maxScheduled = 125
	maxBatch     = 50

	processScheduledActions = "ScheduledActions"
)

// scheduledAction changes the sizes of a group at a time, or again and again.
type scheduledAction struct {
	name, arn         string
	min, max, desired *int32
	start, end        *time.Time // start is when it runs next
	recurrence, zone  string
	schedule          cron.Schedule // nil for an action that runs once
	location          *time.Location
}

// check refuses times and sizes that contradict each other.
func (a *scheduledAction) check(now time.Time) error {
	switch {
	case a.min == nil && a.max == nil && a.desired == nil:
		return invalid("You must specify at least one of MinSize, MaxSize, and DesiredCapacity.")
	case a.start == nil && a.recurrence == "":
		return invalid("Time or StartTime must be specified for an action without Recurrence.")
	case a.start != nil && a.start.Before(now):
		return invalid("Given start time is in the past")
	case a.end != nil && a.end.Before(now):
		return invalid("Given end time is in the past")
	case a.end != nil && a.start != nil && !a.start.Before(*a.end):
		return invalid("End time must be after start time")
	}
	return a.checkBounds()
}

func (a *scheduledAction) checkBounds() error {
	if a.min != nil && a.max != nil && *a.min > *a.max {
		return invalid("Max bound, %d, must be greater than or equal to min bound, %d", *a.max, *a.min)
	}
	return nil
}

// recur reads the recurrence, five fields of cron in UTC or in TimeZone, and finds the first time
// (SDK PutScheduledUpdateGroupActionInput.Recurrence).
func (a *scheduledAction) recur(now time.Time) error {
	if a.zone != "" {
		location, err := time.LoadLocation(a.zone)
		if err != nil || a.zone == "Local" {
			return invalid("The time zone %s is not valid.", a.zone)
		}
		a.location = location
	}
	if a.recurrence == "" {
		return nil
	}
	if len(strings.Fields(a.recurrence)) != 5 || strings.Contains(a.recurrence, "=") {
		return invalid("Given recurrence string:%s is invalid", a.recurrence)
	}
	schedule, err := cron.ParseStandard(a.recurrence)
	if err != nil {
		return invalid("Given recurrence string:%s is invalid", a.recurrence)
	}
	a.schedule = schedule
	if a.start == nil {
		return a.next(now)
	}
	return nil
}

// next moves the start to the first time after t.
func (a *scheduledAction) next(t time.Time) error {
	next := a.schedule.Next(t.In(a.location)).UTC()
	if next.IsZero() || next.Year() > 9000 {
		return invalid("Given recurrence string:%s is invalid", a.recurrence) // a 30th of February
	}
	a.start = ptr(next)
	return nil
}

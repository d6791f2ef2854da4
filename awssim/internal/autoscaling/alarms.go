package autoscaling

import (
	"fmt"
	"maps"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// AlarmState is the state of a CloudWatch alarm, as instance refreshes see it. There is no
// CloudWatch here: whoever runs the simulation sets alarms, and one that was never set does not
// exist.
type AlarmState string

// The states of an alarm (CloudWatch API reference, MetricAlarm.StateValue).
const (
	AlarmOK               AlarmState = "OK"
	AlarmFiring           AlarmState = "ALARM"
	AlarmInsufficientData AlarmState = "INSUFFICIENT_DATA"
)

// Check reports a state that is not one of the three.
func (a AlarmState) Check() error {
	switch a {
	case AlarmOK, AlarmFiring, AlarmInsufficientData:
		return nil
	}
	return fmt.Errorf("the state of an alarm is OK, ALARM or INSUFFICIENT_DATA, not %q", string(a))
}

// SetAlarm sets the state of an alarm, which must have passed Check. Only under the kernel's lock.
func SetAlarm(r *sim.Region, name string, state AlarmState) {
	s := regional(r)
	s.alarms[name] = state
	for _, g := range s.order {
		if g.refresh != nil {
			s.wake(g, 0)
		}
	}
}

// Alarms returns the alarms that were set, with their states. Only under the kernel's lock.
func Alarms(r *sim.Region) map[string]AlarmState { return maps.Clone(regional(r).alarms) }

// checkAlarms: an alarm must exist and be OK when a refresh starts (UG instance-refresh-rollback).
func (s *service) checkAlarms(prefs preferences) error {
	for _, name := range prefs.alarms {
		switch state, known := s.alarms[name]; {
		case !known:
			return invalid("The alarm %s does not exist.", name)
		case state != AlarmOK:
			return invalid("The alarm %s is in %s state. Alarms must be in OK state when an instance refresh starts.", name, state)
		}
	}
	return nil
}

package autoscaling

import "fmt"

// AlarmState is the state of a CloudWatch alarm, as instance refreshes see it. The simulation has
// no CloudWatch: its user sets the states of alarms, and an alarm without a state does not exist.
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

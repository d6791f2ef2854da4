package autoscaling

import "fmt"

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

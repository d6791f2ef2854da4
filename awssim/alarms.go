package awssim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// AlarmState is the state of a CloudWatch alarm.
type AlarmState = autoscaling.AlarmState

// The states of an alarm (AWS: CloudWatch API reference, MetricAlarm.StateValue).
const (
	AlarmOK               = autoscaling.AlarmOK
	AlarmFiring           = autoscaling.AlarmFiring
	AlarmInsufficientData = autoscaling.AlarmInsufficientData
)

// SetAlarm sets the state of a CloudWatch alarm of an account in a region, and creates the alarm if
// there is none of that name. CloudWatch itself is not simulated: alarms are there for instance
// refreshes, which fail or roll back when one fires. It fails if the world has no such region, the
// name is empty, or the state is not one of the three.
func (r Region) SetAlarm(name string, state AlarmState) error {
	if name == "" {
		return errors.New("setting an alarm: it has no name")
	}
	if err := state.Check(); err != nil {
		return fmt.Errorf("setting alarm %q: %w", name, err)
	}
	if err := r.do(func(held *sim.Region) error { autoscaling.SetAlarm(held, name, state); return nil }); err != nil {
		return fmt.Errorf("setting alarm %q: %w", name, err)
	}
	return nil
}

// Alarms returns the alarms of an account in a region that were set, with their states. It fails if
// the world has no such region.
func (r Region) Alarms() (map[string]AlarmState, error) {
	var alarms map[string]AlarmState
	if err := r.do(func(held *sim.Region) error { alarms = autoscaling.Alarms(held); return nil }); err != nil {
		return nil, fmt.Errorf("listing alarms: %w", err)
	}
	return alarms, nil
}

func (c control) getAlarms(r *http.Request) (any, error) {
	return c.region(r.URL.Query().Get("account"), r.URL.Query().Get("region")).Alarms()
}

func (c control) postAlarms(r *http.Request) (any, error) {
	type request struct {
		Account string     `json:"account"`
		Region  string     `json:"region"`
		Name    string     `json:"name"`
		State   AlarmState `json:"state"`
	}
	alarm, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(alarm.Account, alarm.Region)
	return nil, region.SetAlarm(alarm.Name, alarm.State)
}

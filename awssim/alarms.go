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
func (s *Simulator) SetAlarm(account, region, name string, state AlarmState) error {
	if name == "" {
		return errors.New("setting an alarm: it has no name")
	}
	if err := state.Check(); err != nil {
		return fmt.Errorf("setting alarm %q: %w", name, err)
	}
	if err := s.kernel.InRegion(account, region, func(r *sim.Region) { autoscaling.SetAlarm(r, name, state) }); err != nil {
		return fmt.Errorf("setting alarm %q: %w", name, err)
	}
	return nil
}

// Alarms returns the alarms of an account in a region that were set, with their states. It fails if
// the world has no such region.
func (s *Simulator) Alarms(account, region string) (map[string]AlarmState, error) {
	var alarms map[string]AlarmState
	if err := s.kernel.InRegion(account, region, func(r *sim.Region) { alarms = autoscaling.Alarms(r) }); err != nil {
		return nil, fmt.Errorf("listing alarms: %w", err)
	}
	return alarms, nil
}

func (s *Simulator) getAlarms(r *http.Request) (any, error) {
	return s.Alarms(s.place(r.URL.Query().Get("account"), r.URL.Query().Get("region")))
}

func (s *Simulator) postAlarms(r *http.Request) (any, error) {
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
	account, region := s.place(alarm.Account, alarm.Region)
	return nil, s.SetAlarm(account, region, alarm.Name, alarm.State)
}

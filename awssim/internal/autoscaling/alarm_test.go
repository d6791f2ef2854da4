package autoscaling_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func (f *fixture) alarm(state awssim.AlarmState) {
	f.t.Helper()
	if err := f.sim.Region(awssim.DefaultAccount, "us-east-1").SetAlarm("errors", state); err != nil {
		f.t.Fatal(err)
	}
}

func TestAlarmStopsARefresh(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason   string
		rollback bool
		during   time.Duration               // since the start of the refresh, when the alarm fires
		at       types.InstanceRefreshStatus // when it fires
		want     types.InstanceRefreshStatus
		versions []string
	}{
		{"with automatic rollback", true, 5 * time.Minute, types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusRollbackSuccessful, []string{"1", "1"}},
		{"without it the refresh fails and what it made stays", false, 5 * time.Minute, types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusFailed, []string{"1", "2"}},
		{"while it bakes, too", true, 25 * time.Minute, types.InstanceRefreshStatusBaking, types.InstanceRefreshStatusRollbackSuccessful, []string{"1", "1"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			template := f.template()
			f.version(template, ec2types.InstanceTypeM5Large)
			f.running(newGroup(template, 2))
			f.step(time.Hour) // so that nothing warms up when the refresh starts
			in := &autoscaling.StartInstanceRefreshInput{
				AutoScalingGroupName: aws.String("nodes"), DesiredConfiguration: &types.DesiredConfiguration{LaunchTemplate: spec(template, "2")},
				Preferences: &types.RefreshPreferences{
					AutoRollback: aws.Bool(tt.rollback), AlarmSpecification: &types.AlarmSpecification{Alarms: []string{"errors"}},
					InstanceWarmup: aws.Int32(600), BakeTime: aws.Int32(3600),
				},
			}
			for _, state := range []awssim.AlarmState{awssim.AlarmInsufficientData, awssim.AlarmFiring} {
				f.alarm(state)
				fails(f, f.asg.StartInstanceRefresh, in, "ValidationError", string(state))
			}
			f.alarm(awssim.AlarmOK)
			call(f, f.asg.StartInstanceRefresh, in)
			f.step(tt.during)
			if got := f.last().Status; got != tt.at {
				t.Fatalf("before the alarm the refresh is %s", got)
			}
			f.alarm(awssim.AlarmFiring)
			f.step(time.Hour)
			if r := f.last(); r.Status != tt.want || (r.RollbackDetails != nil) != tt.rollback {
				t.Errorf("refresh %s: %s", r.Status, aws.ToString(r.StatusReason))
			}
			if diff := cmp.Diff(tt.versions, f.versions()); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if got := *f.group().LaunchTemplate.Version; got != "1" {
				t.Errorf("the group names version %s", got)
			}
		})
	}
}

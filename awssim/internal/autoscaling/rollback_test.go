package autoscaling_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestRollback(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 4))
	two := f.version(template, ec2types.InstanceTypeM5Large)
	id := f.refresh(desired(template, two), prefer(func(p *types.RefreshPreferences) { p.MinHealthyPercentage = aws.Int32(50) }))
	f.until(5*time.Minute, "half done", func() bool { return *f.last().PercentageComplete >= 50 })
	rolled := call(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	if *rolled.InstanceRefreshId != id {
		t.Errorf("rolled back %s, want %s", *rolled.InstanceRefreshId, id)
	}
	fails(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")}, "IrreversibleInstanceRefresh", "")
	if diff := cmp.Diff([]types.InstanceRefreshStatus{"RollbackInProgress", "RollbackSuccessful"}, f.ends(10*time.Minute, types.InstanceRefreshStatusRollbackSuccessful)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1", "1", "1", "1"}, f.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	r := f.last()
	if *r.PercentageComplete != 0 || *r.RollbackDetails.PercentageCompleteOnRollback != 50 || *f.group().LaunchTemplate.Version != "1" {
		t.Errorf("after the rollback: %+v, details %+v", r, r.RollbackDetails)
	}
}

func TestRollbackNeedsDesiredConfigurationAndNumber(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 2, func(in *autoscaling.CreateAutoScalingGroupInput) { in.LaunchTemplate = spec(template, "$Latest") }))
	two := f.version(template, ec2types.InstanceTypeM5Large)
	f.refresh()
	fails(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")},
		"IrreversibleInstanceRefresh", "no desired configuration")
	call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")})
	f.ends(time.Minute, types.InstanceRefreshStatusCancelled)
	f.refresh(desired(template, two))
	fails(f, f.asg.RollbackInstanceRefresh, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes")},
		"IrreversibleInstanceRefresh", "$Latest")
}

func TestAutoRollbackWhenLaunchesFail(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 2))
	two := f.version(template, ec2types.InstanceTypeM5Large)
	f.refresh(desired(template, two), prefer(func(p *types.RefreshPreferences) { p.AutoRollback = aws.Bool(true) }))
	call(f, f.ec2.DeleteLaunchTemplateVersions, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(template), Versions: []string{two}})
	seen := f.ends(90*time.Minute, types.InstanceRefreshStatusRollbackSuccessful)
	if diff := cmp.Diff([]types.InstanceRefreshStatus{"Pending", "InProgress", "RollbackInProgress", "RollbackSuccessful"}, seen); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if elapsed := f.last().EndTime.Sub(*f.last().StartTime); elapsed < time.Hour {
		t.Errorf("rolled back after %s, want at least the hour for which replacements are retried", elapsed)
	}
	f.settled(2)
	if diff := cmp.Diff([]string{"1", "1"}, f.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

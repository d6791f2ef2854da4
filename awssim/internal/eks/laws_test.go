package eks_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim"
)

// TestGroupsComeToRest holds that a group comes to rest within two hours of the last action,
// whatever that was. At rest no update is InProgress, the Auto Scaling group has what it wants
// unless something is wrong, and a deleted group leaves nothing behind.
func TestGroupsComeToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := start(t)
		template := f.template(withType("m5.large"))
		versions := []string{"1"}
		call(f, f.eks.CreateNodegroup, newGroup(rapid.Int32Range(0, 3).Draw(rt, "size"), onTemplate(template, "1"),
			withUpdateConfig(types.NodegroupUpdateConfig{
				MaxUnavailable: aws.Int32(rapid.Int32Range(1, 3).Draw(rt, "parallel")),
				UpdateStrategy: rapid.SampledFrom(types.NodegroupUpdateStrategies("").Values()).Draw(rt, "strategy"),
			})))
		f.step(time.Minute)
		asg := f.autoScalingGroup().AutoScalingGroupName
		meddled := false
		actions := map[string]func(){
			"version": func() {
				versions = append(versions, f.version(template, withType(rapid.SampledFrom([]ec2types.InstanceType{"m5.large", "m5.xlarge"}).Draw(rt, "type"))))
			},
			"update": func() {
				in := newVersion(toTemplate(template, rapid.SampledFrom(versions).Draw(rt, "version")))
				in.Force = rapid.Bool().Draw(rt, "force")
				f.mayBeBusy(f.eks.UpdateNodegroupVersion(t.Context(), in))
			},
			"scale": func() {
				n := rapid.Int32Range(0, 5).Draw(rt, "desired")
				f.mayBeBusy(f.eks.UpdateNodegroupConfig(t.Context(), newConfig(func(in *eks.UpdateNodegroupConfigInput) {
					in.ScalingConfig = &types.NodegroupScalingConfig{MinSize: aws.Int32(0), DesiredSize: aws.Int32(n), MaxSize: aws.Int32(10)}
				})))
			},
			"label": func() {
				f.mayBeBusy(f.eks.UpdateNodegroupConfig(t.Context(), newConfig(func(in *eks.UpdateNodegroupConfigInput) {
					in.Labels = &types.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "label")}}
				})))
			},
			"autoscaler": func() {
				meddled = true
				n := rapid.Int32Range(0, 5).Draw(rt, "desired")
				call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: asg, DesiredCapacity: aws.Int32(n)})
			},
			"kill": func() {
				if i := f.autoScalingGroup().Instances; len(i) > 0 {
					call(f, f.ec2.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: []string{*i[0].InstanceId}})
				}
			},
			"nodes": func() {
				behavior := f.sim.Behavior()
				behavior.Nodes = []awssim.NodeRule{{NeverReady: rapid.Bool().Draw(rt, "never ready"), NeverDrained: rapid.Bool().Draw(rt, "never drained"), DrainTime: time.Minute}}
				f.sim.SetBehavior(behavior)
			},
			"capacity": func() { f.setCapacity(awssim.CapacityRule{Available: rapid.IntRange(0, 12).Draw(rt, "capacity")}) },
			"plenty":   func() { f.setCapacity() },
			"wait":     func() { f.step(time.Duration(rapid.IntRange(1, 1200).Draw(rt, "seconds")) * time.Second) },
		}
		names := []string{"version", "update", "update", "scale", "label", "autoscaler", "kill", "nodes", "capacity", "plenty", "wait", "wait", "wait"}
		for range rapid.IntRange(1, 12).Draw(rt, "length") {
			actions[rapid.SampledFrom(names).Draw(rt, "action")]()
		}
		f.checkAtRest(rt, meddled)
		call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")})
		f.checkNothingLeft(rt)
	})
}

// mayBeBusy allows for an update to be refused because there is one.
func (f *fixture) mayBeBusy(_ any, err error) {
	f.t.Helper()
	if code, message := errorOf(err); code != "" && code != "ResourceInUseException" {
		f.t.Fatalf("%s: %s", code, message)
	}
}

func (f *fixture) checkAtRest(t *rapid.T, meddled bool) {
	f.step(2 * time.Hour)
	g := f.group("nodes")
	if !slices.Contains([]types.NodegroupStatus{types.NodegroupStatusActive, types.NodegroupStatusDegraded}, g.Status) {
		t.Fatalf("the group is %s after two hours\n%v", g.Status, f.summary())
	}
	for _, id := range call(f, f.eks.ListUpdates, &eks.ListUpdatesInput{Name: aws.String(clusterName), NodegroupName: aws.String("nodes")}).UpdateIds {
		if u := f.update(&id); u.Status == types.UpdateStatusInProgress || (u.Status == types.UpdateStatusFailed) != (len(u.Errors) > 0) {
			t.Fatalf("update %s is %s with %d errors", id, u.Status, len(u.Errors))
		}
	}
	asg := f.autoScalingGroup()
	if g.Status == types.NodegroupStatusActive && len(asg.Instances) != int(*asg.DesiredCapacity) || *asg.DesiredCapacity > *asg.MaxSize {
		t.Fatalf("the Auto Scaling group has %d of %d of %d\n%v", len(asg.Instances), *asg.DesiredCapacity, *asg.MaxSize, f.summary())
	}
	// An update during which another caller scales the group finishes without bringing it back to
	// its size.
	if *asg.MaxSize != 10 && !meddled || *asg.MaxSize < 10 {
		t.Fatalf("the Auto Scaling group's maximum is %d after updates that begin with 10\n%v", *asg.MaxSize, f.summary())
	}
}

func (f *fixture) checkNothingLeft(t *rapid.T) {
	f.step(time.Hour)
	left := call(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName)}).Nodegroups
	for _, g := range call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups {
		left = append(left, *g.AutoScalingGroupName)
	}
	for _, lt := range call(f, f.ec2.DescribeLaunchTemplates, &ec2.DescribeLaunchTemplatesInput{}).LaunchTemplates {
		if *lt.LaunchTemplateName != "template-1" {
			left = append(left, *lt.LaunchTemplateName)
		}
	}
	for _, i := range f.sim.Region(account, region).Instances() {
		if i.State.Name != ec2types.InstanceStateNameTerminated {
			left = append(left, fmt.Sprintf("%s %s", *i.InstanceId, i.State.Name))
		}
	}
	if len(left) > 0 {
		t.Fatalf("left behind are %v", left)
	}
}

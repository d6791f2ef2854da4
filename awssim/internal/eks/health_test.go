package eks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim"
)

// healthLook is longer than it takes EKS to check a group's health.
const healthLook = 2 * time.Minute

// TestDegraded holds that a problem makes a group DEGRADED with the code for it, and the group is
// ACTIVE again when it is resolved.
func TestDegraded(t *testing.T) {
	t.Parallel()
	copied := func(f *fixture) *asgtypes.LaunchTemplateSpecification {
		return f.autoScalingGroup().MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	}
	rows := []struct {
		reason string
		harm   func(f *fixture, source string)
		code   types.NodegroupIssueCode
		mend   func(f *fixture, source string) // nil: it cannot be mended
	}{
		{
			"the source version is deleted", func(f *fixture, source string) {
				f.version(source)
				call(f, f.ec2.ModifyLaunchTemplate, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: aws.String(source), DefaultVersion: aws.String("2")})
				call(f, f.ec2.DeleteLaunchTemplateVersions, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(source), Versions: []string{"1"}})
			}, types.NodegroupIssueCodeSourceEc2LaunchTemplateNotFound,
			func(f *fixture, source string) {
				call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(source, "2")))
				f.awaitStatus(types.NodegroupStatusActive)
			},
		},
		{
			"the source template is deleted", func(f *fixture, source string) {
				call(f, f.ec2.DeleteLaunchTemplate, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: aws.String(source)})
			}, types.NodegroupIssueCodeSourceEc2LaunchTemplateNotFound, nil,
		},
		{
			"the copy is deleted", func(f *fixture, _ string) {
				call(f, f.ec2.DeleteLaunchTemplate, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: copied(f).LaunchTemplateId})
			}, types.NodegroupIssueCodeEc2LaunchTemplateNotFound, nil,
		},
		{
			"the copy has another version", func(f *fixture, _ string) { f.version(*copied(f).LaunchTemplateId) }, types.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch,
			func(f *fixture, _ string) {
				call(f, f.ec2.DeleteLaunchTemplateVersions, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: copied(f).LaunchTemplateId, Versions: []string{"2"}})
			},
		},
		{
			"the Auto Scaling group launches from elsewhere", func(f *fixture, _ string) {
				image := f.template(withImage(f.image), withType("m5.large"))
				call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
					AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName,
					LaunchTemplate:       &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: aws.String(image), Version: aws.String("1")},
				})
			}, types.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch,
			func(f *fixture, source string) {
				call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(source, "1")))
				f.awaitStatus(types.NodegroupStatusActive)
			},
		},
		{
			"an instance refresh", func(f *fixture, _ string) {
				call(f, f.asg.StartInstanceRefresh, &autoscaling.StartInstanceRefreshInput{
					AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName, Preferences: &asgtypes.RefreshPreferences{InstanceWarmup: aws.Int32(3600)},
				})
			}, types.NodegroupIssueCodeAutoScalingGroupInstanceRefreshActive,
			func(f *fixture, _ string) {
				call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName})
				f.step(10 * time.Minute)
			},
		},
		{
			"suspended processes", func(f *fixture, _ string) {
				call(f, f.asg.SuspendProcesses, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName, ScalingProcesses: []string{"Launch"}})
			}, types.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration,
			func(f *fixture, _ string) {
				call(f, f.asg.ResumeProcesses, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName})
			},
		},
		{
			"the Auto Scaling group is deleted", func(f *fixture, _ string) {
				call(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{
					AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName, ForceDelete: aws.Bool(true),
				})
			}, types.NodegroupIssueCodeAutoScalingGroupNotFound, nil,
		},
		{
			"no capacity", func(f *fixture, _ string) {
				f.setCapacity(awssim.CapacityRule{Available: 1})
				f.scaleTo(3)
			}, types.NodegroupIssueCodeAsgInstanceLaunchFailures,
			func(f *fixture, _ string) {
				f.setCapacity()
				f.step(20 * time.Minute)
			},
		},
		{
			"the node role is gone", func(f *fixture, _ string) { f.deleteRole("own") }, types.NodegroupIssueCodeIamNodeRoleNotFound, nil,
		},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			source := f.template(withType("m5.large"))
			f.active(newGroup(1, onTemplate(source, "1"), func(in *eks.CreateNodegroupInput) { in.NodeRole = f.makeRole("own") }))
			row.harm(f, source)
			f.step(healthLook)
			if g := f.group("nodes"); g.Status != types.NodegroupStatusDegraded || !slices.Contains(f.issues(), row.code) {
				t.Fatalf("the group is %s: %v, want %s", g.Status, f.issues(), row.code)
			}
			if row.mend == nil {
				f.delete()
				return
			}
			row.mend(f, source)
			f.step(healthLook)
			if g := f.group("nodes"); g.Status != types.NodegroupStatusActive || len(g.Health.Issues) != 0 {
				t.Errorf("mended, the group is %s: %v", g.Status, f.issues())
			}
		})
	}
}

var policies = []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"}

// makeRole creates a node role and returns its ARN.
func (f *fixture) makeRole(name string) *string {
	f.t.Helper()
	out := call(f, f.iam.CreateRole, &iam.CreateRoleInput{RoleName: aws.String(name), Path: aws.String("/pools/"), AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	for _, p := range policies {
		call(f, f.iam.AttachRolePolicy, &iam.AttachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(p)})
	}
	return out.Role.Arn
}

func (f *fixture) setCapacity(rules ...awssim.CapacityRule) {
	behavior := f.sim.Behavior()
	behavior.Capacity = rules
	f.sim.SetBehavior(behavior)
}

func (f *fixture) scaleTo(n int32) {
	f.t.Helper()
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName, DesiredCapacity: aws.Int32(n)})
}

// delete deletes the group named nodes and waits until it is gone.
func (f *fixture) delete() {
	f.t.Helper()
	call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")})
	f.until(time.Hour, "gone", func() bool {
		return len(call(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName)}).Nodegroups) == 0
	})
}

// TestDegradedUntilALaunchSucceeds holds that a group that could not scale out stays DEGRADED when
// it no longer wants to: only a launch that succeeds mends it.
func TestDegradedUntilALaunchSucceeds(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.active(newGroup(1))
	f.setCapacity(awssim.CapacityRule{Available: 1})
	f.scaleTo(2)
	f.step(healthLook)
	f.scaleTo(0)
	f.step(10 * time.Minute)
	if g := f.group("nodes"); g.Status != types.NodegroupStatusDegraded {
		t.Errorf("the group is %s", g.Status)
	}
}

// TestCreateFailed holds that a failure that occurs only when EKS creates the resources shows as
// CREATE_FAILED with an issue; the group stays until it is deleted.
func TestCreateFailed(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		change func(f *fixture, in *create)
		rule   awssim.NodeRule
		code   types.NodegroupIssueCode
		words  string
		least  time.Duration
	}{
		{
			"nodes that do not join", func(*fixture, *create) {}, awssim.NodeRule{NeverReady: true},
			types.NodegroupIssueCodeNodeCreationFailure, "Instances failed to join the kubernetes cluster", 15 * time.Minute,
		},
		{
			"no capacity", func(f *fixture, _ *create) { f.setCapacity(awssim.CapacityRule{Available: 0}) }, awssim.NodeRule{},
			types.NodegroupIssueCodeAsgInstanceLaunchFailures, "InsufficientInstanceCapacity", 15 * time.Minute,
		},
		{
			"an image that does not exist", func(f *fixture, in *create) { onTemplate(f.template(withImage("ami-00000000000000001")), "1")(in) }, awssim.NodeRule{},
			types.NodegroupIssueCodeEc2LaunchTemplateInvalidConfiguration, "ami-00000000000000001", 0,
		},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(o *awssim.Options) { o.Behavior.Nodes = []awssim.NodeRule{row.rule} })
			in := newGroup(2)
			row.change(f, in)
			call(f, f.eks.CreateNodegroup, in)
			took := f.awaitStatus(types.NodegroupStatusCreateFailed)
			g := f.group("nodes")
			if took < row.least || len(g.Health.Issues) != 1 || g.Health.Issues[0].Code != row.code || !strings.Contains(*g.Health.Issues[0].Message, row.words) {
				t.Errorf("after %s: %s %s", took, f.issues(), *g.Health.Issues[0].Message)
			}
			fails(f, f.eks.UpdateNodegroupVersion, newVersion(), "ResourceInUseException", "not in Active State")
			f.delete()
		})
	}
}

func TestWarmPool(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"))
	f.active(newGroup(1, onTemplate(template, "1"), func(in *create) {
		in.WarmPoolConfig = &types.WarmPoolConfig{Enabled: aws.Bool(true), MinSize: aws.Int32(2)}
	}))
	f.step(5 * time.Minute)
	warm := func() []asgtypes.Instance {
		return call(f, f.asg.DescribeWarmPool, &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: f.autoScalingGroup().AutoScalingGroupName}).Instances
	}
	if n := len(warm()); n < 2 {
		t.Fatalf("%d instances are in the warm pool", n)
	}
	f.version(template, withType("m5.xlarge"))
	call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2")))
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(5 * time.Minute)
	for _, i := range warm() {
		if *i.LaunchTemplate.Version != "2" {
			t.Errorf("a warm instance is of version %s after the update", *i.LaunchTemplate.Version)
		}
	}
	call(f, f.eks.UpdateNodegroupConfig, newConfig(func(in *eks.UpdateNodegroupConfigInput) {
		in.WarmPoolConfig = &types.WarmPoolConfig{Enabled: aws.Bool(false)}
	}))
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(5 * time.Minute)
	if w := f.autoScalingGroup().WarmPoolConfiguration; w != nil || *f.group("nodes").WarmPoolConfig.Enabled || *f.group("nodes").WarmPoolConfig.MinSize != 2 {
		t.Errorf("the warm pool is still there: %+v", w)
	}
}

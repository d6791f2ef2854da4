package eks_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim"
)

// smallSubnet creates a subnet that has 11 addresses for instances, and returns its id.
func (f *fixture) smallSubnet() string {
	f.t.Helper()
	return *call(f, f.ec2.CreateSubnet, &ec2.CreateSubnetInput{
		VpcId: aws.String("vpc-0a10000000000000a"), AvailabilityZone: aws.String("us-east-1a"), CidrBlock: aws.String("10.0.250.0/28"),
	}).Subnet.SubnetId
}

// deleteRole deletes a role that makeRole created, which EKS uses in an instance profile.
func (f *fixture) deleteRole(name string) {
	f.t.Helper()
	for _, p := range call(f, f.iam.ListInstanceProfilesForRole, &iam.ListInstanceProfilesForRoleInput{RoleName: &name}).InstanceProfiles {
		call(f, f.iam.RemoveRoleFromInstanceProfile, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: p.InstanceProfileName, RoleName: &name})
	}
	for _, p := range policies {
		call(f, f.iam.DetachRolePolicy, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: aws.String(p)})
	}
	call(f, f.iam.DeleteRole, &iam.DeleteRoleInput{RoleName: &name})
}

// TestUpdateFails holds for faults of an update, and for what is missing in AWS, with which error and how
// soon the update of the version fails, and that the group is as it was.
func TestUpdateFails(t *testing.T) {
	t.Parallel()
	fault := func(code string, delay time.Duration) func(*fixture) {
		return func(f *fixture) {
			if _, err := f.sim.AddFault(awssim.Fault{
				Action: "UpdateNodegroupVersion", Place: awssim.InUpdate, Nth: 1, Code: code, Message: "words of EKS", Delay: delay,
			}); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	rows := []struct {
		reason      string
		size        int32
		harm        func(*fixture)
		code        types.ErrorCode
		least, most time.Duration
	}{
		{"a fault at once", 2, fault("Ec2SubnetInvalidConfiguration", 0), "Ec2SubnetInvalidConfiguration", 0, 2 * time.Second},
		{"a fault while new nodes boot", 2, fault("AsgInstanceLaunchFailures", 20*time.Second), "AsgInstanceLaunchFailures", 20 * time.Second, 21 * time.Second},
		{"a fault while old nodes drain", 2, fault("ClusterUnreachable", 2*time.Minute), "ClusterUnreachable", 2 * time.Minute, 122 * time.Second},
		{"no free addresses", 10, nil, types.ErrorCodeInsufficientFreeAddresses, 15 * time.Minute, 16 * time.Minute},
		{
			"no capacity for the type", 2, func(f *fixture) { f.setCapacity(awssim.CapacityRule{InstanceType: "m5.xlarge"}) },
			types.ErrorCodeNodeCreationFailure, 15 * time.Minute, 16 * time.Minute,
		},
		{"no node role", 2, func(f *fixture) { f.deleteRole("own") }, types.ErrorCode(types.NodegroupIssueCodeIamNodeRoleNotFound), 0, 2 * time.Second},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			template, subnet := f.template(withType("m5.large")), f.smallSubnet()
			f.active(newGroup(row.size, onTemplate(template, "1"), func(in *eks.CreateNodegroupInput) {
				in.NodeRole, in.Subnets, in.ScalingConfig.MaxSize = f.makeRole("own"), []string{subnet}, aws.Int32(20)
			}))
			f.version(template, withType("m5.xlarge"))
			if row.harm != nil {
				row.harm(f)
			}
			out := call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2"))).Update
			if out.Status != types.UpdateStatusInProgress {
				t.Errorf("the answer shows %s", out.Status)
			}
			took := f.awaitStatus(types.NodegroupStatusActive)
			if u := f.update(out.Id); u.Status != types.UpdateStatusFailed || len(u.Errors) != 1 || u.Errors[0].ErrorCode != row.code || len(u.Errors[0].ResourceIds) != 1 && row.code != types.ErrorCodeNodeCreationFailure {
				t.Errorf("the update is %s: %+v", u.Status, u.Errors)
			}
			if took < row.least || took > row.most {
				t.Errorf("the update failed after %s", took)
			}
			f.step(5 * time.Minute)
			g, asg := f.group("nodes"), f.autoScalingGroup()
			if *g.LaunchTemplate.Version != "1" || *asg.DesiredCapacity != row.size || *asg.MaxSize != 20 || len(f.types()) != int(row.size) {
				t.Errorf("the group is on version %s with %d of %d: %v", *g.LaunchTemplate.Version, *asg.DesiredCapacity, *asg.MaxSize, f.types())
			}
		})
	}
}

// TestConfigUpdateFails holds that a fault fails an update of the configuration, which changes nothing, and
// that one which comes too late for an update of the version fails nothing.
func TestConfigUpdateFails(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		o.Faults = []awssim.Fault{
			{Action: "UpdateNodegroupConfig", Place: awssim.InUpdate, Nth: 1, Code: "Unknown", Message: "words of EKS", Delay: time.Minute},
			{Action: "UpdateNodegroupVersion", Place: awssim.InUpdate, Code: "Unknown", Delay: 24 * time.Hour},
		}
	})
	template := f.template(withType("m5.large"))
	f.active(newGroup(1, onTemplate(template, "1")))
	grow := func() *types.Update {
		return call(f, f.eks.UpdateNodegroupConfig, newConfig(func(in *eks.UpdateNodegroupConfigInput) {
			in.ScalingConfig = &types.NodegroupScalingConfig{DesiredSize: aws.Int32(2)}
		})).Update
	}
	out := grow()
	if took := f.awaitStatus(types.NodegroupStatusActive); took < time.Minute || took > 61*time.Second {
		t.Errorf("the update failed after %s", took)
	}
	if u := f.update(out.Id); u.Status != types.UpdateStatusFailed || len(u.Errors) != 1 || u.Errors[0].ErrorCode != types.ErrorCodeUnknown || *u.Errors[0].ErrorMessage != "words of EKS" {
		t.Errorf("the update is %s: %+v", u.Status, u.Errors)
	}
	if asg := f.autoScalingGroup(); *asg.DesiredCapacity != 1 {
		t.Errorf("the group has %d nodes", *asg.DesiredCapacity)
	}
	grow()
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(5 * time.Minute)
	f.version(template, withType("m5.xlarge"))
	call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2")))
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(5 * time.Minute)
	if got := f.types(); !slices.Equal(got, repeat("m5.xlarge", 2)) {
		t.Errorf("%v run", got)
	}
}

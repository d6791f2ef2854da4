package autoscaling

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// AWS refuses launch configurations to accounts that are newer than October 1, 2024 (UG
// launch-configurations). Simulated accounts are older.

// defaultMaxConfigurations is the quota of launch configurations of a Region (UG ec2-auto-scaling-quotas).
const defaultMaxConfigurations = 200

// configurationActions serves the actions on launch configurations.
type configurationActions struct {
	region         *sim.Region
	kernel         *sim.Kernel
	groups         *groups
	configurations configurations
}

func (api *configurationActions) create(c *sim.Call,
	in *autoscaling.CreateLaunchConfigurationInput) (*autoscaling.CreateLaunchConfigurationOutput, error) {
	l, err := api.newConfiguration(c, in)
	if err != nil {
		return nil, err
	}
	api.configurations.table.Put(*l.LaunchConfigurationName, l)
	return &autoscaling.CreateLaunchConfigurationOutput{}, nil
}

// newConfiguration returns the launch configuration that a request asks for. Its words are cited
// where users have pasted them: for the name hashicorp/terraform-provider-aws#296, for the quota
// awslabs/benchmark-ai#698, for the parameters getmoto/moto (autoscaling/models.py).
func (api *configurationActions) newConfiguration(c *sim.Call, in *autoscaling.CreateLaunchConfigurationInput) (*types.LaunchConfiguration, error) {
	name := val(in.LaunchConfigurationName)
	if name == "" {
		return nil, required("launchConfigurationName")
	}
	if _, exists := api.configurations.table.Get(name); exists {
		return nil, sim.Errorf(codeAlreadyExists, "Launch Configuration by this name already exists - A launch configuration already exists with the name %s", name)
	}
	if quota := api.quota(); api.configurations.table.Len() >= quota {
		return nil, sim.Errorf(codeLimitExceeded, "Launch Configuration limit exceeded - You may only have %d launch configurations", quota)
	}
	if in.InstanceId != nil {
		derived, err := api.ofInstance(in)
		if err != nil {
			return nil, err
		}
		in = derived
	}
	if val(in.ImageId) == "" || val(in.InstanceType) == "" {
		return nil, invalid("Valid requests must contain either the InstanceID parameter or both the ImageId and InstanceType parameters.")
	}
	l := shape.Convert[types.LaunchConfiguration](*in)
	l.CreatedTime = ptr(c.Now)
	l.LaunchConfigurationARN = ptr(configurationARN(api.region, api.kernel.NewUUID(), name))
	showDefaults(&l)
	return &l, api.check(&l)
}

func (api *configurationActions) quota() int {
	return api.kernel.World().Quota(world.QuotaLaunchConfigurations, defaultMaxConfigurations)
}

func configurationARN(region *sim.Region, id, name string) string {
	return fmt.Sprintf("arn:aws:autoscaling:%s:%s:launchConfiguration:%s:launchConfigurationName/%s", region.Name, region.Account.ID, id, name)
}

// showDefaults sets the members that AWS returns even if the request did not set them (the AWS
// CLI's example of describe-launch-configurations). Detailed monitoring is on by default (SDK
// CreateLaunchConfigurationInput.InstanceMonitoring).
func showDefaults(l *types.LaunchConfiguration) {
	for _, member := range []**string{&l.KernelId, &l.RamdiskId, &l.KeyName, &l.UserData} {
		*member = ptr(val(*member))
	}
	l.EbsOptimized = ptr(val(l.EbsOptimized))
	l.InstanceMonitoring = &types.InstanceMonitoring{Enabled: ptr(valOr(val(l.InstanceMonitoring).Enabled, true))}
}

// ofInstance returns the request with the attributes of its instance where it has none of its own.
// Block devices are not taken over (SDK CreateLaunchConfigurationInput.InstanceId). That a public
// address is asked for if the instance has one is an inference.
func (api *configurationActions) ofInstance(in *autoscaling.CreateLaunchConfigurationInput) (*autoscaling.CreateLaunchConfigurationInput, error) {
	i, known := ec2.LookupInstance(api.region, *in.InstanceId)
	if !known || i.State.Name == ec2types.InstanceStateNameTerminated {
		// EC2's words: that Auto Scaling passes them on is an inference
		return nil, invalid("The instance ID '%s' does not exist", *in.InstanceId)
	}
	derived := autoscaling.CreateLaunchConfigurationInput{
		ImageId: i.ImageId, InstanceType: ptr(string(i.InstanceType)), KeyName: i.KeyName, KernelId: i.KernelId, RamdiskId: i.RamdiskId,
		EbsOptimized: i.EbsOptimized, InstanceMonitoring: &types.InstanceMonitoring{
			Enabled: ptr(i.Monitoring.State == ec2types.MonitoringStateEnabled || i.Monitoring.State == ec2types.MonitoringStatePending),
		},
	}
	for _, g := range i.SecurityGroups {
		derived.SecurityGroups = append(derived.SecurityGroups, *g.GroupId)
	}
	if i.IamInstanceProfile != nil {
		derived.IamInstanceProfile = i.IamInstanceProfile.Arn
	}
	if i.PublicIpAddress != nil {
		derived.AssociatePublicIpAddress = ptr(true)
	}
	if i.UserData != "" {
		derived.UserData = ptr(base64.StdEncoding.EncodeToString([]byte(i.UserData)))
	}
	if i.Placement != nil && i.Placement.Tenancy == ec2types.TenancyDedicated {
		derived.PlacementTenancy = ptr(string(ec2types.TenancyDedicated))
	}
	shape.Overlay(&derived, *in)
	return &derived, nil
}

// check refuses references to resources that do not exist. Everything else shows when an instance
// is launched (UG ts-as-instancelaunchfailure). Users have pasted the messages: the image's in
// benishak/lamp-aws-cloudformation#1, the groups' in kubernetes/kops#2109, the profile's in
// hashicorp/terraform#2136 and #7198; the messages of the other cases are inferences.
func (api *configurationActions) check(l *types.LaunchConfiguration) error {
	ids := len(list.Filter(l.SecurityGroups, isGroupID))
	price, err := strconv.ParseFloat(valOr(l.SpotPrice, "1"), 64)
	switch {
	case strings.HasPrefix(*l.ImageId, "resolve:"): // only launch templates can (UG using-systems-manager-parameters)
		return invalid("AMI %s is invalid: Invalid id: \"%s\"", *l.ImageId, *l.ImageId)
	case ids > 0 && ids < len(l.SecurityGroups):
		return invalid("Must use either use group-id or group-name for all the security groups, not both at the same time")
	case err != nil || price < 0.001: // SDK CreateLaunchConfigurationInput.SpotPrice
		return invalid("SpotPrice %s must be a decimal number of at least 0.001.", *l.SpotPrice)
	case !slices.Contains([]string{"default", "dedicated"}, valOr(l.PlacementTenancy, "default")):
		return invalid("Invalid placement tenancy: %s. Valid values are: default, dedicated", *l.PlacementTenancy)
	case val(l.ClassicLinkVPCId) != "" || len(l.ClassicLinkVPCSecurityGroups) > 0: // EC2-Classic is retired
		return invalid("ClassicLink is not supported.")
	}
	if err := checkProfile(api.region.Account, val(l.IamInstanceProfile)); err != nil {
		return err
	}
	if err := ec2.CheckResources(api.region, launchData(l)); err != nil {
		e := sim.AsError(err)
		if strings.HasPrefix(e.Code, "InvalidAMIID") {
			return invalid("AMI %s is invalid: %s", *l.ImageId, e.Message)
		}
		return invalid("%s", e.Message)
	}
	return nil
}

func checkProfile(account *sim.Account, profile string) error {
	if profile == "" {
		return nil
	}
	found, ok := iam.FindInstanceProfile(account, profile)
	switch {
	case !ok:
		return invalid("Invalid IamInstanceProfile: %s", profile)
	case found.Role == "":
		return invalid("You are not authorized to perform this operation.")
	}
	return nil
}

func (api *configurationActions) describe(_ *sim.Call,
	in *autoscaling.DescribeLaunchConfigurationsInput) (*autoscaling.DescribeLaunchConfigurationsOutput, error) {
	found := list.Filter(api.configurations.table.VisibleAll(), func(l *types.LaunchConfiguration) bool {
		return len(in.LaunchConfigurationNames) == 0 || slices.Contains(in.LaunchConfigurationNames, *l.LaunchConfigurationName)
	})
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(l *types.LaunchConfiguration) string { return *l.LaunchConfigurationName })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeLaunchConfigurationsOutput{LaunchConfigurations: []types.LaunchConfiguration{}, NextToken: next}
	for _, l := range page {
		out.LaunchConfigurations = append(out.LaunchConfigurations, *l)
	}
	return out, nil
}

// delete deletes a launch configuration that no group uses. The messages are quoted in
// hashicorp/terraform-provider-aws#681.
func (api *configurationActions) delete(_ *sim.Call,
	in *autoscaling.DeleteLaunchConfigurationInput) (*autoscaling.DeleteLaunchConfigurationOutput, error) {
	l, err := api.configurations.find(in.LaunchConfigurationName)
	if err != nil {
		return nil, err
	}
	name := *l.LaunchConfigurationName
	for _, g := range api.groups.order {
		if g.config.launchConfiguration == name {
			return nil, sim.Errorf(codeResourceInUse, "Cannot delete launch configuration %s because it is attached to AutoScalingGroup %s", name, g.name)
		}
	}
	api.configurations.table.Delete(name)
	for _, g := range api.groups.order {
		if slices.ContainsFunc(g.members, func(m *member) bool { return m.configuration == l }) {
			api.groups.publish(g)
		}
	}
	return &autoscaling.DeleteLaunchConfigurationOutput{}, nil
}

// fromInstance returns the request for a group that names an instance as one for a launch
// configuration of that instance, which has the group's name, in the instance's subnet unless the
// request names a place (UG create-asg-from-instance). The launch configuration is new, and nil for
// a group that names no instance.
func (api *configurationActions) fromInstance(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*autoscaling.CreateAutoScalingGroupInput,
	*types.LaunchConfiguration, error) {
	if in.InstanceId == nil {
		return in, nil, nil
	}
	l, err := api.newConfiguration(c, &autoscaling.CreateLaunchConfigurationInput{LaunchConfigurationName: in.AutoScalingGroupName, InstanceId: in.InstanceId})
	if err != nil {
		return nil, nil, err
	}
	configured := *in
	if in.VPCZoneIdentifier == nil && len(in.AvailabilityZones)+len(in.AvailabilityZoneIds) == 0 {
		i, _ := ec2.LookupInstance(api.region, *in.InstanceId)
		configured.VPCZoneIdentifier = i.SubnetId
	}
	configured.LaunchConfigurationName, configured.InstanceId = l.LaunchConfigurationName, nil
	return &configured, l, nil
}

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
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// AWS refuses launch configurations to accounts that are newer than October 1, 2024 (UG
// launch-configurations). Simulated accounts are older.

// defaultMaxConfigurations is the quota of launch configurations of a Region (UG ec2-auto-scaling-quotas).
const defaultMaxConfigurations = 200

func (s *service) createLaunchConfiguration(c *sim.Call,
	in *autoscaling.CreateLaunchConfigurationInput) (*autoscaling.CreateLaunchConfigurationOutput, error) {
	l, err := s.newConfiguration(c, in)
	if err != nil {
		return nil, err
	}
	s.configurations.Put(*l.LaunchConfigurationName, l)
	return &autoscaling.CreateLaunchConfigurationOutput{}, nil
}

// newConfiguration returns the launch configuration that a request asks for. Its words are cited
// where users have pasted them: for the name hashicorp/terraform-provider-aws#296, for the quota
// awslabs/benchmark-ai#698, for the parameters getmoto/moto (autoscaling/models.py).
func (s *service) newConfiguration(c *sim.Call, in *autoscaling.CreateLaunchConfigurationInput) (*types.LaunchConfiguration, error) {
	name := val(in.LaunchConfigurationName)
	if name == "" {
		return nil, required("launchConfigurationName")
	}
	if _, exists := s.configurations.Get(name); exists {
		return nil, sim.Errorf(codeAlreadyExists, "Launch Configuration by this name already exists - A launch configuration already exists with the name %s", name)
	}
	if quota := s.maxConfigurations(); s.configurations.Len() >= quota {
		return nil, sim.Errorf(codeLimitExceeded, "Launch Configuration limit exceeded - You may only have %d launch configurations", quota)
	}
	if in.InstanceId != nil {
		derived, err := s.ofInstance(in)
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
	l.LaunchConfigurationARN = ptr(s.configurationARN(s.kernel.NewUUID(), name))
	showDefaults(&l)
	return &l, s.checkNewConfiguration(&l)
}

func (s *service) maxConfigurations() int {
	return s.kernel.World().Quota(world.QuotaLaunchConfigurations, defaultMaxConfigurations)
}

func (s *service) configurationARN(id, name string) string {
	return fmt.Sprintf("arn:aws:autoscaling:%s:%s:launchConfiguration:%s:launchConfigurationName/%s", s.region.Name, s.region.Account.ID, id, name)
}

// showDefaults sets the members that AWS shows although nobody has set them (the AWS CLI's example
// of describe-launch-configurations). Detailed monitoring is on by default (SDK
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
func (s *service) ofInstance(in *autoscaling.CreateLaunchConfigurationInput) (*autoscaling.CreateLaunchConfigurationInput, error) {
	i, known := ec2.LookupInstance(s.region, *in.InstanceId)
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

// checkNewConfiguration refuses what names nothing that exists. Everything else shows when an
// instance is launched (UG ts-as-instancelaunchfailure). The words are pasted by users: the image's
// in benishak/lamp-aws-cloudformation#1, the groups' in kubernetes/kops#2109, the profile's in
// hashicorp/terraform#2136 and #7198; those of the other cases are inferences.
func (s *service) checkNewConfiguration(l *types.LaunchConfiguration) error {
	ids := len(filter(l.SecurityGroups, isGroupID))
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
	if err := s.checkProfile(val(l.IamInstanceProfile)); err != nil {
		return err
	}
	if err := ec2.CheckResources(s.region, launchData(l)); err != nil {
		e := sim.AsError(err)
		if strings.HasPrefix(e.Code, "InvalidAMIID") {
			return invalid("AMI %s is invalid: %s", *l.ImageId, e.Message)
		}
		return invalid("%s", e.Message)
	}
	return nil
}

func isGroupID(group string) bool { return strings.HasPrefix(group, "sg-") }

func (s *service) checkProfile(profile string) error {
	if profile == "" {
		return nil
	}
	found, ok := iam.FindInstanceProfile(s.region.Account, profile)
	switch {
	case !ok:
		return invalid("Invalid IamInstanceProfile: %s", profile)
	case found.Role == "":
		return invalid("You are not authorized to perform this operation.")
	}
	return nil
}

func (s *service) describeLaunchConfigurations(_ *sim.Call,
	in *autoscaling.DescribeLaunchConfigurationsInput) (*autoscaling.DescribeLaunchConfigurationsOutput, error) {
	found := filter(s.configurations.VisibleAll(), func(l *types.LaunchConfiguration) bool {
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

// deleteLaunchConfiguration deletes what no group is attached to. The words are those of
// hashicorp/terraform-provider-aws#681.
func (s *service) deleteLaunchConfiguration(_ *sim.Call,
	in *autoscaling.DeleteLaunchConfigurationInput) (*autoscaling.DeleteLaunchConfigurationOutput, error) {
	l, err := s.findConfiguration(in.LaunchConfigurationName)
	if err != nil {
		return nil, err
	}
	name := *l.LaunchConfigurationName
	for _, g := range s.order {
		if g.config.launchConfiguration == name {
			return nil, sim.Errorf(codeResourceInUse, "Cannot delete launch configuration %s because it is attached to AutoScalingGroup %s", name, g.name)
		}
	}
	s.configurations.Delete(name)
	for _, g := range s.order {
		if slices.ContainsFunc(g.members, func(m *member) bool { return m.configuration == l }) {
			s.publish(g)
		}
	}
	return &autoscaling.DeleteLaunchConfigurationOutput{}, nil
}

// findConfiguration returns a launch configuration, or AWS's error, as Spinnaker's clouddriver and
// others match it.
func (s *service) findConfiguration(name *string) (*types.LaunchConfiguration, error) {
	if val(name) == "" {
		return nil, required("launchConfigurationName")
	}
	l, ok := s.configurations.Get(*name)
	if !ok {
		return nil, invalid("Launch configuration name not found - Launch configuration %s not found", *name)
	}
	return l, nil
}

// nameOf returns the name of the launch configuration of an instance. AWS no longer shows it once
// that is deleted (kubernetes/kops#6558).
func (s *service) nameOf(l *types.LaunchConfiguration) *string {
	if l == nil {
		return nil
	}
	if now, ok := s.configurations.Get(*l.LaunchConfigurationName); !ok || now != l {
		return nil
	}
	return l.LaunchConfigurationName
}

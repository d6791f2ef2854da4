package autoscaling

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// askConfiguration asks for the launch configuration, and for passing the role of its instance
// profile (UG us-iam-role, "Prerequisites").
func (p *permissions) askConfiguration(c *sim.Call, in *autoscaling.CreateLaunchConfigurationInput) []sim.Question {
	if in.InstanceId != nil {
		if derived, err := p.configurationActions.ofInstance(in); err == nil {
			in = derived
		}
	}
	request := p.onConfiguration("CreateLaunchConfiguration", in.LaunchConfigurationName)
	add := func(key, value string) {
		if value != "" {
			request.Context[serviceName+":"+key] = []string{value}
		}
	}
	add("ImageId", val(in.ImageId))
	add("InstanceType", val(in.InstanceType))
	add("SpotPrice", val(in.SpotPrice))
	if o := in.MetadataOptions; o != nil {
		add("MetadataHttpEndpoint", string(o.HttpEndpoint))
		add("MetadataHttpTokens", string(o.HttpTokens))
		if o.HttpPutResponseHopLimit != nil {
			add("MetadataHttpPutResponseHopLimit", strconv.Itoa(int(*o.HttpPutResponseHopLimit)))
		}
	}
	asked := []sim.Question{{Request: request}}
	if profile, ok := iam.FindInstanceProfile(c.Account, val(in.IamInstanceProfile)); ok {
		if role, ok := iam.FindRole(c.Account, profile.Role); ok {
			asked = append(asked, sim.Question{Request: role.Passed("ec2.amazonaws.com")})
		}
	}
	return asked
}

// onConfiguration is the permission for an action on a launch configuration. The ARN of one that
// does not exist has no id.
func (p *permissions) onConfiguration(action string, name *string) iampolicy.Request {
	arn := configurationARN(p.region, "*", val(name))
	if l, exists := p.configurations.table.Get(val(name)); exists {
		arn = *l.LaunchConfigurationARN
	}
	return iampolicy.Request{Action: serviceName + ":" + action, Resource: arn, Context: iampolicy.Context{}}
}

// configured adds the condition key of the launch configuration that a group is created or updated with.
func configured(context iampolicy.Context, name *string) {
	if name != nil {
		context[serviceName+":LaunchConfigurationName"] = []string{*name}
	}
}

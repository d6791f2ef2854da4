package iam

import (
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// authorizeProfiles registers what permissions the calls need (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam).
func authorizeProfiles(reg *sim.Registry) {
	sim.AuthorizeUnscoped(reg, service, "ListInstanceProfiles")
	sim.Authorize(reg, service, "ListInstanceProfilesForRole", func(c *sim.Call, in *iam.ListInstanceProfilesForRoleInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "CreateInstanceProfile", func(c *sim.Call, in *iam.CreateInstanceProfileInput) []sim.Question {
		arn := of(c.Account).arn("instance-profile", orSlash(str(in.Path)), str(in.InstanceProfileName))
		return askCreate("CreateInstanceProfile", "TagInstanceProfile", arn, tagMap(in.Tags))
	})
	sim.Authorize(reg, service, "AddRoleToInstanceProfile", askAddRole)
	sim.Authorize(reg, service, "GetInstanceProfile", func(c *sim.Call, in *iam.GetInstanceProfileInput) []sim.Question {
		return askProfile(c, in.InstanceProfileName, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "DeleteInstanceProfile", func(c *sim.Call, in *iam.DeleteInstanceProfileInput) []sim.Question {
		return askProfile(c, in.InstanceProfileName, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "RemoveRoleFromInstanceProfile", func(c *sim.Call, in *iam.RemoveRoleFromInstanceProfileInput) []sim.Question {
		return askProfile(c, in.InstanceProfileName, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "TagInstanceProfile", func(c *sim.Call, in *iam.TagInstanceProfileInput) []sim.Question {
		return askProfile(c, in.InstanceProfileName, sim.Tagging(iampolicy.Context{}, tagMap(in.Tags)))
	})
	sim.Authorize(reg, service, "UntagInstanceProfile", func(c *sim.Call, in *iam.UntagInstanceProfileInput) []sim.Question {
		return askProfile(c, in.InstanceProfileName, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
}

// askAddRole asks for the permission to pass the role to EC2, too (AWS: API_AddRoleToInstanceProfile). That
// IAM takes EC2 for the service is an inference from Karpenter's policy, which lets its controller pass roles
// to no other service (https://karpenter.sh/docs/reference/cloudformation/, AllowPassingInstanceRole).
func askAddRole(c *sim.Call, in *iam.AddRoleToInstanceProfileInput) []sim.Question {
	asked := askProfile(c, in.InstanceProfileName, iampolicy.Context{})
	if role, exists := FindRole(c.Account, str(in.RoleName)); exists {
		asked = append(asked, sim.Question{Request: role.Passed("ec2.amazonaws.com")})
	}
	return asked
}

// askProfile takes the path / for a profile that does not exist, and no tags.
func askProfile(c *sim.Call, name *string, context iampolicy.Context) []sim.Question {
	profile, ok := of(c.Account).profiles.Get(str(name))
	if !ok {
		profile.ARN = of(c.Account).arn("instance-profile", "/", str(name))
	}
	return []sim.Question{{Request: iampolicy.Request{
		Action: "iam:" + c.Action, Resource: profile.ARN, Context: sim.Tagged(context, profile.Tags, service),
	}}}
}

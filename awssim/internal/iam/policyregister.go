package iam

import (
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// registerPolicies registers the handlers of managed policies.
func registerPolicies(reg *sim.Registry) {
	sim.Handle(reg, service, "CreatePolicy", createPolicy)
	sim.Handle(reg, service, "ListPolicies", listPolicies)
	sim.Handle(reg, service, "CreatePolicyVersion", createPolicyVersion)
	sim.Handle(reg, service, "DeletePolicy", deletePolicy)
	sim.Handle(reg, service, "DeletePolicyVersion", deletePolicyVersion)
	sim.Handle(reg, service, "GetPolicy", getPolicy)
	sim.Handle(reg, service, "GetPolicyVersion", getPolicyVersion)
	sim.Handle(reg, service, "ListEntitiesForPolicy", listEntitiesForPolicy)
	sim.Handle(reg, service, "ListPolicyTags", listPolicyTags)
	sim.Handle(reg, service, "ListPolicyVersions", listPolicyVersions)
	sim.Handle(reg, service, "SetDefaultPolicyVersion", setDefaultPolicyVersion)
	sim.Handle(reg, service, "TagPolicy", tagPolicy)
	sim.Handle(reg, service, "UntagPolicy", untagPolicy)
	authorizePolicies(reg)
}

// authorizePolicies registers what permissions the calls need (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam).
func authorizePolicies(reg *sim.Registry) {
	sim.AuthorizeUnscoped(reg, service, "ListPolicies")
	sim.Authorize(reg, service, "CreatePolicy", func(c *sim.Call, in *iam.CreatePolicyInput) []sim.Question {
		return askCreate("CreatePolicy", "TagPolicy", of(c.Account).arn("policy", orSlash(str(in.Path)), str(in.PolicyName)), tagMap(in.Tags))
	})
	sim.Authorize(reg, service, "CreatePolicyVersion", func(c *sim.Call, in *iam.CreatePolicyVersionInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "DeletePolicy", func(c *sim.Call, in *iam.DeletePolicyInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "DeletePolicyVersion", func(c *sim.Call, in *iam.DeletePolicyVersionInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "GetPolicy", func(c *sim.Call, in *iam.GetPolicyInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "GetPolicyVersion", func(c *sim.Call, in *iam.GetPolicyVersionInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "ListEntitiesForPolicy", func(c *sim.Call, in *iam.ListEntitiesForPolicyInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "ListPolicyTags", func(c *sim.Call, in *iam.ListPolicyTagsInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "ListPolicyVersions", func(c *sim.Call, in *iam.ListPolicyVersionsInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "SetDefaultPolicyVersion", func(c *sim.Call, in *iam.SetDefaultPolicyVersionInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "TagPolicy", func(c *sim.Call, in *iam.TagPolicyInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, sim.Tagging(iampolicy.Context{}, tagMap(in.Tags)))
	})
	sim.Authorize(reg, service, "UntagPolicy", func(c *sim.Call, in *iam.UntagPolicyInput) []sim.Question {
		return askPolicy(c, in.PolicyArn, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
}

func askPolicy(c *sim.Call, arn *string, context iampolicy.Context) []sim.Question {
	p, _ := of(c.Account).policies.Get(str(arn))
	return []sim.Question{{Request: iampolicy.Request{Action: "iam:" + c.Action, Resource: str(arn), Context: sim.Tagged(context, p.Tags, service)}}}
}

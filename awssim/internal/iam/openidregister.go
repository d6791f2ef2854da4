package iam

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// registerOpenIDConnect registers the handlers of OpenID Connect providers.
func registerOpenIDConnect(reg *sim.Registry) {
	sim.Handle(reg, service, "CreateOpenIDConnectProvider", createOpenIDConnectProvider)
	sim.Handle(reg, service, "GetOpenIDConnectProvider", getOpenIDConnectProvider)
	sim.Handle(reg, service, "ListOpenIDConnectProviders", listOpenIDConnectProviders)
	sim.Handle(reg, service, "DeleteOpenIDConnectProvider", deleteOpenIDConnectProvider)
	sim.Handle(reg, service, "AddClientIDToOpenIDConnectProvider", addClientID)
	sim.Handle(reg, service, "RemoveClientIDFromOpenIDConnectProvider", removeClientID)
	sim.Handle(reg, service, "UpdateOpenIDConnectProviderThumbprint", updateThumbprint)
	sim.Handle(reg, service, "TagOpenIDConnectProvider", tagProvider)
	sim.Handle(reg, service, "UntagOpenIDConnectProvider", untagProvider)
	sim.Handle(reg, service, "ListOpenIDConnectProviderTags", listProviderTags)
	authorizeOpenIDConnect(reg)
}

// authorizeOpenIDConnect registers what permissions the calls need (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam).
func authorizeOpenIDConnect(reg *sim.Registry) {
	sim.AuthorizeUnscoped(reg, service, "ListOpenIDConnectProviders")
	sim.Authorize(reg, service, "CreateOpenIDConnectProvider", func(c *sim.Call, in *iam.CreateOpenIDConnectProviderInput) []sim.Question {
		return askCreate("CreateOpenIDConnectProvider", "TagOpenIDConnectProvider", of(c.Account).providerARN(strings.TrimPrefix(str(in.Url), "https://")), tagMap(in.Tags))
	})
	sim.Authorize(reg, service, "GetOpenIDConnectProvider", func(c *sim.Call, in *iam.GetOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "DeleteOpenIDConnectProvider", func(c *sim.Call, in *iam.DeleteOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "AddClientIDToOpenIDConnectProvider", func(c *sim.Call, in *iam.AddClientIDToOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "RemoveClientIDFromOpenIDConnectProvider", func(c *sim.Call, in *iam.RemoveClientIDFromOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "UpdateOpenIDConnectProviderThumbprint", func(c *sim.Call, in *iam.UpdateOpenIDConnectProviderThumbprintInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
	sim.Authorize(reg, service, "TagOpenIDConnectProvider", func(c *sim.Call, in *iam.TagOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, sim.Tagging(iampolicy.Context{}, tagMap(in.Tags)))
	})
	sim.Authorize(reg, service, "UntagOpenIDConnectProvider", func(c *sim.Call, in *iam.UntagOpenIDConnectProviderInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
	sim.Authorize(reg, service, "ListOpenIDConnectProviderTags", func(c *sim.Call, in *iam.ListOpenIDConnectProviderTagsInput) []sim.Question {
		return askProvider(c, in.OpenIDConnectProviderArn, iampolicy.Context{})
	})
}

func askProvider(c *sim.Call, arn *string, context iampolicy.Context) []sim.Question {
	p, _ := of(c.Account).providers.Get(str(arn))
	return []sim.Question{{Request: iampolicy.Request{Action: "iam:" + c.Action, Resource: str(arn), Context: sim.Tagged(context, p.Tags)}}}
}

package ssm

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file holds the permissions that calls need (AWS: Service Authorization Reference,
// list_awssystemsmanager). It does not ask whether a key decrypts: the account's own key aws/ssm
// admits all callers of the account by way of Systems Manager.

const service = "ssm"

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDeniedException", "%s", message) })
	sim.AuthorizeUnscoped(reg, service, "DescribeParameters")
	sim.Authorize(reg, service, "GetParameter", func(c *sim.Call, in *ssm.GetParameterInput) []sim.Question { return askEach(c, str(in.Name)) })
	sim.Authorize(reg, service, "GetParameters", func(c *sim.Call, in *ssm.GetParametersInput) []sim.Question { return askEach(c, in.Names...) })
	sim.Authorize(reg, service, "DeleteParameter", func(c *sim.Call, in *ssm.DeleteParameterInput) []sim.Question { return askEach(c, str(in.Name)) })
	sim.Authorize(reg, service, "DeleteParameters", func(c *sim.Call, in *ssm.DeleteParametersInput) []sim.Question { return askEach(c, in.Names...) })
	sim.Authorize(reg, service, "PutParameter", askPut)
	sim.Authorize(reg, service, "AddTagsToResource", func(c *sim.Call, in *ssm.AddTagsToResourceInput) []sim.Question {
		request := Permission(c.Region, "ssm:AddTagsToResource", str(in.ResourceId))
		sim.Tagging(request.Context, tagMap(in.Tags))
		return []sim.Question{{Request: request}}
	})
	sim.Authorize(reg, service, "RemoveTagsFromResource", func(c *sim.Call, in *ssm.RemoveTagsFromResourceInput) []sim.Question {
		request := Permission(c.Region, "ssm:RemoveTagsFromResource", str(in.ResourceId))
		sim.Untagging(request.Context, in.TagKeys)
		return []sim.Question{{Request: request}}
	})
	sim.Authorize(reg, service, "ListTagsForResource", func(c *sim.Call, in *ssm.ListTagsForResourceInput) []sim.Question {
		return askEach(c, str(in.ResourceId))
	})
}

func askEach(c *sim.Call, references ...string) []sim.Question {
	var asked []sim.Question
	for _, reference := range references {
		asked = append(asked, sim.Question{Request: Permission(c.Region, service+":"+c.Action, reference)})
	}
	return asked
}

// Permission returns the permission for an action on a parameter, by name, name:version, or ARN.
// Only for code under the kernel's lock.
func Permission(r *sim.Region, action, reference string) iampolicy.Request {
	s := of(r)
	name, _, _ := s.split(reference)
	p, ok := s.parameters.Get(key(name))
	if !ok {
		p = parameter{ARN: s.arn(name, strings.HasPrefix(name, "/aws/"))}
	}
	return iampolicy.Request{Action: action, Resource: p.ARN, Context: sim.Tagged(iampolicy.Context{}, p.Tags, service)}
}

// askPut: a parameter that is created with tags needs the permission to tag it too (AWS: Systems
// Manager user guide, parameter-store-setting-up).
func askPut(c *sim.Call, in *ssm.PutParameterInput) []sim.Question {
	put, tags := Permission(c.Region, "ssm:PutParameter", str(in.Name)), tagMap(in.Tags)
	sim.Tagging(put.Context, tags)
	asked := []sim.Question{{Request: put}}
	if len(tags) > 0 {
		tag := Permission(c.Region, "ssm:AddTagsToResource", str(in.Name))
		sim.Tagging(tag.Context, tags)
		asked = append(asked, sim.Question{Request: tag})
	}
	return asked
}

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		tags[str(tag.Key)] = str(tag.Value)
	}
	return tags
}

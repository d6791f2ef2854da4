package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_amazonelastickubernetesservice).

// The role that EKS creates itself, with the first node group of an account (UG
// using-service-linked-roles-eks-nodegroups).
const (
	linkedRole    = "AWSServiceRoleForAmazonEKSNodegroup"
	linkedService = "eks-nodegroup.amazonaws.com"
)

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(serviceName, func(message string) *sim.Error {
		return sim.Errorf("AccessDeniedException", "%s", message).WithStatus(403)
	})
	sim.AuthorizeUnscoped(reg, serviceName, "ListClusters", "DescribeClusterVersions", "DescribeAddonVersions")
	registerClusterAuthorization(reg)
	ask(reg, "DescribeCluster", func(s *service, c *sim.Call, in *eks.DescribeClusterInput) []sim.Question {
		return questions(s.onCluster(c, in.Name))
	})
	ask(reg, "ListNodegroups", func(s *service, c *sim.Call, in *eks.ListNodegroupsInput) []sim.Question {
		return questions(s.onCluster(c, in.ClusterName))
	})
	ask(reg, "CreateNodegroup", askCreate)
	ask(reg, "DescribeNodegroup", func(s *service, c *sim.Call, in *eks.DescribeNodegroupInput) []sim.Question {
		return questions(s.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "DeleteNodegroup", func(s *service, c *sim.Call, in *eks.DeleteNodegroupInput) []sim.Question {
		return questions(s.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "UpdateNodegroupConfig", func(s *service, c *sim.Call, in *eks.UpdateNodegroupConfigInput) []sim.Question {
		return questions(s.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "UpdateNodegroupVersion", func(s *service, c *sim.Call, in *eks.UpdateNodegroupVersionInput) []sim.Question {
		return append(questions(s.onGroup(c, in.ClusterName, in.NodegroupName)), s.askLaunches(in.LaunchTemplate)...)
	})
	// The cluster is always a resource of updates; the node group is one too where it is named.
	ask(reg, "DescribeUpdate", func(s *service, c *sim.Call, in *eks.DescribeUpdateInput) []sim.Question {
		return s.askUpdates(c, in.Name, in.NodegroupName, in.AddonName)
	})
	ask(reg, "ListUpdates", func(s *service, c *sim.Call, in *eks.ListUpdatesInput) []sim.Question {
		return s.askUpdates(c, in.Name, in.NodegroupName, in.AddonName)
	})
	ask(reg, "TagResource", func(s *service, c *sim.Call, in *eks.TagResourceInput) []sim.Question {
		return s.askTags(c, in.ResourceArn, sim.Tagging(iampolicy.Context{}, in.Tags))
	})
	ask(reg, "UntagResource", func(s *service, c *sim.Call, in *eks.UntagResourceInput) []sim.Question {
		return s.askTags(c, in.ResourceArn, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
	ask(reg, "ListTagsForResource", func(s *service, c *sim.Call, in *eks.ListTagsForResourceInput) []sim.Question {
		return s.askTags(c, in.ResourceArn, iampolicy.Context{})
	})
}

func ask[I any](reg *sim.Registry, action string, questions func(*service, *sim.Call, *I) []sim.Question) {
	sim.Authorize(reg, serviceName, action, func(c *sim.Call, in *I) []sim.Question { return questions(regional(c.Region), c, in) })
}

func questions(requests ...iampolicy.Request) []sim.Question {
	all := make([]sim.Question, len(requests))
	for i, request := range requests {
		all[i].Request = request
	}
	return all
}

func (s *service) onCluster(c *sim.Call, name *string) iampolicy.Request {
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(s.region, "cluster/"+val(name)), Context: iampolicy.Context{}}
	if k := s.clusters.byName[val(name)]; k != nil {
		request.Resource, request.Context = k.arn, sim.Tagged(iampolicy.Context{}, k.Tags)
	}
	return request
}

func (s *service) onGroup(c *sim.Call, cluster, name *string) iampolicy.Request {
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(s.region, "nodegroup/"+val(cluster)+"/"+val(name)+"/*"), Context: iampolicy.Context{}}
	if g := s.groups.byKey[groupKey(val(cluster), val(name))]; g != nil {
		request.Resource, request.Context = g.arn, sim.Tagged(iampolicy.Context{}, g.tags)
	}
	return request
}

func (s *service) askUpdates(c *sim.Call, cluster, group, addon *string) []sim.Question {
	asked := questions(s.onCluster(c, cluster))
	if group != nil {
		asked = append(asked, questions(s.onGroup(c, cluster, group))...)
	}
	if addon != nil {
		asked = append(asked, questions(s.onAddon(c, cluster, addon))...)
	}
	return asked
}

func (s *service) askTags(c *sim.Call, arn *string, context iampolicy.Context) []sim.Question {
	tags, _, err := s.tagged(val(arn))
	if err != nil {
		tags = nil
	}
	return questions(iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: val(arn), Context: sim.Tagged(context, tags)})
}

// askCreate: a node group is created in a cluster; its tags need a permission of their own, which
// users report for node groups as for everything that EKS creates; and its role is handed over to
// EKS (UG security_iam_id-based-policy-examples, create-node-role).
func askCreate(s *service, c *sim.Call, in *eks.CreateNodegroupInput) []sim.Question {
	request := s.onCluster(c, in.ClusterName)
	sim.Tagging(request.Context, in.Tags)
	asked := questions(request)
	if len(in.Tags) > 0 {
		asked = append(asked, questions(iampolicy.Request{
			Action: "eks:TagResource", Resource: arnOf(s.region, "nodegroup/"+val(in.ClusterName)+"/"+val(in.NodegroupName)+"/*"), Context: sim.Tagging(iampolicy.Context{}, in.Tags),
		})...)
	}
	asked = append(asked, questions(iam.Role{ARN: val(in.NodeRole)}.Passed("eks.amazonaws.com"))...)
	asked = append(asked, iam.ServiceLinkedRole(c.Account, linkedRole, linkedService)...)
	return append(asked, s.askLaunches(in.LaunchTemplate)...)
}

// askLaunches: EKS tries whether the caller may launch from its template (UG launch-templates). The
// wording is from reports of users.
func (s *service) askLaunches(spec *types.LaunchTemplateSpecification) []sim.Question {
	if spec == nil {
		return nil
	}
	refusal := badRequest("You are not authorized to launch instances with this launch template. Encoded authorization failure message: simulated")
	var asked []sim.Question
	for _, request := range ec2.LaunchPermissions(s.region, ec2.LaunchRequest{
		Template: ec2.LaunchTemplateSpec{ID: val(spec.Id), Name: val(spec.Name), Version: val(spec.Version)},
	}) {
		asked = append(asked, sim.Question{Request: request, Refusal: refusal})
	}
	return asked
}

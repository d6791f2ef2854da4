package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The role that EKS creates itself, with the first node group of an account (UG
// using-service-linked-roles-eks-nodegroups).
const (
	linkedRole    = "AWSServiceRoleForAmazonEKSNodegroup"
	linkedService = "eks-nodegroup.amazonaws.com"
)

// permissions returns the permissions that calls need (AWS: Service Authorization Reference,
// list_amazonelastickubernetesservice).
type permissions struct {
	region     *sim.Region
	clusters   *clusters
	groups     *groups
	tagActions *tagActions
}

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(serviceName, func(message string) *sim.Error {
		return sim.Errorf("AccessDeniedException", "%s", message).WithStatus(403)
	})
	sim.AuthorizeUnscoped(reg, serviceName, "ListClusters", "DescribeClusterVersions", "DescribeAddonVersions")
	registerClusterAuthorization(reg)
	ask(reg, "DescribeCluster", func(p *permissions, c *sim.Call, in *eks.DescribeClusterInput) []sim.Question {
		return questions(p.onCluster(c, in.Name))
	})
	ask(reg, "ListNodegroups", func(p *permissions, c *sim.Call, in *eks.ListNodegroupsInput) []sim.Question {
		return questions(p.onCluster(c, in.ClusterName))
	})
	ask(reg, "CreateNodegroup", (*permissions).askCreate)
	ask(reg, "DescribeNodegroup", func(p *permissions, c *sim.Call, in *eks.DescribeNodegroupInput) []sim.Question {
		return questions(p.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "DeleteNodegroup", func(p *permissions, c *sim.Call, in *eks.DeleteNodegroupInput) []sim.Question {
		return questions(p.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "UpdateNodegroupConfig", func(p *permissions, c *sim.Call, in *eks.UpdateNodegroupConfigInput) []sim.Question {
		return questions(p.onGroup(c, in.ClusterName, in.NodegroupName))
	})
	ask(reg, "UpdateNodegroupVersion", func(p *permissions, c *sim.Call, in *eks.UpdateNodegroupVersionInput) []sim.Question {
		return append(questions(p.onGroup(c, in.ClusterName, in.NodegroupName)), p.askLaunches(in.LaunchTemplate)...)
	})
	// The cluster is always a resource of updates; the node group is one too where it is named.
	ask(reg, "DescribeUpdate", func(p *permissions, c *sim.Call, in *eks.DescribeUpdateInput) []sim.Question {
		return p.askUpdates(c, in.Name, in.NodegroupName, in.AddonName)
	})
	ask(reg, "ListUpdates", func(p *permissions, c *sim.Call, in *eks.ListUpdatesInput) []sim.Question {
		return p.askUpdates(c, in.Name, in.NodegroupName, in.AddonName)
	})
	ask(reg, "TagResource", func(p *permissions, c *sim.Call, in *eks.TagResourceInput) []sim.Question {
		return p.askTags(c, in.ResourceArn, sim.Tagging(iampolicy.Context{}, in.Tags))
	})
	ask(reg, "UntagResource", func(p *permissions, c *sim.Call, in *eks.UntagResourceInput) []sim.Question {
		return p.askTags(c, in.ResourceArn, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
	ask(reg, "ListTagsForResource", func(p *permissions, c *sim.Call, in *eks.ListTagsForResourceInput) []sim.Question {
		return p.askTags(c, in.ResourceArn, iampolicy.Context{})
	})
}

func ask[I any](reg *sim.Registry, action string, questions func(*permissions, *sim.Call, *I) []sim.Question) {
	sim.Authorize(reg, serviceName, action, func(c *sim.Call, in *I) []sim.Question { return questions(regional(c.Region).permissions, c, in) })
}

func questions(requests ...iampolicy.Request) []sim.Question {
	all := make([]sim.Question, len(requests))
	for i, request := range requests {
		all[i].Request = request
	}
	return all
}

// onCluster returns the permission for an action on a cluster, with the cluster's tags if it exists.
func (p *permissions) onCluster(c *sim.Call, name *string) iampolicy.Request {
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(p.region, "cluster/"+val(name)), Context: iampolicy.Context{}}
	if k := p.clusters.byName[val(name)]; k != nil {
		request.Resource, request.Context = k.arn, sim.Tagged(iampolicy.Context{}, k.Tags)
	}
	return request
}

// onGroup returns the permission for an action on a node group, with the group's tags if it exists.
func (p *permissions) onGroup(c *sim.Call, cluster, name *string) iampolicy.Request {
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(p.region, "nodegroup/"+val(cluster)+"/"+val(name)+"/*"), Context: iampolicy.Context{}}
	if g := p.groups.byKey[groupKey(val(cluster), val(name))]; g != nil {
		request.Resource, request.Context = g.arn, sim.Tagged(iampolicy.Context{}, g.tags)
	}
	return request
}

// askUpdates asks for permission to read the updates of a cluster, and of the node group and the
// add-on if the request names them.
func (p *permissions) askUpdates(c *sim.Call, cluster, group, addon *string) []sim.Question {
	asked := questions(p.onCluster(c, cluster))
	if group != nil {
		asked = append(asked, questions(p.onGroup(c, cluster, group))...)
	}
	if addon != nil {
		asked = append(asked, questions(p.onAddon(c, cluster, addon))...)
	}
	return asked
}

// askTags asks for permission to read or change the tags of a resource.
func (p *permissions) askTags(c *sim.Call, arn *string, context iampolicy.Context) []sim.Question {
	tags, _, err := p.tagActions.find(val(arn))
	if err != nil {
		tags = nil
	}
	return questions(iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: val(arn), Context: sim.Tagged(context, tags)})
}

// askCreate asks for permission to create a node group in a cluster, to set its tags, and to pass its
// role to EKS (UG security_iam_id-based-policy-examples, create-node-role). Users report the
// permission for tags for node groups as for all other resources of EKS.
func (p *permissions) askCreate(c *sim.Call, in *eks.CreateNodegroupInput) []sim.Question {
	request := p.onCluster(c, in.ClusterName)
	sim.Tagging(request.Context, in.Tags)
	asked := questions(request)
	if len(in.Tags) > 0 {
		asked = append(asked, questions(iampolicy.Request{
			Action: "eks:TagResource", Resource: arnOf(p.region, "nodegroup/"+val(in.ClusterName)+"/"+val(in.NodegroupName)+"/*"), Context: sim.Tagging(iampolicy.Context{}, in.Tags),
		})...)
	}
	asked = append(asked, questions(iam.Role{ARN: val(in.NodeRole)}.Passed("eks.amazonaws.com"))...)
	asked = append(asked, iam.ServiceLinkedRole(c.Account, linkedRole, linkedService)...)
	return append(asked, p.askLaunches(in.LaunchTemplate)...)
}

// askLaunches asks for permission to launch instances from a launch template, which EKS verifies for
// its caller (UG launch-templates). The wording is from reports of users.
func (p *permissions) askLaunches(spec *types.LaunchTemplateSpecification) []sim.Question {
	if spec == nil {
		return nil
	}
	refusal := badRequest("You are not authorized to launch instances with this launch template. Encoded authorization failure message: simulated")
	var asked []sim.Question
	for _, request := range ec2.LaunchPermissions(p.region, ec2.LaunchRequest{
		Template: ec2.LaunchTemplateSpec{ID: val(spec.Id), Name: val(spec.Name), Version: val(spec.Version)},
	}) {
		asked = append(asked, sim.Question{Request: request, Refusal: refusal})
	}
	return asked
}

package eks

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// registerClusterAuthorization adds the permissions that calls about clusters, add-ons and access
// entries need.
func registerClusterAuthorization(reg *sim.Registry) {
	ask(reg, "CreateCluster", (*permissions).askCreateCluster)
	ask(reg, "DeleteCluster", func(p *permissions, c *sim.Call, in *eks.DeleteClusterInput) []sim.Question {
		return questions(p.onCluster(c, in.Name))
	})
	ask(reg, "UpdateClusterVersion", func(p *permissions, c *sim.Call, in *eks.UpdateClusterVersionInput) []sim.Question {
		request := p.onCluster(c, in.Name)
		request.Context["eks:kubernetesVersion"] = []string{val(in.Version)}
		return questions(request)
	})
	ask(reg, "UpdateClusterConfig", func(p *permissions, c *sim.Call, in *eks.UpdateClusterConfigInput) []sim.Question {
		request := p.onCluster(c, in.Name)
		if a := in.AccessConfig; a != nil {
			request.Context["eks:authenticationMode"] = []string{string(a.AuthenticationMode)}
		}
		if u := in.UpgradePolicy; u != nil {
			request.Context["eks:supportType"] = []string{string(u.SupportType)}
		}
		return questions(request)
	})
	registerAddonAuthorization(reg)
	registerEntryAuthorization(reg)
}

// askCreateCluster asks for permission to create a cluster, with its settings as condition keys, to
// set its tags, and to pass its role to EKS (UG security_iam_id-based-policy-examples).
func (p *permissions) askCreateCluster(c *sim.Call, in *eks.CreateClusterInput) []sim.Question {
	request := p.onCluster(c, in.Name)
	sim.Tagging(request.Context, in.Tags)
	if a := in.AccessConfig; a != nil {
		if a.AuthenticationMode != "" {
			request.Context["eks:authenticationMode"] = []string{string(a.AuthenticationMode)}
		}
		if a.BootstrapClusterCreatorAdminPermissions != nil {
			request.Context["eks:bootstrapClusterCreatorAdminPermissions"] = []string{strconv.FormatBool(*a.BootstrapClusterCreatorAdminPermissions)}
		}
	}
	if u := in.UpgradePolicy; u != nil {
		request.Context["eks:supportType"] = []string{string(u.SupportType)}
	}
	if in.Version != nil {
		request.Context["eks:kubernetesVersion"] = []string{*in.Version}
	}
	asked := questions(request)
	asked = append(asked, p.askNewTags("cluster/"+val(in.Name), in.Tags)...)
	asked = append(asked, questions(iam.Role{ARN: val(in.RoleArn)}.Passed(clusterService))...)
	return append(asked, iam.ServiceLinkedRole(c.Account, clusterRole, clusterService)...)
}

// askNewTags asks for the separate permission to set the tags of a new resource.
func (p *permissions) askNewTags(resource string, tags map[string]string) []sim.Question {
	if len(tags) == 0 {
		return nil
	}
	return questions(iampolicy.Request{Action: "eks:TagResource", Resource: arnOf(p.region, resource), Context: sim.Tagging(iampolicy.Context{}, tags)})
}

func registerAddonAuthorization(reg *sim.Registry) {
	ask(reg, "CreateAddon", func(p *permissions, c *sim.Call, in *eks.CreateAddonInput) []sim.Question {
		request := p.onCluster(c, in.ClusterName)
		sim.Tagging(request.Context, in.Tags)
		asked := append(questions(request), p.askNewTags("addon/"+val(in.ClusterName)+"/"+val(in.AddonName)+"/*", in.Tags)...)
		return append(asked, askAddonRole(in.ServiceAccountRoleArn)...)
	})
	ask(reg, "ListAddons", func(p *permissions, c *sim.Call, in *eks.ListAddonsInput) []sim.Question {
		return questions(p.onCluster(c, in.ClusterName))
	})
	ask(reg, "DescribeAddon", func(p *permissions, c *sim.Call, in *eks.DescribeAddonInput) []sim.Question {
		return questions(p.onAddon(c, in.ClusterName, in.AddonName))
	})
	ask(reg, "DeleteAddon", func(p *permissions, c *sim.Call, in *eks.DeleteAddonInput) []sim.Question {
		return questions(p.onAddon(c, in.ClusterName, in.AddonName))
	})
	ask(reg, "UpdateAddon", func(p *permissions, c *sim.Call, in *eks.UpdateAddonInput) []sim.Question {
		return append(questions(p.onAddon(c, in.ClusterName, in.AddonName)), askAddonRole(in.ServiceAccountRoleArn)...)
	})
}

// askAddonRole asks for permission to pass the role of an add-on's service account to EKS (UG
// creating-an-add-on: iam:PassRole).
func askAddonRole(role *string) []sim.Question {
	if val(role) == "" {
		return nil
	}
	return questions(iam.Role{ARN: *role}.Passed(clusterService))
}

func registerEntryAuthorization(reg *sim.Registry) {
	ask(reg, "CreateAccessEntry", func(p *permissions, c *sim.Call, in *eks.CreateAccessEntryInput) []sim.Question {
		request := p.onCluster(c, in.ClusterName)
		sim.Tagging(request.Context, in.Tags)
		request.Context["eks:principalArn"] = []string{val(in.PrincipalArn)}
		for key, value := range map[string]*string{"eks:accessEntryType": in.Type, "eks:username": in.Username} {
			if value != nil {
				request.Context[key] = []string{*value}
			}
		}
		if len(in.KubernetesGroups) > 0 {
			request.Context["eks:kubernetesGroups"] = in.KubernetesGroups
		}
		return append(questions(request), p.askNewTags("access-entry/"+val(in.ClusterName)+"/*", in.Tags)...)
	})
	ask(reg, "ListAccessEntries", func(p *permissions, c *sim.Call, in *eks.ListAccessEntriesInput) []sim.Question {
		return questions(p.onCluster(c, in.ClusterName))
	})
	ask(reg, "DescribeAccessEntry", func(p *permissions, c *sim.Call, in *eks.DescribeAccessEntryInput) []sim.Question {
		return questions(p.onEntry(c, in.ClusterName, in.PrincipalArn))
	})
	ask(reg, "UpdateAccessEntry", func(p *permissions, c *sim.Call, in *eks.UpdateAccessEntryInput) []sim.Question {
		return questions(p.onEntry(c, in.ClusterName, in.PrincipalArn))
	})
	ask(reg, "DeleteAccessEntry", func(p *permissions, c *sim.Call, in *eks.DeleteAccessEntryInput) []sim.Question {
		return questions(p.onEntry(c, in.ClusterName, in.PrincipalArn))
	})
	ask(reg, "ListAssociatedAccessPolicies", func(p *permissions, c *sim.Call, in *eks.ListAssociatedAccessPoliciesInput) []sim.Question {
		return questions(p.onEntry(c, in.ClusterName, in.PrincipalArn))
	})
	ask(reg, "AssociateAccessPolicy", func(p *permissions, c *sim.Call, in *eks.AssociateAccessPolicyInput) []sim.Question {
		request := p.onEntry(c, in.ClusterName, in.PrincipalArn)
		request.Context["eks:policyArn"] = []string{val(in.PolicyArn)}
		if scope := in.AccessScope; scope != nil {
			request.Context["eks:accessScope"] = []string{string(scope.Type)}
			if len(scope.Namespaces) > 0 {
				request.Context["eks:namespaces"] = scope.Namespaces
			}
		}
		return questions(request)
	})
	ask(reg, "DisassociateAccessPolicy", func(p *permissions, c *sim.Call, in *eks.DisassociateAccessPolicyInput) []sim.Question {
		request := p.onEntry(c, in.ClusterName, in.PrincipalArn)
		request.Context["eks:policyArn"] = []string{val(in.PolicyArn)}
		return questions(request)
	})
}

// onAddon returns the permission for an action on an add-on, with the add-on's tags if it exists.
func (p *permissions) onAddon(c *sim.Call, cluster, name *string) iampolicy.Request {
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(p.region, "addon/"+val(cluster)+"/"+val(name)+"/*"), Context: iampolicy.Context{}}
	if k := p.clusters.byName[val(cluster)]; k != nil && k.addons[val(name)] != nil {
		a := k.addons[val(name)]
		request.Resource, request.Context = a.arn, sim.Tagged(iampolicy.Context{}, a.tags)
	}
	return request
}

// onEntry returns the permission for an action on an access entry, with the entry's tags if it exists.
func (p *permissions) onEntry(c *sim.Call, cluster, principal *string) iampolicy.Request {
	resource := "access-entry/" + val(cluster) + "/*"
	if m := principalARN.FindStringSubmatch(val(principal)); m != nil {
		resource = "access-entry/" + val(cluster) + "/" + m[2] + "/" + m[1] + "/" + m[3] + "/*"
	}
	request := iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arnOf(p.region, resource), Context: iampolicy.Context{}}
	if k := p.clusters.byName[val(cluster)]; k != nil && k.entries[val(principal)] != nil {
		e := k.entries[val(principal)]
		request.Resource, request.Context = e.arn, sim.Tagged(iampolicy.Context{}, e.tags)
	}
	return request
}

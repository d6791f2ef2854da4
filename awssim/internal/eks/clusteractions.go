package eks

import (
	"regexp"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// Bounds of clusters (UG service-quotas; SDK CreateClusterInput.ResourcesVpcConfig).
const (
	defaultClusters          = 100
	maxClusterSecurityGroups = 5
	clusterRole              = "AWSServiceRoleForAmazonEKS"
	clusterService           = "eks.amazonaws.com"
)

// clusterNames matches the names of clusters (botocore, eks, shape ClusterName).
var clusterNames = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)

// clusterActions serves the actions that create, show and delete clusters.
type clusterActions struct {
	region        *sim.Region
	kernel        *sim.Kernel
	tokens        *tokens
	updates       *updates
	catalog       *catalog
	networks      *networks
	roles         *roles
	clusters      *clusters
	groups        *groups
	accessEntries *accessEntries
	addons        *addons
}

func (api *clusterActions) create(c *sim.Call, in *eks.CreateClusterInput) (*eks.CreateClusterOutput, error) {
	if !clusterNames.MatchString(val(in.Name)) {
		// the wording is an inference
		return nil, invalid("The cluster name %q does not match ^[0-9A-Za-z][A-Za-z0-9\\-_]*, or has more than 100 characters.", val(in.Name))
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateClusterOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if api.clusters.byName[*in.Name] != nil { // message seen in aws-controllers-k8s and terraform-provider-aws issues
		return nil, inUse("Cluster already exists with name: %s", *in.Name)
	}
	if quota := api.kernel.World().Quota(world.QuotaClusters, defaultClusters); len(api.clusters.byName) >= quota {
		// the wording is an inference
		return nil, sim.Errorf(codeLimitExceeded, "Cannot exceed quota for the number of clusters: %d", quota)
	}
	version, err := api.catalog.clusterVersion(in.Version)
	if err != nil {
		return nil, err
	}
	n, err := api.newSettings(in)
	if err != nil {
		return nil, err
	}
	k := api.clusters.add(*in.Name)
	k.Cluster = world.Cluster{Name: *in.Name, Version: version, Subnets: slices.Clone(in.ResourcesVpcConfig.SubnetIds), Tags: merged(in.Tags)}
	k.id, k.role, k.clusterSettings = strings.ToUpper(api.kernel.NewID("", 32)), *in.RoleArn, n
	k.vpc = api.networks.vpcOf(k.Subnets[0])
	k.ServiceCIDR = api.networks.serviceCIDR(k.vpc, in.KubernetesNetworkConfig)
	if k.access.AuthenticationMode != types.AuthenticationModeConfigMap && (in.AccessConfig == nil || in.AccessConfig.BootstrapClusterCreatorAdminPermissions == nil ||
		*in.AccessConfig.BootstrapClusterCreatorAdminPermissions) {
		api.accessEntries.admitCreator(k, c.Principal)
	}
	api.clusters.setStatus(k, types.ClusterStatusCreating)
	api.kernel.After(max(api.kernel.Behavior().ClusterTimes.Creating, reaction), func() { api.finishCreation(k) })
	iam.EnsureServiceLinkedRole(c.Account, clusterRole, clusterService)
	out := &eks.CreateClusterOutput{Cluster: api.clusters.describe(k)}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// finishCreation makes a cluster ACTIVE, with a security group. The cluster is FAILED if the security
// group cannot be created.
func (api *clusterActions) finishCreation(k *cluster) {
	if api.clusters.byName[k.Name] != k || k.status != types.ClusterStatusCreating {
		return
	}
	group, err := api.clusters.createSecurityGroup(k.Name, k.vpc)
	if err != nil {
		api.clusters.setStatus(k, types.ClusterStatusFailed)
		return
	}
	k.securityGroup = group
	api.clusters.setStatus(k, types.ClusterStatusActive)
}

func (api *clusterActions) describe(_ *sim.Call, in *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
	c, ok := api.clusters.views.Visible(val(in.Name))
	if !ok {
		return nil, clusterNotFound(val(in.Name))
	}
	return &eks.DescribeClusterOutput{Cluster: c}, nil
}

func (api *clusterActions) list(_ *sim.Call, in *eks.ListClustersInput) (*eks.ListClustersOutput, error) {
	names := []string{}
	for _, c := range api.clusters.views.VisibleAll() {
		names = append(names, *c.Name)
	}
	page, next, err := pageOfNames(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListClustersOutput{Clusters: page, NextToken: next}, nil
}

// delete begins to delete a cluster that has no node groups, with its add-ons and access entries
// (gruntwork-io/cloud-nuke#148 for the wording; the wording about deletion protection is an inference).
func (api *clusterActions) delete(_ *sim.Call, in *eks.DeleteClusterInput) (*eks.DeleteClusterOutput, error) {
	k, err := api.clusters.find(in.Name)
	if err != nil {
		return nil, err
	}
	if k.status == types.ClusterStatusDeleting {
		return &eks.DeleteClusterOutput{Cluster: api.clusters.describe(k)}, nil
	}
	if k.protected {
		return nil, badRequest("Cannot delete cluster %s because deletion protection is enabled. Disable deletion protection first.", k.Name)
	}
	for _, g := range api.groups.byKey {
		if g.cluster == k {
			return nil, inUse("Cluster has nodegroups attached")
		}
	}
	if k.status != types.ClusterStatusFailed {
		if err := k.idle("delete"); err != nil {
			return nil, err
		}
	}
	api.clusters.setStatus(k, types.ClusterStatusDeleting)
	api.kernel.After(max(api.kernel.Behavior().ClusterTimes.Deleting, reaction), func() { api.finishDeletion(k) })
	return &eks.DeleteClusterOutput{Cluster: api.clusters.describe(k)}, nil
}

// finishDeletion removes a cluster, unless SetCluster changed it meanwhile. Its security group
// stays if it is in use.
func (api *clusterActions) finishDeletion(k *cluster) {
	if api.clusters.byName[k.Name] != k || k.status != types.ClusterStatusDeleting {
		return
	}
	if k.securityGroup != "" {
		_, _ = call[awsec2.DeleteSecurityGroupOutput](api.region, "ec2", "DeleteSecurityGroup", &awsec2.DeleteSecurityGroupInput{GroupId: ptr(k.securityGroup)})
	}
	for _, a := range k.addons {
		api.addons.remove(a)
	}
	for _, u := range k.history {
		api.updates.views.Delete(k.updateKey(u.id))
	}
	for _, e := range k.entries {
		api.accessEntries.views.Delete(e.key())
	}
	delete(api.clusters.byName, k.Name)
	api.clusters.views.Delete(k.Name)
	api.clusters.emit(k, "DELETED")
}

package eks

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// clusterUpdateActions serves the actions that change clusters.
type clusterUpdateActions struct {
	kernel   *sim.Kernel
	tokens   *tokens
	updates  *updates
	catalog  *catalog
	networks *networks
	clusters *clusters
	groups   *groups
}

// idle refuses a change of a cluster that is being changed or is not ACTIVE. The wording about
// updates is from aws/aws-cdk#33452 and rancher/eks-operator#547. The wording about other statuses
// is an inference.
func (c *cluster) idle(what string) error {
	switch {
	case c.change != nil:
		return inUse("Cannot %s because cluster %s currently has update %s in progress", what, c.Name, c.change.id)
	case c.status != types.ClusterStatusActive:
		return inUse("Cannot %s because cluster %s is in status %s", what, c.Name, c.status)
	}
	return nil
}

// begin records an update of a cluster. The cluster is UPDATING until the update is complete, and
// apply changes it then.
func (api *clusterUpdateActions) begin(c *cluster, kind types.UpdateType, params []types.UpdateParam, apply func()) *update {
	u := api.updates.create(kind, params)
	c.change, c.history = u, append(c.history, u)
	api.updates.views.Put(c.updateKey(u.id), u.view)
	api.clusters.setStatus(c, types.ClusterStatusUpdating)
	api.kernel.After(max(api.kernel.Behavior().ClusterTimes.Updating, reaction), func() {
		if api.clusters.byName[c.Name] != c || c.change != u {
			return
		}
		apply()
		c.change = nil
		api.updates.views.Put(c.updateKey(u.id), u.ended())
		api.clusters.setStatus(c, types.ClusterStatusActive)
	})
	return u
}

// updateVersion upgrades the control plane by one minor version, or rolls it back to the version
// before its upgrade.
func (api *clusterUpdateActions) updateVersion(c *sim.Call, in *eks.UpdateClusterVersionInput) (*eks.UpdateClusterVersionOutput, error) {
	k, err := api.clusters.find(in.Name)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateClusterVersionOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if err := k.idle(string(types.UpdateTypeVersionUpdate)); err != nil {
		return nil, err
	}
	kind, err := api.checkStep(k, val(in.Version))
	if err != nil {
		return nil, err
	}
	if in.RollbackConfig != nil {
		// SDK RollbackConfig
		if minutes := in.RollbackConfig.TimeoutMinutes; kind != types.UpdateTypeVersionRollback || minutes != nil && (*minutes < 120 || *minutes > 10080) {
			return nil, invalid("rollbackConfig is for rollbacks, with a timeout from 120 to 10080 minutes.")
		}
	}
	if err := api.checkGroupVersions(k, kind, *in.Version); err != nil {
		return nil, err
	}
	p := params{}
	p.add(types.UpdateParamTypeVersion, *in.Version)
	p.add(types.UpdateParamTypePlatformVersion, platformVersion)
	u := api.begin(k, kind, p, func() { k.became(*in.Version, api.kernel.Now()) })
	out := &eks.UpdateClusterVersionOutput{Update: u.view}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// checkStep returns the type of an update to a version, and refuses versions that the cluster
// cannot be updated to, including its current one. A cluster can return to its previous version
// within seven days of its upgrade (UG rollback-cluster). The wording is from
// terraform-aws-eks#2607 and rancher/rancher#21043.
func (api *clusterUpdateActions) checkStep(k *cluster, version string) (types.UpdateType, error) {
	if err := api.catalog.checkOffered(version); err != nil {
		return "", err
	}
	switch minor(version) - minor(k.Version) {
	case 1:
		return types.UpdateTypeVersionUpdate, nil
	case -1:
		if !k.upgraded.IsZero() && api.kernel.Now().Sub(k.upgraded) <= rollbackWindow {
			return types.UpdateTypeVersionRollback, nil
		}
	}
	return "", invalid("Unsupported Kubernetes minor version update from %s to %s", k.Version, version)
}

// checkGroupVersions requires that all node groups have the cluster's version before an upgrade
// (SDK UpdateClusterVersion), and the version that the cluster returns to before a rollback,
// because nodes are rolled back first (UG rollback-cluster). The wording is from
// hashicorp/terraform-provider-aws#19478.
func (api *clusterUpdateActions) checkGroupVersions(k *cluster, kind types.UpdateType, version string) error {
	wanted := k.Version
	if kind == types.UpdateTypeVersionRollback {
		wanted = version
	}
	var others []string
	for _, key := range sortedKeys(api.groups.byKey) {
		if g := api.groups.byKey[key]; g.cluster == k && g.version != wanted {
			others = append(others, g.name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return badRequest("Nodegroups %s must be updated to match cluster version %s before updating cluster version", strings.Join(others, ", "), wanted)
}

// wantedCluster holds the settings of a cluster after UpdateClusterConfig.
type wantedCluster struct {
	clusterSettings
	subnets []string
}

// clusterChange is one kind of change of UpdateClusterConfig. A call makes only one change, because
// the type of the update names it.
type clusterChange struct {
	kind   types.UpdateType
	params params
	apply  func(*wantedCluster) error
}

// updateConfig changes one kind of settings of a cluster.
func (api *clusterUpdateActions) updateConfig(c *sim.Call, in *eks.UpdateClusterConfigInput) (*eks.UpdateClusterConfigOutput, error) {
	k, err := api.clusters.find(in.Name)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateClusterConfigOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	change, err := api.change(k, in)
	if err != nil {
		return nil, err
	}
	if err := k.idle(string(change.kind)); err != nil {
		return nil, err
	}
	had := wantedCluster{k.clusterSettings, k.Subnets}
	n := had
	if err := change.apply(&n); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(had, n) {
		return nil, nothingChanges(change.kind, &n)
	}
	u := api.begin(k, change.kind, change.params, func() { k.clusterSettings, k.Subnets = n.clusterSettings, n.subnets })
	out := &eks.UpdateClusterConfigOutput{Update: u.view}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// nothingChanges returns the error for a request that changes nothing. The wording about endpoint
// access is from eksctl-io/eksctl#4043. The wording for the others is an inference.
func nothingChanges(kind types.UpdateType, n *wantedCluster) error {
	switch kind {
	case types.UpdateTypeEndpointAccessUpdate:
		return invalid("Cluster is already at the desired configuration with endpointPrivateAccess: %t , endpointPublicAccess: %t, and Public Endpoint Restrictions: [%s]",
			n.privateAccess, n.publicAccess, strings.Join(n.publicCIDRs, ", "))
	case types.UpdateTypeLoggingUpdate:
		return invalid("No changes needed for the logging config provided")
	default:
		return invalid("Cluster is already at the desired configuration")
	}
}

// change returns the one change that a call requests.
func (api *clusterUpdateActions) change(k *cluster, in *eks.UpdateClusterConfigInput) (clusterChange, error) {
	if err := notSimulated(&eks.CreateClusterInput{
		ComputeConfig: in.ComputeConfig, StorageConfig: in.StorageConfig, KubernetesNetworkConfig: in.KubernetesNetworkConfig, ControlPlaneScalingConfig: in.ControlPlaneScalingConfig,
		KubeApiServerConfig: in.KubeApiServerConfig, KubeControllerManagerConfig: in.KubeControllerManagerConfig, KubeSchedulerConfig: in.KubeSchedulerConfig,
		ResourcesVpcConfig: in.ResourcesVpcConfig,
	}); err != nil {
		return clusterChange{}, err
	}
	var changes []clusterChange
	if v := in.ResourcesVpcConfig; v != nil {
		changes = api.networkChanges(k, v)
	}
	changes = append(changes, accessChanges(k, in)...)
	if in.Logging != nil {
		changes = append(changes, loggingChange(in.Logging))
	}
	if z := in.ZonalShiftConfig; z != nil {
		p := params{}
		p.object(types.UpdateParamTypeZonalShiftConfig, map[string]bool{"enabled": val(z.Enabled)})
		changes = append(changes, clusterChange{types.UpdateTypeZonalShiftConfigUpdate, p, func(n *wantedCluster) error {
			n.zonalShift = &types.ZonalShiftConfigResponse{Enabled: ptr(val(z.Enabled))}
			return nil
		}})
	}
	if in.ComputeConfig != nil {
		changes = append(changes, autoModeChange())
	}
	if r := in.RemoteNetworkConfig; r != nil {
		remote := shape.Convert[types.RemoteNetworkConfigResponse](*r)
		changes = append(changes, clusterChange{types.UpdateTypeRemoteNetworkConfigUpdate, nil, func(n *wantedCluster) error {
			n.remote = &remote
			return nil
		}})
	}
	switch len(changes) {
	case 0: // the wording is from aws-controllers-k8s issues
		return clusterChange{}, invalid("The type for cluster update was not provided.")
	case 1:
		return changes[0], nil
	default: // aws/aws-cdk#33452
		return clusterChange{}, invalid("Only one type of update can be allowed.")
	}
}

// networkChanges returns the requested changes of the endpoint's access, and of subnets and
// security groups.
func (api *clusterUpdateActions) networkChanges(k *cluster, v *types.VpcConfigRequest) []clusterChange {
	var changes []clusterChange
	if v.EndpointPublicAccess != nil || v.EndpointPrivateAccess != nil || v.PublicAccessCidrs != nil {
		p := params{}
		if v.EndpointPublicAccess != nil {
			p.add(types.UpdateParamTypeEndpointPublicAccess, strconv.FormatBool(*v.EndpointPublicAccess))
		}
		if v.EndpointPrivateAccess != nil {
			p.add(types.UpdateParamTypeEndpointPrivateAccess, strconv.FormatBool(*v.EndpointPrivateAccess))
		}
		if v.PublicAccessCidrs != nil {
			p.object(types.UpdateParamTypePublicAccessCidrs, v.PublicAccessCidrs)
		}
		changes = append(changes, clusterChange{types.UpdateTypeEndpointAccessUpdate, p, func(n *wantedCluster) error { return n.setEndpointAccess(v) }})
	}
	if v.SubnetIds != nil || v.SecurityGroupIds != nil {
		p := params{}
		if v.SubnetIds != nil {
			p.object(types.UpdateParamTypeSubnets, v.SubnetIds)
		}
		if v.SecurityGroupIds != nil {
			p.object(types.UpdateParamTypeSecurityGroups, v.SecurityGroupIds)
		}
		changes = append(changes, clusterChange{types.UpdateTypeVpcConfigUpdate, p, func(n *wantedCluster) error {
			if v.SubnetIds != nil {
				n.subnets = slices.Clone(v.SubnetIds)
			}
			if v.SecurityGroupIds != nil {
				n.securityGroups = slices.Clone(v.SecurityGroupIds)
			}
			if err := api.networks.checkClusterSubnets(n.subnets, k.vpc); err != nil {
				return err
			}
			return api.networks.checkSecurityGroups(n.securityGroups, k.vpc)
		}})
	}
	return changes
}

// accessChanges returns the requested changes of the authentication mode, the support policy, and
// deletion protection.
func accessChanges(k *cluster, in *eks.UpdateClusterConfigInput) []clusterChange {
	var changes []clusterChange
	if a := in.AccessConfig; a != nil {
		p := params{}
		p.add(types.UpdateParamTypeAuthenticationMode, string(a.AuthenticationMode))
		changes = append(changes, clusterChange{types.UpdateTypeAccessConfigUpdate, p, func(n *wantedCluster) error {
			return n.setAuthenticationMode(k.access.AuthenticationMode, a.AuthenticationMode)
		}})
	}
	if u := in.UpgradePolicy; u != nil {
		p := params{}
		p.object(types.UpdateParamTypeUpgradePolicy, map[string]types.SupportType{"supportType": u.SupportType})
		changes = append(changes, clusterChange{types.UpdateTypeUpgradePolicyUpdate, p, func(n *wantedCluster) error {
			n.support = u.SupportType
			return checkEnum("supportType", n.support, n.support.Values())
		}})
	}
	if d := in.DeletionProtection; d != nil {
		p := params{}
		p.add(types.UpdateParamTypeDeletionProtection, strconv.FormatBool(*d))
		changes = append(changes, clusterChange{types.UpdateTypeDeletionProtectionUpdate, p, func(n *wantedCluster) error {
			n.protected = *d
			return nil
		}})
	}
	return changes
}

// autoModeChange returns the change that turns Auto Mode off. notSimulated has refused requests to
// turn it on. That a cluster that never had Auto Mode accepts the request is an inference.
func autoModeChange() clusterChange {
	off := map[string]bool{"enabled": false}
	p := params{}
	p.object(types.UpdateParamTypeComputeConfig, off)
	p.object(types.UpdateParamTypeStorageConfig, map[string]map[string]bool{"blockStorage": off})
	p.object(types.UpdateParamTypeKubernetesNetworkConfig, map[string]map[string]bool{"elasticLoadBalancing": off})
	return clusterChange{types.UpdateTypeAutoModeUpdate, p, func(n *wantedCluster) error {
		n.noAutoMode = true
		return nil
	}}
}

func loggingChange(l *types.Logging) clusterChange {
	type setup struct {
		Types   []types.LogType `json:"types"`
		Enabled bool            `json:"enabled"`
	}
	shown := map[string][]setup{"clusterLogging": {}}
	for _, entry := range l.ClusterLogging {
		shown["clusterLogging"] = append(shown["clusterLogging"], setup{entry.Types, val(entry.Enabled)})
	}
	p := params{}
	p.object(types.UpdateParamTypeClusterLogging, shown)
	return clusterChange{types.UpdateTypeLoggingUpdate, p, func(n *wantedCluster) error { return n.setLogging(l) }}
}

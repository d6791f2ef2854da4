package eks

import (
	"slices"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// addon is an add-on of a cluster. Its software does not run here: an add-on is ACTIVE when its
// pods could run.
type addon struct {
	cluster           *cluster
	name, arn         string
	created, modified time.Time
	status            types.AddonStatus
	version           string
	role              string
	values            *string // of its configuration
	namespace         string
	tags              map[string]string
	issues            []types.AddonIssue
	history           []*update // newest last
}

func addonKey(cluster, name string) string { return cluster + "/addon:" + name }

func (a *addon) key() string { return addonKey(a.cluster.Name, a.name) }

func addonNotFound(name, cluster string) *sim.Error { // the wording is from terraform-provider-aws issues
	return sim.Errorf(codeNotFound, "No addon: %s found in cluster: %s", name, cluster).WithStatus(404)
}

// view returns the add-on as DescribeAddon returns it.
func (a *addon) view() *types.Addon {
	return &types.Addon{
		AddonName: ptr(a.name), ClusterName: ptr(a.cluster.Name), AddonArn: ptr(a.arn), AddonVersion: ptr(a.version), Status: a.status, CreatedAt: ptr(a.created),
		ModifiedAt: ptr(a.modified), Health: &types.AddonHealth{Issues: shape.Clone(append([]types.AddonIssue{}, a.issues...))}, ServiceAccountRoleArn: optional(a.role),
		ConfigurationValues: a.values, NamespaceConfig: &types.AddonNamespaceConfigResponse{Namespace: ptr(a.namespace)}, Tags: merged(a.tags),
	}
}

// addons holds what Describe actions show of the add-ons of the clusters. Each cluster has its own
// add-ons.
type addons struct {
	region   *sim.Region
	kernel   *sim.Kernel
	updates  *updates
	clusters *clusters
	groups   *groups
	nodes    *nodes

	views *sim.Table[*types.Addon]
}

// setStatus sets the status and the health issues of an add-on, and shows it to Describe actions.
func (as *addons) setStatus(a *addon, status types.AddonStatus, issues ...types.AddonIssue) {
	a.status, a.issues, a.modified = status, issues, as.kernel.Now()
	as.views.Put(a.key(), a.view())
}

// remove removes an add-on with its updates.
func (as *addons) remove(a *addon) {
	delete(a.cluster.addons, a.name)
	as.views.Delete(a.key())
	for _, u := range a.history {
		as.updates.views.Delete(a.updateKey(u.id))
	}
}

// after runs f once the time that an add-on takes to change has passed. It does not run f if the
// add-on was removed or changed its status meanwhile.
func (as *addons) after(a *addon, f func()) {
	status := a.status
	as.kernel.After(max(as.kernel.Behavior().ClusterTimes.Addon, reaction), func() {
		if a.cluster.addons[a.name] == a && a.status == status && as.clusters.byName[a.cluster.Name] == a.cluster {
			f()
		}
	})
}

// find returns an add-on of a cluster.
func (as *addons) find(cluster, name *string) (*addon, error) {
	k, err := as.clusters.find(cluster)
	if err != nil {
		return nil, err
	}
	a := k.addons[val(name)]
	if a == nil {
		return nil, addonNotFound(val(name), k.Name)
	}
	return a, nil
}

// settle makes an add-on ACTIVE, or DEGRADED while the cluster has no node for its replicas (UG
// eks-add-ons troubleshooting). The wording is from issues of terraform-aws-eks.
func (as *addons) settle(a *addon) {
	if products[a.name].replicated && !as.hasNodes(a.cluster) {
		as.setStatus(a, types.AddonStatusDegraded, types.AddonIssue{
			Code: types.AddonIssueCodeInsufficientNumberOfReplicas, ResourceIds: []string{},
			Message: ptr("The add-on is unhealthy because it doesn't have the desired number of replicas."),
		})
		return
	}
	as.setStatus(a, types.AddonStatusActive)
}

// settleAll checks the add-ons of all clusters after a node joined or left.
func (as *addons) settleAll() {
	for _, name := range sortedKeys(as.clusters.byName) {
		k := as.clusters.byName[name]
		for _, addonName := range sortedKeys(k.addons) {
			a := k.addons[addonName]
			if products[a.name].replicated && (a.status == types.AddonStatusActive || a.status == types.AddonStatusDegraded) && (a.status == types.AddonStatusActive) != as.hasNodes(k) {
				as.settle(a)
			}
		}
	}
}

// hasNodes reports whether a cluster has a node: a Ready node of a managed node group, or a booted
// instance with the cluster's tag, as self-managed nodes have (UG worker).
func (as *addons) hasNodes(k *cluster) bool {
	for _, i := range ec2.Instances(as.region) {
		if i.State == nil || i.State.Name != ec2types.InstanceStateNameRunning {
			continue
		}
		if g := as.groups.ofInstance(i); g != nil {
			if g.cluster == k && as.nodes.ready(g, i) {
				return true
			}
			continue
		}
		if i.Booted && slices.ContainsFunc(i.Tags, func(t ec2types.Tag) bool { return val(t.Key) == "kubernetes.io/cluster/"+k.Name }) {
			return true
		}
	}
	return false
}

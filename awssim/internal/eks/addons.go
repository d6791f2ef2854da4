package eks

import (
	"slices"
	"strings"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// addon is an add-on of a cluster. Its software does not run here: it is ACTIVE when its pods could
// run.
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

func addonNotFound(name, cluster string) *sim.Error { // words seen in terraform-provider-aws issues
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
	k, ok := as.clusters.byName[val(cluster)]
	if !ok {
		return nil, clusterNotFound(val(cluster))
	}
	a := k.addons[val(name)]
	if a == nil {
		return nil, addonNotFound(val(name), k.Name)
	}
	return a, nil
}

func (s *service) createAddon(c *sim.Call, in *eks.CreateAddonInput) (*eks.CreateAddonOutput, error) {
	k, ok := s.clusters.byName[val(in.ClusterName)]
	if !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateAddonOutput](s.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	build, err := findBuild(val(in.AddonName), k.Version, val(in.AddonVersion))
	if err != nil {
		return nil, err
	}
	if k.addons[*in.AddonName] != nil { // crossplane-contrib/provider-aws#1310
		return nil, inUse("Addon already exists.")
	}
	if k.status != types.ClusterStatusActive && k.status != types.ClusterStatusUpdating {
		// inference
		return nil, badRequest("Addon cannot be created as cluster %s is in status %s", k.Name, k.status)
	}
	if err := checkAddon(in.ServiceAccountRoleArn, in.ConfigurationValues, in.ResolveConflicts, in.PodIdentityAssociations); err != nil {
		return nil, err
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	a := &addon{
		cluster: k, name: *in.AddonName, created: c.Now, version: build, role: val(in.ServiceAccountRoleArn), values: in.ConfigurationValues, tags: merged(in.Tags),
		namespace: products[*in.AddonName].namespace,
	}
	if in.NamespaceConfig != nil && val(in.NamespaceConfig.Namespace) != "" {
		a.namespace = *in.NamespaceConfig.Namespace
	}
	a.arn = arnOf(s.region, "addon/"+k.Name+"/"+a.name+"/"+s.kernel.NewUUID())
	k.addons[a.name] = a
	s.addons.setStatus(a, types.AddonStatusCreating)
	s.addons.after(a, func() { s.addons.settle(a) })
	out := &eks.CreateAddonOutput{Addon: a.view()}
	s.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// checkAddon refuses what an add-on cannot have. The words are an inference, but for those about
// configuration values, which terraform-provider-aws issues show.
func checkAddon(role, values *string, conflicts types.ResolveConflicts, identities []types.AddonPodIdentityAssociations) error {
	if r := val(role); r != "" && !strings.HasPrefix(r, "arn:aws:iam::") {
		return invalid("Invalid service account role ARN %q.", r)
	}
	if v := val(values); v != "" {
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(v), &parsed); err != nil {
			return invalid("ConfigurationValue provided in request is not supported: it is neither a JSON nor a YAML object")
		}
	}
	if len(identities) > 0 {
		return invalid("The simulated EKS has no EKS Pod Identity associations.")
	}
	return checkEnum("resolveConflicts", conflicts, conflicts.Values())
}

// settle makes an add-on ACTIVE, or DEGRADED while the cluster has no node for its replicas (UG
// eks-add-ons troubleshooting; terraform-aws-eks issues for the words).
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

// settleAll checks the add-ons of all clusters again, after a node has come or gone.
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

// hasNodes reports whether a cluster has a node: a Ready one of a managed node group, or an
// instance that has booted and carries the cluster's tag (UG worker: self-managed nodes have it).
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

func (s *service) describeAddon(_ *sim.Call, in *eks.DescribeAddonInput) (*eks.DescribeAddonOutput, error) {
	if _, ok := s.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	view, ok := s.addons.views.Visible(addonKey(*in.ClusterName, val(in.AddonName)))
	if !ok {
		return nil, addonNotFound(val(in.AddonName), *in.ClusterName)
	}
	return &eks.DescribeAddonOutput{Addon: view}, nil
}

func (s *service) listAddons(_ *sim.Call, in *eks.ListAddonsInput) (*eks.ListAddonsOutput, error) {
	if _, ok := s.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	names := []string{}
	for _, v := range s.addons.views.VisibleAll() {
		if *v.ClusterName == *in.ClusterName {
			names = append(names, *v.AddonName)
		}
	}
	slices.Sort(names)
	page, next, err := paginate(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListAddonsOutput{Addons: page, NextToken: next}, nil
}

// updateAddon changes an add-on. A version that is left out stays.
func (s *service) updateAddon(c *sim.Call, in *eks.UpdateAddonInput) (*eks.UpdateAddonOutput, error) {
	a, err := s.addons.find(in.ClusterName, in.AddonName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateAddonOutput](s.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	switch a.status {
	case types.AddonStatusCreating, types.AddonStatusUpdating, types.AddonStatusDeleting:
		return nil, inUse("Addon %s cannot be updated as it is currently in %s state", a.name, a.status)
	default: // an add-on that has failed, or is DEGRADED, is mended by an update
	}
	version := a.version
	if in.AddonVersion != nil {
		if version, err = findBuild(a.name, a.cluster.Version, *in.AddonVersion); err != nil {
			return nil, err
		}
	}
	if err := checkAddon(in.ServiceAccountRoleArn, in.ConfigurationValues, in.ResolveConflicts, in.PodIdentityAssociations); err != nil {
		return nil, err
	}
	p := params{}
	p.add(types.UpdateParamTypeAddonVersion, val(in.AddonVersion))
	p.add(types.UpdateParamTypeServiceAccountRoleArn, val(in.ServiceAccountRoleArn))
	p.add(types.UpdateParamTypeResolveConflicts, string(in.ResolveConflicts))
	p.add(types.UpdateParamTypeConfigurationValues, val(in.ConfigurationValues))
	u := s.updates.create(types.UpdateTypeAddonUpdate, p)
	a.history = append(a.history, u)
	s.updates.views.Put(a.updateKey(u.id), u.view)
	s.addons.setStatus(a, types.AddonStatusUpdating)
	s.addons.after(a, func() {
		a.version = version
		if in.ServiceAccountRoleArn != nil {
			a.role = *in.ServiceAccountRoleArn
		}
		if in.ConfigurationValues != nil {
			a.values = in.ConfigurationValues
		}
		s.updates.views.Put(a.updateKey(u.id), u.ended())
		s.addons.settle(a)
	})
	out := &eks.UpdateAddonOutput{Update: u.view}
	s.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// deleteAddon begins to delete an add-on. Whether its software stays does not matter here, since
// none runs.
func (s *service) deleteAddon(_ *sim.Call, in *eks.DeleteAddonInput) (*eks.DeleteAddonOutput, error) {
	a, err := s.addons.find(in.ClusterName, in.AddonName)
	if err != nil {
		return nil, err
	}
	if a.status != types.AddonStatusDeleting {
		s.addons.setStatus(a, types.AddonStatusDeleting)
		s.addons.after(a, func() { s.addons.remove(a) })
	}
	return &eks.DeleteAddonOutput{Addon: a.view()}, nil
}

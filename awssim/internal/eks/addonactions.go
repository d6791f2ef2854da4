package eks

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// addonActions serves the actions about add-ons.
type addonActions struct {
	region   *sim.Region
	kernel   *sim.Kernel
	tokens   *tokens
	updates  *updates
	clusters *clusters
	addons   *addons
}

func (api *addonActions) create(c *sim.Call, in *eks.CreateAddonInput) (*eks.CreateAddonOutput, error) {
	k, err := api.clusters.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateAddonOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
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
	a.arn = arnOf(api.region, "addon/"+k.Name+"/"+a.name+"/"+api.kernel.NewUUID())
	k.addons[a.name] = a
	api.addons.setStatus(a, types.AddonStatusCreating)
	api.addons.after(a, func() { api.addons.settle(a) })
	out := &eks.CreateAddonOutput{Addon: a.view()}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// checkAddon refuses invalid settings of an add-on. The wording about configuration values is from
// issues of terraform-provider-aws. The other wordings are inferences.
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

func (api *addonActions) describe(_ *sim.Call, in *eks.DescribeAddonInput) (*eks.DescribeAddonOutput, error) {
	if _, ok := api.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	view, ok := api.addons.views.Visible(addonKey(*in.ClusterName, val(in.AddonName)))
	if !ok {
		return nil, addonNotFound(val(in.AddonName), *in.ClusterName)
	}
	return &eks.DescribeAddonOutput{Addon: view}, nil
}

func (api *addonActions) list(_ *sim.Call, in *eks.ListAddonsInput) (*eks.ListAddonsOutput, error) {
	if _, ok := api.clusters.views.Visible(val(in.ClusterName)); !ok {
		return nil, clusterNotFound(val(in.ClusterName))
	}
	names := []string{}
	for _, v := range api.addons.views.VisibleAll() {
		if *v.ClusterName == *in.ClusterName {
			names = append(names, *v.AddonName)
		}
	}
	page, next, err := pageOfNames(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListAddonsOutput{Addons: page, NextToken: next}, nil
}

// update changes an add-on. The version stays if the request names none.
func (api *addonActions) update(c *sim.Call, in *eks.UpdateAddonInput) (*eks.UpdateAddonOutput, error) {
	a, err := api.addons.find(in.ClusterName, in.AddonName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.UpdateAddonOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
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
	u := api.updates.create(types.UpdateTypeAddonUpdate, p)
	a.history = append(a.history, u)
	api.updates.views.Put(a.updateKey(u.id), u.view)
	api.addons.setStatus(a, types.AddonStatusUpdating)
	api.addons.after(a, func() {
		a.version = version
		if in.ServiceAccountRoleArn != nil {
			a.role = *in.ServiceAccountRoleArn
		}
		if in.ConfigurationValues != nil {
			a.values = in.ConfigurationValues
		}
		api.updates.views.Put(a.updateKey(u.id), u.ended())
		api.addons.settle(a)
	})
	out := &eks.UpdateAddonOutput{Update: u.view}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// delete begins to delete an add-on. Whether the request keeps the add-on's software does not
// matter, because no software runs here.
func (api *addonActions) delete(_ *sim.Call, in *eks.DeleteAddonInput) (*eks.DeleteAddonOutput, error) {
	a, err := api.addons.find(in.ClusterName, in.AddonName)
	if err != nil {
		return nil, err
	}
	if a.status != types.AddonStatusDeleting {
		api.addons.setStatus(a, types.AddonStatusDeleting)
		api.addons.after(a, func() { api.addons.remove(a) })
	}
	return &eks.DeleteAddonOutput{Addon: a.view()}, nil
}

// Package region is what the controllers of just-in-time nodes see of AWS: what can be launched,
// and where. It keeps no state of its own but package discovery's.
package region

import (
	"context"
	"fmt"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
)

// Region is one of AWS's.
type Region struct {
	Name      string
	Discovery *discovery.Discovery
}

// Facts returns what the catalog is built from, except for the prices of Spot:
// Discovery.SpotPrices.
func (r *Region) Facts(ctx context.Context, provisioners []*provisioningv1.Provisioner) (catalog.Facts, error) {
	facts := catalog.Facts{Region: r.Name}
	var err error
	if facts.Types, err = r.Discovery.InstanceTypes(ctx); err != nil {
		return catalog.Facts{}, err
	}
	if facts.Zones, err = r.Discovery.TypeOfferings(ctx); err != nil {
		return catalog.Facts{}, err
	}
	for _, provisioner := range provisioners {
		layer := constraints.FromSpec(provisioner.Name, &provisioner.Spec)
		facts.Named = append(facts.Named, named(&layer, facts.Types)...)
	}
	return facts, nil
}

// Subnets returns the subnets that the nodes of a provisioner may be in. If they are found by the
// tag of the cluster, public ones count only if there are no others: nodes get public addresses
// there, which a user must ask for by naming the subnets.
func (r *Region) Subnets(ctx context.Context, provisioner *provisioningv1.Provisioner) ([]discovery.Subnet, error) {
	found, err := r.Discovery.SubnetIDs(ctx, discovery.SubnetQuery{Refs: defaults.Subnets(provisioner)})
	if err != nil {
		return nil, fmt.Errorf("finding subnets of provisioner %q: %w", provisioner.Name, err)
	}
	if len(provisioner.Spec.Subnets) > 0 {
		return found, nil
	}
	return privateFirst(found), nil
}

// privateFirst leaves out public subnets unless there are no others.
func privateFirst(found []discovery.Subnet) []discovery.Subnet {
	private := slices.DeleteFunc(slices.Clone(found), func(subnet discovery.Subnet) bool { return subnet.Public })
	if len(private) == 0 {
		return found
	}
	return private
}

// Labels returns the labels of an instance type's nodes that the type and the region decide. An
// unknown type has none.
func (r *Region) Labels(ctx context.Context, instanceType string) (map[string]string, error) {
	types, err := r.Discovery.InstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(types, func(t discovery.InstanceType) bool { return t.Name == instanceType })
	if at < 0 {
		return nil, nil
	}
	return catalog.Labels(r.Name, &types[at]), nil
}

// Resources of an instance type, as limits count them: its capacity. An unknown type has none.
func (r *Region) Resources(ctx context.Context, instanceType string) (provisioningv1.ProvisionedResources, error) {
	types, err := r.Discovery.InstanceTypes(ctx)
	if err != nil {
		return provisioningv1.ProvisionedResources{}, err
	}
	at := slices.IndexFunc(types, func(t discovery.InstanceType) bool { return t.Name == instanceType })
	if at < 0 {
		return provisioningv1.ProvisionedResources{}, nil
	}
	capacity := catalog.Capacity(&types[at])
	return provisioningv1.ProvisionedResources{CPU: capacity.Cpu().DeepCopy(), Memory: capacity.Memory().DeepCopy()}, nil
}

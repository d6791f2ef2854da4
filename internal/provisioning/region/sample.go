package region

import (
	"cmp"
	"context"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// Sample returns an instance type of an architecture, as kubernetes.io/arch has it, by which a launch template can be tried, and the zones that offer it: the smallest
// of those named, or of the ordinary ones if none is. The type is empty if there is none.
func (r *Region) Sample(ctx context.Context, named []string, architecture string) (string, []string, error) {
	types, err := r.Discovery.InstanceTypes(ctx)
	if err != nil {
		return "", nil, err
	}
	zones, err := r.Discovery.TypeOfferings(ctx)
	if err != nil {
		return "", nil, err
	}
	name := sample(types, named, architecture)
	return name, zones[name], nil
}

func sample(types []discovery.InstanceType, named []string, architecture string) string {
	suits := func(t *discovery.InstanceType) bool {
		if provisioningv1.Architecture(t.Architecture()).Label() != architecture {
			return false
		}
		if len(named) > 0 {
			return slices.Contains(named, t.Name)
		}
		return t.EBSRoot && t.CurrentGeneration && !t.BareMetal && t.GPUs == 0 && t.VCPUs > 1
	}
	var best *discovery.InstanceType
	for i := range types {
		if t := &types[i]; suits(t) && (best == nil || cmp.Or(cmp.Compare(t.VCPUs, best.VCPUs), cmp.Compare(t.MemoryMiB, best.MemoryMiB), cmp.Compare(t.Name, best.Name)) < 0) {
			best = t
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

package region

import (
	"context"
	"fmt"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// Unsuitable says why none of some instance types can be launched with an image of an architecture, as kubernetes.io/arch has it; of any if that is empty. It is "" if one can, or if
// none is named.
func (r *Region) Unsuitable(ctx context.Context, named []string, architecture string) (string, error) {
	if len(named) == 0 {
		return "", nil
	}
	types, err := r.Discovery.InstanceTypes(ctx)
	if err != nil {
		return "", err
	}
	return unsuitable(types, named, architecture), nil
}

func unsuitable(types []discovery.InstanceType, named []string, architecture string) string {
	there := false
	for i := range types {
		if !slices.Contains(named, types[i].Name) {
			continue
		}
		there = true
		if architecture == "" || provisioningv1.Architecture(types[i].Architecture()).Label() == architecture {
			return ""
		}
	}
	if !there {
		return "this region has none of spec.instanceTypes"
	}
	return fmt.Sprintf("none of spec.instanceTypes runs images for %s", architecture)
}

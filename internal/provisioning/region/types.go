package region

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Unsuitable returns why no instance type is within a provisioner's limits and runs images for an
// architecture, as kubernetes.io/arch has it; for any if that is empty. It returns "" if one is, or
// if nothing limits the types.
func (r *Region) Unsuitable(ctx context.Context, provisioner *constraints.Provisioner, architecture string) (string, error) {
	if len(provisioner.InstanceTypes) == 0 && len(provisioner.Requirements) == 0 {
		return "", nil
	}
	types, err := r.Discovery.InstanceTypes(ctx)
	if err != nil {
		return "", err
	}
	return unsuitable(r.Name, types, provisioner, architecture), nil
}

func unsuitable(region string, types []discovery.InstanceType, provisioner *constraints.Provisioner, architecture string) string {
	there, required := false, false
	for i := range types {
		if len(provisioner.InstanceTypes) > 0 && !slices.Contains(provisioner.InstanceTypes, types[i].Name) {
			continue
		}
		there = true
		if !provisioner.AllowsType(labels(region, &types[i])) {
			continue
		}
		required = true
		if architecture == "" || provisioningv1.Architecture(types[i].Architecture()).Label() == architecture {
			return ""
		}
	}
	fields := "spec.instanceTypes"
	switch {
	case !there:
		return "this region offers none of spec.instanceTypes"
	case !required && len(provisioner.InstanceTypes) > 0:
		return "none of spec.instanceTypes satisfies spec.requirements"
	case !required:
		return "no instance type of this region satisfies spec.requirements"
	case len(provisioner.InstanceTypes) == 0:
		fields = "the instance types that satisfy spec.requirements"
	}
	return fmt.Sprintf("none of %s can run images for %s", fields, architecture)
}

// labels returns the labels of a type's nodes that do not depend on how and where an instance is launched.
func labels(region string, t *discovery.InstanceType) map[string]string {
	all := maps.Clone(catalog.Labels(region, t))
	all[corev1.LabelInstanceTypeStable] = t.Name
	all[corev1.LabelArchStable] = provisioningv1.Architecture(t.Architecture()).Label()
	return all
}

// named returns the bare-metal types that a provisioner asks for by name or size, and all types
// that it lists.
func named(provisioner *constraints.Provisioner, types []discovery.InstanceType) []string {
	all := slices.Clone(provisioner.InstanceTypes)
	for _, key := range []string{corev1.LabelInstanceTypeStable, provisioningv1.InstanceLabelPrefix + "size"} {
		values, finite := provisioner.Requirements.Get(key).Values()
		for i := range types {
			if finite && types[i].BareMetal && slices.Contains(values, labels("", &types[i])[key]) {
				all = append(all, types[i].Name)
			}
		}
	}
	return all
}

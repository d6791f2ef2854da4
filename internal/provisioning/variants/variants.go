// Package variants names the default launch templates of a provisioner. A variant is an
// architecture, as in kubernetes.io/arch, and, after a hyphen, the accelerator whose driver the
// image has. The standard image has none.
package variants

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Accelerators.
const (
	NVIDIA = "nvidia"
	Neuron = "neuron"
)

// All are the variants that there may be. Amazon publishes no image with the Neuron driver for
// arm64 (AWS: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs").
var All = []string{
	provisioningv1.ArchitectureAMD64.Label(), provisioningv1.ArchitectureARM64.Label(), provisioningv1.ArchitectureAMD64.Label() + "-" + NVIDIA,
	provisioningv1.ArchitectureARM64.Label() + "-" + NVIDIA, provisioningv1.ArchitectureAMD64.Label() + "-" + Neuron,
}

// For returns the variant of the default launch template for an architecture and for pods that
// request extended resources. The error says what to do where no default launch template offers
// them.
func For(architecture string, resources []string) (string, error) {
	chosen := ""
	for _, name := range resources {
		accelerator, known := acceleratorOf(name)
		switch {
		case !known:
			return "", &unofferedError{resource: name}
		case chosen != "" && accelerator != "" && accelerator != chosen:
			return "", &unofferedError{resource: name}
		case accelerator != "":
			chosen = accelerator
		}
	}
	variant := join(architecture, chosen)
	if !slices.Contains(All, variant) {
		return "", &unofferedError{resource: resources[0], architecture: architecture}
	}
	return variant, nil
}

// acceleratorOf returns the accelerator whose driver a resource needs, "" for none. It is unknown
// for resources that no default launch template can offer: resources of other accelerators, and
// resources that need network interfaces or settings which default launch templates do not have.
func acceleratorOf(resource string) (string, bool) {
	domain, _, _ := strings.Cut(resource, "/")
	switch {
	case domain == "nvidia.com":
		return NVIDIA, true
	case domain == "aws.amazon.com" && strings.HasPrefix(resource, domain+"/neuron"):
		return Neuron, true
	case domain == "amd.com", domain == "habana.ai", resource == "vpc.amazonaws.com/efa", strings.HasPrefix(resource, "hugepages-"):
		return "", false
	}
	return "", true // offered by an agent that runs on any image
}

// unofferedError reports a resource that default launch templates do not offer.
type unofferedError struct{ resource, architecture string }

// Error implements error.
func (e *unofferedError) Error() string {
	on := ""
	if e.architecture != "" {
		on = " on " + e.architecture
	}
	return fmt.Sprintf("default launch templates use Amazon Linux 2023, which has no image with support for "+
		"%s%s. Set spec.launchTemplateRef of the Provisioner to a launch template whose image has the "+
		"driver, and whose user data and network interfaces configure it", e.resource, on)
}

// WaitsForUser reports that only a change of the Provisioner or of the pod helps.
func (*unofferedError) WaitsForUser() bool { return true }

// Parts returns the architecture and the accelerator of a variant.
func Parts(variant string) (architecture, accelerator string) {
	architecture, accelerator, _ = strings.Cut(variant, "-")
	return architecture, accelerator
}

// Types returns what instance types a default launch template of a variant is for.
func Types(variant string) constraints.Requirements {
	architecture, accelerator := Parts(variant)
	types := constraints.Requirements{corev1.LabelArchStable: constraints.In(architecture)}
	switch accelerator {
	case NVIDIA:
		types[provisioningv1.InstanceLabelPrefix+"gpu-manufacturer"] = constraints.In("nvidia")
	case Neuron:
		types[provisioningv1.InstanceLabelPrefix+"accelerator-manufacturer"] = constraints.In("aws")
	}
	return types
}

// Of returns the variant that a resolved launch template is of.
func Of(resolved *provisioningv1.ResolvedLaunchTemplate) string {
	return join(resolved.Architecture.Label(), resolved.Accelerator)
}

// OfNode returns the variant that a node was launched from, if that was a default launch template.
func OfNode(node *provisioningv1.ProvisionedNode) string {
	variant, err := For(node.Spec.Architecture.Label(), node.Spec.AwaitedResources)
	if err != nil {
		return node.Spec.Architecture.Label() // such a node is launched from no default launch template
	}
	return variant
}

// Offers reports whether a node will offer a resource that its instance type has: the image of a
// default launch template has one driver at most. The drivers of other launch templates are
// unknown.
func Offers(node *provisioningv1.ProvisionedNode, resource string) bool {
	if !node.Spec.LaunchTemplate.Generated {
		return true
	}
	needed, known := acceleratorOf(resource)
	_, driver := Parts(OfNode(node))
	return known && (needed == "" || needed == driver)
}

func join(architecture, accelerator string) string {
	if accelerator == "" {
		return architecture
	}
	return architecture + "-" + accelerator
}

package defaults

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// A variant names a default launch template of a provisioner: an architecture, as kubernetes.io/arch has it, and with a hyphen the accelerator that the image has the
// driver of. The standard image has none.
const (
	nvidia = "nvidia"
	neuron = "neuron"
)

// variants that there may be. Amazon publishes no image with the Neuron driver for arm64 (AWS: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs").
var variants = []string{
	provisioningv1.ArchitectureAMD64.Label(), provisioningv1.ArchitectureARM64.Label(), provisioningv1.ArchitectureAMD64.Label() + "-" + nvidia,
	provisioningv1.ArchitectureARM64.Label() + "-" + nvidia, provisioningv1.ArchitectureAMD64.Label() + "-" + neuron,
}

// lookups are the images of EKS by accelerator.
var lookups = map[string]infrav1.EKSAMILookupType{
	"": infrav1.EKSAMILookupTypeAmazonLinux2023, nvidia: infrav1.EKSAMILookupTypeAmazonLinux2023GPU, neuron: infrav1.EKSAMILookupTypeAmazonLinux2023Neuron,
}

// Variant returns the variant of the default launch template for an architecture and for pods that request extended resources. The error says what to do
// where no default launch template offers them.
func Variant(architecture string, resources []string) (string, error) {
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
	if !slices.Contains(variants, variant) {
		return "", &unofferedError{resource: resources[0], architecture: architecture}
	}
	return variant, nil
}

// acceleratorOf returns the accelerator whose driver a resource needs, "" for none. It is unknown for resources that no default launch template can offer: those of other
// accelerators, and those that need network interfaces or settings which default launch templates do not have.
func acceleratorOf(resource string) (string, bool) {
	domain, _, _ := strings.Cut(resource, "/")
	switch {
	case domain == "nvidia.com":
		return nvidia, true
	case domain == "aws.amazon.com" && strings.HasPrefix(resource, domain+"/neuron"):
		return neuron, true
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
	return fmt.Sprintf("no image of Amazon Linux 2023 for default launch templates offers %s%s: name a launch template whose image has the driver, and whose user data and network "+
		"interfaces set it up, in spec.launchTemplateRef of the Provisioner", e.resource, on)
}

// WaitsForUser reports that only a change of the Provisioner or of the pod helps.
func (*unofferedError) WaitsForUser() bool { return true }

// Parts returns the architecture and the accelerator of a variant.
func Parts(variant string) (architecture, accelerator string) {
	architecture, accelerator, _ = strings.Cut(variant, "-")
	return architecture, accelerator
}

// VariantOf returns the variant that a resolved launch template is of.
func VariantOf(resolved *provisioningv1.ResolvedLaunchTemplate) string {
	return join(resolved.Architecture.Label(), resolved.Accelerator)
}

// VariantOfNode returns the variant that a node was launched from, if that was a default launch template.
func VariantOfNode(node *provisioningv1.ProvisionedNode) string {
	variant, err := Variant(node.Spec.Architecture.Label(), node.Spec.AwaitedResources)
	if err != nil {
		return node.Spec.Architecture.Label() // such a node is launched from no default launch template
	}
	return variant
}

func join(architecture, accelerator string) string {
	if accelerator == "" {
		return architecture
	}
	return architecture + "-" + accelerator
}

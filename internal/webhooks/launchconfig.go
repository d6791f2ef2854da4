package webhooks

import (
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// launchConfigRules are the rules about fields that an AWSLaunchConfig has in addition to
// awsLaunchTemplate.
var launchConfigRules = map[string]func(spec *infrav1.AWSLaunchConfigSpec) string{
	"DP2":  kernelIsOld,
	"EK35": consoleShowsOneInterface,
	"MD2":  configMetadataIsOff,
}

func launchConfigWarnings(spec *infrav1.AWSLaunchConfigSpec) []string {
	said := []string{}
	for _, rule := range sorted(launchConfigRules) {
		if warning := launchConfigRules[rule](spec); warning != "" {
			said = append(said, warning)
		}
	}
	return said
}

// kernelIsOld: kernels and RAM disks are for paravirtual images, which no current instance type
// runs; for older types, AWS recommends PV-GRUB (AWS: API_RequestLaunchTemplateData, KernelId).
//
// +slipway:warning=DP2
func kernelIsOld(spec *infrav1.AWSLaunchConfigSpec) string {
	var given []string
	for name, value := range map[string]string{"kernelId": spec.KernelID, "ramDiskId": spec.RAMDiskID} {
		if value != "" {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.%s: only paravirtual images use it, and no current instance type runs them; AWS "+
		"recommends images with their own kernel", listed(given))
}

// configMetadataIsOff does the same as metadataIsOff, for options with EC2's values.
func configMetadataIsOff(spec *infrav1.AWSLaunchConfigSpec) string {
	options := spec.MetadataOptions
	if options == nil || options.HTTPEndpoint != infrav1.InstanceMetadataDisabled {
		return ""
	}
	return idleBesideEndpoint("spec.metadataOptions", map[string]bool{
		"httpProtocolIpv6":        options.HTTPProtocolIPv6 == infrav1.InstanceMetadataEnabled,
		"httpPutResponseHopLimit": options.HTTPPutResponseHopLimit != nil,
		"httpTokens":              options.HTTPTokens == infrav1.HTTPTokensRequired,
	})
}

// consoleShowsOneInterface: EKS launches instances with several interfaces, and its console cannot
// show such a node group (AWS: EKS user guide, launch-templates).
//
// +slipway:warning=EK35
func consoleShowsOneInterface(spec *infrav1.AWSLaunchConfigSpec) string {
	if spec.Nodegroup == nil || len(spec.NetworkInterfaces) < 2 {
		return ""
	}
	return "spec.networkInterfaces: the Amazon EKS console cannot show node groups whose instances have several " +
		"interfaces"
}

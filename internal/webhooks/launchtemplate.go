package webhooks

import (
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// launchTemplateRules are the rules that hold wherever a launch template is described. They get the
// path of it.
var launchTemplateRules = map[string]func(path string, template *infrav1.AWSLaunchTemplate) string{
	"MD2":  metadataIsOff,
	"SL10": imagesHaveEnded,
}

func launchTemplateWarnings(path string, template *infrav1.AWSLaunchTemplate) []string {
	said := []string{}
	for _, rule := range sorted(launchTemplateRules) {
		if warning := launchTemplateRules[rule](path, template); warning != "" {
			said = append(said, warning)
		}
	}
	return said
}

// metadataIsOff: the other metadata options mean something only while the service is on (inference:
// EC2 takes them).
//
// +slipway:warning=MD2
func metadataIsOff(path string, template *infrav1.AWSLaunchTemplate) string {
	options := template.InstanceMetadataOptions
	if options == nil || options.HTTPEndpoint != infrav1.InstanceMetadataDisabled {
		return ""
	}
	return idleBesideEndpoint(path+".instanceMetadataOptions", map[string]bool{
		"httpProtocolIpv6":        options.HTTPProtocolIPv6 == infrav1.InstanceMetadataEnabled,
		"httpPutResponseHopLimit": options.HTTPPutResponseHopLimit > 1,
		"httpTokens":              options.HTTPTokens == infrav1.HTTPTokensRequired,
	})
}

// idleBesideEndpoint warns of options that are set and do nothing while the service is off.
func idleBesideEndpoint(path string, options map[string]bool) string {
	var idle []string
	for name, set := range options {
		if set {
			idle = append(idle, name)
		}
	}
	if len(idle) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: httpEndpoint is disabled, so %s %s no effect",
		path, listed(idle), plural(len(idle), "has", "have"))
}

// imagesHaveEnded: Amazon EKS published its last Amazon Linux 2 image on 26 November 2025, and none
// for Kubernetes 1.33 and later (AWS: eks-ami-deprecation-faqs).
//
// +slipway:warning=SL10
func imagesHaveEnded(path string, template *infrav1.AWSLaunchTemplate) string {
	family := template.AMI.EKSOptimizedLookupType
	if family == nil || *family != infrav1.EKSAMILookupTypeAmazonLinux && *family != infrav1.EKSAMILookupTypeAmazonLinuxGPU {
		return ""
	}
	return fmt.Sprintf("%s.ami.eksLookupType: Amazon Linux 2 has received no new images since November 2025, "+
		"and has none for Kubernetes 1.33 and later: use AmazonLinux2023 instead of %s",
		path, *family)
}

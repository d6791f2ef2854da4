package autoscalinggroup

import "strings"

// Annotations of a MachinePool by which cluster-autoscaler's clusterapi provider knows what a node of an empty pool would be (cluster-autoscaler:
// cloudprovider/clusterapi, README, "Scale from zero support"), and the tags of a group by which its aws provider does (cloudprovider/aws, README,
// "Auto-Discovery Setup").
const (
	capacityPrefix     = "capacity.cluster-autoscaler.kubernetes.io/"
	nodeTemplatePrefix = "k8s.io/cluster-autoscaler/node-template/"
)

// resourceAnnotations are the names of resources by those of their annotations. The instance type says the rest.
var resourceAnnotations = map[string]string{"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}

// What a tag may hold (AWS: Auto Scaling user guide, ec2-auto-scaling-tagging, "Tag naming and usage restrictions").
const longestTagKey, longestTagValue = 128, 256

// NodeTemplateTags are the tags that tell cluster-autoscaler's aws provider what the annotations of a MachinePool tell its clusterapi provider. What is not
// written as that provider reads it, or longer than a tag may be, is left out.
func NodeTemplateTags(annotations map[string]string) map[string]string {
	tags := map[string]string{}
	put := func(kind, name, value string) {
		if key := nodeTemplatePrefix + kind + "/" + name; name != "" && value != "" && len(key) <= longestTagKey && len(value) <= longestTagValue {
			tags[key] = value
		}
	}
	for kind, list := range map[string]string{"label": annotations[capacityPrefix+"labels"], "taint": annotations[capacityPrefix+"taints"]} {
		for entry := range strings.SplitSeq(list, ",") {
			if name, value, found := strings.Cut(strings.TrimSpace(entry), "="); found {
				put(kind, name, value)
			}
		}
	}
	for annotation, resource := range resourceAnnotations {
		put("resources", resource, annotations[capacityPrefix+annotation])
	}
	put("resources", annotations[capacityPrefix+"gpu-type"], annotations[capacityPrefix+"gpu-count"])
	return tags
}

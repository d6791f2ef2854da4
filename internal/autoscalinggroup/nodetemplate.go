package autoscalinggroup

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Annotations of a MachinePool by which cluster-autoscaler's clusterapi provider knows what a node
// of an empty pool would be (cluster-autoscaler: cloudprovider/clusterapi, README, "Scale from zero
// support"), and the tags of a group by which its aws provider does (cloudprovider/aws, README,
// "Auto-Discovery Setup").
const (
	capacityPrefix     = "capacity.cluster-autoscaler.kubernetes.io/"
	nodeTemplatePrefix = "k8s.io/cluster-autoscaler/node-template/"
)

// resourceAnnotations are the names of resources by those of their annotations. The instance type
// says the rest.
var resourceAnnotations = map[string]string{"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}

// What a tag may hold (AWS: Auto Scaling user guide, ec2-auto-scaling-tagging, "Tag naming and
// usage restrictions").
const longestTagKey, longestTagValue = 128, 256

// What of a node that provider does not find out by itself, from the instance type of the group's
// launch template or first override: it knows no volumes, and takes every node for one of Linux
// unless a tag says otherwise (cluster-autoscaler: cloudprovider/aws, buildNodeFromTemplate).
const (
	storageTag = nodeTemplatePrefix + "resources/" + string(corev1.ResourceEphemeralStorage)
	systemTag  = nodeTemplatePrefix + "label/" + corev1.LabelOSStable
)

// DerivedTags are the tags that tell that provider what a pool's status says of a node and the
// instance type does not. While status does not say what a node is, they are those that the group
// has.
func DerivedTags(capacity infrav1.NodeCapacity, info *infrav1.NodeInfo, present map[string]string) map[string]string {
	tags := map[string]string{}
	for _, key := range []string{storageTag, systemTag} {
		if value, exists := present[key]; exists && info == nil {
			tags[key] = value
		}
	}
	if storage, known := capacity[corev1.ResourceEphemeralStorage]; known && info != nil {
		tags[storageTag] = storage.String()
	}
	if info != nil && cmp.Or(info.OperatingSystem, linux) != linux {
		tags[systemTag] = info.OperatingSystem
	}
	return tags
}

const linux = "linux"

// NodeTemplateTags are the tags that tell cluster-autoscaler's aws provider what the annotations of
// a MachinePool tell its clusterapi provider. What is not written as that provider reads it, or
// longer than a tag may be, is left out.
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

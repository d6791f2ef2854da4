// Package nodetemplate owns the tags of an Auto Scaling group by which cluster-autoscaler knows what a
// node of an empty pool would be.
package nodetemplate

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

// resourceAnnotations maps the names of annotations to the names of their resources. The instance
// type implies the rest.
var resourceAnnotations = map[string]string{"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}

// longestTagKey and longestTagValue are the limits of a tag (AWS: Auto Scaling user guide,
// ec2-auto-scaling-tagging, "Tag naming and usage restrictions").
const longestTagKey, longestTagValue = 128, 256

// The properties of a node that the provider does not find out by itself, from the instance type of
// the group's launch template or first override: it knows no volumes, and assumes that every node
// runs Linux unless a tag says otherwise (cluster-autoscaler: cloudprovider/aws,
// buildNodeFromTemplate).
const (
	storageTag = nodeTemplatePrefix + "resources/" + string(corev1.ResourceEphemeralStorage)
	systemTag  = nodeTemplatePrefix + "label/" + corev1.LabelOSStable
)

// DerivedTags returns the tags that inform that provider about properties of a node that are in a
// pool's status and do not follow from the instance type. While status does not describe a node, it
// returns the tags that the group has.
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

// Tags returns the tags that give cluster-autoscaler's aws provider the information
// that the annotations of a MachinePool give its clusterapi provider. It leaves out entries that
// are not written as that provider reads them, or are longer than a tag may be.
func Tags(annotations map[string]string) map[string]string {
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

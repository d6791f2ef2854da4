// Package launcher turns the nodes that package packing chose into launches of ProvisionedNodes.
// One call launches nodes that are equal. It is a function of values, except for Budget, which
// counts recent launches.
package launcher

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Surroundings holds what a launch needs to know in addition to the node itself.
type Surroundings struct {
	// Provisioner that launches.
	Provisioner *provisioningv1.Provisioner
	// ClusterUID is the UID of the cluster's kube-system namespace, with which instances are marked.
	ClusterUID string
	// Template that is launched from.
	Template provisioningv1.LaunchTemplateVersion
	// Places that nodes can be in. None, if the launch template has the subnet.
	Places Places
	// Resources of an instance type, as limits count them.
	Resources func(instanceType string) provisioningv1.ProvisionedResources
}

// Launch is one call to EC2, and the nodes that it is for.
type Launch struct {
	Name  string
	Nodes []*provisioningv1.ProvisionedNode
	// Pods that each node is for, in the order of Nodes.
	Pods [][]*corev1.Pod
}

// maxNodes bounds how many nodes one call launches. EC2 takes more; a call that fails as a whole
// should not fail for all.
const maxNodes = 100

// Plan returns launches of nodes that are launched from the same group and architecture. newName
// creates the name of each from a prefix. A node whose offerings have no subnet is left out, and
// its pods get the reason.
func Plan(nodes []packing.NewNode, s Surroundings, newName func(prefix string) string) ([]Launch, map[*corev1.Pod]string) {
	var launches []Launch
	open := map[string]int{} // the launch that further equal nodes join, by the key of equal nodes
	homeless := map[*corev1.Pod]string{}
	for i := range nodes {
		spec := specOf(&nodes[i], s)
		if len(spec.Offerings) == 0 {
			for _, pod := range nodes[i].Pods {
				homeless[pod] = whyNone(&nodes[i], s)
			}
			continue
		}
		s.Places.take(spec.Offerings)
		key := keyOf(&spec)
		at, is := open[key]
		if !is || len(launches[at].Nodes) == maxNodes {
			at = len(launches)
			open[key] = at
			launches = append(launches, Launch{Name: newName(prefixOf(s.Provisioner.Name))})
		}
		launches[at].Nodes = append(launches[at].Nodes, objectOf(spec, s.Provisioner, fmt.Sprintf("%s-%d", launches[at].Name, len(launches[at].Nodes))))
		launches[at].Pods = append(launches[at].Pods, nodes[i].Pods)
	}
	for _, launch := range launches {
		for _, node := range launch.Nodes {
			node.Spec.Launch = provisioningv1.NodeLaunch{Name: launch.Name, Nodes: int32(len(launch.Nodes)), ClusterUID: s.ClusterUID} //nolint:gosec // at most maxNodes
		}
	}
	return launches, homeless
}

// whyNone says why no option of a node can be launched, with its pods as the subject.
func whyNone(node *packing.NewNode, s Surroundings) string {
	for _, option := range node.Options {
		if _, has := s.Places[option.Zone]; !has && len(s.Places) > 0 {
			continue
		}
		why := node.Ask.Refused.Why(constraints.Offering{InstanceType: option.Type, Zone: option.Zone, CapacityType: option.CapacityType})
		return fmt.Sprintf("needs %s, but EC2 does not launch %s from it: %s", node.Ask.Template, option.Type, strings.TrimSuffix(why, "."))
	}
	return fmt.Sprintf("requires zone %s, where Provisioner %s has no subnet", zonesOf(node), s.Provisioner.Name)
}

// prefixOf leaves room in 63 characters for the suffix that is unique.
func prefixOf(provisioner string) string {
	return strings.TrimRight(provisioner[:min(len(provisioner), 40)], "-.")
}

func specOf(node *packing.NewNode, s Surroundings) provisioningv1.ProvisionedNodeSpec {
	options := launchable(node, s.Places)
	capacityType := capacityTypeOf(options)
	spec := provisioningv1.ProvisionedNodeSpec{
		Provisioner: s.Provisioner.Name, Cluster: s.Provisioner.Spec.Cluster.Name, LaunchTemplate: s.Template, CapacityType: capacityType,
		Architecture: provisioningv1.Architecture(node.Architecture),
		Labels:       maps.Clone(node.Ask.Labels),
	}
	spec.Labels[provisioningv1.LabelCapacityType], spec.Labels[provisioningv1.KarpenterLabelCapacityType] = capacityType, capacityType
	spec.ExtraResources = provisioningv1.ExtraResources(maps.Clone(node.Ask.Resources))
	for _, taint := range node.Ask.Taints {
		spec.Taints = append(spec.Taints, provisioningv1.Taint{Key: taint.Key, Value: taint.Value, Effect: provisioningv1.TaintEffect(taint.Effect)})
	}
	spec.StartupTaints = slices.Clone(s.Provisioner.Spec.StartupTaints)
	spec.AwaitedResources = Awaited(node.Pods)
	for _, option := range options {
		if option.CapacityType != capacityType {
			continue
		}
		spec.Offerings = append(spec.Offerings, provisioningv1.NodeOffering{InstanceType: option.Type, Zone: option.Zone, SubnetID: s.Places.in(option.Zone)})
		of := s.Resources(option.Type)
		if of.CPU.Cmp(spec.Reserved.CPU) > 0 {
			spec.Reserved.CPU = of.CPU
		}
		if of.Memory.Cmp(spec.Reserved.Memory) > 0 {
			spec.Reserved.Memory = of.Memory
		}
	}
	return spec
}

// launchable returns the options of a node that are in a zone with a subnet, if places matter, and
// that EC2 does not refuse to launch.
func launchable(node *packing.NewNode, places Places) []packing.Option {
	return slices.DeleteFunc(slices.Clone(node.Options), func(option packing.Option) bool {
		_, has := places[option.Zone]
		return !has && len(places) > 0 || node.Ask.Refused.Why(constraints.Offering{InstanceType: option.Type, Zone: option.Zone, CapacityType: option.CapacityType}) != ""
	})
}

// capacityTypeOf returns how a node is bought: an instant fleet is bought in one way. Where both
// would do it is Spot, and On-Demand while all Spot offerings are short.
func capacityTypeOf(options []packing.Option) string {
	if slices.ContainsFunc(options, func(option packing.Option) bool { return option.CapacityType == provisioningv1.CapacityTypeSpot }) {
		return provisioningv1.CapacityTypeSpot
	}
	return provisioningv1.CapacityTypeOnDemand
}

// mostAwaited bounds what a node waits for.
const mostAwaited = 32

// Awaited returns the extended resources that pods request, which their node has to have before it
// is initialized.
func Awaited(pods []*corev1.Pod) []string {
	names := map[string]bool{}
	for _, pod := range pods {
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if packing.Extended(name) && !quantity.IsZero() {
				names[string(name)] = true
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	return sorted[:min(len(sorted), mostAwaited)]
}

// keyOf returns one string for all nodes that one call can launch.
func keyOf(spec *provisioningv1.ProvisionedNodeSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err) // data alone: there is nothing that JSON cannot write
	}
	return string(text)
}

func zonesOf(node *packing.NewNode) string {
	var zones []string
	for _, option := range node.Options {
		zones = append(zones, option.Zone)
	}
	slices.Sort(zones)
	return strings.Join(slices.Compact(zones), " or ")
}

func objectOf(spec provisioningv1.ProvisionedNodeSpec, provisioner *provisioningv1.Provisioner, name string) *provisioningv1.ProvisionedNode {
	return &provisioningv1.ProvisionedNode{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{provisioningv1.ProvisionedNodeFinalizer},
			Labels: map[string]string{provisioningv1.LabelProvisionerName: provisioner.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: provisioningv1.GroupVersion.String(), Kind: "Provisioner", Name: provisioner.Name, UID: provisioner.UID, Controller: ptr.To(true),
			}},
		},
		Spec: spec,
	}
}

// Places returns the names of the nodes that the pods of a launch are for.
func (l *Launch) Places() map[types.UID]string {
	places := map[types.UID]string{}
	for i, pods := range l.Pods {
		for _, pod := range pods {
			places[pod.UID] = l.Nodes[i].Name
		}
	}
	return places
}

package packing

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Problem holds the pods to place and everything that decides where. Pack does not change it.
type Problem struct {
	// Provisioners that may launch nodes. A pod that suits several goes to the one with the highest
	// weight, or of those to the first in the order of names.
	Provisioners []Provisioner

	// Templates holds the content of the provisioners' launch templates, and of the launch
	// templates that pods name.
	Templates constraints.Templates

	// Types that instances may have.
	Types []InstanceType

	// NotOffered are types that AWS offers in no zone where nodes can be. They are never launched;
	// pods that ask for them get a reason.
	NotOffered []InstanceType

	// Nodes that are there, or are on their way.
	Nodes []Node

	// Pods that wait.
	Pods []Pod

	// Namespaces are the labels of namespaces, which affinities between pods may select by.
	Namespaces map[string]map[string]string

	// MaxPods bounds how many pods are considered: pods that were not Tried first, and of them the
	// important and the large. The rest is deferred. 0 is no bound.
	MaxPods int
}

// Provisioner launches nodes.
type Provisioner struct {
	constraints.Provisioner

	// Limits that all nodes of the provisioner together stay within, those included that there are:
	// Used. Limits that are missing do not bound.
	Limits Limits

	// Used by the nodes that there are.
	Used Limits

	// Daemons are pods of daemon sets. Each node that suits such a pod runs one.
	Daemons []*corev1.Pod
}

// Limits holds amounts that the nodes may have together.
type Limits struct {
	CPU, Memory *resource.Quantity
	Nodes       *int64
}

// String returns the limits as a user wrote them. It leaves out the remaining amounts: they change
// with every node, and events would repeat.
func (l Limits) String() string {
	var texts []string
	if l.CPU != nil {
		texts = append(texts, "limits.cpu is "+l.CPU.String())
	}
	if l.Memory != nil {
		texts = append(texts, "limits.memory is "+l.Memory.String())
	}
	if l.Nodes != nil {
		texts = append(texts, fmt.Sprintf("limits.nodes is %d", *l.Nodes))
	}
	return strings.Join(texts, ", ")
}

// InstanceType is a type of instances.
type InstanceType struct {
	// Name of the type.
	Name string

	// Architecture as kubernetes.io/arch has it.
	Architecture string

	// Labels that nodes of the type carry in addition to the labels of every node.
	Labels map[string]string

	// Capacity of an instance, the number of pods and AttachableVolumes included; and Overhead,
	// what of it no pod gets.
	Capacity, Overhead corev1.ResourceList

	// EFAInterfaces is how many network interfaces of an instance may be Elastic Fabric Adapters.
	EFAInterfaces int64

	// Offerings by which an instance can be had.
	Offerings []Offering
}

// Offering is a way to have an instance.
type Offering struct {
	// Zone and CapacityType of the instance.
	Zone, CapacityType string

	// Price of an hour, in whichever currency all prices are.
	Price float64

	// Unavailable is true while AWS has no such instance, or the account may not have one. Why says
	// which, where it is not that AWS has none.
	Unavailable bool
	Why         string
}

// Node is there, or on its way.
type Node struct {
	// Name of the node. It is unique.
	Name string

	// Labels and Taints that it has, or will have once it is ready.
	Labels map[string]string
	Taints []corev1.Taint

	// Allocatable of the node; of AttachableVolumes, what its Pods leave.
	Allocatable corev1.ResourceList

	// Pods that run there, and that were promised to it.
	Pods []*corev1.Pod

	// Closed reports that the node takes no further pods. Its pods count for spreads and
	// affinities.
	Closed bool
}

// Pod waits.
type Pod struct {
	*corev1.Pod

	// Zones that its volumes can be used in; nil for any.
	Zones []string

	// Volumes that its node has to attach, by the name of their CSI driver. One that it shares with
	// another pod is counted for both.
	Volumes map[string]int64

	// Tried reports that the pod was considered before, without success: where there is a bound,
	// others come first.
	Tried bool

	// Expected reports that the pod is not there yet, and may never come. It takes room, and no
	// spread or affinity counts it.
	Expected bool
}

// Result holds what to launch, and where every pod goes.
type Result struct {
	// New nodes.
	New []NewNode

	// Existing are the pods, by the name of a node, that fit on nodes that are there.
	Existing map[string][]*corev1.Pod

	// Unplaced pods, with the reason.
	Unplaced []Unplaced

	// Rejected are the offerings of which nothing is launched for unplaced pods, by Provisioner and by why, the
	// most frequent reason first.
	Rejected []Rejected

	// Deferred pods were not considered: there were more than Problem.MaxPods, or pods of their namespace
	// have more choices than its share.
	Deferred []*corev1.Pod
}

// Price of all new nodes an hour.
func (r *Result) Price() float64 {
	var sum float64
	for i := range r.New {
		sum += r.New[i].Options[0].Price
	}
	return sum
}

// NewNode is one node to launch.
type NewNode struct {
	// Ask is what it is launched from. Its requirements are the requirements of its first pod;
	// Options meet the requirements of all its pods.
	Ask constraints.Ask

	// Architecture of the node.
	Architecture string

	// Options are the offerings that suit all pods of the node, the cheapest first. With limits, no
	// option is larger than the first.
	Options []Option

	// Pods that the node is for.
	Pods []*corev1.Pod
}

// Option is an offering of an instance type.
type Option struct {
	Type, Zone, CapacityType string
	Price                    float64
}

// Unplaced is a pod that no node was found for.
type Unplaced struct {
	Pod *corev1.Pod

	// Reason explains to a user why. The pod is the subject of the sentence.
	Reason string

	// Cause is the kind of the reason.
	Cause Cause
}

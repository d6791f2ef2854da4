package packing

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

var onePod = *resource.NewQuantity(1, resource.DecimalSI)

// maxLevels bounds how many steps preferences between pods are given up in.
const maxLevels = 16

// class holds pods that no predicate distinguishes.
type class struct {
	key     string
	pods    []*corev1.Pod // by namespace and name
	placed  int           // of them, from the first on
	request amounts
	ports   []hostPort
	numbers map[portNumber]bool // of the ports
	zones   []string            // of volumes; nil for any

	ways   []constraints.Requirements
	levels []wanted // from all preferences between pods to none
	counts []int32  // topologies that count the pods
	reason string   // why there are no ways, or no levels
	cause  Cause    // the kind of the reason

	exclusive bool // keeps nodes to itself, in part
	priority  int32
	reserved  []int32 // required topologies that keep apart: others have to mind them
	first     *group  // whose demand it is part of
}

func (c *class) pod() *corev1.Pod { return c.pods[0] }

func (c *class) left() int64 { return int64(len(c.pods) - c.placed) }

// hostPort is a port of the node that a pod binds.
type hostPort struct {
	address  string
	protocol corev1.Protocol
	port     int32
}

// portNumber is a port without its address.
type portNumber struct {
	protocol corev1.Protocol
	port     int32
}

func (p hostPort) number() portNumber { return portNumber{p.protocol, p.port} }

const everyAddress = "0.0.0.0"

// maxHostPorts bounds the host ports of a pod. Each is compared with the ports of every node.
const maxHostPorts = 1000

func (p hostPort) conflicts(other hostPort) bool {
	return p.port == other.port && p.protocol == other.protocol &&
		(p.address == other.address || p.address == everyAddress || other.address == everyAddress)
}

func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	gather := func(containers []corev1.Container) {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.HostPort > 0 {
					ports = append(ports, hostPort{cmp.Or(port.HostIP, everyAddress), cmp.Or(port.Protocol, corev1.ProtocolTCP), port.HostPort})
				}
			}
		}
	}
	gather(pod.Spec.Containers)
	for i := range pod.Spec.InitContainers {
		if policy := pod.Spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			gather(pod.Spec.InitContainers[i : i+1])
		}
	}
	return ports
}

// BindsHostPort reports whether a pod binds a port of its node.
func BindsHostPort(pod *corev1.Pod) bool { return len(hostPorts(pod)) > 0 }

// classifier sorts pods into classes.
type classifier struct {
	resources  *resourceIndex
	topologies *topologies
	counted    map[string][]int32 // by namespace and labels
	buffer     []byte
}

// described holds what is read of a pod before all topologies are known.
type described struct {
	pod     Pod
	request amounts // of the resources that were known by then, and later of all
	ports   []hostPort
	excess  string // why it has no place whatever there is: a resource that is not in the request, its ports, or its claims
	wishes  *wishes
}

// wishes are the parts of a class that only its spec decides.
type wishes struct {
	key      string
	ways     []constraints.Requirements
	levels   []wanted
	reserved []int32
	reason   string
}

// classes returns the classes of the pods, in the order in which they are placed.
func (k *classifier) classes(all []Pod, limited bool) []*class {
	read := k.describe(all)
	byKey := map[string]*class{}
	for i := range read {
		d := &read[i]
		d.request = k.resources.extended(d.request)
		var counts []int32
		if !d.pod.Expected {
			counts = k.countsOf(d.pod.Pod)
		}
		key := k.classKey(d, counts, limited)
		c := byKey[string(key)]
		if c == nil {
			c = d.class(string(key), counts)
			if limited {
				c.priority = priority(d.pod.Pod)
			}
			c.exclusive = k.exclusive(c)
			byKey[c.key] = c
		}
		c.pods = append(c.pods, d.pod.Pod)
	}
	return arrange(byKey)
}

// describe reads the pods, and with them all resources and topologies.
func (k *classifier) describe(all []Pod) []described {
	known := map[string]*wishes{}
	read := make([]described, len(all))
	requests := corev1.ResourceList{}
	for i := range all {
		d := described{pod: all[i], ports: hostPorts(all[i].Pod)}
		if len(d.ports) > maxHostPorts {
			d.excess = fmt.Sprintf("has %d host ports, more than the limit of %d for pods that need a new node", len(d.ports), maxHostPorts)
			d.ports = nil
		}
		requests = podRequests(all[i].Pod, requests)
		if name := k.resources.reduce(requests); name != "" {
			d.excess = fmt.Sprintf("requests %s, which no instance type, Provisioner, or Node provides", name)
			delete(requests, name)
		}
		if len(all[i].Spec.ResourceClaims) > 0 {
			d.excess = "claims devices by dynamic resource allocation, and no instance type says which devices it has"
		}
		for driver, volumes := range all[i].Volumes {
			requests[AttachableVolumes(driver)] = *resource.NewQuantity(volumes, resource.DecimalSI)
		}
		k.resources.addAll(requests)
		d.request = k.resources.of(requests)
		key := k.wishKey(all[i].Pod)
		if d.wishes = known[string(key)]; d.wishes == nil {
			text := string(key)
			d.wishes = k.wishes(all[i].Pod)
			d.wishes.key, known[text] = text, d.wishes
		}
		read[i] = d
	}
	return read
}

// class returns the class of a pod, still without pods.
func (d *described) class(key string, counts []int32) *class {
	c := &class{
		key: key, request: d.request, ports: d.ports, zones: slices.Sorted(slices.Values(d.pod.Zones)), counts: counts,
		ways: d.wishes.ways, levels: d.wishes.levels, reserved: d.wishes.reserved, reason: d.wishes.reason, cause: CauseIncompatible,
	}
	if c.reason == "" && d.excess != "" {
		c.ways, c.levels, c.reason, c.cause = nil, nil, d.excess, CauseTooLarge
	}
	if len(c.ports) > 0 {
		c.numbers = map[portNumber]bool{}
	}
	for _, port := range c.ports {
		c.numbers[port.number()] = true
	}
	if d.pod.Zones != nil && c.zones == nil {
		c.zones = []string{}
	}
	return c
}

// arrange orders the classes: important pods first where limits may leave some without a node, then
// pods that keep nodes to themselves, then large pods.
func arrange(byKey map[string]*class) []*class {
	classes := slices.SortedFunc(maps.Values(byKey), func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), compareBool(b.exclusive, a.exclusive), a.request.compare(b.request), cmp.Compare(a.key, b.key))
	})
	for _, c := range classes {
		slices.SortFunc(c.pods, comparePods)
	}
	return classes
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// exclusive reports whether a node takes only a few of the pods, whatever its size.
func (k *classifier) exclusive(c *class) bool {
	if len(c.ports) > 0 {
		return true
	}
	if len(c.levels) == 0 {
		return false
	}
	hosts := func(places []int32) bool {
		return slices.ContainsFunc(places, func(place int32) bool {
			return k.topologies.all[place].axis == byNode && slices.Contains(c.counts, place)
		})
	}
	return hosts(c.levels[0].apart) || hosts(c.levels[0].spread)
}

// wishKey returns the same bytes for all pods with the same wishes. They are valid until the next
// key is built. Topologies may be described by the pod's own labels and namespace.
func (k *classifier) wishKey(pod *corev1.Pod) []byte {
	spec := &pod.Spec
	b := k.buffer[:0]
	if excess := constraints.Excess(spec); excess != "" { // all such pods have no place, for that reason
		k.buffer = append(append(b, 2), excess...)
		return k.buffer
	}
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		b = append(append(append(append(b, key...), '='), spec.NodeSelector[key]...), 0)
	}
	if spec.OS != nil {
		b = append(append(append(b, 3), spec.OS.Name...), 0)
	}
	b = append(b, 1)
	if spec.Affinity != nil || len(spec.TopologySpreadConstraints) > 0 {
		b = append(append(b, pod.Namespace...), 0)
		b = appendJSON(b, spec.Affinity)
		b = appendJSON(b, spec.TopologySpreadConstraints)
		if usesLabelKeys(spec) {
			b = appendJSON(b, pod.Labels)
		}
	}
	b = append(b, 1)
	if len(spec.Tolerations) > 0 {
		b = appendJSON(b, spec.Tolerations)
	}
	k.buffer = b
	return b
}

// appendJSON appends a value of the API. All such values can be encoded in JSON.
func appendJSON(b []byte, value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		encoded = fmt.Appendf(nil, "%+v", value)
	}
	return append(b, encoded...)
}

// usesLabelKeys reports whether the pod's own labels decide what a selector means.
func usesLabelKeys(spec *corev1.PodSpec) bool {
	for i := range spec.TopologySpreadConstraints {
		if len(spec.TopologySpreadConstraints[i].MatchLabelKeys) > 0 {
			return true
		}
	}
	for _, terms := range [][]corev1.PodAffinityTerm{requiredAffinity(spec), requiredAntiAffinity(spec), preferredOf(spec)} {
		for i := range terms {
			if len(terms[i].MatchLabelKeys)+len(terms[i].MismatchLabelKeys) > 0 {
				return true
			}
		}
	}
	return false
}

// classKey returns the same bytes for all pods of a class. They are valid until the next key is
// built.
func (k *classifier) classKey(d *described, counts []int32, limited bool) []byte {
	b := k.buffer[:0]
	b = append(append(append(b, d.wishes.key...), 1), d.excess...)
	b = append(b, 1)
	for _, amount := range d.request {
		b = binary.BigEndian.AppendUint64(b, uint64(amount)) //nolint:gosec // a key, not a number
	}
	for _, place := range counts {
		b = binary.BigEndian.AppendUint32(b, uint32(place)) //nolint:gosec // a key, not a number
	}
	for _, port := range d.ports {
		b = fmt.Appendf(b, "\x00%s %s %d", port.address, port.protocol, port.port)
	}
	b = append(b, 1)
	if d.pod.Zones != nil {
		b = append(append(b, strings.Join(slices.Sorted(slices.Values(d.pod.Zones)), ",")...), 1)
	}
	if limited {
		b = binary.BigEndian.AppendUint32(b, uint32(priority(d.pod.Pod))) //nolint:gosec // a key, not a number
	}
	k.buffer = b
	return b
}

// countsOf returns the topologies that count a pod.
func (k *classifier) countsOf(pod *corev1.Pod) []int32 {
	if len(k.topologies.all) == 0 {
		return nil
	}
	b := append(append(k.buffer[:0], pod.Namespace...), 0)
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		b = append(append(append(append(b, key...), '='), pod.Labels[key]...), 0)
	}
	k.buffer = b
	counts, known := k.counted[string(b)]
	if !known {
		counts = k.topologies.matching(pod.Namespace, labels.Set(pod.Labels))
		k.counted[string(b)] = counts
	}
	return counts
}

// countsOfRunning returns the topologies that count a pod on a node. Spreads do not count pods that
// are being deleted.
func (k *classifier) countsOfRunning(pod *corev1.Pod) []int32 {
	counts := k.countsOf(pod)
	if pod.DeletionTimestamp == nil {
		return counts
	}
	return slices.DeleteFunc(slices.Clone(counts), func(place int32) bool { return k.topologies.all[place].relation == spread })
}

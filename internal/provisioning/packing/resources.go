package packing

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// amounts are quantities of the resources of an index: CPU in thousandths, everything else in units.
type amounts []int64

// The first resources of every index. CPU and memory count for limits, and the number of pods is
// one more for each pod.
const (
	cpu = iota
	memory
	pods
	storage
)

// basics are the first resources of every index, in their order.
var basics = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage}

// resourceIndex gives every resource that some pod asks for a place.
type resourceIndex struct {
	names []corev1.ResourceName
	place map[corev1.ResourceName]int
	// offered are the resources that some instance type, Provisioner, or Node has, and strange is how
	// many others have a place.
	offered map[corev1.ResourceName]bool
	strange int
}

// maxStrange bounds how many resources have a place that nothing offers. Pods choose their names, and
// each place takes room for every instance type and node.
const maxStrange = 64

func newResourceIndex(problem *Problem) *resourceIndex {
	x := &resourceIndex{place: map[corev1.ResourceName]int{}, offered: map[corev1.ResourceName]bool{}}
	for _, name := range basics {
		x.add(name)
	}
	offer := func(list corev1.ResourceList) {
		for name := range list {
			x.offered[name] = true
		}
	}
	for i := range problem.Types {
		offer(problem.Types[i].Capacity)
	}
	for i := range problem.Provisioners {
		offer(problem.Provisioners[i].Resources)
	}
	for i := range problem.Nodes {
		offer(problem.Nodes[i].Allocatable)
	}
	return x
}

// reduce leaves one of the resources in a list of requests that nothing offers: the first by name. One is
// enough for a pod to have no place. It returns the resource if it cannot have a place in the index, because
// too many others that nothing offers have one.
func (x *resourceIndex) reduce(requests corev1.ResourceList) corev1.ResourceName {
	first := corev1.ResourceName("")
	for name, quantity := range requests {
		if !basic(name) && !x.offered[name] && quantity.Sign() > 0 && (first == "" || name < first) {
			first = name
		}
	}
	maps.DeleteFunc(requests, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return !basic(name) && !x.offered[name] && name != first
	})
	if _, known := x.place[first]; first == "" || known {
		return ""
	}
	if x.strange == maxStrange {
		return first
	}
	x.strange++
	return ""
}

// basic reports whether every index has a resource.
func basic(name corev1.ResourceName) bool { return slices.Contains(basics, name) }

func (x *resourceIndex) add(name corev1.ResourceName) {
	if _, known := x.place[name]; !known {
		x.place[name] = len(x.names)
		x.names = append(x.names, name)
	}
}

// addAll adds the resources of a list, always in the same order.
func (x *resourceIndex) addAll(list corev1.ResourceList) {
	known := 0
	for name := range list {
		if _, is := x.place[name]; is {
			known++
		}
	}
	if known == len(list) {
		return // nearly always
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		x.add(name)
	}
}

// extended returns amounts that were taken when fewer resources were known, with the resources that
// were added since.
func (x *resourceIndex) extended(a amounts) amounts {
	if len(a) == len(x.names) {
		return a
	}
	return append(slices.Clip(a), make(amounts, len(x.names)-len(a))...)
}

// of returns the amounts of a list. It leaves out resources that no pod asks for.
func (x *resourceIndex) of(list corev1.ResourceList) amounts {
	a := make(amounts, len(x.names))
	for name, quantity := range list {
		if place, known := x.place[name]; known {
			a[place] = amountOf(name, &quantity)
		}
	}
	return a
}

// amountOf returns a quantity of a resource as an amount, at most unbounded. The API server accepts
// quantities of more than 64 bits, for which Value and MilliValue return 0 or a negative number.
func amountOf(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	scale, most := resource.Scale(0), float64(unbounded)
	if name == corev1.ResourceCPU {
		scale, most = resource.Milli, most/1000
	}
	switch approximately := quantity.AsApproximateFloat64(); {
	case approximately >= most:
		return unbounded
	case approximately <= -most:
		return -unbounded
	}
	return quantity.ScaledValue(scale)
}

// attachableVolumes is the prefix that Kubernetes once used for the volumes of a CSI driver that a
// node can attach, when they were a resource of Nodes.
const attachableVolumes = "attachable-volumes-csi-"

// EBSDriver is the name of the CSI driver of Amazon EBS.
const EBSDriver = "ebs.csi.aws.com"

// AttachableVolumes returns the resource that counts the volumes that a node can attach for a CSI
// driver. A list without it does not bound them.
func AttachableVolumes(driver string) corev1.ResourceName {
	return corev1.ResourceName(attachableVolumes + driver)
}

// room returns the amounts that a node offers. Attachable volumes that the list does not mention
// are unbounded.
func (x *resourceIndex) room(list corev1.ResourceList) amounts {
	a := x.of(list)
	for place, name := range x.names {
		if _, bounded := list[name]; !bounded && strings.HasPrefix(string(name), attachableVolumes) {
			a[place] = unbounded
		}
	}
	return a
}

// podRequests returns what the scheduler reserves for a pod, including its place among the node's
// pods. It may overwrite the list that the caller passes.
func podRequests(pod *corev1.Pod, into corev1.ResourceList) corev1.ResourceList {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{Reuse: into})
	requests[corev1.ResourcePods] = onePod
	return requests
}

// times returns how often the request fits into the free amounts; at most the bound.
func times(free, used, request amounts, bound int64) int64 {
	for i, asked := range request {
		if asked <= 0 {
			continue
		}
		bound = min(bound, (free[i]-used[i])/asked)
		if bound <= 0 {
			return 0
		}
	}
	return bound
}

// add adds so many times the other amounts. No sum is more than unbounded.
func (a amounts) add(of amounts, count int64) {
	for i := range of {
		switch approximately := float64(a[i]) + float64(of[i])*float64(count); {
		case approximately >= unbounded:
			a[i] = unbounded
		case approximately <= -unbounded:
			a[i] = -unbounded
		default:
			a[i] += of[i] * count
		}
	}
}

// compare puts the larger first, by CPU, then memory, then the rest.
func (a amounts) compare(b amounts) int {
	return slices.CompareFunc(a, b, func(x, y int64) int { return cmp.Compare(y, x) })
}

// unbounded is more than any amount, and can be added to.
const unbounded = math.MaxInt64 / 4

// holds reports whether the used amounts fit into the free ones.
func holds(free, used amounts) bool {
	for i := range used {
		if used[i] > free[i] {
			return false
		}
	}
	return true
}

// quantity returns an amount of a resource with its unit, such as "1.5 CPU", "15.9 GB of memory",
// or "2 nvidia.com/gpu".
func (x *resourceIndex) quantity(place int, amount int64) string {
	if amount >= unbounded {
		return "at least " + x.quantity(place, unbounded-1)
	}
	switch name := x.names[place]; name {
	case corev1.ResourceCPU:
		return decimal(float64(amount)/1000, 3) + " CPU"
	case corev1.ResourceMemory:
		return bytes(amount) + " of memory"
	case corev1.ResourceEphemeralStorage:
		return bytes(amount) + " of ephemeral storage"
	default:
		if driver, volumes := strings.CutPrefix(string(name), attachableVolumes); volumes {
			return fmt.Sprintf("%d volumes of %s", amount, driver)
		}
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			return bytes(amount) + " of " + string(name)
		}
		return fmt.Sprintf("%d %s", amount, name)
	}
}

// byteUnits are the units of amounts of bytes, a thousand apart.
var byteUnits = []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}

// bytes returns an amount of bytes with one digit after the point, and in parentheses as manifests
// have it, where that is as short: "17.2 GB (16Gi)".
func bytes(amount int64) string {
	value, unit := float64(amount), 0
	for value >= 1000 && unit < len(byteUnits)-1 {
		value, unit = value/1000, unit+1
	}
	if value >= 999.95 && unit < len(byteUnits)-1 {
		value, unit = 1, unit+1
	}
	text := decimal(value, 1) + " " + byteUnits[unit]
	if short := resource.NewQuantity(amount, resource.BinarySI).String(); len(short) <= 6 && strings.HasSuffix(short, "i") {
		text += " (" + short + ")"
	}
	return text
}

// decimal returns a number with at most so many digits after the point.
func decimal(value float64, digits int) string {
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Package packtest has problems to pack for tests: instance types, pods with wishes of every sort,
// whole problems at random, and Nodes as packing foresees them.
package packtest

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Amounts returns quantities by resource: name, quantity, name, quantity.
func Amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Zones of all instance types.
var Zones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// LinearTypes returns instance types of 1, 2, 3, ... CPUs with 2 GiB and 10 pods each, at a price
// in proportion, in two zones for spot and three on demand, as Karpenter's benchmark has them.
func LinearTypes(number int) []packing.InstanceType {
	var types []packing.InstanceType
	for i := range number {
		cpus := i + 1
		price := 0.1*float64(cpus) + 0.1*float64(cpus*2<<30)/1e9
		t := packing.InstanceType{
			Name: fmt.Sprintf("linear-%d.large", cpus), Architecture: "amd64",
			Capacity: Amounts("cpu", fmt.Sprint(cpus), "memory", fmt.Sprintf("%dGi", cpus*2), "pods", fmt.Sprint(cpus*10), "ephemeral-storage", "20Gi"),
			Overhead: Amounts("cpu", "100m", "memory", "10Mi"),
		}
		for i, zone := range Zones {
			t.Offerings = append(t.Offerings, packing.Offering{Zone: zone, CapacityType: "on-demand", Price: price})
			if i < 2 {
				t.Offerings = append(t.Offerings, packing.Offering{Zone: zone, CapacityType: "spot", Price: price})
			}
		}
		types = append(types, t)
	}
	return types
}

// FamilyTypes returns types like EC2's: families of 2, 4, and 8 GiB per CPU for each architecture,
// whose sizes double, at prices in proportion to size; spot at a third.
func FamilyTypes() []packing.InstanceType {
	var types []packing.InstanceType
	for _, family := range []struct {
		name, architecture string
		gib                int
		price              float64
	}{
		{"c5", "amd64", 2, 0.0425}, {"m5", "amd64", 4, 0.048}, {"r5", "amd64", 8, 0.063}, {"c6g", "arm64", 2, 0.034}, {"m6g", "arm64", 4, 0.0385}, {"r6g", "arm64", 8, 0.0504},
	} {
		for _, size := range []struct {
			name string
			cpus int
			pods int
		}{{"large", 2, 29}, {"xlarge", 4, 58}, {"2xlarge", 8, 58}, {"4xlarge", 16, 234}, {"8xlarge", 32, 234}, {"16xlarge", 64, 737}} {
			t := packing.InstanceType{
				Name: family.name + "." + size.name, Architecture: family.architecture, Labels: map[string]string{"example.com/cpus": fmt.Sprint(size.cpus)},
				Capacity: Amounts("cpu", fmt.Sprint(size.cpus), "memory", fmt.Sprintf("%dGi", size.cpus*family.gib), "pods", fmt.Sprint(size.pods), "ephemeral-storage", "20Gi"),
				Overhead: Amounts("cpu", "80m", "memory", fmt.Sprintf("%dMi", 255+11*size.pods+100)),
			}
			for i, zone := range Zones {
				price := family.price * float64(size.cpus)
				t.Offerings = append(t.Offerings, packing.Offering{Zone: zone, CapacityType: "on-demand", Price: price},
					packing.Offering{Zone: zone, CapacityType: "spot", Price: price * (0.3 + 0.01*float64(i))})
			}
			types = append(types, t)
		}
	}
	return types
}

// Pod returns a pod of 1 CPU and 1 GiB, edited.
func Pod(name string, edit ...func(*corev1.Pod)) packing.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Resources: corev1.ResourceRequirements{Requests: Amounts("cpu", "1", "memory", "1Gi")}}}},
	}
	for _, one := range edit {
		one(p)
	}
	return packing.Pod{Pod: p}
}

// Asks has the pod ask for other amounts.
func Asks(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = Amounts(pairs...) }
}

// Labeled gives the pod one label.
func Labeled(key, value string) func(*corev1.Pod) {

	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

// Selects gives the pod a node selector.
func Selects(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			p.Spec.NodeSelector[pairs[i]] = pairs[i+1]
		}
	}
}

// Selector matches pods by one label.
func Selector(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// Spread has the pod spread over a topology with others.
func Spread(topology string, skew int32, how corev1.UnsatisfiableConstraintAction, of *metav1.LabelSelector) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints,
			corev1.TopologySpreadConstraint{TopologyKey: topology, MaxSkew: skew, WhenUnsatisfiable: how, LabelSelector: of})
	}
}

// AffinityOf returns the affinity of a pod. It sets an empty one if there is none.
func AffinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

// Together has the pod require others in its domain of a topology.
func Together(topology string, with *metav1.LabelSelector) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		AffinityOf(p).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: with}}}
	}
}

// Apart has the pod require that there are no others in its domain of a topology.
func Apart(topology string, from *metav1.LabelSelector) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		AffinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: from}},
		}
	}
}

// OnPort has the pod bind a port of its node.
func OnPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port}}
	}
}

// Diverse returns pods as Karpenter's benchmark has them: equal parts without wishes, spread over
// zones, over nodes, together on a node, in a zone, and apart from each other, of 30 sizes.
func Diverse(number int, seed uint64) []packing.Pod {
	r := rand.New(rand.NewPCG(seed, 0))
	letter := func() string { return string(rune('a' + r.IntN(7))) }
	size := func() func(*corev1.Pod) {
		return Asks("cpu", []string{"100m", "250m", "500m", "1", "1500m"}[r.IntN(5)], "memory", []string{"100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"}[r.IntN(6)])
	}
	var all []packing.Pod
	for i := range number {
		edits := []func(*corev1.Pod){size(), Labeled("my-label", letter())}
		switch i * 6 / number {
		case 1:
			edits = append(edits, Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, Selector("my-label", letter())))
		case 2:
			edits = append(edits, Spread(corev1.LabelHostname, 1, corev1.DoNotSchedule, Selector("my-label", letter())))
		case 3:
			edits = append(edits, Labeled("my-affinity", letter()), Together(corev1.LabelHostname, Selector("my-affinity", letter())))
		case 4:
			edits = append(edits, Labeled("my-affinity", letter()), Together(corev1.LabelTopologyZone, Selector("my-affinity", letter())))
		case 5:
			edits = append(edits, Labeled("app", "nginx"), Apart(corev1.LabelHostname, Selector("app", "nginx")))
		default:
		}
		all = append(all, Pod(fmt.Sprintf("pod-%05d", i), edits...))
	}
	return all
}

// Equal returns pods of one deployment.
func Equal(number int) []packing.Pod {
	var all []packing.Pod
	for i := range number {
		all = append(all, Pod(fmt.Sprintf("pod-%05d", i), Asks("cpu", "500m", "memory", "512Mi"), Labeled("app", "web")))
	}
	return all
}

// Provisioner returns a provisioner named default without wishes, edited.
func Provisioner(edit ...func(*packing.Provisioner)) packing.Provisioner {
	p := packing.Provisioner{Provisioner: constraints.Provisioner{Name: "default", Allowed: constraints.Allowed{Prefixes: []string{""}}}}
	for _, one := range edit {
		one(&p)
	}
	return p
}

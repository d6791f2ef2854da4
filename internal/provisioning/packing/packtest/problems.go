package packtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Quantity returns a whole number as a quantity.
func Quantity(amount int64) *resource.Quantity {
	return resource.NewQuantity(amount, resource.DecimalSI)
}

// Driver is the CSI driver of the volumes of problems.
const Driver = packing.EBSDriver

// MaxVolumes is how many volumes the pods of one deployment attach at most, and MaxDeployments how
// many deployments there are at most.
const (
	MaxVolumes     = 24
	MaxDeployments = 6
)

// Namespaces of the pods of problems, with their labels.
var Namespaces = map[string]map[string]string{"default": {corev1.LabelMetadataName: "default"}, "other": {corev1.LabelMetadataName: "other", "team": "a"}}

// Problems draws small problems that exercise all predicates.
func Problems(t *rapid.T) *packing.Problem {
	problem := &packing.Problem{
		Types: FamilyTypes(), Namespaces: Namespaces,
		Templates: constraints.Templates{
			{Name: "web", Version: "latest"}: {Name: "web", Version: 3, Architecture: "amd64", EphemeralStorage: 100 << 30},
			{Name: "arm", Version: "latest"}: {Name: "arm", Version: 1, Architecture: "arm64"},
		},
	}
	for i := range problem.Types {
		for j := range problem.Types[i].Offerings {
			problem.Types[i].Offerings[j].Unavailable = rapid.IntRange(0, 5).Draw(t, "available") == 0
		}
		if rapid.Bool().Draw(t, "volumes are bounded") {
			problem.Types[i].Capacity[packing.AttachableVolumes(Driver)] = *Quantity(rapid.Int64Range(0, 25).Draw(t, "attachable"))
		}
	}
	agents := daemons(t)
	problem.Provisioners = []packing.Provisioner{Provisioner(func(p *packing.Provisioner) {
		p.Daemons = agents
		if rapid.Bool().Draw(t, "named") {
			p.Template = constraints.Reference{Name: "web", Version: "latest"}
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Limits.CPU = Quantity(rapid.Int64Range(0, 40).Draw(t, "cpu limit"))
			nodes := rapid.Int64Range(0, 8).Draw(t, "node limit")
			p.Limits.Nodes = &nodes
		}
		p.Requirements = requirements(t)
		if rapid.Bool().Draw(t, "extra resources") {
			p.Resources = Amounts("hugepages-2Mi", "1Gi", "example.com/device", "2")
		}
	}), Provisioner(func(p *packing.Provisioner) {
		p.Name, p.Zones, p.CapacityType, p.Daemons = "tainted", Zones[:2], provisioningv1.CapacityTypeSpot, agents
		p.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		p.Weight = rapid.Int32Range(0, 1).Draw(t, "weight")
	})}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		problem.Nodes = append(problem.Nodes, existing(t, i))
	}
	for i := range rapid.IntRange(1, MaxDeployments).Draw(t, "deployments") {
		problem.Pods = append(problem.Pods, deployment(t, fmt.Sprintf("d%d", i))...)
	}
	return problem
}

// requirements limits instance types, capacity types, both, or nothing.
func requirements(t *rapid.T) constraints.Requirements {
	limits := constraints.Requirements{}
	switch rapid.IntRange(0, 5).Draw(t, "required types") {
	case 0:
		limits["example.com/cpus"] = constraints.GreaterThan(4)
	case 1:
		limits["example.com/cpus"] = constraints.NotIn("8")
	}
	switch rapid.IntRange(0, 5).Draw(t, "required capacity types") {
	case 0, 1:
		limits[provisioningv1.LabelCapacityType] = constraints.In(provisioningv1.CapacityTypeSpot, provisioningv1.CapacityTypeOnDemand)
	case 2:
		limits[provisioningv1.LabelCapacityType] = constraints.NotIn(provisioningv1.CapacityTypeOnDemand)
	}
	return limits
}

// daemons draws a daemon that runs everywhere, and one for an architecture. Either may keep other
// pods away.
func daemons(t *rapid.T) []*corev1.Pod {
	edits := []func(*corev1.Pod){
		Asks("cpu", "100m", "memory", "100Mi"), Labeled("app", "agent"),
		func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
	}
	if rapid.IntRange(0, 9).Draw(t, "agent keeps apart") == 0 {
		edits = append(edits, Apart(rapid.SampledFrom(topologies).Draw(t, "over"), Selector("app", "d0")))
	}
	return []*corev1.Pod{Pod("agent", edits...).Pod, Pod("arm-agent", Asks("cpu", "200m"), Labeled("app", "arm-agent"), Selects(corev1.LabelArchStable, "arm64")).Pod}
}

var topologies = []string{corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname, provisioningv1.LabelCapacityType}

func existing(t *rapid.T, i int) packing.Node {
	n := packing.Node{
		Name: fmt.Sprintf("node-%d", i), Allocatable: Amounts("cpu", "4", "memory", "8Gi", "pods", "10"), Closed: rapid.IntRange(0, 3).Draw(t, "closed") == 0,
		Labels: map[string]string{
			corev1.LabelHostname: fmt.Sprintf("node-%d", i), corev1.LabelTopologyZone: rapid.SampledFrom(Zones).Draw(t, "zone"),
			corev1.LabelArchStable: "amd64", provisioningv1.LabelProvisionerName: "default",
			provisioningv1.LabelCapacityType: rapid.SampledFrom([]string{"on-demand", "spot"}).Draw(t, "capacity type"),
		},
	}
	switch rapid.IntRange(0, 9).Draw(t, "node") {
	case 0:
		delete(n.Labels, corev1.LabelTopologyZone)
	case 1:
		delete(n.Labels, provisioningv1.LabelCapacityType)
		delete(n.Labels, provisioningv1.LabelProvisionerName)
	case 2, 3:
		n.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	case 4:
		n.Allocatable[packing.AttachableVolumes(Driver)] = *Quantity(rapid.Int64Range(0, 5).Draw(t, "attachable"))
	default:
	}
	if rapid.Bool().Draw(t, "from template") {
		n.Labels[provisioningv1.LabelLaunchTemplateName] = "web"
	}
	for j := range rapid.IntRange(0, 3).Draw(t, "running") {
		edits := []func(*corev1.Pod){Labeled("app", fmt.Sprintf("d%d", rapid.IntRange(0, 5).Draw(t, "app")))}
		if rapid.IntRange(0, 4).Draw(t, "keeps apart") == 0 {
			edits = append(edits, Apart(rapid.SampledFrom(topologies).Draw(t, "over"), Selector("app", "d1")))
		}
		n.Pods = append(n.Pods, Pod(fmt.Sprintf("running-%d-%d", i, j), edits...).Pod)
	}
	return n
}

// deployment draws pods with the same wishes. Spreads are over the deployment's own pods.
func deployment(t *rapid.T, name string) []packing.Pod {
	edits := []func(*corev1.Pod){
		Labeled("app", name), func(p *corev1.Pod) { AffinityOf(p) },
		Asks("cpu", rapid.SampledFrom([]string{"100m", "500m", "1900m", "3", "20", "70"}).Draw(t, "cpu"), "memory", rapid.SampledFrom([]string{"0", "100Mi", "1Gi", "9Gi", "60Gi"}).Draw(t, "memory")),
	}
	if rapid.IntRange(0, 5).Draw(t, "elsewhere") == 0 {
		edits = append(edits, func(p *corev1.Pod) { p.Namespace = "other" })
	}
	for range rapid.IntRange(0, 3).Draw(t, "wishes") {
		edits = append(edits, wish(t, name))
	}
	var volumes []string
	if rapid.IntRange(0, 6).Draw(t, "volumes") == 0 {
		volumes = []string{rapid.SampledFrom(Zones).Draw(t, "volume zone")}
	}
	var attached map[string]int64
	most := 12
	if rapid.IntRange(0, 6).Draw(t, "attaches") == 0 {
		attached = map[string]int64{Driver: rapid.Int64Range(1, MaxVolumes/4).Draw(t, "volumes of a pod")}
		most = 4
	}
	revisions := rapid.IntRange(1, 2).Draw(t, "revisions")
	var all []packing.Pod
	for i := range rapid.IntRange(1, most).Draw(t, "replicas") {
		p := Pod(fmt.Sprintf("%s-%d", name, i), edits...)
		p.Labels["revision"] = fmt.Sprint(i % revisions)
		p.Zones, p.Volumes = volumes, attached
		all = append(all, p)
	}
	return all
}

// wish draws what the pods of a deployment ask of their nodes or their neighbors.
func wish(t *rapid.T, name string) func(*corev1.Pod) {
	switch rapid.IntRange(0, 13).Draw(t, "wish") {
	case 0, 1, 2, 3, 4:
		return relation(t, name)
	case 5:
		return OnPort(80)
	case 6:
		return Selects(corev1.LabelTopologyZone, rapid.SampledFrom(Zones).Draw(t, "zone"))
	case 7:
		return Selects(corev1.LabelArchStable, "arm64")
	case 8:
		return Selects(provisioningv1.LabelLaunchTemplateName, rapid.SampledFrom([]string{"web", "arm"}).Draw(t, "template"))
	case 9:
		selects := rapid.Bool().Draw(t, "selects")
		return func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			if selects {
				Selects(provisioningv1.LabelProvisionerName, "tainted")(p)
			}
		}
	case 10:
		return eitherOf(t)
	case 11:
		return Selects("example.com/cpus", rapid.SampledFrom([]string{"4", "8", "5"}).Draw(t, "cpus"))
	case 12:
		device := rapid.SampledFrom([]string{"hugepages-2Mi", "example.com/device"}).Draw(t, "device")
		return Asks("cpu", "200m", "memory", "200Mi", device, map[string]string{"hugepages-2Mi": "512Mi", "example.com/device": "1"}[device])
	default:
		return Selects(rapid.SampledFrom([]string{provisioningv1.LabelCapacityType, provisioningv1.KarpenterLabelCapacityType}).Draw(t, "label"), "spot")
	}
}

// eitherOf draws a node affinity: required terms (at least one must hold), and perhaps a
// preference.
func eitherOf(t *rapid.T) func(*corev1.Pod) {
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	affinity := &corev1.NodeAffinity{}
	switch rapid.IntRange(0, 3).Draw(t, "required") {
	case 0:
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{in(corev1.LabelTopologyZone, Zones[0]), in(corev1.LabelTopologyZone, Zones[2])}}
	case 1:
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{in(corev1.LabelArchStable, "amd64", "arm64")}}
	default:
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{in(provisioningv1.LabelCapacityType, "spot", "on-demand")}}
	}
	if rapid.Bool().Draw(t, "prefers") {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: in(corev1.LabelTopologyZone, rapid.SampledFrom(Zones).Draw(t, "preferred zone"))}}
	}
	return func(p *corev1.Pod) { AffinityOf(p).NodeAffinity = affinity.DeepCopy() }
}

// relation draws what the pods of a deployment ask of each other, or of others.
func relation(t *rapid.T, name string) func(*corev1.Pod) {
	topology := rapid.SampledFrom(topologies).Draw(t, "over")
	if rapid.IntRange(0, 2).Draw(t, "relation") == 0 {
		return spreadByPolicies(t, name, topology)
	}
	others := []string{name, name, name, "d0", "d1", "d2", "d3", "d4", "d5", "agent", "arm-agent"}
	term := corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: Selector("app", rapid.SampledFrom(others).Draw(t, "to"))}
	switch rapid.IntRange(0, 5).Draw(t, "of") {
	case 0:
		term.NamespaceSelector = &metav1.LabelSelector{}
	case 1:
		term.NamespaceSelector = Selector("team", "a")
	case 2:
		term.Namespaces = []string{"default", "other"}
	case 3:
		term.MatchLabelKeys = []string{"revision"}
	default:
	}
	required, together := rapid.IntRange(0, 3).Draw(t, "required") > 0, rapid.Bool().Draw(t, "together")
	return func(p *corev1.Pod) {
		a := AffinityOf(p)
		switch weighted := (corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: term}); {
		case together && a.PodAffinity == nil:
			a.PodAffinity = &corev1.PodAffinity{}
			fallthrough
		case together:
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = appendIf(required, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = appendIf(!required, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		case a.PodAntiAffinity == nil:
			a.PodAntiAffinity = &corev1.PodAntiAffinity{}
			fallthrough
		default:
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = appendIf(required, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = appendIf(!required, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		}
	}
}

func appendIf[T any](condition bool, to []T, what T) []T {
	if condition {
		return append(to, what)
	}
	return to
}

// spreadByPolicies spreads a deployment, over whichever nodes.
func spreadByPolicies(t *rapid.T, name, topology string) func(*corev1.Pod) {
	c := corev1.TopologySpreadConstraint{
		TopologyKey: topology, MaxSkew: rapid.Int32Range(1, 2).Draw(t, "skew"), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: Selector("app", name),
	}
	if rapid.IntRange(0, 3).Draw(t, "anyway") == 0 {
		c.WhenUnsatisfiable = corev1.ScheduleAnyway
	} else if rapid.IntRange(0, 3).Draw(t, "of many domains") == 0 {
		c.MinDomains = ptr.To(rapid.Int32Range(1, 4).Draw(t, "domains"))
	}
	policies := []corev1.NodeInclusionPolicy{"", corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor}
	if policy := rapid.SampledFrom(policies).Draw(t, "affinity policy"); policy != "" {
		c.NodeAffinityPolicy = &policy
	}
	if policy := rapid.SampledFrom(policies).Draw(t, "taints policy"); policy != "" {
		c.NodeTaintsPolicy = &policy
	}
	if rapid.IntRange(0, 3).Draw(t, "by revision") == 0 {
		c.MatchLabelKeys = []string{"revision"}
	}
	return func(p *corev1.Pod) {
		for i := range p.Spec.TopologySpreadConstraints {
			if of := &p.Spec.TopologySpreadConstraints[i]; of.TopologyKey == c.TopologyKey && of.WhenUnsatisfiable == c.WhenUnsatisfiable {
				return // the API server takes one of a sort
			}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

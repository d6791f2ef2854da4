package packtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Quantity is a whole number of something.
func Quantity(amount int64) *resource.Quantity {
	return resource.NewQuantity(amount, resource.DecimalSI)
}

// Problems are small, and full of what predicates are about.
func Problems(t *rapid.T) *packing.Problem {
	problem := &packing.Problem{
		Types: FamilyTypes(),
		Templates: constraints.Templates{
			{Name: "web", Version: "latest"}: {Name: "web", Version: 3, Architecture: "amd64", EphemeralStorage: 100 << 30},
			{Name: "arm", Version: "latest"}: {Name: "arm", Version: 1, Architecture: "arm64"},
		},
	}
	for i := range problem.Types {
		for j := range problem.Types[i].Offerings {
			problem.Types[i].Offerings[j].Unavailable = rapid.IntRange(0, 5).Draw(t, "available") == 0
		}
	}
	problem.Provisioners = []packing.Provisioner{Provisioner(func(p *packing.Provisioner) {
		p.Daemons = []*corev1.Pod{
			Pod("agent", Asks("cpu", "100m", "memory", "100Mi"), func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }).Pod,
			Pod("arm-agent", Asks("cpu", "200m"), Selects(corev1.LabelArchStable, "arm64")).Pod,
		}
		if rapid.Bool().Draw(t, "named") {
			p.Template = constraints.Reference{Name: "web", Version: "latest"}
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Limits.CPU = Quantity(rapid.Int64Range(0, 40).Draw(t, "cpu limit"))
			nodes := rapid.Int64Range(0, 8).Draw(t, "node limit")
			p.Limits.Nodes = &nodes
		}
	}), Provisioner(func(p *packing.Provisioner) {
		p.Name = "tainted"
		p.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		p.Zones = Zones[:2]
		p.CapacityType = "spot"
	})}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		problem.Nodes = append(problem.Nodes, existing(t, i))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "deployments") {
		problem.Pods = append(problem.Pods, deployment(t, fmt.Sprintf("d%d", i))...)
	}
	return problem
}

func existing(t *rapid.T, i int) packing.Node {
	n := packing.Node{
		Name: fmt.Sprintf("node-%d", i), Allocatable: Amounts("cpu", "4", "memory", "8Gi", "pods", "10"), Closed: rapid.IntRange(0, 3).Draw(t, "closed") == 0,
		Labels: map[string]string{
			corev1.LabelHostname: fmt.Sprintf("node-%d", i), corev1.LabelTopologyZone: rapid.SampledFrom(Zones).Draw(t, "zone"),
			corev1.LabelArchStable: "amd64", provisioningv1.LabelProvisionerName: "default", provisioningv1.LabelCapacityType: "on-demand",
		},
	}
	if rapid.Bool().Draw(t, "from template") {
		n.Labels[provisioningv1.LabelLaunchTemplateName] = "web"
	}
	for j := range rapid.IntRange(0, 3).Draw(t, "running") {
		edits := []func(*corev1.Pod){Labeled("app", fmt.Sprintf("d%d", rapid.IntRange(0, 5).Draw(t, "app")))}
		if rapid.IntRange(0, 4).Draw(t, "keeps apart") == 0 {
			edits = append(edits, Apart(corev1.LabelTopologyZone, Selector("app", "d1")))
		}
		n.Pods = append(n.Pods, Pod(fmt.Sprintf("running-%d-%d", i, j), edits...).Pod)
	}
	return n
}

// deployment is pods that wish for the same. Spreads are over the deployment's own pods.
func deployment(t *rapid.T, name string) []packing.Pod {
	edits := []func(*corev1.Pod){
		Labeled("app", name), func(p *corev1.Pod) { AffinityOf(p) },
		Asks("cpu", rapid.SampledFrom([]string{"100m", "500m", "1900m", "3", "20", "70"}).Draw(t, "cpu"), "memory", rapid.SampledFrom([]string{"0", "100Mi", "1Gi", "9Gi", "60Gi"}).Draw(t, "memory")),
	}
	topology := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname})
	other := func() string { return fmt.Sprintf("d%d", rapid.IntRange(0, 5).Draw(t, "other")) }
	for range rapid.IntRange(0, 2).Draw(t, "wishes") {
		switch rapid.IntRange(0, 13).Draw(t, "wish") {
		case 0, 1:
			edits = append(edits, Spread(topology.Draw(t, "over"), rapid.Int32Range(1, 2).Draw(t, "skew"), corev1.DoNotSchedule, Selector("app", name)))
		case 2, 3:
			edits = append(edits, Together(topology.Draw(t, "over"), Selector("app", rapid.SampledFrom([]string{name, other()}).Draw(t, "with"))))
		case 4, 5:
			edits = append(edits, Apart(topology.Draw(t, "over"), Selector("app", rapid.SampledFrom([]string{name, other()}).Draw(t, "from"))))
		case 6:
			edits = append(edits, OnPort(80))
		case 7:
			edits = append(edits, Selects(corev1.LabelTopologyZone, rapid.SampledFrom(Zones).Draw(t, "zone")))
		case 8:
			edits = append(edits, Selects(corev1.LabelArchStable, "arm64"))
		case 9:
			edits = append(edits, Selects(provisioningv1.LabelLaunchTemplateName, rapid.SampledFrom([]string{"web", "arm"}).Draw(t, "template")))
		case 10:
			edits = append(edits, Selects(provisioningv1.LabelProvisionerName, "tainted"), func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			})
		case 12:
			edits = append(edits, func(p *corev1.Pod) {
				AffinityOf(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: provisioningv1.LabelCapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "on-demand"}}},
				}}}}
			})
		case 11:
			edits = append(edits, Selects("example.com/cpus", rapid.SampledFrom([]string{"4", "8", "5"}).Draw(t, "cpus")))
		default:
			edits = append(edits, Selects(provisioningv1.LabelCapacityType, "spot"))
		}
	}
	var volumes []string
	if rapid.IntRange(0, 6).Draw(t, "volumes") == 0 {
		volumes = []string{rapid.SampledFrom(Zones).Draw(t, "volume zone")}
	}
	var all []packing.Pod
	for i := range rapid.IntRange(1, 12).Draw(t, "replicas") {
		p := Pod(fmt.Sprintf("%s-%d", name, i), edits...)
		p.Zones = volumes
		all = append(all, p)
	}
	return all
}

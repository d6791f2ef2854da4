// Package workload has pods and instance types to measure packing with, the same for every scheduler
// that is measured.
package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// Case is pods of some number that select some number of launch templates.
type Case struct {
	// Kind of pods, their Number, the number of Templates that they select in turn, and of instance Types.
	Kind                     string
	Number, Templates, Types int
	generate                 func(number int) []*corev1.Pod
}

// Name has the pods and the number of launch templates.
func (c Case) Name() string { return fmt.Sprintf("%d %s/%d", c.Number, c.Kind, c.Templates) }

// Problem of the case, all of whose nodes are on demand.
func (c Case) Problem() *Problem {
	p := &Problem{Types: packtest.LinearTypes(c.Types), Pods: c.generate(c.Number)}
	for i := range c.Templates {
		p.Templates = append(p.Templates, fmt.Sprintf("template-%02d", i))
	}
	for i, pod := range p.Pods {
		pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelLaunchTemplateName: p.Templates[i%c.Templates]}
	}
	return p
}

// Problem holds the input of a packer, in a form that any packer can read.
type Problem struct {
	// Templates are the names of the launch templates that the pods select.
	Templates []string
	Types     []packing.InstanceType
	Pods      []*corev1.Pod
}

// Packing returns the problem as the input of Slipway's packer.
func (p *Problem) Packing() *packing.Problem {
	problem := &packing.Problem{
		Provisioners: []packing.Provisioner{{Provisioner: constraints.Provisioner{Name: "default", Allowed: constraints.Allowed{Prefixes: []string{""}}}}}, Templates: constraints.Templates{}, Types: p.Types,
	}
	for _, name := range p.Templates {
		reference := constraints.Reference{Name: name, Version: provisioningv1.VersionLatest}
		problem.Templates[reference] = constraints.Template{Name: name, Version: 1, Architecture: string(provisioningv1.ArchitectureAMD64)}
	}
	for _, pod := range p.Pods {
		problem.Pods = append(problem.Pods, packing.Pod{Pod: pod})
	}
	return problem
}

// Cases lists the cases that are measured.
var Cases = cases()

func cases() []Case {
	var all []Case
	for _, pods := range []Case{
		{Kind: "diverse", Number: 1000, generate: Diverse}, {Kind: "diverse", Number: 5000, generate: Diverse}, {Kind: "diverse", Number: 20000, generate: Diverse},
		{Kind: "equal", Number: 20000, generate: Equal},
	} {
		for _, templates := range []int{1, 10, 50} {
			pods.Templates, pods.Types = templates, 400
			all = append(all, pods)
		}
	}
	return all
}

// Diverse are pods as Karpenter's own benchmark has them, of 30 sizes: fifths without wishes,
// spread over zones, spread over nodes, together in a zone, and apart from each other on nodes. The
// same number gives the same pods.
func Diverse(number int) []*corev1.Pod {
	r := rand.New(rand.NewPCG(42, 0)) //nolint:gosec // the same pods each time
	one := func(from ...string) string { return from[r.IntN(len(from))] }
	letter := func() string { return one("a", "b", "c", "d", "e", "f", "g") }
	var all []*corev1.Pod
	for i := range number {
		edits := []func(*corev1.Pod){
			packtest.Asks("cpu", one("100m", "250m", "500m", "1", "1500m"), "memory", one("100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi")), packtest.Labeled("my-label", letter()),
		}
		switch i * 5 / number {
		case 1:
			edits = append(edits, packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("my-label", letter())))
		case 2:
			edits = append(edits, packtest.Spread(corev1.LabelHostname, 1, corev1.DoNotSchedule, packtest.Selector("my-label", letter())))
		case 3:
			own := letter()
			edits = append(edits, packtest.Labeled("my-affinity", own), packtest.Together(corev1.LabelTopologyZone, packtest.Selector("my-affinity", own)))
		case 4:
			edits = append(edits, packtest.Labeled("app", "nginx"), packtest.Apart(corev1.LabelHostname, packtest.Selector("app", "nginx")))
		default:
		}
		all = append(all, pod(i, edits...))
	}
	return all
}

// Equal are pods of one deployment.
func Equal(number int) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range number {
		all = append(all, pod(i, packtest.Asks("cpu", "500m", "memory", "512Mi"), packtest.Labeled("app", "web")))
	}
	return all
}

// pod has an id, by which Karpenter knows pods.
func pod(i int, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := packtest.Pod(fmt.Sprintf("pod-%05d", i), edits...).Pod
	p.UID, p.Status.Phase = types.UID(p.Name), corev1.PodPending
	return p
}

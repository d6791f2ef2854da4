package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
)

var noon = time.Date(2026, time.November, 26, 12, 0, 0, 0, time.UTC)

// given holds the facts of a pass, what every observation returns, and what the process remembers.
type given struct {
	seen   Observed
	memory Memory
	// defaults are the results of ensuring default launch templates, by variant.
	defaults map[string]EnsuredTemplate
}

// oneWaits returns the facts about a cluster with a Provisioner whose nodes are m5.large, and a pod
// without a place.
func oneWaits() *given {
	provisioner := provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid"}}
	provisioner.Spec.Cluster.Name = "prod"
	g := &given{
		seen: Observed{
			Cluster:          &clusterstate.Cluster{Provisioners: []provisioningv1.Provisioner{provisioner}, Pods: []*corev1.Pod{podOf("one")}},
			HeedsNominations: true, ClusterUID: "cluster", MostPods: 100, Seed: "seed",
			Launches: launcher.Allowance{PerMinute: 10, Left: 10}, Events: launcher.Allowance{PerMinute: mostEvents, Left: mostEvents},
			Region: Region{Facts: catalog.Facts{
				Region: "us-east-1", Zones: map[string][]string{"m5.large": {"us-east-1a"}},
				Types: []discovery.InstanceType{{
					Name: "m5.large", Architectures: []string{"x86_64"}, VCPUs: 2, MemoryMiB: 8192, MaxNetworkInterfaces: 3, CardNetworkInterfaces: 3,
					IPv4AddressesPerInterface: 10, EBSRoot: true, CurrentGeneration: true, UsageClasses: []string{"on-demand"},
				}},
			}},
		},
		memory:   Memory{Window: *launcher.NewWindow(time.Second)},
		defaults: map[string]EnsuredTemplate{"amd64": {Version: provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 1, Generated: true}}},
	}
	g.places()
	return g
}

// places has all Provisioners have one subnet.
func (g *given) places() {
	g.seen.Region.Provisioners = nil
	for i := range g.seen.Cluster.Provisioners {
		g.seen.Region.Provisioners = append(g.seen.Region.Provisioners, Provisioner{
			Object: &g.seen.Cluster.Provisioners[i], Found: []discovery.Subnet{{ID: "subnet-1", Zone: "us-east-1a", Free: 5}},
			Places: launcher.Places{"us-east-1a": {{SubnetID: "subnet-1", Free: 5}}},
		})
	}
}

// provisioner returns the Provisioner.
func (g *given) provisioner() *provisioningv1.Provisioner { return &g.seen.Cluster.Provisioners[0] }

// pods adds pods that wait.
func (g *given) pods(pods ...*corev1.Pod) { g.seen.Cluster.Pods = append(g.seen.Cluster.Pods, pods...) }

// podOf returns a pod that the scheduler finds no node for.
func podOf(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	for _, one := range edit {
		one(pod)
	}
	return pod
}

// needs has a pod request an extended resource.
func needs(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)] = resource.MustParse("1")
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("1")}
	}
}

// node adds a ProvisionedNode, and its Node if its instance has joined.
func (g *given) node(name string, edit ...func(*provisioningv1.ProvisionedNode)) {
	node := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{provisioningv1.LabelProvisionerName: "default"}}}
	node.Spec.Provisioner, node.Spec.Architecture, node.Spec.CapacityType = "default", provisioningv1.ArchitectureAMD64, "on-demand"
	node.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 1, Generated: true}
	node.Spec.Offerings = []provisioningv1.NodeOffering{{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: "subnet-1"}}
	for _, one := range edit {
		one(&node)
	}
	g.seen.Cluster.Provisioned = append(g.seen.Cluster.Provisioned, node)
	if node.Status.NodeName != "" {
		member := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Status.NodeName}}
		member.Spec.ProviderID = "aws:///us-east-1a/" + node.Status.InstanceID
		member.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("7Gi"), corev1.ResourcePods: resource.MustParse("29")}
		if clusterstate.Initialized(&node) {
			member.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}
		g.seen.Cluster.Nodes = append(g.seen.Cluster.Nodes, member)
	}
}

// joined has a node be registered.
func joined(node *provisioningv1.ProvisionedNode) {
	launched(node)
	node.Status.NodeName = "node-" + node.Name
	node.Status.Conditions = append(node.Status.Conditions, metav1.Condition{Type: provisioningv1.RegisteredCondition, Status: metav1.ConditionTrue})
}

// ready has a node be registered and ready.
func ready(node *provisioningv1.ProvisionedNode) {
	joined(node)
	node.Status.Conditions = append(node.Status.Conditions, metav1.Condition{Type: provisioningv1.ReadyCondition, Status: metav1.ConditionTrue})
}

// launched has the instance of a node run.
func launched(node *provisioningv1.ProvisionedNode) {
	node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = "i-"+node.Name, "m5.large", "us-east-1a"
}

// promise promises a pod a place on a node.
func (g *given) promise(pod, node string) {
	if g.seen.Cluster.Promised == nil {
		g.seen.Cluster.Promised = map[types.UID]string{}
	}
	g.seen.Cluster.Promised[types.UID(pod)] = node
}

// passed holds what the decisions of a pass came to.
type passed struct {
	steps []string
	again time.Duration
	last  Plan
	seen  *Observed
	// created are the launches, and counts how many pods wait, by why.
	created []createNodes
	counts  map[string]int
}

// run makes the decisions of a pass, performs their actions on what was observed, and checks that no
// decision changes what earlier passes remembered.
func (g *given) run(t *testing.T) passed {
	t.Helper()
	p := passed{seen: &g.seen}
	remembered := fmt.Sprint(g.memory.Told, g.memory.Launched, g.memory.Pending, g.memory.Nominated)
	memory := g.memory
	for next := Decide; next != nil; next = p.last.Then {
		p.last = next(Input{Seen: p.seen, Memory: memory, Draft: p.last.Draft, Now: noon})
		memory = p.last.Memory
		for _, step := range p.last.Actions {
			g.perform(&p, step.Action)
		}
		if p.last.Again > 0 && (p.again == 0 || p.last.Again < p.again) {
			p.again = p.last.Again
		}
		for len(p.seen.Trials) < len(p.last.Draft.Planned) {
			p.seen.Trials = append(p.seen.Trials, Trial{}) // EC2 accepts it
		}
	}
	if now := fmt.Sprint(g.memory.Told, g.memory.Launched, g.memory.Pending, g.memory.Nominated); now != remembered {
		t.Errorf("decisions changed what they began with from %s to %s", remembered, now)
	}
	if !p.seen.Behind && !memory.Recovered {
		t.Error("nominations of an earlier process are recovered in every pass")
	}
	slices.Sort(p.steps)
	return p
}

// perform does an action, and notes it unless metrics alone show it.
func (g *given) perform(p *passed, action any) {
	switch a := action.(type) {
	case showPending:
		p.counts = a.Counts
	case showBatch, showBatchWait, askTemplates:
	case setPromises:
		p.seen.Cluster.Promised = a.Places
		p.steps = append(p.steps, "promise "+placesOf(a.Places))
	case addPlaces:
		p.steps = append(p.steps, "place "+placesOf(a.Places))
	case ensureDefault:
		ensured := maps.Clone(p.seen.Ensured)
		if ensured == nil {
			ensured = map[defaultOf]EnsuredTemplate{}
		}
		ensured[defaultOf{a.Provisioner.Name, a.Variant}] = g.defaults[a.Variant]
		p.seen.Ensured = ensured
	case createNodes:
		p.created = append(p.created, a)
		p.steps = append(p.steps, fmt.Sprintf("create %d for %d", len(a.Launch.Nodes), podsOf(a.Launch)))
	case nominate:
		for _, one := range a.Nominations {
			p.steps = append(p.steps, fmt.Sprintf("nominate %s for %s", one.Node, one.Pod.Name))
		}
	case tellPods:
		for _, event := range a.Events {
			p.steps = append(p.steps, fmt.Sprintf("tell %s %s: %s", event.About.GetName(), event.Reason, event.Note))
		}
	default:
		p.steps = append(p.steps, fmt.Sprint(action))
	}
}

// placesOf returns places as pod=node.
func placesOf(places map[types.UID]string) string {
	var all []string
	for pod, node := range places {
		all = append(all, string(pod)+"="+node)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// row is one line of a specification: given a pod that waits and something else, these are the
// actions of the pass.
type row struct {
	reason string
	given  func(*given)
	// then are parts of the actions, in alphabetical order. Actions that are for metrics alone are
	// left out.
	then []string
	// again is when the next pass comes, zero for never.
	again time.Duration
	// counts are the pods that wait, by why; nil for not compared.
	counts map[string]int
	// fails is a part of the error that the pass returns.
	fails string
}

func specify(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			g := oneWaits()
			row.given(g)
			p := g.run(t)
			same := len(p.steps) == len(row.then)
			for i := 0; same && i < len(row.then); i++ {
				same = strings.Contains(p.steps[i], row.then[i])
			}
			if !same {
				t.Errorf("actions are\n\t%s\nwant\n\t%s", strings.Join(p.steps, "\n\t"), strings.Join(row.then, "\n\t"))
			}
			if p.again != row.again {
				t.Errorf("the next pass comes after %s (%s), want %s", p.again, p.last.Why, row.again)
			}
			if row.counts != nil && !maps.Equal(row.counts, p.counts) {
				t.Errorf("pods wait %v, want %v", p.counts, row.counts)
			}
			if err := p.last.Err; row.fails == "" && err != nil || row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)) {
				t.Errorf("error %v, want %q", err, row.fails)
			}
		})
	}
}

// named has the Provisioner name a launch template.
func (g *given) named(template NamedTemplate) {
	g.provisioner().Spec.Labels = provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: "web"}
	layer := constraints.FromSpec("default", &g.provisioner().Spec)
	g.seen.Templates = map[constraints.Reference]NamedTemplate{layer.Template: template}
}

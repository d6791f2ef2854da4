package packing_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestPack holds what predicates and prices lead to, and why pods are left.
func TestPack(t *testing.T) {
	t.Parallel()
	small := packtest.Asks("cpu", "500m", "memory", "500Mi")
	three, none := int64(3), int64(0)
	for _, c := range []struct {
		reason  string
		problem packing.Problem
		nodes   []string
		says    []string
	}{
		{
			reason: "one cheap node for all", problem: packing.Problem{Pods: replicas(3, "a", small)},
			nodes: []string{fromDefault + "c5.large in abc: a0 a1 a2"},
		},
		{
			reason:  "memory decides the family",
			problem: packing.Problem{Pods: replicas(1, "a", packtest.Asks("cpu", "1", "memory", "12Gi"))},
			nodes:   []string{fromDefault + "r5.large in abc: a0"},
		},
		{
			reason: "S8: a pod that names a template and one that names none are two instances",
			problem: packing.Problem{
				Pods:      []packing.Pod{packtest.Pod("a", small, packtest.Selects(provisioningv1.LabelLaunchTemplateName, "x")), packtest.Pod("b", small)},
				Templates: constraints.Templates{{Name: "x", Version: "latest"}: {Name: "x", Version: 1, Architecture: "amd64"}},
			},
			nodes: []string{fromDefault + "c5.large in abc: b", "launch template x c5.large in abc: a"},
		},
		{
			reason: "S7: an arm64 pod gets the default template of its architecture, whatever its provisioner's is",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Template = constraints.Reference{Name: "x", Version: "latest"} })},
				Pods:         []packing.Pod{packtest.Pod("a", small, packtest.Selects(corev1.LabelArchStable, "arm64")), packtest.Pod("b", small)},
				Templates:    constraints.Templates{{Name: "x", Version: "latest"}: {Name: "x", Version: 1, Architecture: "amd64"}},
			},
			nodes: []string{"launch template x c5.large in abc: b", fromDefault + "c6g.large in abc: a"},
		},
		{
			reason: "S13: a pod picks its provisioner, and others go to the first",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(), packtest.Provisioner(func(p *packing.Provisioner) { p.Name, p.CapacityType = "other", "spot" })},
				Pods:         []packing.Pod{packtest.Pod("a", small, packtest.Selects(provisioningv1.LabelProvisionerName, "other")), packtest.Pod("b", small), packtest.Pod("c", packtest.Selects(provisioningv1.LabelProvisionerName, "third"))},
			},
			nodes: []string{fromDefault + "c5.large in abc: b", fromDefault + "c5.large in abc: a"},
			says:  []string{"c requires Provisioner third, which does not exist"},
		},
		{
			reason:  "S3: spot costs less, and is for those that ask for it",
			problem: packing.Problem{Pods: replicas(1, "a", small, packtest.Selects(provisioningv1.LabelCapacityType, "spot"))},
			nodes:   []string{fromDefault + "c5.large in abc: a0"},
		},
		{
			reason:  "pods keep apart by nodes, and others share theirs",
			problem: packing.Problem{Pods: append(replicas(2, "a", small, packtest.Labeled("app", "a"), packtest.Apart(corev1.LabelHostname, packtest.Selector("app", "a"))), replicas(2, "b", small)...)},
			nodes:   []string{fromDefault + "c5.large in abc: a0 b0 b1", fromDefault + "c5.large in abc: a1"},
		},
		{
			reason: "pods are spread over zones",
			problem: packing.Problem{
				Pods: replicas(3, "a", small, packtest.Labeled("app", "a"), packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))),
			},
			nodes: []string{fromDefault + "c5.large in a: a0", fromDefault + "c5.large in b: a1", fromDefault + "c5.large in c: a2"},
		},
		{
			reason:  "pods go where the pods are that they want",
			problem: packing.Problem{Pods: append(replicas(1, "a", packtest.Asks("cpu", "60"), packtest.Together(corev1.LabelTopologyZone, packtest.Selector("app", "b"))), replicas(1, "b", small, packtest.Labeled("app", "b"), packtest.Selects(corev1.LabelTopologyZone, packtest.Zones[1]))...)},
			nodes:   []string{fromDefault + "c5.16xlarge in b: b0 a0"},
		},
		{
			reason:  "two pods of one port are on two nodes",
			problem: packing.Problem{Pods: replicas(2, "a", small, packtest.OnPort(80))},
			nodes:   []string{fromDefault + "c5.large in abc: a0", fromDefault + "c5.large in abc: a1"},
		},
		{
			reason:  "volumes are in a zone",
			problem: packing.Problem{Pods: []packing.Pod{{Pod: packtest.Pod("a", small).Pod, Zones: packtest.Zones[2:]}}},
			nodes:   []string{fromDefault + "c5.large in c: a"},
		},
		{
			reason: "volumes in a zone that there is not", problem: packing.Problem{Pods: []packing.Pod{{Pod: packtest.Pod("a", small).Pod, Zones: []string{"eu-west-1a"}}}},
			says: []string{"a has volumes in zone eu-west-1a, where no suitable instance is available"},
		},
		{
			reason: "daemons take their part of every node",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
					p.Daemons = []*corev1.Pod{packtest.Pod("agent", packtest.Asks("cpu", "1")).Pod}
				})},
				Pods: replicas(2, "a", small),
			},
			nodes: []string{fromDefault + "c5.xlarge in abc: a0 a1"},
		},
		{
			reason: "and their ports",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
					p.Daemons = []*corev1.Pod{packtest.Pod("agent", small, packtest.OnPort(9100)).Pod}
				})},
				Pods: []packing.Pod{packtest.Pod("a", small, packtest.OnPort(9100)), packtest.Pod("b", small, packtest.OnPort(80))},
			},
			nodes: []string{fromDefault + "c5.large in abc: b"},
			says:  []string{"a uses a host port that a DaemonSet uses on every node"},
		},
		{
			reason: "a template's volume is what pods may fill",
			problem: packing.Problem{
				Pods: []packing.Pod{
					packtest.Pod("a", packtest.Asks("cpu", "1", "ephemeral-storage", "50Gi"), packtest.Selects(provisioningv1.LabelLaunchTemplateName, "x")),
					packtest.Pod("b", packtest.Asks("cpu", "1", "ephemeral-storage", "50Gi")),
				},
				Templates: constraints.Templates{{Name: "x", Version: "latest"}: {Name: "x", Version: 1, Architecture: "amd64", EphemeralStorage: 100 << 30}},
			},
			nodes: []string{"launch template x c5.large in abc: a"},
			says: []string{"b requests 53.7 GB (50Gi) of ephemeral storage, but no suitable instance type " +
				"leaves more than 21.5 GB (20Gi) of ephemeral storage for pods"},
		},
		{
			reason: "an integer label bounds", problem: packing.Problem{Pods: replicas(1, "a", small, func(p *corev1.Pod) {
				packtest.AffinityOf(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "example.com/cpus", Operator: corev1.NodeSelectorOpGt, Values: []string{"10"}}},
				}}}}
			})},
			nodes: []string{fromDefault + "c5.4xlarge in abc: a0"},
		},
		{
			reason: "a label that no type has", problem: packing.Problem{Pods: replicas(1, "a", packtest.Selects("disk", "ssd"))},
			says: []string{"a0 has requirements that no instance type satisfies: disk ssd, kubernetes.io/arch amd64"},
		},
		{
			reason: "more than any type has", problem: packing.Problem{Pods: replicas(1, "a", packtest.Asks("cpu", "100"))},
			says: []string{"a0 requests 100 CPU, but no suitable instance type leaves more than 63.92 CPU for pods"},
		},
		{
			reason: "a taint",
			problem: packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
				p.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
			})}, Pods: replicas(1, "a", small)},
			says: []string{"a0 does not tolerate the taint k:NoSchedule"},
		},
		{
			reason: "the number of nodes has a limit",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Limits.Nodes, p.Used.Nodes = &three, &three })}, Pods: replicas(1, "a", small),
			},
			says: []string{"a0 needs more than the remaining limits of Provisioner default: limits.nodes is 3"},
		},
		{
			reason: "no nodes at all",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Limits.Nodes = &none })}, Pods: replicas(1, "a", small),
			},
			says: []string{"a0 needs more than the remaining limits of Provisioner default: limits.nodes is 0"},
		},
		{
			reason: "important pods come first where limits leave some out",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Limits.CPU = packtest.Quantity(2) })},
				Pods: append(replicas(1, "a", packtest.Asks("cpu", "1800m")), replicas(1, "b", packtest.Asks("cpu", "1"), func(p *corev1.Pod) {
					important := int32(1000)
					p.Spec.Priority = &important
				})...),
			},
			nodes: []string{fromDefault + "c5.large in abc: b0"},
			says:  []string{"a0 needs more than the remaining limits of Provisioner default: limits.cpu is 2"},
		},
		{
			reason:  "no pod matches the affinity",
			problem: packing.Problem{Pods: replicas(1, "a", packtest.Together(corev1.LabelHostname, packtest.Selector("app", "b")))},
			says: []string{"a0 has an anti-affinity to pods that every new node would run, or an affinity to " +
				"pods whose nodes have no room for it"},
		},
		{
			reason:  "a topology that new nodes do not have",
			problem: packing.Problem{Pods: replicas(1, "a", packtest.Spread("rack", 1, corev1.DoNotSchedule, packtest.Selector("app", "b")))},
			says: []string{"a0 has a topology spread constraint over rack, but for new nodes Slipway " +
				"supports only topology.kubernetes.io/zone, kubernetes.io/hostname and " +
				"node.k8s.aws/capacity-type alone"},
		},
		{
			reason:  "a preference for one is given up",
			problem: packing.Problem{Pods: replicas(2, "a", small, packtest.Spread("rack", 1, corev1.ScheduleAnyway, packtest.Selector("app", "b")))},
			nodes:   []string{fromDefault + "c5.large in abc: a0 a1"},
		},
		{
			reason: "pods are spread over capacity types, if they may have either",
			problem: packing.Problem{
				Pods: replicas(3, "a", small, packtest.Labeled("app", "a"), eitherCapacityType,
					packtest.Spread(provisioningv1.LabelCapacityType, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))),
			},
			nodes: []string{fromDefault + "c5.large in abc: a0", fromDefault + "c5.large in abc: a1 a2"},
		},
		{
			reason: "and wait if they may have one, and nodes of the other are there",
			problem: packing.Problem{
				Nodes: []packing.Node{{Name: "n", Labels: map[string]string{provisioningv1.LabelCapacityType: "spot"}}},
				Pods: replicas(2, "a", small, packtest.Labeled("app", "a"),
					packtest.Spread(provisioningv1.LabelCapacityType, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))),
			},
			nodes: []string{fromDefault + "c5.large in abc: a0"},
			says: []string{"a1 has affinities or topology spread constraints over zones or capacity types that " +
				"cannot be satisfied with the current placement of pods"},
		},
		{
			reason: "a preferred zone is no bound of what pods are spread over",
			problem: packing.Problem{
				Nodes: []packing.Node{{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: packtest.Zones[1]}}},
				Pods: replicas(2, "a", small, packtest.Labeled("app", "a"), preferringZone(packtest.Zones[0]),
					packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))),
			},
			nodes: []string{fromDefault + "c5.large in a: a0", fromDefault + "c5.large in b: a1"},
		},
		{
			reason: "nodes that the pods may not go to count by a spread's policies: taints not by default",
			problem: packing.Problem{
				Nodes: []packing.Node{{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "us-east-1d"}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}},
				Pods: append(replicas(4, "a", small, packtest.Labeled("app", "a"), spreadWith(nil, nil)),
					replicas(4, "b", small, packtest.Labeled("app", "b"), spreadWith(nil, ptr.To(corev1.NodeInclusionPolicyHonor)))...),
			},
			nodes: []string{fromDefault + "c5.large in a: a0 b0 b3", fromDefault + "c5.large in b: a1 b1", fromDefault + "c5.large in c: a2 b2"},
			says: []string{"a3 has affinities or topology spread constraints over zones or capacity types that " +
				"cannot be satisfied with the current placement of pods"},
		},
		{
			reason: "and those that their affinity excludes if it says so",
			problem: packing.Problem{
				Nodes: []packing.Node{{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: packtest.Zones[1]}}},
				Pods:  replicas(2, "a", small, packtest.Labeled("app", "a"), spreadWith(ptr.To(corev1.NodeInclusionPolicyIgnore), nil), inZones(packtest.Zones[:1])),
			},
			nodes: []string{fromDefault + "c5.large in a: a0"},
			says: []string{"a1 has affinities or topology spread constraints over zones or capacity types that " +
				"cannot be satisfied with the current placement of pods"},
		},
		{
			reason: "fewer domains than are asked for take one pod each",
			problem: packing.Problem{Pods: replicas(3, "a", small, packtest.Labeled("app", "a"), inZones(packtest.Zones[:2]), func(p *corev1.Pod) {
				packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))(p)
				p.Spec.TopologySpreadConstraints[0].MinDomains = ptr.To[int32](3)
			})},
			nodes: []string{fromDefault + "c5.large in a: a0", fromDefault + "c5.large in b: a1"},
			says: []string{"a2 has affinities or topology spread constraints over zones or capacity types that " +
				"cannot be satisfied with the current placement of pods"},
		},
		{
			reason: "new nodes count for a spread whose pods select them by an alias of a label",
			problem: packing.Problem{Pods: replicas(2, "a", small, packtest.Labeled("app", "a"), packtest.Selects(provisioningv1.KarpenterLabelCapacityType, "on-demand"), func(p *corev1.Pod) {
				packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))(p)
				p.Spec.TopologySpreadConstraints[0].MinDomains = ptr.To[int32](2)
			})},
			nodes: []string{fromDefault + "c5.large in a: a0", fromDefault + "c5.large in b: a1"},
		},
		{
			reason: "a zone that an alias selects is the only one of a spread",
			problem: packing.Problem{Pods: replicas(2, "a", small, packtest.Labeled("app", "a"), packtest.Selects(corev1.LabelFailureDomainBetaZone, packtest.Zones[1]),
				packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a")))},
			nodes: []string{fromDefault + "c5.large in b: a0 a1"},
		},
		{
			reason: "pods are spread over Karpenter's label of capacity types",
			problem: packing.Problem{
				Pods: replicas(3, "a", small, packtest.Labeled("app", "a"), eitherCapacityType,
					packtest.Spread(provisioningv1.KarpenterLabelCapacityType, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))),
			},
			nodes: []string{fromDefault + "c5.large in abc: a0", fromDefault + "c5.large in abc: a1 a2"},
		},
		{
			reason: "a revision is spread apart from the others by matchLabelKeys",
			problem: packing.Problem{Pods: append(
				replicas(1, "a", small, revision("1"), inZones(packtest.Zones[:2])), replicas(2, "b", small, revision("2"), inZones(packtest.Zones[:2]))...)},
			nodes: []string{fromDefault + "c5.large in a: a0 b0", fromDefault + "c5.large in b: b1"},
		},
		{
			reason: "pods go to the daemons that they want, which are on every new node, and not where those are that they keep apart from",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
					p.Daemons = []*corev1.Pod{packtest.Pod("agent", packtest.Asks("cpu", "100m"), packtest.Labeled("app", "agent")).Pod}
				})},
				Pods: []packing.Pod{
					packtest.Pod("a", small, packtest.Together(corev1.LabelHostname, packtest.Selector("app", "agent"))),
					packtest.Pod("b", small, packtest.Apart(corev1.LabelHostname, packtest.Selector("app", "agent"))),
				},
			},
			nodes: []string{fromDefault + "c5.large in abc: a"},
			says: []string{"b has an anti-affinity to pods that every new node would run, or an affinity to " +
				"pods whose nodes have no room for it"},
		},
		{
			reason: "a daemon of one architecture keeps no pod from the other",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
					p.Daemons = []*corev1.Pod{packtest.Pod("agent", packtest.Labeled("app", "agent"), packtest.Selects(corev1.LabelArchStable, "arm64")).Pod}
				})},
				Pods: []packing.Pod{packtest.Pod("a", small, packtest.Apart(corev1.LabelHostname, packtest.Selector("app", "agent")))},
			},
			nodes: []string{fromDefault + "c5.large in abc: a"},
		},
		{
			reason:  "a node attaches so many volumes",
			problem: packing.Problem{Pods: attaching(replicas(3, "a", packtest.Asks("cpu", "100m")), 12)},
			nodes:   []string{fromDefault + "c5.large in abc: a0 a1", fromDefault + "c5.large in abc: a2"},
		},
		{
			reason:  "and no more",
			problem: packing.Problem{Pods: attaching(replicas(1, "a", packtest.Asks("cpu", "100m")), 30)},
			says: []string{"a0 requests 30 volumes of ebs.csi.aws.com, but no suitable instance type leaves " +
				"more than 26 volumes of ebs.csi.aws.com for pods"},
		},
		{
			reason: "preferences are tried",
			problem: packing.Problem{Pods: replicas(2, "a", small, packtest.Labeled("app", "a"), func(p *corev1.Pod) {
				packtest.AffinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 10, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: packtest.Selector("app", "a")}},
				}}
			})},
			nodes: []string{fromDefault + "c5.large in abc: a0", fromDefault + "c5.large in abc: a1"},
		},
		{
			reason: "and given up where limits are in the way",
			problem: packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Limits.CPU = packtest.Quantity(2) })},
				Pods: replicas(2, "a", small, packtest.Labeled("app", "a"), func(p *corev1.Pod) {
					packtest.AffinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
						{Weight: 10, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: packtest.Selector("app", "a")}},
					}}
				}),
			},
			nodes: []string{fromDefault + "c5.large in abc: a0 a1"},
		},
		{
			reason: "one provisioner at least", problem: packing.Problem{Provisioners: []packing.Provisioner{}, Pods: replicas(1, "a")},
			says: []string{"a0 waits, because the cluster has no Provisioner"},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			c.problem.Types = packtest.FamilyTypes()
			for i := range c.problem.Types {
				c.problem.Types[i].Capacity[packing.AttachableVolumes(packtest.Driver)] = *packtest.Quantity(26)
			}
			if c.problem.Provisioners == nil {
				c.problem.Provisioners = []packing.Provisioner{packtest.Provisioner()}
			}
			expectPacked(t, &c.problem, c.nodes, c.says)
		})
	}
}

// expectPacked holds which nodes Pack chooses for a problem, and the reasons of the pods that are
// left.
func expectPacked(t *testing.T, problem *packing.Problem, wantNodes, wantSays []string) {
	t.Helper()
	nodes, says := shape(packing.Pack(problem))
	if !slices.Equal(nodes, wantNodes) {
		t.Errorf("nodes are\n%s\nwant\n%s", strings.Join(nodes, "\n"), strings.Join(wantNodes, "\n"))
	}
	if !slices.Equal(says, wantSays) {
		t.Errorf("left are\n%s\nwant\n%s", strings.Join(says, "\n"), strings.Join(wantSays, "\n"))
	}
}

// TestSlices holds that a bound takes the largest pods first, and says which were deferred.
func TestSlices(t *testing.T) {
	t.Parallel()
	problem := packing.Problem{
		Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), MaxPods: 3,
		Pods: append(replicas(2, "small", packtest.Asks("cpu", "100m")), replicas(2, "large", packtest.Asks("cpu", "2"))...),
	}
	result := packing.Pack(&problem)
	nodes, _ := shape(result)
	if want := []string{fromDefault + "c5.2xlarge in abc: large0 large1 small0"}; !slices.Equal(nodes, want) {
		t.Errorf("nodes are %q, want %q", nodes, want)
	}
	if got := packtest.Names(result.Deferred); !slices.Equal(got, []string{"small1"}) {
		t.Errorf("deferred are %v", got)
	}
}

// TestTriedPodsComeLast holds that pods without a place do not displace pods that a bound deferred.
func TestTriedPodsComeLast(t *testing.T) {
	t.Parallel()
	problem := packing.Problem{
		Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), MaxPods: 3,
		Pods: append(replicas(4, "hopeless", packtest.Asks("cpu", "1000")), replicas(2, "small", packtest.Asks("cpu", "100m"))...),
	}
	first := packing.Pack(&problem)
	if got := packtest.Names(first.Deferred); !slices.Equal(got, []string{"hopeless3", "small0", "small1"}) {
		t.Fatalf("deferred are %v", got)
	}
	for i := range problem.Pods {
		problem.Pods[i].Tried = slices.ContainsFunc(first.Unplaced, func(u packing.Unplaced) bool { return u.Pod == problem.Pods[i].Pod })
	}
	second := packing.Pack(&problem)
	if len(second.New) != 1 || !slices.Equal(packtest.Names(second.New[0].Pods), []string{"small0", "small1"}) {
		t.Errorf("then nodes are %+v", second.New)
	}
	if got := packtest.Names(second.Deferred); !slices.Equal(got, []string{"hopeless0", "hopeless1", "hopeless2"}) {
		t.Errorf("deferred then are %v", got)
	}
}

package packing_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// bothCapacityTypes lets a provisioner launch Spot and On-Demand Instances.
func bothCapacityTypes(p *packing.Provisioner) {
	p.Requirements = constraints.Requirements{provisioningv1.LabelCapacityType: constraints.In("spot", "on-demand")}
}

// TestOnDemandReplacesSpotThatIsShort checks that a provisioner for both capacity types buys
// On-Demand while AWS has no Spot capacity, and only then.
func TestOnDemandReplacesSpotThatIsShort(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*packing.Provisioner)
		short  bool
		want   []string
	}{
		{"Spot is the cheaper one", bothCapacityTypes, false, []string{"spot"}},
		{"Spot is short", bothCapacityTypes, true, []string{"on-demand"}},
		{"On-Demand is not allowed", func(p *packing.Provisioner) {
			p.Requirements = constraints.Requirements{provisioningv1.LabelCapacityType: constraints.NotIn("on-demand")}
		}, true, nil},
		{"nothing is said", func(*packing.Provisioner) {}, false, []string{"on-demand"}},
	} {
		problem := &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner(row.edit)}, Types: packtest.FamilyTypes(), Pods: replicas(1, "a")}
		for i := range problem.Types {
			for j := range problem.Types[i].Offerings {
				offering := &problem.Types[i].Offerings[j]
				offering.Unavailable = row.short && offering.CapacityType == "spot"
			}
		}
		var got []string
		result := packing.Pack(problem)
		for i := range result.New {
			got = append(got, result.New[i].Options[0].CapacityType)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: bought are %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestWeights checks that the heaviest of several provisioners that suit a pod launches, and that
// the next one does where its limits leave nothing.
func TestWeights(t *testing.T) {
	t.Parallel()
	named := func(name string, weight int32, cpu int64) packing.Provisioner {
		return packtest.Provisioner(func(p *packing.Provisioner) {
			p.Name, p.Weight = name, weight
			p.Limits.CPU = packtest.Quantity(cpu)
		})
	}
	for _, row := range []struct {
		reason string
		of     []packing.Provisioner
		want   string
	}{
		{"by weight", []packing.Provisioner{named("a", 0, 100), named("b", 10, 100), named("c", 9, 100)}, "b"},
		{"by name, where weights are equal", []packing.Provisioner{named("c", 5, 100), named("b", 5, 100)}, "b"},
		{"the next one, where the heaviest is at its limit", []packing.Provisioner{named("a", 0, 100), named("b", 10, 0)}, "a"},
	} {
		result := packing.Pack(&packing.Problem{Provisioners: row.of, Types: packtest.FamilyTypes(), Pods: replicas(1, "a")})
		if len(result.New) != 1 || result.New[0].Ask.Provisioner != row.want {
			t.Errorf("%s: nodes are %+v, want one of provisioner %s", row.reason, result.New, row.want)
		}
	}
}

// TestRequirementsOfProvisioners checks that every option of a node is within its provisioner's requirements.
func TestRequirementsOfProvisioners(t *testing.T) {
	t.Parallel()
	problem := &packing.Problem{
		Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
			p.Requirements = constraints.Requirements{"example.com/cpus": constraints.GreaterThan(4), corev1.LabelTopologyZone: constraints.NotIn(packtest.Zones[0])}
		})},
		Types: packtest.FamilyTypes(), Pods: append(replicas(1, "a"), replicas(1, "b", packtest.Selects("example.com/cpus", "2"))...),
	}
	result := packing.Pack(problem)
	if len(result.New) != 1 {
		t.Fatalf("there are %d nodes", len(result.New))
	}
	for _, option := range result.New[0].Options {
		kind := packtest.TypeNamed(problem, option.Type)
		if cpus := kind.Capacity[corev1.ResourceCPU]; cpus.Value() <= 4 || option.Zone == packtest.Zones[0] {
			t.Errorf("%s in %s is an option", option.Type, option.Zone)
		}
	}
	want := "requires example.com/cpus: 2, but spec.requirements of Provisioner default allows only anything above 4"
	if len(result.Unplaced) != 1 || result.Unplaced[0].Reason != want {
		t.Errorf("left are %+v, want the reason %q", result.Unplaced, want)
	}
}

// TestExtraResources checks what is declared of nodes beyond their instance types.
func TestExtraResources(t *testing.T) {
	t.Parallel()
	declares := func(pairs ...string) func(*packing.Provisioner) {
		return func(p *packing.Provisioner) { p.Resources = packtest.Amounts(pairs...) }
	}
	asks := func(pairs ...string) []packing.Pod { return replicas(2, "a", packtest.Asks(pairs...)) }
	for _, row := range []struct {
		reason      string
		provisioner func(*packing.Provisioner)
		pods        []packing.Pod
		nodes, says []string
	}{
		{"a device, of which each node has one", declares("example.com/fpga", "1"), asks("cpu", "100m", "example.com/fpga", "1"),
			[]string{fromDefault + "c5.large in abc: a0", fromDefault + "c5.large in abc: a1"}, nil},
		{"a device that no Provisioner declares", func(*packing.Provisioner) {}, asks("cpu", "100m", "example.com/fpga", "1")[:1], nil,
			[]string{"a0 requests 1 example.com/fpga, which no suitable instance type provides: if its launch " +
				"template or a device plugin adds the resource, list it in spec.extraResources of " +
				"Provisioner default"}},
		{"huge pages are taken from memory", declares("hugepages-2Mi", "3Gi"), asks("cpu", "100m", "memory", "500Mi", "hugepages-2Mi", "1Gi"),
			[]string{fromDefault + "m5.large in abc: a0 a1"}, nil},
		{"more huge pages than a node has", declares("hugepages-2Mi", "1Gi"), asks("cpu", "100m", "hugepages-2Mi", "2Gi")[:1], nil,
			[]string{"a0 requests 2.1 GB (2Gi) of hugepages-2Mi, but no suitable instance type leaves more than " +
				"1.1 GB (1Gi) of hugepages-2Mi for pods"}},
		{"adapters, where the type supports as many", declares("vpc.amazonaws.com/efa", "1"), asks("cpu", "100m", "vpc.amazonaws.com/efa", "1")[:1],
			[]string{fromDefault + "r5.16xlarge in abc: a0"}, nil},
		{"and where none does", declares("vpc.amazonaws.com/efa", "2"), asks("cpu", "100m")[:1], nil,
			[]string{"a0 has requirements that no instance type satisfies: kubernetes.io/arch amd64, with 2 " +
				"vpc.amazonaws.com/efa"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			types := packtest.FamilyTypes()
			for i := range types {
				if types[i].Name == "r5.16xlarge" {
					types[i].EFAInterfaces = 1
				}
			}
			expectPacked(t, &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner(row.provisioner)}, Types: types, Pods: row.pods}, row.nodes, row.says)
		})
	}
}

// TestDaemonsOfAliases checks that daemons count that select by labels which nodes have in addition
// to others.
func TestDaemonsOfAliases(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"beta.kubernetes.io/os", "beta.kubernetes.io/arch", provisioningv1.KarpenterLabelCapacityType} {
		value := map[string]string{"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", provisioningv1.KarpenterLabelCapacityType: "on-demand"}[key]
		daemon := packtest.Pod("daemon", packtest.Asks("cpu", "1"), packtest.Selects(key, value)).Pod
		problem := &packing.Problem{
			Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Daemons = []*corev1.Pod{daemon} })},
			Types:        packtest.FamilyTypes(), Pods: replicas(1, "a", packtest.Asks("cpu", "1500m")),
		}
		result := packing.Pack(problem)
		if len(result.New) != 1 || result.New[0].Options[0].Type != "c5.xlarge" {
			t.Errorf("a daemon that selects %s: nodes are %+v, want one c5.xlarge, with room for the daemon", key, result.New)
		}
	}
}

// TestRefusedOfferings checks that no node is one of the offerings that EC2 refuses to launch from
// its launch template. It also checks the reason that a pod gets if nothing else suits it, or only
// types that AWS does not offer where nodes can be.
func TestRefusedOfferings(t *testing.T) {
	t.Parallel()
	const zone = corev1.LabelTopologyZone
	a, b := packtest.Zones[0], packtest.Zones[1]
	everywhere := constraints.Refused{{InstanceType: "c5.large"}: "Unsupported: no."}
	for _, row := range []struct {
		reason     string
		refused    constraints.Refused
		notOffered []packing.InstanceType
		pod        func(*corev1.Pod)
		want       string // the type of the node
		says       string
	}{
		{"nothing is refused", nil, nil, packtest.Selects(zone, a), "c5.large", ""},
		{"the cheapest type is", everywhere, nil, packtest.Selects(zone, a), "m5.large", ""},
		{"the only type is", everywhere, nil, packtest.Selects(corev1.LabelInstanceTypeStable, "c5.large"), "",
			"needs the default launch template, but EC2 does not launch c5.large from it: Unsupported: no"},
		{"it is in another zone", constraints.Refused{{InstanceType: "c5.large", Zone: b, CapacityType: "on-demand"}: "no"}, nil, packtest.Selects(zone, a), "c5.large", ""},
		{"it is as Spot Instance", constraints.Refused{{InstanceType: "c5.large", CapacityType: "spot"}: "no"}, nil, packtest.Selects(zone, a), "c5.large", ""},
		{"AWS does not offer the type here", nil, []packing.InstanceType{{Name: "z9.large", Architecture: "amd64"}}, packtest.Selects(corev1.LabelInstanceTypeStable, "z9.large"), "",
			"needs an instance that AWS does not offer in the required zones: z9.large, on-demand"},
		{"there is no such type", nil, nil, packtest.Selects(corev1.LabelInstanceTypeStable, "z9.large"), "",
			"has requirements that no instance type satisfies: kubernetes.io/arch amd64, " +
				"node.kubernetes.io/instance-type z9.large"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			problem := &packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.RefusedDefaults = row.refused })},
				Types:        packtest.FamilyTypes(), NotOffered: row.notOffered, Pods: replicas(1, "a", packtest.Asks("cpu", "1"), row.pod),
			}
			result := packing.Pack(problem)
			got, says := "", ""
			if len(result.New) > 0 {
				got = result.New[0].Options[0].Type
			}
			if len(result.Unplaced) > 0 {
				says = result.Unplaced[0].Reason
			}
			if got != row.want || says != row.says {
				t.Errorf("the node is a %q, and the pod is told %q", got, says)
			}
		})
	}
}

// TestShortForTheAccount checks the reason that a pod gets if AWS launches none of the instances
// that suit it for this account.
func TestShortForTheAccount(t *testing.T) {
	t.Parallel()
	problem := &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.InstanceTypes = []string{"c5.large"} })}, Types: packtest.FamilyTypes(), Pods: replicas(1, "a")}
	for i := range problem.Types {
		for j := range problem.Types[i].Offerings {
			problem.Types[i].Offerings[j].Unavailable, problem.Types[i].Offerings[j].Why = true, "VcpuLimitExceeded: the limit is 8."
		}
	}
	result := packing.Pack(problem)
	if len(result.Unplaced) != 1 || result.Unplaced[0].Cause != packing.CauseNoCapacity || !strings.HasPrefix(result.Unplaced[0].Reason, "needs an instance that AWS currently does not launch for this account: c5.large, on-demand, in ") ||
		!strings.HasSuffix(result.Unplaced[0].Reason, ": VcpuLimitExceeded: the limit is 8. Slipway retries within minutes") {
		t.Errorf("left are %+v", result.Unplaced)
	}
}

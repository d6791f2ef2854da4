package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

func m5(edit ...func(*discovery.InstanceType)) discovery.InstanceType {
	t := discovery.InstanceType{
		Name: "m5.large", Architectures: []string{"i386", "x86_64"}, VCPUs: 2, MemoryMiB: 8192, MaxNetworkInterfaces: 3, CardNetworkInterfaces: 3, IPv4AddressesPerInterface: 10,
		EBSRoot: true, UsageClasses: []string{"on-demand", "spot", "capacity-block"},
	}
	for _, one := range edit {
		one(&t)
	}
	return t
}

func none(catalog.Offering) bool { return false }

func TestBuild(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		of     discovery.InstanceType
		named  []string
		want   []string
	}{
		{"in the zones that it is offered in and that have a subnet", m5(), nil, []string{"amd64 a/on-demand", "amd64 a/spot"}},
		{"bought in one way alone", m5(func(t *discovery.InstanceType) { t.UsageClasses = []string{"on-demand"} }), nil, []string{"amd64 a/on-demand"}},
		{"bare metal is for who names it", m5(func(t *discovery.InstanceType) { t.BareMetal = true }), nil, nil},
		{"and is named", m5(func(t *discovery.InstanceType) { t.BareMetal = true }), []string{"m5.large"}, []string{"amd64 a/on-demand", "amd64 a/spot"}},
		{"a Mac", m5(func(t *discovery.InstanceType) { t.Architectures = []string{"x86_64_mac"} }), nil, nil},
		{"no EBS root", m5(func(t *discovery.InstanceType) { t.EBSRoot = false }), nil, nil},
		{"arm64", m5(func(t *discovery.InstanceType) { t.Architectures = []string{"arm64"} }), nil, []string{"arm64 a/on-demand", "arm64 a/spot"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			facts := catalog.Facts{Region: "r", Types: []discovery.InstanceType{row.of}, Zones: map[string][]string{"m5.large": {"a", "b"}}, Named: row.named}
			var got []string
			for _, entry := range catalog.Build(facts, []string{"a", "c"}, none) {
				for _, offering := range entry.Offerings {
					got = append(got, fmt.Sprintf("%s %s/%s", entry.Architecture, offering.Zone, offering.CapacityType))
				}
			}
			if difference := cmp.Diff(row.want, got); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

// TestAllocatable holds the arithmetic against a node that the formulas of EKS's images were worked
// out for by hand.
func TestAllocatable(t *testing.T) {
	t.Parallel()
	of := m5()
	got := catalog.Allocatable(&of)
	// 2 CPUs less 60 and 10 thousandths; 8192 MiB less 7.5 %, 255 MiB, 11 MiB for each of 29 pods,
	// and 100 MiB; 3 × 9 + 2 pods.
	want := map[corev1.ResourceName]int64{corev1.ResourceCPU: 1930, corev1.ResourceMemory: 7945_689_497 - (255+11*29+100)<<20, corev1.ResourcePods: 29}
	if cpu := got[corev1.ResourceCPU]; cpu.MilliValue() != want[corev1.ResourceCPU] {
		t.Errorf("%d thousandths of a CPU", cpu.MilliValue())
	}
	if memory := got[corev1.ResourceMemory]; memory.Value() != want[corev1.ResourceMemory] {
		t.Errorf("%d bytes, want %d", memory.Value(), want[corev1.ResourceMemory])
	}
	if pods := got[corev1.ResourcePods]; pods.Value() != want[corev1.ResourcePods] {
		t.Errorf("%d pods", pods.Value())
	}
}

// TestPodsPerNetworkCard holds that only the default network card has addresses for pods
// (awslabs/amazon-eks-ami, eni-max-pods.txt: 100 for p5.48xlarge).
func TestPodsPerNetworkCard(t *testing.T) {
	t.Parallel()
	of := m5(func(t *discovery.InstanceType) {
		t.MaxNetworkInterfaces, t.CardNetworkInterfaces, t.IPv4AddressesPerInterface = 64, 2, 50
	})
	if pods := catalog.Allocatable(&of)[corev1.ResourcePods]; pods.Value() != 100 {
		t.Errorf("%d pods, want 100", pods.Value())
	}
}

// TestAttachableVolumes holds how many volumes the driver of EBS attaches.
func TestAttachableVolumes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*discovery.InstanceType)
		want   int64
	}{
		{"EC2 does not say", func(*discovery.InstanceType) {}, -1},
		{"of its own, but for the root device", func(t *discovery.InstanceType) { t.EBSAttachments = 32 }, 31},
		{"shared with network interfaces", func(t *discovery.InstanceType) { t.EBSAttachments, t.EBSAttachmentsShared = 27, true }, 24},
		{"shared, after EC2 subtracted two local disks", func(t *discovery.InstanceType) { t.EBSAttachments, t.EBSAttachmentsShared = 25, true }, 22},
		{"with more interfaces than attachments", func(t *discovery.InstanceType) { t.EBSAttachments, t.EBSAttachmentsShared = 2, true }, 0},
	} {
		of, got := m5(row.edit), int64(-1)
		capacity := catalog.Capacity(&of)
		if quantity, bounded := capacity[packing.AttachableVolumes(packing.EBSDriver)]; bounded {
			got = quantity.Value()
		}
		if got != row.want {
			t.Errorf("%s: %d volumes, want %d", row.reason, got, row.want)
		}
	}
}

// TestPricesOrder holds that estimates order types as EC2's prices do, where they are far enough
// apart to matter.
func TestPricesOrder(t *testing.T) {
	t.Parallel()
	sized := func(name string, vcpus int32, gib int64, edit ...func(*discovery.InstanceType)) discovery.InstanceType {
		of := m5(edit...)
		of.Name, of.VCPUs, of.MemoryMiB = name, vcpus, gib<<10
		return of
	}
	arm := func(t *discovery.InstanceType) { t.Architectures = []string{"arm64"} }
	burstable := func(t *discovery.InstanceType) { t.Burstable = true }
	gpu := func(t *discovery.InstanceType) { t.GPUs = 1 }
	// From the cheapest to the dearest by AWS's price list of us-east-1, 2026-07.
	types := []discovery.InstanceType{
		sized("t3.medium", 2, 4, burstable), sized("m6g.large", 2, 8, arm), sized("c5.large", 2, 4), sized("m5.large", 2, 8), sized("r5.large", 2, 16),
		sized("m5.xlarge", 4, 16), sized("g4dn.xlarge", 4, 16, gpu),
	}
	zones := map[string][]string{}
	for i := range types {
		zones[types[i].Name] = []string{"a"}
	}
	last := 0.0
	for _, entry := range catalog.Build(catalog.Facts{Types: types, Zones: zones}, []string{"a"}, none) {
		if entry.Offerings[0].Price <= last && entry.Name != "c5.large" {
			t.Errorf("%s costs %f, and the type before it %f", entry.Name, entry.Offerings[0].Price, last)
		}
		last = entry.Offerings[0].Price
	}
}

// TestSpotPrices holds that a price that is known counts, and else a share of that on demand.
func TestSpotPrices(t *testing.T) {
	t.Parallel()
	facts := catalog.Facts{
		Types: []discovery.InstanceType{m5()}, Zones: map[string][]string{"m5.large": {"a", "b"}},
		Spot: map[discovery.Pool]float64{{InstanceType: "m5.large", Zone: "a"}: 0.031},
	}
	offerings := catalog.Build(facts, []string{"a", "b"}, none)[0].Offerings
	if offerings[1].Price != 0.031 {
		t.Errorf("the known price is %f", offerings[1].Price)
	}
	if other := offerings[3].Price; other <= 0 || other >= offerings[2].Price {
		t.Errorf("the unknown price is %f, and %f on demand", other, offerings[2].Price)
	}
}

func TestShortages(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	shortages := catalog.NewShortages(clock)
	short := catalog.Offering{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}
	shortages.Mark(short)
	unavailable := func() []string {
		var found []string
		for _, entry := range catalog.Build(catalog.Facts{Types: []discovery.InstanceType{m5()}, Zones: map[string][]string{"m5.large": {"a", "b"}}}, []string{"a", "b"}, shortages.Current().Short) {
			for _, offering := range entry.Offerings {
				if offering.Unavailable {
					found = append(found, offering.Zone+"/"+offering.CapacityType)
				}
			}
		}
		return found
	}
	if got := unavailable(); !slices.Equal(got, []string{"a/spot"}) {
		t.Errorf("unavailable are %q", got)
	}
	next, some := shortages.Next()
	if !some || next != 3*time.Minute {
		t.Errorf("the next is in %v", next)
	}
	clock.SetTime(clock.Now().Add(next))
	if got := unavailable(); got != nil {
		t.Errorf("after a while unavailable are still %q", got)
	}
	if _, some := shortages.Next(); some {
		t.Error("there is still something to wait for")
	}
}

// TestPricesAreNearEC2s compares what instances are taken to cost with EC2's prices on demand for
// Linux in us-east-1 (AWS, "Amazon EC2 On-Demand Pricing").
func TestPricesAreNearEC2s(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		vCPUs     int32
		gibibytes float64
		burstable bool
		arm       bool
		price     float64
	}{
		{"m5.large", 2, 8, false, false, 0.096},
		{"m5.2xlarge", 8, 32, false, false, 0.384},
		{"c5.2xlarge", 8, 16, false, false, 0.34},
		{"r5.large", 2, 16, false, false, 0.126},
		{"c7g.large", 2, 4, false, true, 0.0725},
		{"r8g.large", 2, 16, false, true, 0.11782},
		{"t3.nano", 2, 0.5, true, false, 0.0052},
		{"t3.micro", 2, 1, true, false, 0.0104},
		{"t3.medium", 2, 4, true, false, 0.0416},
		{"t3.2xlarge", 8, 32, true, false, 0.3328},
		{"t3a.large", 2, 8, true, false, 0.0752},
		{"t4g.large", 2, 8, true, true, 0.0672},
		{"t2.2xlarge", 8, 32, true, false, 0.3712},
	} {
		instanceType := discovery.InstanceType{
			Name: row.name, Architectures: []string{"x86_64"}, VCPUs: row.vCPUs, MemoryMiB: int64(1024 * row.gibibytes), Burstable: row.burstable, EBSRoot: true,
		}
		if row.arm {
			instanceType.Architectures = []string{"arm64"}
		}
		price := catalog.Prices(catalog.Facts{Types: []discovery.InstanceType{instanceType}})
		if got := price(row.name, "us-east-1a", "on-demand"); got < 0.8*row.price || got > 1.2*row.price {
			t.Errorf("%s is taken to cost %.4f USD an hour, and costs %.4f", row.name, got, row.price)
		}
	}
}

// TestFullSubnets holds that a subnet without addresses is left alone for a while, and no longer
// than until EC2 describes some; but that is believed once only.
func TestFullSubnets(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	shortages := catalog.NewShortages(clock)
	described := func(free int, ago time.Duration) {
		shortages.Described([]discovery.Subnet{{ID: "subnet-1", Free: free, Seen: clock.Now().Add(-ago)}})
	}
	is := func(when string, want bool) {
		t.Helper()
		if got := shortages.ShortSubnet("subnet-1"); got != want || len(shortages.List()) != 0 {
			t.Errorf("%s, the subnet is left alone: %v, want %v; offerings that are short: %v", when, got, want, shortages.List())
		}
	}
	later := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	shortages.MarkSubnet("subnet-1")
	is("at first", true)
	described(5, time.Second)
	is("by what was seen before", true)
	later(10 * time.Second)
	described(0, 0)
	is("without addresses", true)
	described(5, 0)
	is("with addresses", false)
	shortages.MarkSubnet("subnet-1")
	later(10 * time.Second)
	described(5, 0)
	is("refused again", true)
	later(3 * time.Minute)
	is("after three minutes", false)
}

// TestShortagesLinger holds that what was short is tried again after its time, and counts as the
// last that is known until something is launched.
func TestShortagesLinger(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	m5, c5 := catalog.Offering{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}, catalog.Offering{InstanceType: "c5.large", Zone: "a", CapacityType: "on-demand"}
	for _, row := range []struct {
		reason string
		mark   func(*catalog.Shortages)
		after  time.Duration
		short  string // "m5" and "c5"
		last   string
		cause  catalog.ShortageCause
	}{
		{"capacity of one", func(s *catalog.Shortages) { s.Mark(m5) }, 2 * time.Minute, "m5", "m5", catalog.NoCapacity},
		{"capacity, to be tried again", func(s *catalog.Shortages) { s.Mark(m5) }, 3 * time.Minute, "", "m5", catalog.NoCapacity},
		{"capacity, a while later", func(s *catalog.Shortages) { s.Mark(m5) }, 4 * time.Minute, "", "", catalog.NoCapacity},
		{"a quota, in all zones", func(s *catalog.Shortages) { s.MarkQuota([]string{"c5.large"}, "on-demand", "no") }, time.Minute, "c5", "c5", catalog.QuotaUsedUp},
		{"a quota of another market", func(s *catalog.Shortages) { s.MarkQuota([]string{"c5.large"}, "spot", "no") }, time.Minute, "", "", catalog.NoCapacity},
		{"no Spot for any type", func(s *catalog.Shortages) { s.MarkSpot("no role") }, time.Second, "m5", "m5", catalog.NoSpotRole},
		{"no Spot, to be tried again", func(s *catalog.Shortages) { s.MarkSpot("no role") }, 16 * time.Second, "", "m5", catalog.NoSpotRole},
		{"launched since", func(s *catalog.Shortages) {
			s.MarkSpot("no role")
			clock.SetTime(clock.Now().Add(15 * time.Second))
			s.Launched(m5)
		}, 0, "", "", catalog.NoCapacity},
	} {
		shortages := catalog.NewShortages(clock)
		row.mark(shortages)
		clock.SetTime(clock.Now().Add(row.after))
		for name, offering := range map[string]catalog.Offering{"m5": m5, "c5": c5} {
			of, last := shortages.LastKnown().Of(offering)
			if short := shortages.Current().Short(offering); short != (row.short == name) || last != (row.last == name) || last && of.Cause != row.cause {
				t.Errorf("%s: %s is short: %v, was last: %v, %+v", row.reason, name, short, last, of)
			}
		}
	}
}

// TestBeyond holds which instance types a quota does not allow that does not allow one.
func TestBeyond(t *testing.T) {
	t.Parallel()
	var types []discovery.InstanceType
	for name, cpus := range map[string]int32{
		"m5.large": 2, "m5.xlarge": 4, "c7gn.xlarge": 4, "t3.2xlarge": 8, "im4gn.xlarge": 4, "g4dn.xlarge": 4, "gr6.4xlarge": 16, "p5.48xlarge": 192, "inf2.xlarge": 4, "u-6tb1.metal": 448,
	} {
		types = append(types, discovery.InstanceType{Name: name, VCPUs: cpus})
	}
	for of, want := range map[string][]string{
		"m5.xlarge":    {"c7gn.xlarge", "im4gn.xlarge", "m5.xlarge", "t3.2xlarge"},
		"g4dn.xlarge":  {"g4dn.xlarge", "gr6.4xlarge"},
		"p5.48xlarge":  {"p5.48xlarge"},
		"u-6tb1.metal": {"u-6tb1.metal"},
		"none.large":   {"none.large"},
	} {
		got := catalog.Beyond(types, of)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of %s (-want +got):\n%s", of, diff)
		}
	}
}

// TestOffers holds by what offerings nodes can be had that are asked for.
func TestOffers(t *testing.T) {
	t.Parallel()
	arm := m5(func(t *discovery.InstanceType) { t.Name, t.Architectures = "m6g.large", []string{"arm64"} })
	metal := m5(func(t *discovery.InstanceType) { t.Name, t.BareMetal = "m5.metal", true })
	efa := m5(func(t *discovery.InstanceType) {
		t.Name, t.EFAInterfaces, t.UsageClasses = "c5n.18xlarge", 1, []string{"on-demand"}
	})
	facts := catalog.Facts{
		Region: "r", Types: []discovery.InstanceType{m5(), arm, metal, efa},
		Zones: map[string][]string{"m5.large": {"a", "b"}, "m6g.large": {"a"}, "m5.metal": {"a"}, "c5n.18xlarge": {"b"}},
	}
	for _, row := range []struct {
		reason string
		ask    constraints.Ask
		named  []string
		want   []string
	}{
		{"anything", constraints.Ask{}, nil, []string{
			"m5.large/a/on-demand", "m5.large/a/spot", "m5.large/b/on-demand", "m5.large/b/spot", "m6g.large/a/on-demand", "m6g.large/a/spot", "c5n.18xlarge/b/on-demand",
		}},
		{"a zone and a market", constraints.Ask{Requirements: constraints.Requirements{"topology.kubernetes.io/zone": constraints.In("b"), "node.k8s.aws/capacity-type": constraints.In("spot")}}, nil,
			[]string{"m5.large/b/spot"}},
		{"an architecture", constraints.Ask{Requirements: constraints.Requirements{"kubernetes.io/arch": constraints.In("arm64")}}, nil, []string{"m6g.large/a/on-demand", "m6g.large/a/spot"}},
		{"labels of the type", constraints.Ask{Requirements: constraints.Requirements{"karpenter.k8s.aws/instance-family": constraints.In("c5n")}}, nil, []string{"c5n.18xlarge/b/on-demand"}},
		{"adapters", constraints.Ask{Resources: corev1.ResourceList{packing.EFA: resource.MustParse("1")}}, nil, []string{"c5n.18xlarge/b/on-demand"}},
		{"bare metal that is named", constraints.Ask{Requirements: constraints.Requirements{"node.kubernetes.io/instance-type": constraints.In("m5.metal")}}, []string{"m5.metal"},
			[]string{"m5.metal/a/on-demand", "m5.metal/a/spot"}},
		{"bare metal that is not named", constraints.Ask{Requirements: constraints.Requirements{"node.kubernetes.io/instance-type": constraints.In("m5.metal")}}, nil, nil},
	} {
		facts := facts
		facts.Named = row.named
		var got []string
		for offer := range catalog.Offers(facts, &row.ask) {
			got = append(got, fmt.Sprintf("%s/%s/%s", offer.InstanceType, offer.Zone, offer.CapacityType))
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

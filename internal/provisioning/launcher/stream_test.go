package launcher_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/bench/workload"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/racetest"
)

// stream is pods, and when each comes.
type stream struct {
	pods []packing.Pod
	at   []time.Duration
}

// outcome holds the result of a stream.
type outcome struct {
	nodes  int
	price  float64
	median time.Duration
}

// families are the families of EC2 instance types that most nodes have, as the catalog lists them.
func families() []packing.InstanceType {
	var facts catalog.Facts
	zones := []string{"a", "b", "c"}
	facts.Zones = map[string][]string{}
	sizes := []struct {
		name                   string
		vCPUs, interfaces, ips int32
	}{
		{"large", 2, 3, 10}, {"xlarge", 4, 4, 15}, {"2xlarge", 8, 4, 15}, {"4xlarge", 16, 8, 30}, {"8xlarge", 32, 8, 30}, {"12xlarge", 48, 8, 30}, {"16xlarge", 64, 15, 50}, {"24xlarge", 96, 15, 50},
	}
	for family, gibibytes := range map[string]int64{"c5": 2, "m5": 4, "r5": 8} {
		for _, size := range sizes {
			name := family + "." + size.name
			facts.Types = append(facts.Types, discovery.InstanceType{
				Name: name, Architectures: []string{"x86_64"}, VCPUs: size.vCPUs, MemoryMiB: int64(size.vCPUs) * gibibytes << 10, MaxNetworkInterfaces: size.interfaces, CardNetworkInterfaces: size.interfaces,
				IPv4AddressesPerInterface: size.ips, Hypervisor: "nitro", CurrentGeneration: true, EBSRoot: true, UsageClasses: []string{provisioningv1.CapacityTypeOnDemand},
			})
			facts.Zones[name] = zones
		}
	}
	slices.SortFunc(facts.Types, func(a, b discovery.InstanceType) int { return int(a.VCPUs) - int(b.VCPUs) })
	return catalog.Build(facts, zones, func(catalog.Offering) bool { return false })
}

// atOnce packs all pods of a stream together.
func atOnce(s stream, kinds []packing.InstanceType, daemons []*corev1.Pod) outcome {
	result := packing.Pack(problemOf(s.pods, nil, kinds, daemons))
	return outcome{nodes: len(result.New), price: result.Price()}
}

func problemOf(pods []packing.Pod, nodes []packing.Node, kinds []packing.InstanceType, daemons []*corev1.Pod) *packing.Problem {
	return &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) { p.Daemons = daemons })}, Types: kinds, Pods: pods, Nodes: nodes}
}

// run has the pods come, and nodes be launched for them as a window says. Nodes under way take pods
// that come later.
func run(s stream, window *launcher.Window, kinds []packing.InstanceType, daemons []*corev1.Pod) outcome {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := begin
	var waiting []int
	var nodes []packing.Node
	var waits []time.Duration
	var all outcome
	for next := 0; next < len(s.pods) || len(waiting) > 0; {
		for next < len(s.pods) && !begin.Add(s.at[next]).After(now) {
			waiting = append(waiting, next)
			next++
		}
		wait := time.Hour
		if len(waiting) > 0 {
			wait = window.Wait(now, len(waiting))
		}
		if wait > 0 {
			now = now.Add(wait)
			if next < len(s.pods) && begin.Add(s.at[next]).Before(now) {
				now = begin.Add(s.at[next])
			}
			continue
		}
		pods := make([]packing.Pod, 0, len(waiting))
		for _, i := range waiting {
			pods = append(pods, s.pods[i])
			waits = append(waits, now.Sub(begin.Add(s.at[i])))
		}
		problem := problemOf(pods, nodes, kinds, daemons)
		result := launcher.Pack(problem, window.Expected(pods), func(*corev1.Pod) bool { return true })
		for i := range nodes {
			nodes[i].Pods = append(nodes[i].Pods, result.Existing[nodes[i].Name]...)
		}
		for i := range result.New {
			launched, on := packtest.Launched(problem, &result.New[i], fmt.Sprintf("n%04d", len(nodes)), result.New[i].Options[0])
			nodes = append(nodes, packing.Node{
				Name: launched.Name, Labels: launched.Labels, Taints: launched.Spec.Taints, Allocatable: launched.Status.Allocatable, Pods: slices.Concat(on, result.New[i].Pods),
			})
		}
		all.nodes += len(result.New)
		all.price += result.Price()
		waiting = nil
		window.Launched(now, pods)
	}
	slices.Sort(waits)
	all.median = waits[len(waits)/2]
	return all
}

func steady(number int, every time.Duration, pod func(i int) packing.Pod) stream {
	var s stream
	for i := range number {
		s.pods, s.at = append(s.pods, pod(i)), append(s.at, time.Duration(i)*every)
	}
	return s
}

// random has pods come independently of each other, so many a second.
func random(number int, perSecond float64, seed uint64, pod func(i int) packing.Pod) stream {
	source := rand.New(rand.NewPCG(seed, seed))
	var s stream
	at := 0.0
	for i := range number {
		s.pods, s.at = append(s.pods, pod(i)), append(s.at, time.Duration(at*float64(time.Second)))
		at += source.ExpFloat64() / perSecond
	}
	return s
}

func asking(cpu, memory string) func(int) packing.Pod {
	return func(i int) packing.Pod {
		return packtest.Pod(fmt.Sprintf("p%05d", i), packtest.Asks("cpu", cpu, "memory", memory))
	}
}

func mixed(i int) packing.Pod {
	source := rand.New(rand.NewPCG(uint64(i), 7))
	return packtest.Pod(fmt.Sprintf("p%05d", i), packtest.Asks("cpu", fmt.Sprintf("%dm", 100*(1+source.IntN(20))), "memory", fmt.Sprintf("%dMi", 256*(1+source.IntN(16)))))
}

// streams are some that the bounds are held for: pods of several sizes, evenly and at random, and
// of all sizes.
func streams() map[string]stream {
	all := map[string]stream{
		"500 in a minute, of all sizes":            steady(500, 120*time.Millisecond, mixed),
		"500 in a minute, of all sizes, at random": random(500, 8.3, 1, mixed),
		"1000 in 50 seconds, of all sizes":         random(1000, 20, 2, mixed),
		"1000 in 50 seconds, of 1 CPU":             random(1000, 20, 2, asking("1", "2Gi")),
	}
	for _, of := range [][2]string{{"1500m", "1Gi"}, {"250m", "512Mi"}, {"1", "2Gi"}, {"100m", "1Gi"}, {"2", "4Gi"}, {"500m", "2Gi"}, {"1500m", "4Gi"}, {"4", "8Gi"}, {"750m", "3Gi"}} {
		all["500 in a minute, of "+of[0]+" and "+of[1]] = steady(500, 120*time.Millisecond, asking(of[0], of[1]))
		all["500 in a minute, of "+of[0]+" and "+of[1]+", at random"] = random(500, 8.3, 5, asking(of[0], of[1]))
	}
	return all
}

// TestStreamsCostLittleMore holds that a stream of pods costs at most a tenth more than the same
// pods at once, and the median pod waits for its launch at most a second.
func TestStreamsCostLittleMore(t *testing.T) {
	t.Parallel()
	kinds := families()
	daemons := []*corev1.Pod{packtest.Pod("daemon", packtest.Asks("cpu", "100m", "memory", "128Mi")).Pod}
	for name, s := range streams() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together, streamed := atOnce(s, kinds, daemons), run(s, launcher.NewWindow(launcher.DefaultLongest), kinds, daemons)
			t.Logf("%d nodes cost %.1f %% more than %d, and the median pod waits %v", streamed.nodes, 100*(streamed.price/together.price-1), together.nodes, streamed.median)
			if streamed.price > together.price*1.1 {
				t.Errorf("%d nodes cost %.1f %% more than %d", streamed.nodes, 100*(streamed.price/together.price-1), together.nodes)
			}
			if streamed.median > time.Second {
				t.Errorf("the median pod waits %v", streamed.median)
			}
		})
	}
}

// TestStreamsAmongAllInstanceTypes holds that streams of pods of many sizes, as the benchmark has
// them, cost at most 17 % more among all of EC2's instance types. Packed at once they leave nearly
// no room, because there are burstable types of all sizes; a batch of a dozen pods has fewer that
// complement each other.
func TestStreamsAmongAllInstanceTypes(t *testing.T) {
	t.Parallel()
	kinds := allTypes(t)
	diverse := workload.Diverse(2500)
	as := func(first int) func(int) packing.Pod {
		return func(i int) packing.Pod { return packing.Pod{Pod: diverse[first+i]} }
	}
	all := map[string]stream{
		"30 sizes": steady(400, 120*time.Millisecond, as(0)), "30 sizes, others": steady(400, 120*time.Millisecond, as(100)), "all sizes": random(500, 8.3, 1, mixed),
		"of 1 CPU": random(500, 8.3, 1, asking("1", "2Gi")), "of 0.25 CPU": random(500, 8.3, 1, asking("250m", "512Mi")),
	}
	for _, name := range slices.Sorted(maps.Keys(all))[:racetest.Fewer(len(all), 1)] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := all[name]
			together, streamed := atOnce(s, kinds, nil), run(s, launcher.NewWindow(launcher.DefaultLongest), kinds, nil)
			t.Logf("%d nodes cost %.1f %% more than %d", streamed.nodes, 100*(streamed.price/together.price-1), together.nodes)
			if streamed.price > together.price*1.17 {
				t.Errorf("%d nodes cost %.1f %% more than %d", streamed.nodes, 100*(streamed.price/together.price-1), together.nodes)
			}
		})
	}
}

// TestManyPodsAmongAllInstanceTypes packs very many pods in a short time, although there are as
// many types as EC2 has. It took a hundred times as long while each class of pods considered each
// type for each node.
func TestManyPodsAmongAllInstanceTypes(t *testing.T) {
	var pods []packing.Pod
	for _, pod := range workload.Diverse(racetest.Fewer(6000, 1000)) {
		pods = append(pods, packing.Pod{Pod: pod})
	}
	problem := problemOf(pods, nil, allTypes(t), nil)
	began := time.Now()
	result := packing.Pack(problem)
	spent := time.Since(began)
	t.Logf("packing among %d types took %v", len(problem.Types), spent)
	if spent > 15*time.Second {
		t.Errorf("packing among %d types took %v", len(problem.Types), spent)
	}
	if len(result.Unplaced) > 0 {
		t.Errorf("%d pods have no place", len(result.Unplaced))
	}
}

// allTypes are EC2's instance types as the catalog has them.
func allTypes(t *testing.T) []packing.InstanceType {
	t.Helper()
	w := *world.Default()
	w.InstanceTypes = world.Catalogue()
	_, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{World: &w})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	clients, err := aws.NewSessions(config, aws.WithClock(clock)).For(t.Context(), aws.Principal{}, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	of := region.Region{Name: "us-east-1", Discovery: discovery.New(clients, clock)}
	facts, err := of.Facts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Build(facts, []string{"us-east-1a", "us-east-1b", "us-east-1c"}, func(catalog.Offering) bool { return false })
}

// TestSlowPodsWaitForNothing holds that a pod that comes alone, and pods that come slowly, are
// launched for at once, in nodes of their size.
func TestSlowPodsWaitForNothing(t *testing.T) {
	t.Parallel()
	kinds := families()
	s := steady(10, 5*time.Second, asking("1500m", "1Gi"))
	got := run(s, launcher.NewWindow(launcher.DefaultLongest), kinds, nil)
	if alone := atOnce(stream{pods: s.pods[:1]}, kinds, nil); got.median != 0 || got.price > 10.001*alone.price {
		t.Errorf("the median pod waits %v, and all cost %v, where one costs %v", got.median, got.price, alone.price)
	}
}

// TestStreamsOfAnyMoments holds that streams of 500 pods in a minute cost less than a tenth more on
// average, and none a fifth, whatever the moments at which the pods come.
func TestStreamsOfAnyMoments(t *testing.T) {
	t.Parallel()
	kinds := families()
	sum, number := 0.0, 0
	for seed := range uint64(4) {
		for _, pod := range []func(int) packing.Pod{mixed, asking("1", "2Gi"), asking("500m", "1Gi"), asking("250m", "512Mi"), asking("1500m", "1Gi")} {
			s := random(500, 8.3, 100+seed, pod)
			got := run(s, launcher.NewWindow(launcher.DefaultLongest), kinds, nil)
			more := got.price/atOnce(s, kinds, nil).price - 1
			if more > 0.2 || got.median > time.Second {
				t.Errorf("with seed %d pods like %v cost %.1f %% more, and the median one waits %v", seed, pod(0).Spec.Containers[0].Resources.Requests, 100*more, got.median)
			}
			sum, number = sum+more, number+1
		}
	}
	if mean := sum / float64(number); mean > 0.1 {
		t.Errorf("%d streams cost %.1f %% more on average", number, 100*mean)
	} else {
		t.Logf("%d streams cost %.1f %% more on average", number, 100*mean)
	}
}

// TestBacklogsArePackedOnce holds that no room for pods to come is tried while pods that are here
// are deferred: it would find none, and take as long as the packing again for each try. 20,000
// waiting pods took four times as long.
func TestBacklogsArePackedOnce(t *testing.T) {
	pods := make([]packing.Pod, 200)
	for i := range pods {
		pods[i] = mixed(i)
	}
	allocations := func(expected []packing.Pod) float64 {
		return testing.AllocsPerRun(3, func() {
			problem := problemOf(pods, nil, families(), nil)
			problem.MaxPods = 50
			if result := launcher.Pack(problem, expected, func(*corev1.Pod) bool { return true }); len(result.Deferred) == 0 {
				t.Fatal("no pod is deferred")
			}
		})
	}
	if with, without := allocations(pods[:100]), allocations(nil); with > 1.2*without {
		t.Errorf("packing a part of a backlog with room for 100 pods allocates %.0f times, want no more than the %.0f without", with, without)
	}
}

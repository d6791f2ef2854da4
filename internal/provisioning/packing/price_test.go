package packing_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestPriceOfPlainPacking holds that nodes cost no more than with the algorithm that Karpenter's
// documentation describes: it places pods in order of size, each on the node with the fewest pods
// that some instance type still suits, and chooses the cheapest type for each node in the end.
// Another benchmark compares Slipway with Karpenter itself.
func TestPriceOfPlainPacking(t *testing.T) {
	t.Parallel()
	for _, types := range []struct {
		name string
		all  []packing.InstanceType
	}{{"linear", packtest.LinearTypes(400)}, {"families", packtest.FamilyTypes()}} {
		for _, c := range []struct {
			name string
			pods []packing.Pod
		}{
			{"equal", packtest.Equal(1000)}, {"diverse", plain(packtest.Diverse(1200, 1))}, {"diverse again", plain(packtest.Diverse(1200, 2))}, {"diverse and few", plain(packtest.Diverse(60, 3))},
			{"alone", plain(packtest.Diverse(1200, 4))[1000:]}, {"one", packtest.Equal(1)},
		} {
			t.Run(types.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				problem := &packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types.all, Pods: c.pods}
				result := packing.Pack(problem)
				if len(result.Unplaced) > 0 {
					t.Fatalf("%d pods are left: %s", len(result.Unplaced), result.Unplaced[0].Reason)
				}
				price, nodes := plainPacking(types.all, c.pods)
				t.Logf("%d pods on %d nodes for %.2f; plainly on %d nodes for %.2f", len(c.pods), len(result.New), result.Price(), nodes, price)
				if result.Price() > price+1e-6 {
					t.Errorf("nodes cost %.4f, and plainly %.4f", result.Price(), price)
				}
			})
		}
	}
}

// TestPriceOfManyPackings holds the same for pods of sizes at random.
func TestPriceOfManyPackings(t *testing.T) {
	t.Parallel()
	types := packtest.FamilyTypes()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		var pods []packing.Pod
		for i := range 1 + r.IntN(80) {
			pods = append(pods, packtest.Pod(fmt.Sprintf("pod-%02d", i), packtest.Asks("cpu", fmt.Sprintf("%dm", 50*(1+r.IntN(60))), "memory", fmt.Sprintf("%dMi", 64*(1+r.IntN(120))))))
		}
		result := packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types, Pods: pods})
		if price, _ := plainPacking(types, pods); result.Price() > price+1e-6 || len(result.Unplaced) > 0 {
			t.Errorf("seed %d: nodes for %d pods cost %.4f, and plainly %.4f; %d are left", seed, len(pods), result.Price(), price, len(result.Unplaced))
		}
	}
}

// TestGiants holds that an instance that would hold everything is not taken where smaller ones cost less.
func TestGiants(t *testing.T) {
	t.Parallel()
	giant := packing.InstanceType{
		Name: "giant.metal", Architecture: "amd64", Capacity: packtest.Amounts("cpu", "448", "memory", "24Ti", "pods", "737"),
		Offerings: []packing.Offering{{Zone: packtest.Zones[0], CapacityType: "on-demand", Price: 218.4}},
	}
	result := packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: append(packtest.FamilyTypes(), giant), Pods: packtest.Equal(400)})
	for _, n := range result.New {
		if n.Options[0].Type == giant.Name {
			t.Errorf("%d pods are on a %s", len(n.Pods), giant.Name)
		}
	}
	if least := 200 * 0.0425; result.Price() > 1.1*least {
		t.Errorf("nodes cost %.2f, and their CPUs alone %.2f", result.Price(), least)
	}
}

// TestMemory is not parallel, because what other tests allocate would count. It holds that a
// backlog of 20,000 pods is packed in less than 300 MB, the pods themselves and everything that was
// let go meanwhile included.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	types := packtest.LinearTypes(400)
	runtime.ReadMemStats(&before)
	result := packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types, Pods: packtest.Diverse(20000, 42)})
	runtime.ReadMemStats(&after)
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
	t.Logf("%.0f MB for %d nodes", allocated, len(result.New))
	if allocated > 300 {
		t.Errorf("%.0f MB were allocated", allocated)
	}
}

// TestMemoryOfDeferredPods is not parallel for the same reason. It holds that pods beyond the bound
// cost little more than being sorted, however many wait.
func TestMemoryOfDeferredPods(t *testing.T) {
	const bound = 1000
	types, pods := packtest.LinearTypes(50), packtest.Diverse(20000, 42)
	allocated := func(of []packing.Pod) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types, Pods: of, MaxPods: bound})
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(pods[:bound]) // what is built once
	each := (allocated(pods) - allocated(pods[:bound])) / float64(len(pods)-bound)
	t.Logf("%.0f bytes for a pod that is deferred", each)
	if each > 2000 {
		t.Errorf("%.0f bytes for each pod that is deferred", each)
	}
}

// plain are the pods without wishes but for being apart from others on nodes.
func plain(pods []packing.Pod) []packing.Pod {
	for i := range pods {
		pods[i].Spec.TopologySpreadConstraints = nil
		if pods[i].Spec.Affinity != nil {
			pods[i].Spec.Affinity.PodAffinity = nil
		}
	}
	return pods
}

// plainNode is a node of the plain algorithm.
type plainNode struct {
	cpu, memory, pods int64
	apart             bool
	types             []*packing.InstanceType
}

func (n *plainNode) with(p *corev1.Pod) (plainNode, bool) {
	request := requests(p)
	more := plainNode{cpu: n.cpu + request.Cpu().MilliValue(), memory: n.memory + request.Memory().Value(), pods: n.pods + 1, apart: n.apart || len(antiAffinity(p)) > 0}
	if n.apart && len(antiAffinity(p)) > 0 {
		return more, false
	}
	for _, kind := range n.types {
		if more.cpu <= kind.Capacity.Cpu().MilliValue()-kind.Overhead.Cpu().MilliValue() &&
			more.memory <= kind.Capacity.Memory().Value()-kind.Overhead.Memory().Value() && more.pods <= kind.Capacity.Pods().Value() {
			more.types = append(more.types, kind)
		}
	}
	return more, len(more.types) > 0
}

func plainPacking(types []packing.InstanceType, waiting []packing.Pod) (price float64, nodes int) {
	var all []*packing.InstanceType
	for i := range types {
		if types[i].Architecture == "amd64" {
			all = append(all, &types[i])
		}
	}
	pods := slices.Clone(waiting)
	slices.SortStableFunc(pods, func(a, b packing.Pod) int {
		x, y := requests(a.Pod), requests(b.Pod)
		return cmp.Or(y.Cpu().Cmp(*x.Cpu()), y.Memory().Cmp(*x.Memory()))
	})
	var open []*plainNode
	for _, p := range pods {
		slices.SortStableFunc(open, func(a, b *plainNode) int { return cmp.Compare(a.pods, b.pods) })
		placed := false
		for _, n := range open {
			if more, fits := n.with(p.Pod); fits {
				*n, placed = more, true
				break
			}
		}
		if !placed {
			fresh := &plainNode{types: all}
			more, fits := fresh.with(p.Pod)
			if !fits {
				panic(fmt.Sprintf("pod %s fits nowhere", p.Name))
			}
			open = append(open, &more)
		}
	}
	for _, n := range open {
		cheapest := n.types[0].Offerings[0].Price
		for _, kind := range n.types {
			cheapest = min(cheapest, kind.Offerings[0].Price)
		}
		price += cheapest
	}
	return price, len(open)
}

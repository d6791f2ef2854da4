package packing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// twice gives the pod a second container that asks for the same.
func twice(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, *p.Spec.Containers[0].DeepCopy())
}

// TestAmountsBeyondInt64 holds that a pod which asks for more than 64 bits can count is left alone,
// and changes nothing for the pods of other tenants. The API server accepts such requests.
// Quantity.Value and Quantity.MilliValue return 0 or a negative number for them.
func TestAmountsBeyondInt64(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
		says   string
	}{
		{"thousandths wrap to 0", packtest.Asks("cpu", "9E"), "CPU"},
		{"thousandths wrap below 0", packtest.Asks("cpu", "10P"), "CPU"},
		{"the largest quantity", packtest.Asks("cpu", "9223372036854775807"), "CPU"},
		{"more than any quantity that is an integer", packtest.Asks("cpu", "1e30"), "CPU"},
		{"the last that fits, which cannot be added to itself", packtest.Asks("cpu", "9223372036854775"), "CPU"},
		{"bytes", packtest.Asks("cpu", "100m", "memory", "1e30"), "of memory"},
		{"bytes whose sum wraps below 0", func(p *corev1.Pod) {
			packtest.Asks("cpu", "100m", "memory", "5Ei")(p)
			twice(p)
		}, "of memory"},
		{"disk", packtest.Asks("cpu", "100m", "ephemeral-storage", "1e30"), "of ephemeral storage"},
		{"devices, of which no type has any", packtest.Asks("cpu", "100m", "example.com/device", "1e30"), "example.com/device"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			problem := packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), Pods: replicas(20, "ordinary", packtest.Asks("cpu", "1500m")),
			}
			want := packtest.Outcome(packing.Pack(&problem))
			problem.Pods = append(problem.Pods, replicas(40, "absurd", row.edit)...)
			result := packing.Pack(&problem)
			if len(result.Unplaced) != 40 {
				t.Fatalf("%d pods are left", len(result.Unplaced))
			}
			for _, u := range result.Unplaced {
				if !strings.HasPrefix(u.Pod.Name, "absurd") || u.Cause != packing.CauseTooLarge || !strings.HasPrefix(u.Reason, "requests at least ") || !strings.Contains(u.Reason, row.says) {
					t.Fatalf("pod %s is left: %s, %q", u.Pod.Name, u.Cause, u.Reason)
				}
			}
			result.Unplaced = nil
			if diff := cmp.Diff(want, packtest.Outcome(result)); diff != "" {
				t.Errorf("the nodes of the others (-alone +together):\n%s", diff)
			}
		})
	}
}

// TestRunningPodsBeyondInt64 holds that pods which the scheduler has bound although they ask for
// more than 64 bits can count give no room to others on their node.
func TestRunningPodsBeyondInt64(t *testing.T) {
	t.Parallel()
	for _, cpu := range []string{"9E", "10P", "9223372036854775807", "2305843009213693"} {
		for number := 1; number < 10; number++ {
			node := packing.Node{Name: "n", Allocatable: packtest.Amounts("cpu", "4", "memory", "8Gi", "pods", "20"), Labels: map[string]string{corev1.LabelTopologyZone: packtest.Zones[0]}}
			for _, p := range replicas(number, "running", packtest.Asks("cpu", cpu)) {
				node.Pods = append(node.Pods, p.Pod)
			}
			result := packing.Pack(&packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), Nodes: []packing.Node{node}, Pods: replicas(3, "a", packtest.Asks("cpu", "1")),
			})
			if len(result.Existing) > 0 || len(result.Unplaced) > 0 || len(result.New) == 0 {
				t.Errorf("next to %d pods of %s CPUs: %s", number, cpu, packtest.Outcome(result))
			}
		}
	}
}

// TestLimitsBeyondInt64 holds that a limit which is meant as no limit does not stop all launches.
func TestLimitsBeyondInt64(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"9E", "10P", "1e30", "9223372036854775807"} {
		huge := resource.MustParse(limit)
		result := packing.Pack(&packing.Problem{
			Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
				p.Limits.CPU, p.Limits.Memory, p.Used.CPU, p.Used.Memory = &huge, &huge, packtest.Quantity(10), packtest.Quantity(1<<40)
			})}, Types: packtest.FamilyTypes(), Pods: replicas(3, "a"),
		})
		if len(result.Unplaced) > 0 {
			t.Errorf("with limits of %s, %d pods are left: %s", limit, len(result.Unplaced), result.Unplaced[0].Reason)
		}
	}
}

// TestAmountsOfNothing holds that pods which ask for nothing, or for 0 of a resource that no node
// has, are bounded by the number of pods of a node alone.
func TestAmountsOfNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
	}{
		{"no container asks", func(p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }},
		{"there is no container", func(p *corev1.Pod) { p.Spec.Containers = nil }},
		{"0 of everything", packtest.Asks("cpu", "0", "memory", "0", "ephemeral-storage", "0")},
		{"0 devices, of which no type has any", packtest.Asks("example.com/device", "0")},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			types := slices.DeleteFunc(packtest.FamilyTypes(), func(kind packing.InstanceType) bool { return kind.Name != "c5.large" })
			result := packing.Pack(&packing.Problem{Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: types, Pods: replicas(30, "a", row.edit)})
			var sizes []int
			for i := range result.New {
				sizes = append(sizes, len(result.New[i].Pods))
			}
			if diff := cmp.Diff([]int{29, 1}, sizes); diff != "" || len(result.Unplaced) > 0 {
				t.Errorf("%d pods are left, and the nodes have pods (-want +got):\n%s", len(result.Unplaced), diff)
			}
		})
	}
}

// TestTypesThatHoldNothing holds that a type whose overhead, or whose daemons, take more than it has
// is never launched, however cheap it is.
func TestTypesThatHoldNothing(t *testing.T) {
	t.Parallel()
	cheap := func(capacity, overhead corev1.ResourceList) packing.InstanceType {
		kind := packing.InstanceType{Name: "cheap", Architecture: "amd64", Capacity: capacity, Overhead: overhead}
		for _, zone := range packtest.Zones {
			kind.Offerings = append(kind.Offerings, packing.Offering{Zone: zone, CapacityType: "on-demand", Price: 0.0001})
		}
		return kind
	}
	for _, row := range []struct {
		reason string
		kind   packing.InstanceType
		want   string
	}{
		{"it is large enough", cheap(packtest.Amounts("cpu", "2", "memory", "4Gi", "pods", "10"), nil), "cheap"},
		{"it has nothing", cheap(nil, nil), "c5.large"},
		{"no pods", cheap(packtest.Amounts("cpu", "2", "memory", "4Gi"), nil), "c5.large"},
		{"the overhead is more than its CPU", cheap(packtest.Amounts("cpu", "2", "memory", "4Gi", "pods", "10"), packtest.Amounts("cpu", "3")), "c5.large"},
		{"the overhead is more than its memory, of which the pod asks for none", cheap(packtest.Amounts("cpu", "2", "memory", "4Gi", "pods", "10"), packtest.Amounts("memory", "5Gi")), "c5.large"},
		{"the daemon does not fit", cheap(packtest.Amounts("cpu", "2", "memory", "1Gi", "pods", "10"), nil), "c5.large"},
		{"the daemon takes the only place", cheap(packtest.Amounts("cpu", "2", "memory", "4Gi", "pods", "1"), nil), "c5.large"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			result := packing.Pack(&packing.Problem{
				Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
					p.Daemons = []*corev1.Pod{packtest.Pod("agent", packtest.Asks("cpu", "100m", "memory", "2Gi")).Pod}
				})}, Types: append(packtest.FamilyTypes(), row.kind), Pods: replicas(1, "a", packtest.Asks("cpu", "500m")),
			})
			if len(result.New) != 1 || result.New[0].Options[0].Type != row.want {
				t.Fatalf("nodes are %s, want a %s", packtest.Outcome(result), row.want)
			}
			if launches := fmt.Sprint(result.New[0].Options); row.want != "cheap" && strings.Contains(launches, "cheap") {
				t.Errorf("it may be launched instead: %s", launches)
			}
		})
	}
}

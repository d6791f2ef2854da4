package launcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

func places(subnets map[string]string) launcher.Places {
	var all launcher.Places
	for zone, subnet := range subnets {
		if all == nil {
			all = launcher.Places{}
		}
		all[zone] = []launcher.Place{{SubnetID: subnet, Free: 250}}
	}
	return all
}

func surroundings(subnets map[string]string) launcher.Surroundings {
	return launcher.Surroundings{
		Provisioner: &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u"}, Spec: provisioningv1.ProvisionerSpec{Cluster: provisioningv1.ProvisionerCluster{Name: "c"}}},
		Template:    provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 7}, Places: places(subnets),
		Resources: func(instanceType string) provisioningv1.ProvisionedResources {
			cpus := map[string]int64{"small": 2, "large": 8}[instanceType]
			return provisioningv1.ProvisionedResources{CPU: *resource.NewQuantity(cpus, resource.DecimalSI), Memory: *resource.NewQuantity(cpus<<32, resource.BinarySI)}
		},
	}
}

func node(pod string, options ...packing.Option) packing.NewNode {
	return packing.NewNode{
		Ask:          constraints.Ask{Provisioner: "default", Labels: map[string]string{"team": "web"}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}},
		Architecture: "amd64", Options: options, Pods: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: pod, UID: types.UID(pod)}}},
	}
}

// counting returns a function that returns one name after the other.
func counting() func(string) string {
	number := 0
	return func(prefix string) string { number++; return fmt.Sprintf("%s-%d", prefix, number) }
}

func TestPlan(t *testing.T) {
	t.Parallel()
	a := packing.Option{Type: "small", Zone: "a", CapacityType: "spot", Price: 1}
	b := packing.Option{Type: "large", Zone: "b", CapacityType: "spot", Price: 2}
	onDemand := packing.Option{Type: "small", Zone: "a", CapacityType: "on-demand", Price: 3}
	for _, row := range []struct {
		reason  string
		nodes   []packing.NewNode
		subnets map[string]string
		want    []string
	}{
		{"equal nodes are one launch", []packing.NewNode{node("p", a), node("q", a)}, map[string]string{"a": "s-a"}, []string{
			"default-1-0 of 2: spot small/a/s-a 2 CPUs for p", "default-1-1 of 2: spot small/a/s-a 2 CPUs for q",
		}},
		{"others are another", []packing.NewNode{node("p", a), node("q", b), node("r", a)}, map[string]string{"a": "s-a", "b": "s-b"}, []string{
			"default-1-0 of 2: spot small/a/s-a 2 CPUs for p", "default-1-1 of 2: spot small/a/s-a 2 CPUs for r", "default-2-0 of 1: spot large/b/s-b 8 CPUs for q",
		}},
		{"a launch is bought in the way that is cheapest", []packing.NewNode{node("p", a, onDemand)}, map[string]string{"a": "s-a"}, []string{
			"default-1-0 of 1: spot small/a/s-a 2 CPUs for p",
		}},
		{"Spot comes first where both would do", []packing.NewNode{node("p", packing.Option{Type: "small", Zone: "a", CapacityType: "on-demand", Price: 1}, b)}, map[string]string{"a": "s-a", "b": "s-b"}, []string{
			"default-1-0 of 1: spot large/b/s-b 8 CPUs for p",
		}},
		{"but not in a zone without a subnet", []packing.NewNode{node("p", b, onDemand)}, map[string]string{"a": "s-a"}, []string{
			"default-1-0 of 1: on-demand small/a/s-a 2 CPUs for p",
		}},
		{"On-Demand while Spot is short", []packing.NewNode{node("p", onDemand)}, map[string]string{"a": "s-a"}, []string{
			"default-1-0 of 1: on-demand small/a/s-a 2 CPUs for p",
		}},
		{"the largest offering is reserved", []packing.NewNode{node("p", a, b)}, map[string]string{"a": "s-a", "b": "s-b"}, []string{
			"default-1-0 of 1: spot small/a/s-a large/b/s-b 8 CPUs for p",
		}},
		{"zones without a subnet are left out", []packing.NewNode{node("p", a, b)}, map[string]string{"b": "s-b"}, []string{"default-1-0 of 1: spot large/b/s-b 8 CPUs for p"}},
		{"no zone with a subnet", []packing.NewNode{node("p", a)}, map[string]string{"b": "s-b"}, []string{"p requires zone a, where Provisioner " +
			"default has no subnet"}},
		{"the launch template has the subnet", []packing.NewNode{node("p", a)}, nil, []string{"default-1-0 of 1: spot small/a/ 2 CPUs for p"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			launches, homeless := launcher.Plan(row.nodes, surroundings(row.subnets), counting())
			var got []string
			for i := range launches {
				places := launches[i].Places()
				for j, made := range launches[i].Nodes {
					text := fmt.Sprintf("%s of %d: %s", made.Name, made.Spec.Launch.Nodes, made.Spec.CapacityType)
					for _, offering := range made.Spec.Offerings {
						text += fmt.Sprintf(" %s/%s/%s", offering.InstanceType, offering.Zone, offering.SubnetID)
					}
					pod := launches[i].Pods[j][0]
					if places[pod.UID] != made.Name {
						t.Errorf("pod %s has its place on %q", pod.Name, places[pod.UID])
					}
					got = append(got, fmt.Sprintf("%s %s CPUs for %s", text, made.Spec.Reserved.CPU.String(), pod.Name))
				}
			}
			for pod, why := range homeless {
				got = append(got, pod.Name+" "+why)
			}
			if difference := cmp.Diff(row.want, got); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

// TestPlanWritesEverythingDown holds what an object says that nothing else remembers after a crash.
func TestPlanWritesEverythingDown(t *testing.T) {
	t.Parallel()
	wanted := node("p", packing.Option{Type: "small", Zone: "a", CapacityType: "on-demand"})
	wanted.Ask.Resources = corev1.ResourceList{"hugepages-2Mi": resource.MustParse("1Gi")}
	launches, _ := launcher.Plan([]packing.NewNode{wanted}, surroundings(map[string]string{"a": "s"}), counting())
	made := launches[0].Nodes[0]
	if len(made.Finalizers) != 1 || made.Finalizers[0] != provisioningv1.ProvisionedNodeFinalizer {
		t.Errorf("finalizers are %q", made.Finalizers)
	}
	if len(made.OwnerReferences) != 1 || made.OwnerReferences[0].UID != "u" {
		t.Fatalf("owners are %v", made.OwnerReferences)
	}
	// With blockOwnerDeletion, the provisioner's role would need the permission to update
	// provisioners/finalizers (admission plugin OwnerReferencesPermissionEnforcement).
	if made.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Error("the reference to the Provisioner blocks the deletion of its owner")
	}
	want := provisioningv1.ProvisionedNodeSpec{
		Provisioner: "default", Cluster: "c", Launch: provisioningv1.NodeLaunch{Name: "default-1", Nodes: 1}, Architecture: "amd64",
		LaunchTemplate: provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 7}, CapacityType: "on-demand",
		Offerings: []provisioningv1.NodeOffering{{InstanceType: "small", Zone: "a", SubnetID: "s"}},
		Labels:    map[string]string{"team": "web", provisioningv1.LabelCapacityType: "on-demand", provisioningv1.KarpenterLabelCapacityType: "on-demand"},

		ExtraResources: provisioningv1.ExtraResources{"hugepages-2Mi": resource.MustParse("1Gi")},
		Taints:         []provisioningv1.Taint{{Key: "k", Effect: "NoSchedule"}},
		Reserved:       provisioningv1.ProvisionedResources{CPU: resource.MustParse("2"), Memory: resource.MustParse("8Gi")},
	}
	if difference := cmp.Diff(want, made.Spec); difference != "" {
		t.Errorf("(-want +got):\n%s", difference)
	}
}

// TestLaunchNamesAreTokens holds that every name is one that EC2 takes as a client token, and that
// Kubernetes takes as the name of an object.
func TestLaunchNamesAreTokens(t *testing.T) {
	t.Parallel()
	s := surroundings(map[string]string{"a": "s"})
	s.Provisioner.Name = strings.Repeat("long-name.", 6) + "abc"
	launches, _ := launcher.Plan([]packing.NewNode{node("p", packing.Option{Type: "small", Zone: "a", CapacityType: "spot"})}, s,
		func(prefix string) string { return prefix + "-0123456789" })
	if name := launches[0].Name; len(name) > 63 || strings.Contains(name, ".-") {
		t.Errorf("the launch is called %q", name)
	}
}

// TestBudgetHolds holds that in no minute more is launched than allowed, whatever is asked for and when.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		budget := launcher.NewBudget(clock, limit)
		type spending struct {
			at    time.Time
			nodes int
		}
		var all []spending
		for range rapid.IntRange(1, 40).Draw(t, "passes") {
			clock.SetTime(clock.Now().Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second))
			nodes := min(rapid.IntRange(0, 30).Draw(t, "wanted"), budget.Left())
			budget.Spend(nodes)
			all = append(all, spending{clock.Now(), nodes})
			within := 0
			for _, spent := range all {
				if clock.Now().Sub(spent.at) < time.Minute {
					within += spent.nodes
				}
			}
			if within > limit {
				t.Fatalf("%d nodes within a minute, and %d are allowed", within, limit)
			}
			if budget.Left() == 0 {
				wait := budget.Next()
				if wait <= 0 || wait > time.Minute {
					t.Fatalf("nothing is left, and the next look is in %v", wait)
				}
			}
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	window := launcher.NewWindow(time.Second)
	pods := func(number int) []packing.Pod { return make([]packing.Pod, number) }
	at := func(millis int) time.Time { return start.Add(time.Duration(millis) * time.Millisecond) }
	if wait := window.Wait(at(0), 1); wait != 0 || len(window.Expected(pods(1))) != 0 {
		t.Fatalf("the first pod waits %v, and %d more are expected", wait, len(window.Expected(pods(1))))
	}
	window.Launched(at(0), pods(1))
	if wait := window.Wait(at(10), 1); wait != 500*time.Millisecond {
		t.Errorf("a pod just after waits %v", wait)
	}
	if wait := window.Wait(at(90), 2); wait != 500*time.Millisecond {
		t.Errorf("with one more coming they wait %v", wait)
	}
	if wait := window.Wait(at(590), 2); wait != 0 {
		t.Errorf("when none comes they wait %v", wait)
	}
	window.Launched(at(590), pods(2))
	for i := range 12 {
		window.Wait(at(600+90*i), i+1)
	}
	if wait := window.Wait(at(1600), 97); wait != 0 {
		t.Errorf("after a second of pods they wait %v", wait)
	}
	if more := len(window.Expected(pods(97))); more != 10 {
		t.Errorf("%d more are expected of a stream of 100", more)
	}
	if more := len(window.Expected(pods(2))); more != 0 {
		t.Errorf("%d more are expected of a stream of 5", more)
	}
	window.Launched(at(1600), pods(97))
	if wait := window.Wait(at(4000), 1); wait != 0 || len(window.Expected(pods(1))) != 0 {
		t.Errorf("after calm a pod waits %v, and %d more are expected", wait, len(window.Expected(pods(1))))
	}
}

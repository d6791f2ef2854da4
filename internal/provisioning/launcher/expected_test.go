package launcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// isNew takes all pods of a problem for new ones.
func isNew(*corev1.Pod) bool { return true }

// pending returns pods of one deployment, numbered.
func pending(name string, number int, edit ...func(*corev1.Pod)) []packing.Pod {
	var all []packing.Pod
	for i := range number {
		all = append(all, packtest.Pod(fmt.Sprintf("%s-%d", name, i), edit...))
	}
	return all
}

// TestExpectedPodsAreNoPods holds that the pods of a problem, and no others, are in the result once
// each, and that room for pods to come takes the place of none, whatever these ask for.
func TestExpectedPodsAreNoPods(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		problem := packtest.Problems(t)
		split := rapid.IntRange(0, len(problem.Pods)).Draw(t, "expected")
		expected := problem.Pods[:split]
		problem.Pods = problem.Pods[split:]
		problem.MaxPods = rapid.SampledFrom([]int{0, 5, len(problem.Pods) + 2}).Draw(t, "bound")
		without := packing.Pack(problem)
		result := launcher.Pack(problem, expected, isNew)
		accounted := map[string]int{}
		count := func(pods []*corev1.Pod) {
			for _, pod := range pods {
				accounted[pod.Name]++
			}
		}
		for i := range result.New {
			if len(result.New[i].Pods) == 0 {
				t.Fatalf("a node is for no pod: %v", result.New[i].Options)
			}
			count(result.New[i].Pods)
		}
		for name, pods := range result.Existing {
			if len(pods) == 0 {
				t.Fatalf("node %s is listed without pods", name)
			}
			count(pods)
		}
		for _, unplaced := range result.Unplaced {
			count([]*corev1.Pod{unplaced.Pod})
		}
		count(result.Deferred)
		for _, pod := range problem.Pods {
			if accounted[pod.Name] != 1 {
				t.Fatalf("pod %s is accounted for %d times", pod.Name, accounted[pod.Name])
			}
		}
		if len(accounted) != len(problem.Pods) {
			t.Fatalf("%d pods are accounted for, of %d", len(accounted), len(problem.Pods))
		}
		if len(result.Unplaced) > len(without.Unplaced) {
			t.Fatalf("room for %d leaves %d pods without a place, and without it %d are", split, len(result.Unplaced), len(without.Unplaced))
		}
	})
}

// TestExpectedPodsAreNoNeighbors holds that no pod gets a node because of a pod that has yet to
// come, which has no labels: the scheduler would never bind it there, and the node would be
// launched again and again.
func TestExpectedPodsAreNoNeighbors(t *testing.T) {
	t.Parallel()
	unlabeled := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	small := packtest.Asks("cpu", "100m", "memory", "100Mi")
	for _, everywhere := range []bool{false, true} {
		lonely := packtest.Pod("lonely", small, packtest.Labeled("app", "lonely"), packtest.Together(corev1.LabelHostname, unlabeled))
		if everywhere {
			lonely.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{}
		}
		problem := &packing.Problem{
			Provisioners: []packing.Provisioner{packtest.Provisioner()}, Types: packtest.FamilyTypes(), Pods: append(pending("web", 3, small, packtest.Labeled("app", "web")), lonely),
		}
		result := launcher.Pack(problem, pending("expected", 12, small, packtest.Labeled("app", "web")), isNew)
		if len(result.Unplaced) != 1 || result.Unplaced[0].Pod.Name != "lonely" {
			t.Errorf("with a selector of all namespaces %v: %s", everywhere, packtest.Outcome(result))
		}
	}
}

// TestRoomForExpectedPods holds when nodes are larger than the pods need that are there: for pods
// that could be anywhere, while there are nodes to launch and no pods are deferred.
func TestRoomForExpectedPods(t *testing.T) {
	t.Parallel()
	small := packtest.Asks("cpu", "500m", "memory", "500Mi")
	bound := func(p *packing.Provisioner) { p.Limits.CPU = packtest.Quantity(2) }
	volumes := func(edit func(*packing.Pod)) []packing.Pod {
		pods := pending("e", 5, small)
		for i := range pods {
			edit(&pods[i])
		}
		return pods
	}
	for _, row := range []struct {
		reason      string
		provisioner func(*packing.Provisioner)
		bound       int
		nodes       []packing.Node
		expected    []packing.Pod
		want        string // the cheapest type of each node
	}{
		{"none is expected", nil, 0, nil, nil, "c5.large"},
		{"as many again", nil, 0, nil, pending("e", 5, small), "c5.xlarge"},
		{"they bind a port of the node", nil, 0, nil, pending("e", 5, small, packtest.OnPort(80)), "c5.large"},
		{"they keep apart", nil, 0, nil, pending("e", 5, small, packtest.Apart(corev1.LabelHostname, packtest.Selector("app", "a"))), "c5.large"},
		{"they are spread", nil, 0, nil, pending("e", 5, small, packtest.Spread(corev1.LabelHostname, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))), "c5.large"},
		{"they have volumes in a zone", nil, 0, nil, volumes(func(p *packing.Pod) { p.Zones = packtest.Zones }), "c5.large"},
		{"they attach volumes", nil, 0, nil, volumes(func(p *packing.Pod) { p.Volumes = map[string]int64{packtest.Driver: 1} }), "c5.large"},
		{"they are for another architecture", nil, 0, nil, pending("e", 5, small, packtest.Selects(corev1.LabelArchStable, "arm64")), "c5.large"},
		{"the limits leave no more", bound, 0, nil, pending("e", 5, small), "c5.large"},
		{"pods are deferred", nil, 1, nil, pending("e", 5, small), "c5.large"},
		{"all pods fit on a node that there is", nil, 0, []packing.Node{{Name: "n", Allocatable: packtest.Amounts("cpu", "4", "memory", "8Gi", "pods", "9")}}, pending("e", 5, small), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			provisioner := packtest.Provisioner()
			if row.provisioner != nil {
				row.provisioner(&provisioner)
			}
			problem := &packing.Problem{Provisioners: []packing.Provisioner{provisioner}, Types: packtest.FamilyTypes(), Nodes: row.nodes, Pods: pending("a", 2, small), MaxPods: row.bound}
			result := launcher.Pack(problem, row.expected, isNew)
			var got []string
			for i := range result.New {
				got = append(got, result.New[i].Options[0].Type)
			}
			if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAwaited holds which resources a node waits for: the extended ones that its pods request, of
// all containers, and no more than a bound, because tenants choose names.
func TestAwaited(t *testing.T) {
	t.Parallel()
	many := packtest.Pod("many")
	for i := range 100 {
		many.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/device-%02d", i))] = *packtest.Quantity(1)
	}
	initial := packtest.Pod("initial")
	initial.Spec.InitContainers = []corev1.Container{{Name: "first", Resources: corev1.ResourceRequirements{Requests: packtest.Amounts("nvidia.com/gpu", "1")}}}
	for _, row := range []struct {
		reason string
		pods   []*corev1.Pod
		want   string
	}{
		{"no pods", nil, ""},
		{"ordinary resources", []*corev1.Pod{packtest.Pod("a", packtest.Asks("cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi", "kubernetes.io/batteries", "1")).Pod}, ""},
		{"devices and huge pages, each once", []*corev1.Pod{
			packtest.Pod("a", packtest.Asks("nvidia.com/gpu", "1", "hugepages-2Mi", "4Mi")).Pod, packtest.Pod("b", packtest.Asks("nvidia.com/gpu", "2", "example.com/fpga", "1")).Pod,
		}, "example.com/fpga hugepages-2Mi nvidia.com/gpu"},
		{"none of a device", []*corev1.Pod{packtest.Pod("a", packtest.Asks("nvidia.com/gpu", "0")).Pod}, ""},
		{"a container that runs first", []*corev1.Pod{initial.Pod}, "nvidia.com/gpu"},
	} {
		if got := strings.Join(launcher.Awaited(row.pods), " "); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
	if got := launcher.Awaited([]*corev1.Pod{many.Pod}); len(got) != 32 || !slices.IsSorted(got) {
		t.Errorf("of many devices %d are awaited: %v", len(got), got)
	}
}

// TestLists holds how names are listed in a sentence, and that a long list is short.
func TestLists(t *testing.T) {
	t.Parallel()
	for number, want := range []string{"", "a", "a or b", "a, b, or c", "a, b, c, or d", "a, b, c, d, or e", "a, b, c, d, e, or f", "a, b, c, d, e, or 2 more", "a, b, c, d, e, or 3 more"} {
		names := strings.Split("abcdefgh", "")[:number]
		if got := launcher.List(names, "or"); got != want {
			t.Errorf("%d names are listed as %q, want %q", number, got, want)
		}
		if strings.Join(names, "") != "abcdefgh"[:number] {
			t.Errorf("the caller's names are changed to %q", names)
		}
	}
}

// TestRefusedOptions holds that no node is launched as an option that EC2 refuses, and which
// message its pods get if no other option is left.
func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	small := packing.Option{Type: "small", Zone: "a", CapacityType: "on-demand"}
	large := packing.Option{Type: "large", Zone: "b", CapacityType: "on-demand"}
	for _, row := range []struct {
		reason  string
		refused constraints.Refused
		zones   map[string]string
		want    string
	}{
		{"nothing is refused", nil, map[string]string{"a": "s-a", "b": "s-b"}, "small/s-a large/s-b"},
		{"one type is", constraints.Refused{{InstanceType: "small"}: "no."}, map[string]string{"a": "s-a", "b": "s-b"}, "large/s-b"},
		{"all are", constraints.Refused{{InstanceType: "small"}: "no.", {InstanceType: "large", Zone: "b"}: "nor this."}, map[string]string{"a": "s-a", "b": "s-b"},
			"needs the default launch template, but EC2 does not launch small from it: no"},
		{"one is, and the other has no subnet", constraints.Refused{{InstanceType: "large"}: "nor this."}, map[string]string{"b": "s-b"},
			"needs the default launch template, but EC2 does not launch large from it: nor this"},
		{"none has a subnet", constraints.Refused{{InstanceType: "large"}: "nor this."}, map[string]string{"c": "s-c"}, "requires zone a or b, where Provisioner " +
			"default has no subnet"},
	} {
		one := node("p", small, large)
		one.Ask.Refused = row.refused
		launches, homeless := launcher.Plan([]packing.NewNode{one}, surroundings(row.zones), counting())
		var got []string
		for _, launch := range launches {
			for _, offering := range launch.Nodes[0].Spec.Offerings {
				got = append(got, offering.InstanceType+"/"+offering.SubnetID)
			}
		}
		for _, says := range homeless {
			got = append(got, says)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, want %q", row.reason, strings.Join(got, " "), row.want)
		}
	}
}

// TestLaunchesAreBounded holds that one call launches at most a hundred nodes, that each node has a
// name of its own, and that each pod has a place on the node that it was packed for.
func TestLaunchesAreBounded(t *testing.T) {
	t.Parallel()
	option := packing.Option{Type: "small", Zone: "a", CapacityType: "spot"}
	var nodes []packing.NewNode
	for i := range 250 {
		nodes = append(nodes, node(fmt.Sprintf("p%03d", i), option))
	}
	launches, homeless := launcher.Plan(nodes, surroundings(map[string]string{"a": "s-a"}), counting())
	var sizes []int
	names, placed := map[string]bool{}, map[types.UID]string{}
	for i := range launches {
		sizes = append(sizes, len(launches[i].Nodes))
		for _, made := range launches[i].Nodes {
			names[made.Name] = true
			if request := launcher.Request(&made.Spec); request.Nodes != int32(len(launches[i].Nodes)) || request.Name != launches[i].Name || !request.Spot {
				t.Fatalf("the request of %s is %+v", made.Name, request)
			}
		}
		for pod, on := range launches[i].Places() {
			placed[pod] = on
		}
	}
	if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" || len(names) != 250 || len(placed) != 250 || len(homeless) != 0 {
		t.Errorf("%d names, and %d pods have a place (-want +got):\n%s", len(names), len(placed), diff)
	}
}

// TestRequestsNameTheirLaunch holds that a request has the tags by which its instances are found
// again, and the offerings of the node in their order.
func TestRequestsNameTheirLaunch(t *testing.T) {
	t.Parallel()
	request := launcher.Request(&provisioningv1.ProvisionedNodeSpec{
		Provisioner: "default", Cluster: "prod", CapacityType: "on-demand", LaunchTemplate: provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 7},
		Launch:    provisioningv1.NodeLaunch{Name: "default-1", Nodes: 2, ClusterUID: "uid"},
		Offerings: []provisioningv1.NodeOffering{{InstanceType: "m5.large", Zone: "b", SubnetID: "s-b"}, {InstanceType: "c5.large", Zone: "a"}},
	})
	want := fleet.Request{
		Name: "default-1", ClusterUID: "uid", TemplateID: "lt-1", Version: 7, Nodes: 2,
		Tags: map[string]string{
			"Name": "prod-default", "kubernetes.io/cluster/prod": "owned", fleet.TagCluster: "prod", fleet.TagProvisioner: "default", fleet.TagLaunch: "default-1",
		},
		Offerings: []fleet.Offering{{InstanceType: "m5.large", Zone: "b", SubnetID: "s-b"}, {InstanceType: "c5.large", Zone: "a"}},
	}
	if diff := cmp.Diff(want, request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

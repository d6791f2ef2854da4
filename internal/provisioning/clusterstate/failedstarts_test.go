package clusterstate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

var origin = time.Unix(1_000_000, 0)

// tried is a node that was launched so many minutes after the origin.
func tried(minute int, template string, resources ...string) *provisioningv1.ProvisionedNode {
	node := &provisioningv1.ProvisionedNode{}
	node.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: template, Version: 1}
	node.Spec.AwaitedResources = resources
	node.Status.LaunchTime = &metav1.Time{Time: origin.Add(time.Duration(minute) * time.Minute)}
	return node
}

func at(minute int) time.Time { return origin.Add(time.Duration(minute) * time.Minute) }

// TestFailedStartsGrow holds that waits grow with every round of failures, a round counts once, and
// after the last nothing is launched any longer.
func TestFailedStartsGrow(t *testing.T) {
	t.Parallel()
	p := &provisioningv1.Provisioner{}
	minute := 0
	var waits []int
	for range 5 {
		node := tried(minute, "lt-1", "nvidia.com/gpu")
		minute += 15
		clusterstate.FailStart(p, nil, node, "nvidia.com/gpu", "no device", at(minute))
		clusterstate.FailStart(p, nil, tried(minute-1, "lt-1", "nvidia.com/gpu"), "nvidia.com/gpu", "no device", at(minute+1))
		clusterstate.FailStart(p, nil, node, "nvidia.com/gpu", "no device", at(minute+2))
		wait := 0
		for ; wait < 1000 && clusterstate.HeldBack(p, nil, node.Spec.LaunchTemplate, node.Spec.AwaitedResources, at(minute+wait)) != ""; wait++ {
		}
		waits = append(waits, wait)
		minute += wait
	}
	if want := []int{5, 10, 20, 40, 1000}; !slices.Equal(waits, want) {
		t.Errorf("the waits are %v minutes, want %v", waits, want)
	}
}

func TestHeldBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		change    func(*provisioningv1.Provisioner)
		template  string
		resources []string
		held      bool
	}{
		{"the same kind of node", nil, "lt-1", []string{"nvidia.com/gpu"}, true},
		{"a node without the device", nil, "lt-1", nil, false},
		{"another launch template", nil, "lt-2", []string{"nvidia.com/gpu"}, false},
		{"one whose nodes do not register at all", nil, "lt-3", nil, true},
		{"the spec was edited", func(p *provisioningv1.Provisioner) { p.Generation++ }, "lt-1", []string{"nvidia.com/gpu"}, false},
		{"a retry was asked for", func(p *provisioningv1.Provisioner) {
			p.Annotations = map[string]string{provisioningv1.RetryAnnotation: strings.Repeat("now", 100)}
		}, "lt-1", []string{"nvidia.com/gpu"}, false},
		{"such a node started", func(p *provisioningv1.Provisioner) {
			clusterstate.ClearFailedStarts(p, tried(0, "lt-1", "nvidia.com/gpu"))
		}, "lt-1", []string{"nvidia.com/gpu"}, false},
		{"a node without the device started", func(p *provisioningv1.Provisioner) { clusterstate.ClearFailedStarts(p, tried(0, "lt-1")) }, "lt-1", []string{"nvidia.com/gpu"}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := &provisioningv1.Provisioner{}
			clusterstate.FailStart(p, nil, tried(0, "lt-1", "nvidia.com/gpu"), "nvidia.com/gpu", "no device", at(15))
			clusterstate.FailStart(p, nil, tried(0, "lt-3"), "", "it did not register", at(15))
			if row.change != nil {
				row.change(p)
			}
			template := provisioningv1.LaunchTemplateVersion{ID: row.template, Version: 1}
			if why := clusterstate.HeldBack(p, nil, template, row.resources, at(16)); (why != "") != row.held {
				t.Errorf("it is held back: %q", why)
			}
		})
	}
}

// TestStartsThatOthersDisprove holds what another node of the Provisioner says about a failure: one
// that started meanwhile keeps it from being recorded, and one that is well has the next node
// launched at once, but not the one after that.
func TestStartsThatOthersDisprove(t *testing.T) {
	t.Parallel()
	const gpu = "nvidia.com/gpu"
	// other is a node that was launched and became ready so many minutes after the origin, and is ready.
	other := func(launched, started int, template string, resources ...string) *provisioningv1.ProvisionedNode {
		node := tried(launched, template, resources...)
		node.Status.ReadyTime = &metav1.Time{Time: at(started)}
		ready(node)
		return node
	}
	unready := func(node *provisioningv1.ProvisionedNode) *provisioningv1.ProvisionedNode {
		node.Status.Conditions = nil
		return node
	}
	for _, row := range []struct {
		reason   string
		resource string
		other    *provisioningv1.ProvisionedNode
		recorded bool
		held     bool // after one failure
	}{
		{"no other node", "", nil, true, true},
		{"one that was launched together with it, and started", "", other(0, 2, "lt-1"), false, false},
		{"one that started meanwhile, and is not ready any longer", "", unready(other(-5, 2, "lt-1")), false, false},
		{"one that had started before, and is well", "", other(-60, -50, "lt-1"), true, false},
		{"one that had started before, and is not ready", "", unready(other(-60, -50, "lt-1")), true, true},
		{"one that is starting too", "", tried(0, "lt-1"), true, true},
		{"one from another launch template", "", other(0, 2, "lt-2"), true, true},
		{"one with the device that is missing", gpu, other(0, 2, "lt-1", gpu), false, false},
		{"one that needs no device", gpu, other(0, 2, "lt-1"), true, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p, failing := &provisioningv1.Provisioner{}, tried(0, "lt-1", gpu)
			nodes := []provisioningv1.ProvisionedNode{*failing}
			if row.other != nil {
				nodes = append(nodes, *row.other)
			}
			held := func(minute int) bool {
				return clusterstate.HeldBack(p, nodes, failing.Spec.LaunchTemplate, failing.Spec.AwaitedResources, at(minute)) != ""
			}
			if got := clusterstate.FailStart(p, nodes, failing, row.resource, "it did not start", at(15)); got != row.recorded || len(p.Status.FailedStarts) > 0 != got {
				t.Fatalf("the failure is recorded: %t, %+v", got, p.Status.FailedStarts)
			}
			if got := held(16); got != row.held {
				t.Errorf("the next node is held back: %t", got)
			}
			for minute := 15; !held(minute + 1); minute += 15 {
				if minute > 45 {
					t.Fatalf("nodes are launched without a pause however often they fail: %+v", p.Status.FailedStarts)
				}
				clusterstate.FailStart(p, nodes, tried(minute, "lt-1", gpu), row.resource, "it did not start", at(minute+15))
			}
		})
	}
}

// TestFailedStartsAreBounded holds that the list stays within its bound, and its messages within
// theirs.
func TestFailedStartsAreBounded(t *testing.T) {
	t.Parallel()
	p := &provisioningv1.Provisioner{}
	for i := range 70 {
		clusterstate.FailStart(p, nil, tried(i, fmt.Sprintf("lt-%d", i)), "", strings.Repeat("x", 5000), at(i))
	}
	entries := p.Status.FailedStarts
	if len(entries) != 50 || entries[49].LaunchTemplateID != "lt-69" || len(entries[0].Message) != 1024 {
		t.Errorf("there are %d entries", len(entries))
	}
}

func TestAwaits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		key       string
		effect    corev1.TaintEffect
		used      bool
		resources []string
		want      string
	}{
		{"nothing", "", "", false, nil, ""},
		{"a taint of the spec stays", "k", corev1.TaintEffectNoSchedule, false, nil, ""},
		{"one of another effect is not listed", "k", corev1.TaintEffectNoExecute, false, nil, "taint that the Provisioner does not list: k:NoExecute"},
		{"a startup taint of the spec", "s", corev1.TaintEffectNoSchedule, true, nil, "startup taint not removed: s:NoSchedule"},
		{"one of readiness", "readiness.k8s.io/dns", corev1.TaintEffectNoSchedule, true, nil, "startup taint not removed: readiness.k8s.io/dns:NoSchedule"},
		{"the cloud controller manager's", "node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintEffectNoSchedule, false, nil,
			"startup taint not removed: node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"},
		{"a cordon is a person's", corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule, false, nil, ""},
		{"one that pods prefer to avoid", "x", corev1.TaintEffectPreferNoSchedule, false, nil, ""},
		{"one that no pod of the node need tolerate", "x", corev1.TaintEffectNoSchedule, false, nil, "taint that the Provisioner does not list: x:NoSchedule"},
		{"one that its pods tolerate", "x", corev1.TaintEffectNoSchedule, true, nil, ""},
		{"a device that is there", "", "", false, []string{"nvidia.com/gpu"}, ""},
		{"one that is not, and one that has none yet", "", "", true, []string{"amd.com/gpu", "vpc.amazonaws.com/efa"},
			"not registered by its device plugin: amd.com/gpu, vpc.amazonaws.com/efa"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			node := provisioned("n", func(n *provisioningv1.ProvisionedNode) {
				n.Spec.StartupTaints, n.Spec.AwaitedResources = []provisioningv1.Taint{{Key: "s", Effect: "NoSchedule"}}, row.resources
			})
			of := member(corev1.ConditionTrue)
			of.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "amd.com/gpu": resource.MustParse("0")}
			if row.key != "" {
				of.Spec.Taints = []corev1.Taint{{Key: row.key, Effect: row.effect}}
			}
			got := clusterstate.Awaits(&node, &of, row.used)
			if got.String() != row.want || got.Done() != (row.want == "") {
				t.Errorf("it awaits %q", got)
			}
		})
	}
}

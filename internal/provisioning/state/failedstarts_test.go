package state_test

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
	"github.com/slipway-project/slipway/internal/provisioning/state"
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

// Waits grow with every round of failures, a round counts once, and after the last nothing is launched any longer.
func TestFailedStartsGrow(t *testing.T) {
	t.Parallel()
	p := &provisioningv1.Provisioner{}
	minute := 0
	var waits []int
	for range 5 {
		node := tried(minute, "lt-1", "nvidia.com/gpu")
		minute += 15
		state.FailStart(p, node, "nvidia.com/gpu", "no device", at(minute))
		state.FailStart(p, tried(minute-1, "lt-1", "nvidia.com/gpu"), "nvidia.com/gpu", "no device", at(minute+1))
		state.FailStart(p, node, "nvidia.com/gpu", "no device", at(minute+2))
		wait := 0
		for ; wait < 1000 && state.HeldBack(p, node.Spec.LaunchTemplate, node.Spec.AwaitedResources, at(minute+wait)) != ""; wait++ {
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
			state.ClearFailedStarts(p, tried(0, "lt-1", "nvidia.com/gpu"))
		}, "lt-1", []string{"nvidia.com/gpu"}, false},
		{"a node without the device started", func(p *provisioningv1.Provisioner) { state.ClearFailedStarts(p, tried(0, "lt-1")) }, "lt-1", []string{"nvidia.com/gpu"}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := &provisioningv1.Provisioner{}
			state.FailStart(p, tried(0, "lt-1", "nvidia.com/gpu"), "nvidia.com/gpu", "no device", at(15))
			state.FailStart(p, tried(0, "lt-3"), "", "it did not register", at(15))
			if row.change != nil {
				row.change(p)
			}
			template := provisioningv1.LaunchTemplateVersion{ID: row.template, Version: 1}
			if why := state.HeldBack(p, template, row.resources, at(16)); (why != "") != row.held {
				t.Errorf("it is held back: %q", why)
			}
		})
	}
}

// The list stays within its bound, and its messages within theirs.
func TestFailedStartsAreBounded(t *testing.T) {
	t.Parallel()
	p := &provisioningv1.Provisioner{}
	for i := range 70 {
		state.FailStart(p, tried(i, fmt.Sprintf("lt-%d", i)), "", strings.Repeat("x", 5000), at(i))
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
		{"of another effect nobody lists it", "k", corev1.TaintEffectNoExecute, false, nil, "taint that the Provisioner does not list: k:NoExecute"},
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
			got := state.Awaits(&node, &of, row.used)
			if got.String() != row.want || got.Done() != (row.want == "") {
				t.Errorf("it awaits %q", got)
			}
		})
	}
}

package nodetemplate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestDerivedTags(t *testing.T) {
	t.Parallel()
	const storage, system = "k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage", "k8s.io/cluster-autoscaler/node-template/label/kubernetes.io/os"
	capacity := infrav1.NodeCapacity{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceEphemeralStorage: resource.MustParse("30Gi")}
	present := map[string]string{storage: "8Gi", "other": "x"}
	for _, row := range []struct {
		reason   string
		capacity infrav1.NodeCapacity
		info     *infrav1.NodeInfo
		want     map[string]string
	}{
		{"the instance type says the rest", capacity, &infrav1.NodeInfo{OperatingSystem: "linux"}, map[string]string{storage: "30Gi"}},
		{"nodes are taken for Linux", capacity, &infrav1.NodeInfo{OperatingSystem: "windows"}, map[string]string{storage: "30Gi", system: "windows"}},
		{"no volume is known", infrav1.NodeCapacity{}, &infrav1.NodeInfo{}, map[string]string{}},
		{"nothing is known: after a move, until the launch config is ready", nil, nil, map[string]string{storage: "8Gi"}},
	} {
		if diff := cmp.Diff(row.want, DerivedTags(row.capacity, row.info, present)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason      string
		annotations map[string]string
		want        map[string]string
	}{
		{"a pool that says nothing has none", map[string]string{"other": "x"}, map[string]string{}},
		{"each label and taint is a tag", map[string]string{
			"capacity.cluster-autoscaler.kubernetes.io/labels": "team=web, example.com/tier=front",
			"capacity.cluster-autoscaler.kubernetes.io/taints": "dedicated=web:NoSchedule",
		}, map[string]string{
			"k8s.io/cluster-autoscaler/node-template/label/team":             "web",
			"k8s.io/cluster-autoscaler/node-template/label/example.com/tier": "front",
			"k8s.io/cluster-autoscaler/node-template/taint/dedicated":        "web:NoSchedule",
		}},
		{"resources have Kubernetes's names", map[string]string{
			"capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk": "100Gi", "capacity.cluster-autoscaler.kubernetes.io/maxPods": "110",
			"capacity.cluster-autoscaler.kubernetes.io/gpu-type": "nvidia.com/gpu", "capacity.cluster-autoscaler.kubernetes.io/gpu-count": "2",
		}, map[string]string{
			"k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage": "100Gi",
			"k8s.io/cluster-autoscaler/node-template/resources/pods":              "110",
			"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu":    "2",
		}},
		{"what no tag can hold is left out", map[string]string{
			"capacity.cluster-autoscaler.kubernetes.io/labels": strings.Repeat("x", 100) + "=y,broken",
		}, map[string]string{}},
	} {
		if diff := cmp.Diff(row.want, Tags(row.annotations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

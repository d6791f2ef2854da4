package autoscalinggroup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodeTemplateTags(t *testing.T) {
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
		if diff := cmp.Diff(row.want, NodeTemplateTags(row.annotations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

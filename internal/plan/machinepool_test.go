package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestUpgradeMachinePool(t *testing.T) {
	edited := map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachinePool",
		"metadata": map[string]any{"namespace": "blue", "name": "workers"},
		"spec": map[string]any{
			"clusterName": "prod", "replicas": int64(4),
			"template": map[string]any{"spec": map[string]any{
				"version": "v1.36.3", "nodeDrainTimeout": "1m",
				"infrastructureRef": map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachinePool", "name": "workers"},
			}},
		},
	}
	upgraded := func(minReadySeconds any) map[string]any {
		spec := map[string]any{
			"clusterName": "prod", "replicas": int64(4),
			"template": map[string]any{"spec": map[string]any{
				"version":           "v1.36.3",
				"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachinePool", "name": "workers"},
			}},
		}
		if minReadySeconds != nil {
			spec["minReadySeconds"] = minReadySeconds
		}
		return map[string]any{
			"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
			"metadata": map[string]any{"namespace": "blue", "name": "workers"}, "spec": spec,
		}
	}
	for name, tc := range map[string]struct {
		reason        string
		present, want map[string]any
	}{
		"New": {reason: "Fields without a place in v1beta2 are left out.", want: upgraded(nil)},
		"Present": {
			reason: "Fields that Slipway does not read stay as they are stored, and a label that the edit removes is removed.",
			present: map[string]any{
				"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
				"metadata": map[string]any{"namespace": "blue", "name": "workers", "labels": map[string]any{"team": "a"}},
				"spec":     map[string]any{"replicas": int64(3), "minReadySeconds": int64(5)},
			},
			want: upgraded(int64(5)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var present *unstructured.Unstructured
			if tc.present != nil {
				present = &unstructured.Unstructured{Object: tc.present}
			}
			got, err := UpgradeMachinePool(present, &unstructured.Unstructured{Object: edited})
			if err != nil {
				t.Fatalf("UpgradeMachinePool: %v", err)
			}
			if diff := cmp.Diff(tc.want, got.Object); diff != "" {
				t.Errorf("%s UpgradeMachinePool: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

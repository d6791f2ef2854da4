package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// kindsPlanned are the kinds whose edits can be planned.
var kindsPlanned = []string{"AWSMachinePool", "AWSManagedMachinePool", "MachinePool", "AWSLaunchConfig", "AWSLaunchConfigTemplate"}

// CanPlan reports whether edits of a kind can be planned.
func CanPlan(kind string) bool { return slices.Contains(kindsPlanned, kind) }

// sameInBoth are the fields of a MachinePool that a pool's controller reads, and that both of its API
// versions have in the same place.
var sameInBoth = [][]string{
	{"metadata", "labels"},
	{"metadata", "annotations"},
	{"spec", "clusterName"},
	{"spec", "replicas"},
	{"spec", "template", "spec", "version"},
	{"spec", "template", "spec", "bootstrap", "dataSecretName"},
}

// UpgradeMachinePool returns a MachinePool of API version v1beta1 at v1beta2, which Slipway reads.
// Present is the stored one at v1beta2, nil for a MachinePool that is created. Only fields that Slipway
// reads are taken over: a client cannot ask the API server to convert what it does not store.
func UpgradeMachinePool(present, edited *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	upgraded := &unstructured.Unstructured{Object: map[string]any{}}
	if present != nil {
		upgraded = present.DeepCopy()
	}
	upgraded.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachinePool"))
	upgraded.SetNamespace(edited.GetNamespace())
	upgraded.SetName(edited.GetName())
	for _, path := range sameInBoth {
		value, found, err := unstructured.NestedFieldCopy(edited.Object, path...)
		if err != nil {
			return nil, err
		}
		if !found {
			unstructured.RemoveNestedField(upgraded.Object, path...)
			continue
		}
		if err := unstructured.SetNestedField(upgraded.Object, value, path...); err != nil {
			return nil, err
		}
	}
	reference, _, err := unstructured.NestedStringMap(edited.Object, "spec", "template", "spec", "infrastructureRef")
	if err != nil || reference == nil {
		return upgraded, err
	}
	group, err := schema.ParseGroupVersion(reference["apiVersion"])
	if err != nil {
		return nil, err
	}
	return upgraded, unstructured.SetNestedStringMap(upgraded.Object, map[string]string{
		"apiGroup": group.Group, "kind": reference["kind"], "name": reference["name"],
	}, "spec", "template", "spec", "infrastructureRef")
}

// KindsPlanned lists the kinds whose edits can be planned, for a message.
func KindsPlanned() string {
	return strings.Join(kindsPlanned[:len(kindsPlanned)-1], ", ") + ", and " + kindsPlanned[len(kindsPlanned)-1]
}

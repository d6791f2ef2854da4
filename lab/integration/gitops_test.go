package integration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// gitops is another field manager than the one that applied the manifests.
const gitops = "gitops"

// expectNoDifference holds that applying Slipway's kinds of a manifest again, by another manager,
// would change nothing: this is what kubectl diff shows, and what a GitOps controller compares. The
// two ways are a server-side apply and a merge of the manifest into the object.
func (w *world) expectNoDifference(applied []*unstructured.Unstructured) {
	w.Helper()
	for _, manifest := range applied {
		if manifest.GroupVersionKind().Group != infrav1.GroupVersion.Group {
			continue // Cluster API's own kinds, whose conversions from old versions are not Slipway's
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(manifest.GroupVersionKind())
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(manifest), live); err != nil {
			w.Fatal(err)
		}
		again := manifest.DeepCopy()
		if err := w.Client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(again), client.DryRunAll, client.FieldOwner(gitops), client.ForceOwnership); err != nil {
			w.Fatal(err)
		}
		merged := live.DeepCopy()
		patch, err := manifest.MarshalJSON()
		if err != nil {
			w.Fatal(err)
		}
		if err := w.Client.Patch(w.Context(), merged, client.RawPatch("application/merge-patch+json", patch), client.DryRunAll); err != nil {
			w.Fatal(err)
		}
		for way, after := range map[string]*unstructured.Unstructured{"server-side apply": again, "kubectl apply": merged} {
			if diff := cmp.Diff(withoutManagers(live), withoutManagers(after)); diff != "" {
				w.Errorf("%s of %s %s would change it (-live +applied):\n%s", way, manifest.GetKind(), manifest.GetName(), diff)
			}
		}
	}
}

// withoutManagers is an object but for who manages which field, which an apply always writes.
func withoutManagers(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	return object.Object
}

// manifests are the documents of a text as their author wrote them, in the test's namespace.
func (w *world) manifests(text string) []*unstructured.Unstructured {
	w.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var written []*unstructured.Unstructured
	for {
		document := &unstructured.Unstructured{}
		if err := decoder.Decode(document); errors.Is(err, io.EOF) {
			return written
		} else if err != nil {
			w.Fatal(err)
		}
		if len(document.Object) > 0 {
			document.SetNamespace(w.Namespace)
			written = append(written, document)
		}
	}
}

// example is the text of an example, with pairs of old and new text replaced.
func (w *world) example(name string, replacements ...string) string {
	w.Helper()
	content, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		w.Fatal(err)
	}
	return strings.NewReplacer(replacements...).Replace(string(content))
}

// TestApplyingAgainChangesNothing holds that Slipway writes no field that users write: neither of
// pools, nor of their launch configs and templates, before and after an edit rolled out.
func TestApplyingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const shared = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfig
metadata: {name: shared}
spec: {clusterName: capa, kubernetesVersion: v1.25.0, instanceType: t3.large, bootstrap: {dataSecretName: capa-mp-0}, rootVolume: {size: 50}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfigTemplate
metadata: {name: nodes}
spec: {template: {spec: {instanceType: t3.large, sshKeyName: default, rootVolume: {size: 40}}}}
`
	pool := w.example("machinepool.yaml", ownTemplate, "launchConfigTemplateRef: {name: nodes}\n")
	w.Apply(shared)
	w.Apply(pool)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	w.awaitConfigNamed("shared")
	w.rest()
	w.expectNoDifference(w.manifests(shared + "---\n" + pool))

	before, edited := w.running(), strings.ReplaceAll(shared, "t3.large", "m6i.large")
	w.Apply(edited)
	w.Eventually("the edit rolls", func() error { return w.replaced(before, 2) })
	w.rest()
	w.expectNoDifference(w.manifests(edited + "---\n" + pool))
}

// awaitConfigNamed waits until a launch config is ready.
func (w *world) awaitConfigNamed(name string) {
	w.Helper()
	w.Eventually("launch config "+name+" is ready", func() error {
		config := &infrav1.AWSLaunchConfig{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, config); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(config.Status.Conditions, infrav1.ReadyCondition) {
			return fmt.Errorf("conditions are %+v", config.Status.Conditions)
		}
		return nil
	})
}

// TestApplyingManagedAgainChangesNothing is the same for a managed pool.
func TestApplyingManagedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	manifest := w.example("managedmachinepool.yaml")
	w.Apply(manifest)
	w.Eventually("the managed pool has its two nodes", func() error { return w.managedSettled(2) })
	w.rest()
	w.expectNoDifference(w.manifests(manifest))
	w.expectNodeShape("AWSManagedMachinePool", managedName, map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "30Gi"})
}

// expectNodeShape holds what cluster-autoscaler's clusterapi provider reads of the object that a
// MachinePool refers to, in the way that it does.
func (w *world) expectNodeShape(kind, name string, capacity map[string]string) {
	w.Helper()
	pool := &unstructured.Unstructured{}
	pool.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool); err != nil {
		w.Fatal(err)
	}
	for field, want := range map[string]map[string]string{"capacity": capacity, "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}} {
		got, _, err := unstructured.NestedStringMap(pool.Object, "status", field)
		if err != nil {
			w.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("status.%s (-want +got):\n%s", field, diff)
		}
	}
}

// TestScaleFromZero holds that a pool without nodes says what one would be, and says so anew when
// the type changes.
func TestScaleFromZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.applyExample("replicas: 2", "replicas: 0", "minSize: 1", "minSize: 0")
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.expectNodeShape("AWSMachinePool", poolName, map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "8Gi"})
	w.editType("m6i.xlarge")
	w.Eventually("another type is told of", func() error {
		cpu := w.mustPool().Status.Capacity[corev1.ResourceCPU]
		return differs([]string{cpu.String()}, []string{"2"})
	})
	w.expectNodeShape("AWSMachinePool", poolName, map[string]string{"cpu": "4", "memory": "16Gi", "ephemeral-storage": "8Gi"})
}

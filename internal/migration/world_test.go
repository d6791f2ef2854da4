package migration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/preflight"
)

// world is a management cluster with an installation of CAPA and pools. Its controllers work while a
// migration waits for them.
type world struct {
	*testing.T
	client.Client
	// installed is true if Slipway's manager runs, and slipways if the definitions of pools are Slipway's.
	installed, slipways bool
	// patches is the number of patches that were applied. From the one with the number failsAt on, patches
	// fail: before they are applied, or after it if the answer is lost.
	patches, failsAt int
	lost             bool
	// conflicts is the number of patches that were refused because their object had changed.
	conflicts int
	progress  []string
}

// errCrash stops a run in the middle.
var errCrash = errors.New("the connection was lost")

// scheme returns the scheme that all worlds share.
var scheme = sync.OnceValues(Scheme)

// groupARN returns the ARN of an Auto Scaling group.
func groupARN(name string) string {
	return "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0b5d1c5e-1111-4222-8333-444455556666:autoScalingGroupName/" + name
}

// newWorld returns a world with the pools of two clusters that CAPA runs: "blue" has an AWSMachinePool and
// an AWSManagedMachinePool, and "green" has an AWSMachinePool. Green has spec.paused explicitly.
func newWorld(t *testing.T, change func([]client.Object) []client.Object) *world {
	t.Helper()
	infrastructure := clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSCluster", Name: "one"}
	objects := []client.Object{
		&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blue", Annotations: map[string]string{"note": "kept"}},
			Spec:       clusterv1.ClusterSpec{InfrastructureRef: infrastructure},
		},
		&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "green"},
			Spec:       clusterv1.ClusterSpec{Paused: ptr.To(false), InfrastructureRef: infrastructure},
		},
	}
	for _, one := range []struct{ cluster, name, kind string }{
		{"blue", "blue-mp-0", selfManaged}, {"blue", "blue-eks-0", managed}, {"green", "green-mp-0", selfManaged},
	} {
		machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: one.name, UID: "uid"}}
		machinePool.Spec.ClusterName = one.cluster
		machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: one.kind, Name: one.name}
		named := metav1.ObjectMeta{
			Namespace: "default", Name: one.name, Labels: map[string]string{clusterv1.ClusterNameLabel: one.cluster},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: one.name, UID: "uid"}},
		}
		template := &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
		config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: one.name}}
		config.Status.Resolved = &infrav1.ResolvedLaunchConfig{ImageID: "ami-0123456789abcdef0"}
		objects = append(objects, machinePool, config)
		if one.kind == managed {
			pool := &infrav1.AWSManagedMachinePool{ObjectMeta: named, Spec: infrav1.AWSManagedMachinePoolSpec{AWSLaunchTemplate: template}}
			objects = append(objects, pool)
			continue
		}
		template.ImageLookupBaseOS = "ubuntu-24.04"
		objects = append(objects, &infrav1.AWSMachinePool{ObjectMeta: named, Spec: infrav1.AWSMachinePoolSpec{ProviderID: groupARN(one.name), AWSLaunchTemplate: template}})
	}
	objects = append(objects, capaObjects(t)...)
	if change != nil {
		objects = change(objects)
	}
	scheme, err := scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, failsAt: -1}
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{Patch: w.patched}).Build()
	return w
}

// capaObjects returns the objects of CAPA's release, as an API server has them after a while.
func capaObjects(t *testing.T) []client.Object {
	t.Helper()
	content, err := os.ReadFile("testdata/capa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "Deployment" {
			object.Object["status"] = map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1), "readyReplicas": int64(1)}
		}
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, webhook := range webhooks { // which cert-manager injects
			if err := unstructured.SetNestedField(webhook.(map[string]any), "Y2VydGlmaWNhdGU=", "clientConfig", "caBundle"); err != nil {
				t.Fatal(err)
			}
		}
		if webhooks != nil {
			if err := unstructured.SetNestedSlice(object.Object, webhooks, "webhooks"); err != nil {
				t.Fatal(err)
			}
		}
		objects = append(objects, object)
	}
}

// patched applies a patch, unless the run crashes. The pods of a Deployment that was changed are replaced
// later.
func (w *world) patched(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if w.patches == w.failsAt && !w.lost {
		return errCrash
	}
	if err := c.Patch(ctx, object, patch, options...); err != nil && strings.Contains(err.Error(), "testing value /metadata/resourceVersion failed") {
		w.conflicts++ // what an API server returns
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", schema.GroupResource{}, object.GetName(), "", 0, false)
	} else if err != nil {
		return err
	}
	w.patches++
	if object.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
		deployment := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), deployment); err != nil {
			return err
		}
		deployment.Status.UpdatedReplicas, deployment.Status.AvailableReplicas = 0, 0
		if err := c.Status().Update(ctx, deployment); err != nil {
			return err
		}
	}
	if w.patches-1 == w.failsAt {
		return errCrash
	}
	return nil
}

// observe reads the world. The facts that preflight reads depend on whether Slipway is installed.
func (w *world) observe(ctx context.Context) (Observed, error) {
	cluster := preflight.Cluster{Version: "v1.36.3", Definitions: map[string]preflight.Definition{}}
	for _, name := range []string{"clusters", "machinepools", "machines"} {
		cluster.Definitions[name+".cluster.x-k8s.io"] = preflight.Definition{Served: []string{"v1beta2"}, Storage: "v1beta2"}
	}
	for _, name := range []string{"awsmachinepools", "awsmanagedmachinepools"} {
		definition := preflight.Definition{Served: []string{"v1beta2"}, Storage: "v1beta2"}
		if w.slipways {
			definition.Fields = []string{"launchConfigRef"}
		}
		cluster.Definitions[name+".infrastructure.cluster.x-k8s.io"] = definition
	}
	if w.slipways {
		for _, name := range []string{"awslaunchconfigs", "awslaunchconfigtemplates", "awsmachinepoolmachines", "awsmachinepooltemplates", "awsmanagedmachinepooltemplates"} {
			cluster.Definitions[name+".infrastructure.cluster.x-k8s.io"] = preflight.Definition{Served: []string{"v1beta2"}, Storage: "v1beta2"}
		}
	}
	if w.installed {
		cluster.Manager = &preflight.Deployment{Namespace: "slipway-system", Name: "slipway-manager", Replicas: 1}
	}
	return Observe(ctx, w.Client, preflight.Observed{Namespace: "slipway-system", Cluster: cluster})
}

// observed is observe for tests that cannot fail there.
func (w *world) observed() Observed {
	w.Helper()
	observed, err := w.observe(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return observed
}

// work does what the controllers of the world do while a migration waits.
func (w *world) work(ctx context.Context) error {
	deployments := &appsv1.DeploymentList{}
	if err := w.List(ctx, deployments); err != nil {
		return err
	}
	for i := range deployments.Items {
		status := &deployments.Items[i].Status
		status.UpdatedReplicas, status.AvailableReplicas = status.Replicas, status.Replicas
		if err := w.Status().Update(ctx, &deployments.Items[i]); err != nil {
			return err
		}
	}
	if !w.installed {
		return nil
	}
	own, eks := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}
	if err := errors.Join(w.List(ctx, own), w.List(ctx, eks)); err != nil {
		return err
	}
	for i := range own.Items {
		pool := &own.Items[i]
		pool.Status.AutoScalingGroup = nil
		if w.reconcile(ctx, pool, &pool.Status.Conditions) {
			pool.Status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{}
		}
		if err := w.Update(ctx, pool); err != nil {
			return err
		}
	}
	for i := range eks.Items {
		pool := &eks.Items[i]
		pool.Status.Nodegroup = nil
		if w.reconcile(ctx, pool, &pool.Status.Conditions) {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{}
		}
		if err := w.Update(ctx, pool); err != nil {
			return err
		}
	}
	return nil
}

// reconcile stands for Slipway: it takes a pool over, or releases it, and reports whether it manages the
// pool. It fails if Slipway could act on a pool while CAPA runs it.
func (w *world) reconcile(ctx context.Context, pool client.Object, conditions *[]metav1.Condition) bool {
	cluster := &clusterv1.Cluster{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: pool.GetNamespace(), Name: pool.GetLabels()[clusterv1.ClusterNameLabel]}, cluster); err != nil {
		w.Fatal(err)
	}
	adopted := len(*conditions) == 1 && (*conditions)[0].Type == infrav1.AdoptedCondition
	if ptr.Deref(cluster.Spec.Paused, false) {
		return adopted
	}
	condition := metav1.Condition{Type: infrav1.AdoptedCondition, Status: metav1.ConditionTrue, Reason: infrav1.AdoptedReason, ObservedGeneration: 1}
	if pool.GetAnnotations()[infrav1.ReleaseAnnotation] == "true" {
		condition.Type, condition.Reason = infrav1.ReleasedCondition, infrav1.ReleasedReason
	} else if seen := (&Observed{}); seen.readDeployments(ctx, w.Client) != nil || seen.capaRuns() {
		w.Errorf("Slipway takes %s over while CAPA runs it", pool.GetName())
	}
	*conditions = []metav1.Condition{condition}
	return condition.Type == infrav1.AdoptedCondition
}

func (w *world) runner() Runner {
	return Runner{
		Observe: w.observe, Writer: w.Client, Wait: w.work,
		Progress: func(step Step) { w.progress = append(w.progress, step.Name+" "+step.Target+" "+string(step.State)) },
	}
}

// migrate runs a migration until it is complete, with a user who does what a blocked step asks for.
func (w *world) migrate(direction Direction) {
	w.Helper()
	for {
		report, err := w.runner().Run(w.Context(), direction)
		if err != nil {
			w.Fatal(err)
		}
		next := report.Next()
		if next == nil {
			return
		}
		switch next.Name {
		case InstallSlipway:
			w.installed, w.slipways = true, true
		case UninstallSlipway:
			w.installed = false
		case RestoreDefinitions:
			w.slipways = false
		default:
			w.Fatalf("step %s of %s is %s: %s %s", next.Name, next.Target, next.State, next.Found, next.Remedy)
		}
	}
}

// contents returns the JSON of every object of the kinds, without what the API server counts.
func (w *world) contents(kinds ...string) map[string]string {
	w.Helper()
	contents := map[string]string{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		version := map[string]string{"Cluster": clusterVersion, "Deployment": "apps/v1"}[kind]
		switch kind {
		case selfManaged, managed:
			version = infrav1.GroupVersion.String()
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			version = "admissionregistration.k8s.io/v1"
		}
		list.SetAPIVersion(version)
		list.SetKind(kind + "List")
		if err := w.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		for i := range list.Items {
			for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
				unstructured.RemoveNestedField(list.Items[i].Object, "metadata", field)
			}
			delete(list.Items[i].Object, "status")
			encoded, err := json.MarshalIndent(list.Items[i].Object, "", " ")
			if err != nil {
				w.Fatal(err)
			}
			contents[kind+" "+list.Items[i].GetName()] = string(encoded)
		}
	}
	return contents
}

package release_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/migration"
	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/lab/clusterctl"
	"github.com/slipway-project/slipway/lab/crds"
	"github.com/slipway-project/slipway/lab/crds/bundle"
	"github.com/slipway-project/slipway/lab/release"
)

// capa is a management cluster with the released components of Cluster API Provider AWS and a pool. No
// controller runs: the test does what they would do.
type capa struct {
	*emptyCluster
	// definitions and components are files of CAPA's release.
	definitions, components string
	runner                  migration.Runner
}

// pool is the pool that is migrated.
var pool = client.ObjectKey{Namespace: "default", Name: "blue-mp-0"}

func newCAPA(t *testing.T) *capa {
	t.Helper()
	c := &capa{emptyCluster: newEmptyCluster(t)}
	if err := clusterctl.InstallCertManager(t.Context(), c.Client); err != nil {
		t.Fatal(err)
	}
	clusterAPI, err := crds.ClusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	if err := crds.ApplyDefinitions(t.Context(), c.Client, clusterAPI); err != nil {
		t.Fatal(err)
	}
	source, err := bundle.ModuleDir(bundle.ClusterAPIProviderAWS)
	if err != nil {
		t.Fatal(err)
	}
	built, err := release.Kustomize(filepath.Join(source, "config/default"))
	if err != nil {
		t.Fatal(err)
	}
	var definitions []string
	for _, document := range strings.Split(string(built), "\n---\n") {
		if strings.Contains(document, "\nkind: CustomResourceDefinition\n") {
			definitions = append(definitions, document)
		}
	}
	c.definitions, c.components = c.write("definitions.yaml", strings.Join(definitions, "\n---\n")), c.write("components.yaml", string(built))
	fillIn(t, c.components, map[string]string{"AWS_B64ENCODED_CREDENTIALS": "bm9uZQ==", "EXP_MACHINE_POOL": "true"})
	c.apply(c.definitions, "--server-side")
	c.addPool() // before the webhooks, which nothing serves here
	c.apply(c.components, "--server-side")
	c.connect()
	return c
}

func (c *capa) write(name, content string) string {
	c.Helper()
	path := filepath.Join(c.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// addPool creates the objects of a pool that CAPA manages.
func (c *capa) addPool() {
	c.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: "blue"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSCluster", Name: "blue"}
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: pool.Name}}
	machinePool.Spec.ClusterName, machinePool.Spec.Template.Spec.ClusterName = "blue", "blue"
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = &pool.Name
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: pool.Name}
	for _, object := range []client.Object{cluster, machinePool} {
		if err := c.Create(c.Context(), object); err != nil {
			c.Fatal(err)
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"minSize": int64(1), "maxSize": int64(2), "awsLaunchTemplate": map[string]any{"instanceType": "m5.large", "imageLookupBaseOS": "ubuntu-24.04"},
		"providerID": "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0b5d1c5e-1111-4222-8333-444455556666:autoScalingGroupName/" + pool.Name,
	}}}
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	object.SetNamespace(pool.Namespace)
	object.SetName(pool.Name)
	object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "blue"})
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: pool.Name, UID: machinePool.UID}})
	if err := c.Create(c.Context(), object); err != nil {
		c.Fatal(err)
	}
}

// connect has the migration read and change the cluster as the command does.
func (c *capa) connect() {
	c.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.Fatal(err)
	}
	config.QPS = -1
	kubernetes, err := preflight.NewKubernetes(config)
	if err != nil {
		c.Fatal(err)
	}
	objects, err := migration.NewClient(config)
	if err != nil {
		c.Fatal(err)
	}
	c.runner = migration.Runner{
		Observe: func(ctx context.Context) (migration.Observed, error) {
			const namespace = "slipway-system"
			return migration.Observe(ctx, objects, preflight.Observed{Now: time.Now(), Namespace: namespace, Cluster: kubernetes.ObserveCluster(ctx, namespace)})
		},
		Writer: objects, Wait: c.work, Progress: func(step migration.Step) { c.Logf("%s %s: %s", step.Name, step.Target, step.State) },
	}
}

// rollOut does the work of the Deployment controller.
func (c *capa) rollOut(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "capa-system", Name: "capa-controller-manager"}, deployment); err != nil {
		return err
	}
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	return c.Status().Update(ctx, deployment)
}

// work does the work of the Deployment controller and of Slipway.
func (c *capa) work(ctx context.Context) error {
	if err := c.rollOut(ctx); err != nil {
		return err
	}
	manager := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "slipway-system", Name: "slipway-manager"}, manager); err != nil {
		return client.IgnoreNotFound(err)
	}
	object := &infrav1.AWSMachinePool{}
	if err := c.Get(ctx, pool, object); err != nil {
		return err
	}
	condition := metav1.Condition{
		Type: infrav1.AdoptedCondition, Status: metav1.ConditionTrue, Reason: infrav1.AdoptedReason, Message: "done", ObservedGeneration: object.Generation, LastTransitionTime: metav1.Now(),
	}
	object.Status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: pool.Name}
	if object.Annotations[infrav1.ReleaseAnnotation] == "true" {
		object.Status.AutoScalingGroup, condition.Type, condition.Reason = nil, infrav1.ReleasedCondition, infrav1.ReleasedReason
	}
	object.Status.Conditions = []metav1.Condition{condition}
	return c.Status().Update(ctx, object)
}

// stopsAt migrates until a step that the user must do, or to the end if there is none.
func (c *capa) stopsAt(direction migration.Direction, want string) {
	c.Helper()
	report, err := c.runner.Run(c.Context(), direction)
	if err != nil {
		c.Fatal(err)
	}
	next := report.Next()
	if next == nil {
		next = &migration.Step{}
	}
	if next.Name != want {
		c.Fatalf("the migration stops at %+v, want %q", next, want)
	}
}

// foreign returns the JSON of the objects that are not Slipway's, without what the API server counts.
func (c *capa) foreign() map[string]string {
	c.Helper()
	found := map[string]string{}
	for _, one := range []struct{ version, kind, namespace, name string }{
		{clusterv1.GroupVersion.String(), "Cluster", pool.Namespace, "blue"},
		{"apps/v1", "Deployment", "capa-system", "capa-controller-manager"},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "capa-mutating-webhook-configuration"},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "capa-validating-webhook-configuration"},
	} {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(one.version)
		object.SetKind(one.kind)
		if err := c.Get(c.Context(), client.ObjectKey{Namespace: one.namespace, Name: one.name}, object); err != nil {
			c.Fatal(err)
		}
		for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		delete(object.Object, "status")
		encoded, err := json.MarshalIndent(object.Object, "", " ")
		if err != nil {
			c.Fatal(err)
		}
		found[one.kind] = string(encoded)
	}
	return found
}

// remove deletes an object, unless it is gone.
func (c *capa) remove(object client.Object) {
	c.Helper()
	if err := c.Delete(c.Context(), object); err != nil && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
}

// refusesStaleVersion fails if the API server takes a patch of an object that changes each time after it was
// observed.
func (c *capa) refusesStaleVersion() {
	c.Helper()
	runner, cluster := c.runner, &clusterv1.Cluster{}
	runner.Observe = func(ctx context.Context) (migration.Observed, error) {
		observed, err := c.runner.Observe(ctx)
		if err != nil {
			return observed, err
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: "blue"}, cluster); err != nil {
			return observed, err
		}
		cluster.Annotations = map[string]string{"note": "version " + cluster.ResourceVersion}
		return observed, c.Update(ctx, cluster)
	}
	_, err := runner.Run(c.Context(), migration.ToSlipway)
	if err == nil || !strings.Contains(err.Error(), "step pause-cluster of Cluster default/blue: patching Cluster blue") {
		c.Fatalf("the error is %v", err)
	}
	c.Logf("the API server refuses: %v", err)
	if err := c.Get(c.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		c.Fatal(err)
	}
	if cluster.Spec.Paused != nil {
		c.Error("the Cluster is paused")
	}
	cluster.Annotations = nil
	if err := c.Update(c.Context(), cluster); err != nil {
		c.Fatal(err)
	}
}

// TestMigrateFromCAPA migrates a pool from the released components of Cluster API Provider AWS to the
// release of Slipway and back, with a real API server: it takes the patches, and the objects of CAPA and
// Cluster API are the same afterwards.
func TestMigrateFromCAPA(t *testing.T) {
	directory := t.TempDir()
	if err := release.Write("../..", directory, "registry.example.com/slipway:v1.2.3"); err != nil {
		t.Fatal(err)
	}
	c := newCAPA(t)
	if err := c.rollOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.refusesStaleVersion()
	before := c.foreign()
	c.stopsAt(migration.ToSlipway, migration.InstallSlipway)
	c.apply(filepath.Join(directory, release.StandaloneFile), "--server-side", "--force-conflicts")
	// Nothing serves it here, and the manager writes its certificate.
	c.remove(&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: preflight.WebhookConfiguration}})
	c.stopsAt(migration.ToSlipway, "")
	cluster := &clusterv1.Cluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: pool.Namespace, Name: "blue"}, cluster); err != nil {
		t.Fatal(err)
	}
	if cluster.Spec.Paused != nil || len(cluster.Annotations) > 0 {
		t.Errorf("the Cluster has spec.paused %v and annotations %v", cluster.Spec.Paused, cluster.Annotations)
	}

	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: pool.Name}}
	config.Spec.ClusterName, config.Spec.InstanceType = "blue", "m5.large"
	if err := c.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	config.Status.Resolved = &infrav1.ResolvedLaunchConfig{ImageID: "ami-0123456789abcdef0"}
	if err := c.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	c.stopsAt(migration.ToCAPA, migration.UninstallSlipway)
	c.remove(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "slipway-manager"}})
	c.stopsAt(migration.ToCAPA, migration.RestoreDefinitions)
	c.apply(c.definitions, "--server-side", "--force-conflicts")
	c.stopsAt(migration.ToCAPA, "")
	if diff := cmp.Diff(before, c.foreign()); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	if err := c.Get(t.Context(), pool, object); err != nil {
		t.Fatal(err)
	}
	template, _, _ := unstructured.NestedMap(object.Object, "spec", "awsLaunchTemplate")
	if diff := cmp.Diff(map[string]any{"instanceType": "m5.large", "ami": map[string]any{"id": "ami-0123456789abcdef0"}}, template); diff != "" {
		t.Errorf("the launch template of the pool (-want +got):\n%s", diff)
	}
}

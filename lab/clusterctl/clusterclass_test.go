package clusterctl

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// donor is a cluster of the laboratory's. It supplies what the providers that do not run here would
// do for the cluster of the ClusterClass.
const donor = "donor"

// TestClusterClass creates a cluster of a ClusterClass with a machine pool class, on Cluster API's
// own topology controller, and edits its template.
func TestClusterClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.ClusterOptions{Name: donor})
	w.StartManager(product.Manager(product.Settings{}))
	content, err := os.ReadFile("../../examples/clusterclass.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.clusterTemplate()
	w.Apply(string(content))
	w.provide(clusterName)

	pool := &infrav1.AWSMachinePool{}
	w.Eventually("the class's pool has its two nodes", func() error { return errors.Join(w.poolOf(clusterName, pool), w.hasNodes(2)) })
	w.Eventually("it is complete", func() error {
		return errors.Join(w.poolOf(clusterName, pool), complete(pool, pool.Status.ObservedGeneration, pool.Status.Conditions))
	})
	if got := pool.Labels["team"]; got != "payments" {
		t.Errorf("the pool's label team is %q, want the template's", got)
	}
	generation := pool.Generation

	template := &infrav1.AWSMachinePoolTemplate{}
	w.get(w.Client, template, "workers")
	before := template.DeepCopy()
	template.Spec.Template.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
	if err := w.Client.Patch(t.Context(), template, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the edit of the template has rolled the pool", func() error {
		w.reconcileTopology(clusterName)
		if err := w.poolOf(clusterName, pool); err != nil {
			return err
		}
		return errors.Join(complete(pool, pool.Status.ObservedGeneration, pool.Status.Conditions), w.run("m6i.large", 2))
	})
	w.keeps(pool, generation)
}

// reconcileTopology has Cluster API reconcile a Cluster's topology every few seconds. Cluster API
// does not watch templates: it finds an edit when something else changes, or after its sync period.
func (w *world) reconcileTopology(name string) {
	w.Helper()
	cluster := &clusterv1.Cluster{}
	w.get(w.Client, cluster, name)
	at := time.Now().Truncate(3 * time.Second).Format(time.RFC3339)
	w.change(cluster, func() { metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, "laboratory/reconcile-at", at) })
}

// keeps holds that Cluster API and Slipway do not write the same pool in turns.
func (w *world) keeps(pool *infrav1.AWSMachinePool, before int64) {
	w.Helper()
	w.rest() // the list of provider ids is the last that is written
	w.get(w.Client, pool, pool.Name)
	after := pool.Generation
	if after <= before {
		w.Errorf("the pool's generation is %d, as before the edit", after)
	}
	w.rest()
	w.get(w.Client, pool, pool.Name)
	if pool.Generation != after {
		w.Errorf("the pool was written again and again: its generation is %d, and was %d at rest", pool.Generation, after)
	}
}

// clusterTemplate creates the template of the class's AWSCluster: the network of the donor.
func (w *world) clusterTemplate() {
	w.Helper()
	source := &capav1.AWSCluster{}
	w.get(w.Client, source, donor)
	template := &capav1.AWSClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "network"}}
	template.Spec.Template.Spec = *source.Spec.DeepCopy()
	template.Spec.Template.Spec.ControlPlaneEndpoint.Host, template.Spec.Template.Spec.ControlPlaneEndpoint.Port = "", 0
	if err := w.Client.Create(w.Context(), template); err != nil {
		w.Fatal(err)
	}
}

// provide does for a cluster what the providers that do not run here would: its infrastructure and
// control plane report what the donor's do, and it has Secrets like the donor's.
func (w *world) provide(name string) {
	w.Helper()
	cluster := w.madeOf(name)
	source, made := &capav1.AWSCluster{}, &capav1.AWSCluster{}
	w.get(w.Client, source, donor)
	w.get(w.Client, made, cluster.Spec.InfrastructureRef.Name)
	before := made.DeepCopy()
	made.Spec.ControlPlaneEndpoint = source.Spec.ControlPlaneEndpoint
	if err := w.Client.Patch(w.Context(), made, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
	before = made.DeepCopy()
	made.Status = source.Status
	controlPlane, ofDonor := &controlplanev1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{}
	w.get(w.Client, controlPlane, cluster.Spec.ControlPlaneRef.Name)
	w.get(w.Client, ofDonor, donor+"-control-plane")
	unready := controlPlane.DeepCopy()
	controlPlane.Status = ofDonor.Status
	controlPlane.Status.ObservedGeneration = controlPlane.Generation
	if err := errors.Join(
		w.Client.Status().Patch(w.Context(), made, client.MergeFrom(before)), w.Client.Status().Patch(w.Context(), controlPlane, client.MergeFrom(unready)),
	); err != nil {
		w.Fatal(err)
	}
}

// madeOf gives a cluster Secrets like the donor's, and waits until the topology controller has
// created its infrastructure and control plane.
func (w *world) madeOf(name string) *clusterv1.Cluster {
	w.Helper()
	secrets := &corev1.SecretList{}
	if err := w.Client.List(w.Context(), secrets, client.InNamespace(w.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: donor}); err != nil {
		w.Fatal(err)
	}
	for _, secret := range secrets.Items {
		if secret.Type != clusterv1.ClusterSecretType {
			continue
		}
		copied := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: name + secret.Name[len(donor):], Labels: map[string]string{clusterv1.ClusterNameLabel: name},
			},
			Type: secret.Type, Data: secret.Data,
		}
		if err := w.Client.Create(w.Context(), copied); err != nil {
			w.Fatal(err)
		}
	}
	cluster := &clusterv1.Cluster{}
	w.Eventually("the topology controller has made infrastructure and control plane", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, cluster); err != nil {
			return err
		}
		if !cluster.Spec.InfrastructureRef.IsDefined() || !cluster.Spec.ControlPlaneRef.IsDefined() {
			return fmt.Errorf("conditions are %+v", cluster.Status.Conditions)
		}
		return nil
	})
	return cluster
}

// poolOf reads the one pool of a cluster.
func (w *world) poolOf(cluster string, pool *infrav1.AWSMachinePool) error {
	pools := &infrav1.AWSMachinePoolList{}
	if err := w.Client.List(w.Context(), pools, client.InNamespace(w.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return err
	}
	if len(pools.Items) != 1 {
		return fmt.Errorf("there are %d pools", len(pools.Items))
	}
	pools.Items[0].DeepCopyInto(pool)
	return nil
}

// run is nil if so many instances run, all of the type.
func (w *world) run(instanceType ec2types.InstanceType, count int) error {
	running := 0
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.State.Name != ec2types.InstanceStateNameRunning {
			continue
		}
		running++
		if instance.InstanceType != instanceType {
			return fmt.Errorf("instance %s is a %s", *instance.InstanceId, instance.InstanceType)
		}
	}
	if running != count {
		return fmt.Errorf("%d instances run", running)
	}
	return nil
}

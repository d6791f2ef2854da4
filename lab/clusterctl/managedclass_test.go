package clusterctl

import (
	"errors"
	"fmt"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// managedVersion is the Kubernetes version of the EKS cluster.
const managedVersion = "v1.34.0"

// managedClass is a class of EKS clusters with a class of managed pools, and a cluster of it.
const managedClass = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata:
  name: managed
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSManagedClusterTemplate, name: managed}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AWSManagedControlPlaneTemplate, name: managed}
  workers:
    machinePools:
    - class: workers
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: EKSConfigTemplate, name: managed}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSManagedMachinePoolTemplate, name: managed}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedClusterTemplate
metadata:
  name: managed
spec:
  template:
    spec: {}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlaneTemplate
metadata:
  name: managed
spec:
  template:
    spec:
      region: us-east-1
      sshKeyName: default
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: EKSConfigTemplate
metadata:
  name: managed
spec:
  template:
    spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePoolTemplate
metadata:
  name: managed
spec:
  template:
    metadata:
      annotations:
        example.com/owner: payments
    spec:
      amiType: AL2023_x86_64_STANDARD
      availabilityZones: [us-east-1a]
      scaling:
        minSize: 1
        maxSize: 3
      awsLaunchTemplate:
        instanceType: t3.large
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: production
spec:
  clusterNetwork:
    pods:
      cidrBlocks: [192.168.0.0/16]
  topology:
    classRef:
      name: managed
    version: ` + managedVersion + `
    workers:
      machinePools:
      - class: workers
        name: mp-0
        replicas: 2
`

// TestClusterClassOfManagedPools creates an EKS cluster of a ClusterClass with a class of managed
// pools, on Cluster API's own topology controller, down to the nodes of an EKS node group, and
// edits the template of the pools.
func TestClusterClassOfManagedPools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.ClusterOptions{Name: donor, Managed: true, KubernetesVersion: managedVersion})
	w.StartManager(product.Manager(product.Settings{}))
	w.Apply(managedClass)
	w.provideManaged(clusterName, 1)

	pool := &infrav1.AWSManagedMachinePool{}
	settled := func(maxSize int32, instanceType ec2types.InstanceType) error {
		if err := errors.Join(w.managedPoolOf(clusterName, pool), w.hasNodes(2)); err != nil {
			return err
		}
		if err := complete(pool, pool.Status.ObservedGeneration, pool.Status.Conditions); err != nil {
			return err
		}
		return w.nodegroupIs(pool, maxSize, instanceType)
	}
	w.Eventually("the class's pool is a node group with its two nodes", func() error { return settled(3, "t3.large") })
	if got := pool.Annotations["example.com/owner"]; got != "payments" {
		t.Errorf("the pool's annotation is %q, want the template's", got)
	}

	template := &infrav1.AWSManagedMachinePoolTemplate{}
	w.get(w.Client, template, "managed")
	before := template.DeepCopy()
	template.Spec.Template.Spec.Scaling.MaxSize, template.Spec.Template.Spec.AWSLaunchTemplate.InstanceType = ptr.To[int32](5), "m6i.large"
	if err := w.Client.Patch(t.Context(), template, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the edit of the template has rolled the node group", func() error {
		w.reconcileTopology(clusterName)
		return settled(5, "m6i.large")
	})
}

// nodegroupIs is nil if the pool's node group is active, is bounded by a size, and all its
// instances are of a type.
func (w *world) nodegroupIs(pool *infrav1.AWSManagedMachinePool, maxSize int32, instanceType ec2types.InstanceType) error {
	out, err := eks.NewFromConfig(w.AWSConfig()).DescribeNodegroup(w.Context(), &eks.DescribeNodegroupInput{
		ClusterName: ptr.To(lab.EKSClusterName(w.Namespace, donor)), NodegroupName: &pool.Status.Nodegroup.Name,
	})
	if err != nil {
		return err
	}
	if got := out.Nodegroup; got.Status != ekstypes.NodegroupStatusActive || *got.ScalingConfig.MaxSize != maxSize {
		return fmt.Errorf("the node group is %s, and its size is %+v", got.Status, got.ScalingConfig)
	}
	return w.run(instanceType, 2)
}

// managedPoolOf reads the one managed pool of a cluster.
func (w *world) managedPoolOf(cluster string, pool *infrav1.AWSManagedMachinePool) error {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := w.Client.List(w.Context(), pools, client.InNamespace(w.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return err
	}
	if len(pools.Items) != 1 {
		return fmt.Errorf("there are %d managed pools", len(pools.Items))
	}
	pools.Items[0].DeepCopyInto(pool)
	return nil
}

// provideManaged does for an EKS cluster the work of Cluster API Provider AWS, which does not run
// here: infrastructure and control plane report what the donor's do, its EKS cluster is the
// donor's, and the EKSConfigs of its pools have bootstrap data.
func (w *world) provideManaged(name string, pools int) {
	w.Helper()
	cluster := w.madeOf(name)
	source, infrastructure := &capav1.AWSManagedCluster{}, &capav1.AWSManagedCluster{}
	w.get(w.Client, source, donor)
	w.get(w.Client, infrastructure, cluster.Spec.InfrastructureRef.Name)
	w.change(infrastructure, func() { infrastructure.Spec.ControlPlaneEndpoint = source.Spec.ControlPlaneEndpoint })
	w.reports(infrastructure, func() { infrastructure.Status = source.Status })

	ofDonor, controlPlane := &eksv1.AWSManagedControlPlane{}, &eksv1.AWSManagedControlPlane{}
	w.get(w.Client, ofDonor, donor+"-control-plane")
	w.get(w.Client, controlPlane, cluster.Spec.ControlPlaneRef.Name)
	w.change(controlPlane, func() {
		version := controlPlane.Spec.Version
		controlPlane.Spec = *ofDonor.Spec.DeepCopy()
		controlPlane.Spec.Version = version
	})
	w.reports(controlPlane, func() {
		controlPlane.Status = *ofDonor.Status.DeepCopy()
		controlPlane.Status.Version = controlPlane.Spec.Version
	})

	const data = "managed-bootstrap"
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: data, Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		StringData: map[string]string{"value": "#!/bin/bash\necho before it joins\n"},
	}
	if err := w.Client.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	configs := &unstructured.UnstructuredList{}
	configs.SetAPIVersion("bootstrap.cluster.x-k8s.io/v1beta2")
	configs.SetKind("EKSConfigList")
	w.Eventually("the topology controller has made the bootstrap configs of the pools", func() error {
		if err := w.Client.List(w.Context(), configs, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		if len(configs.Items) != pools {
			return fmt.Errorf("there are %d", len(configs.Items))
		}
		return nil
	})
	for i := range configs.Items {
		config := &configs.Items[i]
		w.reports(config, func() { config.Object["status"] = map[string]any{"ready": true, "dataSecretName": data} })
	}
}

// change changes an object, and reports what its status says, as its controller would.
func (w *world) change(object client.Object, change func()) {
	w.Helper()
	before := object.DeepCopyObject().(client.Object)
	change()
	if err := w.Client.Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) reports(object client.Object, report func()) {
	w.Helper()
	before := object.DeepCopyObject().(client.Object)
	report()
	if err := w.Client.Status().Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

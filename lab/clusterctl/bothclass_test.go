package clusterctl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// machineClass is a second class of pools in addition to managedClass: instances of an Auto Scaling
// group that join the same EKS cluster.
const machineClass = `
    - class: machines
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: EKSConfigTemplate, name: managed}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachinePoolTemplate, name: machines}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePoolTemplate
metadata:
  name: machines
spec:
  template:
    spec:
      minSize: 1
      maxSize: 3
      availabilityZones: [us-east-1a]
      awsLaunchTemplate:
        instanceType: t3.large
        iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io
        ami:
          eksLookupType: AmazonLinux2023
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedClusterTemplate`

// TestClusterClassOfBothKinds creates an EKS cluster from a ClusterClass with a class of each kind
// of pool, on Cluster API's own topology controller, down to the nodes of both, edits both
// templates, and deletes the cluster.
func TestClusterClassOfBothKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.ClusterOptions{Name: donor, Managed: true, KubernetesVersion: managedVersion})
	w.StartManager(product.Manager(product.Settings{}))
	const end = "\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSManagedClusterTemplate"
	w.Apply(strings.Replace(managedClass, end, machineClass, 1) + "      - class: machines\n        name: mp-1\n        replicas: 1\n")
	w.provideManaged(clusterName, 2)

	managed, machines := &infrav1.AWSManagedMachinePool{}, &infrav1.AWSMachinePool{}
	settled := func(instanceType ec2types.InstanceType) error {
		if err := errors.Join(w.managedPoolOf(clusterName, managed), w.poolOf(clusterName, machines), w.hasNodes(3)); err != nil {
			return err
		}
		return errors.Join(
			complete(managed, managed.Status.ObservedGeneration, managed.Status.Conditions),
			complete(machines, machines.Status.ObservedGeneration, machines.Status.Conditions),
			w.run(instanceType, 3),
		)
	}
	w.Eventually("both pools have their nodes", func() error { return settled("t3.large") })

	ofManaged, ofMachines := &infrav1.AWSManagedMachinePoolTemplate{}, &infrav1.AWSMachinePoolTemplate{}
	w.get(w.Client, ofManaged, "managed")
	w.get(w.Client, ofMachines, "machines")
	w.change(ofManaged, func() { ofManaged.Spec.Template.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.change(ofMachines, func() { ofMachines.Spec.Template.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the edits of the templates have rolled both pools", func() error {
		w.reconcileTopology(clusterName)
		return settled("m6i.large")
	})

	cluster := &clusterv1.Cluster{}
	w.get(w.Client, cluster, clusterName)
	if err := w.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.Eventually("neither pool has left anything", func() error {
		for _, list := range []client.ObjectList{&infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSMachinePoolList{}, &infrav1.AWSLaunchConfigList{}} {
			if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
				return err
			}
			if left := meta.LenList(list); left > 0 {
				return fmt.Errorf("%d objects of %T are left", left, list)
			}
		}
		return w.run("m6i.large", 0)
	})
}

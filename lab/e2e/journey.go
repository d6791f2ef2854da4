// Package e2e walks a pool of each kind through its life, on whatever management cluster and AWS
// account it is given: created with a node, edited and rolled, deleted with nothing left.
// `make test` walks it in the laboratory; with the build tag e2e it is walked on a real account
// (docs/how-to/e2e.md).
package e2e

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Target is the place of a journey: a cluster that is ready, whose network and control plane are
// managed elsewhere.
type Target struct {
	// Management reaches the management cluster, AWS the account that the cluster's machines are in.
	Management client.Client
	AWS        aws.Config
	// Namespace and Cluster name the Cluster, KubernetesVersion is the version of its nodes.
	Namespace, Cluster, KubernetesVersion string
	// InstanceProfile is the instance profile of self-managed nodes.
	InstanceProfile string
	// Pool is the name of the pool that is created.
	Pool string
	// Patience is how long a step may take.
	Patience time.Duration
	// Poll is how long to wait between two looks.
	Poll time.Duration
}

// firstType and secondType are the instance types before and after the edit.
const firstType, secondType = "t3.large", "m6i.large"

// MachinePool walks a pool with an Auto Scaling group of its own.
func MachinePool(t *testing.T, target Target) {
	t.Helper()
	objects := target.objects()
	walk(t, target, kind{
		pool: &infrav1.AWSMachinePool{ObjectMeta: objects, Spec: infrav1.AWSMachinePoolSpec{
			MinSize: 1, MaxSize: 2,
			AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: firstType, IamInstanceProfile: target.InstanceProfile},
		}},
		name: "AWSMachinePool",
		bootstrap: &bootstrapv1.KubeadmConfig{ObjectMeta: objects, Spec: bootstrapv1.KubeadmConfigSpec{
			JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: bootstrapv1.NodeRegistrationOptions{
				Name:             "{{ ds.meta_data.local_hostname }}",
				KubeletExtraArgs: []bootstrapv1.Arg{{Name: "cloud-provider", Value: ptr.To("external")}},
			}},
		}},
		state: func(object client.Object) (string, []string) {
			pool := object.(*infrav1.AWSMachinePool)
			return pool.Status.LaunchTemplateID, pool.Spec.ProviderIDList
		},
		edit: func(object client.Object) {
			object.(*infrav1.AWSMachinePool).Spec.AWSLaunchTemplate.InstanceType = secondType
		},
	})
}

// ManagedMachinePool walks a pool with an EKS managed node group.
func ManagedMachinePool(t *testing.T, target Target) {
	t.Helper()
	walk(t, target, kind{
		pool: &infrav1.AWSManagedMachinePool{ObjectMeta: target.objects(), Spec: infrav1.AWSManagedMachinePoolSpec{
			AMIType:           ptr.To(infrav1.ManagedMachineAMIType("AL2023_x86_64_STANDARD")),
			Scaling:           &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](2)},
			AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: firstType},
		}},
		name: "AWSManagedMachinePool",
		state: func(object client.Object) (string, []string) {
			pool := object.(*infrav1.AWSManagedMachinePool)
			return pool.Status.LaunchTemplateID, pool.Spec.ProviderIDList
		},
		edit: func(object client.Object) {
			object.(*infrav1.AWSManagedMachinePool).Spec.AWSLaunchTemplate.InstanceType = secondType
		},
	})
}

func (target Target) objects() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Pool}
}

// kind holds the differences between the two kinds of pools.
type kind struct {
	pool reconciling.Conditioned
	name string
	// bootstrap creates the user data, nil where EKS brings it.
	bootstrap client.Object
	// state is a pool's launch template and the provider ids of its instances.
	state func(client.Object) (template string, providerIDs []string)
	edit  func(client.Object)
}

// walk walks the journey. Whatever becomes of it, the pool is deleted at the end.
func walk(t *testing.T, target Target, kind kind) {
	t.Helper()
	w := walker{T: t, Target: target, kind: kind, ec2: ec2.NewFromConfig(target.AWS)}
	machinePool := w.machinePool()
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(target.Management.Delete(context.WithoutCancel(t.Context()), machinePool)); err != nil {
			t.Errorf("deleting the pool at the end: %v", err)
		}
	})
	w.create(machinePool, w.kind.pool)
	if kind.bootstrap != nil {
		w.create(kind.bootstrap)
	}
	w.eventually("a node of the first type is ready", func() error { return w.runs(firstType) })
	template, _ := kind.state(kind.pool)

	before := kind.pool.DeepCopyObject().(client.Object)
	kind.edit(kind.pool)
	if err := target.Management.Patch(t.Context(), kind.pool, client.MergeFrom(before)); err != nil {
		t.Fatalf("editing the pool: %v", err)
	}
	w.eventually("it is replaced by one of the second type", func() error { return w.runs(secondType) })

	if err := target.Management.Delete(t.Context(), machinePool); err != nil {
		t.Fatalf("deleting the MachinePool: %v", err)
	}
	w.eventually("the pool is gone, and its launch template", func() error { return w.gone(template) })
}

type walker struct {
	*testing.T
	Target
	kind kind
	ec2  *ec2.Client
}

func (w walker) machinePool() *clusterv1.MachinePool {
	spec := clusterv1.MachineSpec{
		ClusterName: w.Cluster, Version: w.KubernetesVersion,
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: w.kind.name, Name: w.Pool},
	}
	if w.kind.bootstrap != nil {
		spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: w.Pool,
		}}
	}
	return &clusterv1.MachinePool{ObjectMeta: w.objects(), Spec: clusterv1.MachinePoolSpec{
		ClusterName: w.Cluster, Replicas: ptr.To[int32](1), Template: clusterv1.MachineTemplateSpec{Spec: spec},
	}}
}

func (w walker) create(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		if err := w.Management.Create(w.Context(), object); err != nil {
			w.Fatalf("creating %T %s: %v", object, object.GetName(), err)
		}
	}
}

// eventually polls until see returns nil.
func (w walker) eventually(reason string, see func() error) {
	w.Helper()
	end := time.Now().Add(w.Patience)
	for {
		err := see()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("after %v it was not so that %s: %v", w.Patience, reason, err)
		}
		time.Sleep(w.Poll)
	}
}

// runs returns nil once the pool has rolled out its current spec, Cluster API has its node, and EC2
// reports that it is of the type.
func (w walker) runs(instanceType string) error {
	machinePool := &clusterv1.MachinePool{}
	if err := w.Management.Get(w.Context(), client.ObjectKeyFromObject(w.kind.pool), machinePool); err != nil {
		return err
	}
	if err := w.Management.Get(w.Context(), client.ObjectKeyFromObject(w.kind.pool), w.kind.pool); err != nil {
		return err
	}
	for _, name := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		condition := meta.FindStatusCondition(w.kind.pool.GetConditions(), name)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != w.kind.pool.GetGeneration() {
			return fmt.Errorf("condition %s is %+v", name, condition)
		}
	}
	_, providerIDs := w.kind.state(w.kind.pool)
	if len(providerIDs) != 1 || len(machinePool.Status.NodeRefs) != 1 {
		return fmt.Errorf("instances are %q, nodes %+v", providerIDs, machinePool.Status.NodeRefs)
	}
	id := path.Base(providerIDs[0]) // aws:///ZONE/INSTANCE
	out, err := w.ec2.DescribeInstances(w.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return err
	}
	if got := out.Reservations[0].Instances[0].InstanceType; string(got) != instanceType {
		return fmt.Errorf("instance %s is a %s", id, got)
	}
	return nil
}

// gone returns nil once nothing is left of the pool.
func (w walker) gone(template string) error {
	err := w.Management.Get(w.Context(), client.ObjectKeyFromObject(w.kind.pool), w.kind.pool)
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the pool is still there: %w", err)
	}
	_, err = w.ec2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{template}})
	var refused smithy.APIError
	if errors.As(err, &refused) && refused.ErrorCode() == "InvalidLaunchTemplateId.NotFound" {
		return nil
	}
	return fmt.Errorf("launch template %s is still there: %w", template, err)
}

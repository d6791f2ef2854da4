package adversary

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// hostile is the label of the objects that a tenant attacks with.
const hostile = "hostile"

// meta is the metadata of a hostile object in a cluster of the tenant's.
func (n *tenant) meta(name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: n.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster, hostile: "true"}}
}

// config is a launch config that works, of the cluster that is not the honest one.
func (n *tenant) config(name string) *infrav1.AWSLaunchConfig {
	config := &infrav1.AWSLaunchConfig{ObjectMeta: n.meta(name, rogue)}
	config.Spec.ClusterName, config.Spec.InstanceType, config.Spec.KubernetesVersion = rogue, "t3.large", "v1.25.0"
	return config
}

// pool is a machine pool that works, together with the objects that core Cluster API creates for
// it.
func (n *tenant) pool(name string) (*infrav1.AWSMachinePool, []client.Object) {
	pool := &infrav1.AWSMachinePool{ObjectMeta: n.meta(name, rogue), Spec: infrav1.AWSMachinePoolSpec{
		MaxSize: 3, Subnets: []infrav1.AWSResourceReference{{ID: ptr.To(subnet)}}, AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"},
	}}
	secret := &corev1.Secret{ObjectMeta: n.meta(name, rogue), Type: clusterv1.ClusterSecretType, StringData: map[string]string{
		"value": "#cloud-config\nruncmd:\n- echo " + name + "\n", "format": "cloud-config",
	}}
	return pool, []client.Object{secret, n.machinePool(name, rogue, "AWSMachinePool", "v1.25.0", ptr.To(name))}
}

// managedPool is a managed pool that works, with its MachinePool.
func (n *tenant) managedPool(name string) (*infrav1.AWSManagedMachinePool, []client.Object) {
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: n.meta(name, rogueManaged), Spec: infrav1.AWSManagedMachinePoolSpec{
		AMIType: ptr.To(infrav1.AMITypeAL2023X86), SubnetIDs: []string{subnet},
		Scaling:           &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](3)},
		AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"},
	}}
	return pool, []client.Object{n.machinePool(name, rogueManaged, "AWSManagedMachinePool", version, ptr.To(""))}
}

func (n *tenant) machinePool(name, cluster, kind, version string, data *string) *clusterv1.MachinePool {
	return &clusterv1.MachinePool{ObjectMeta: n.meta(name, cluster), Spec: clusterv1.MachinePoolSpec{
		ClusterName: cluster, Replicas: ptr.To[int32](1), Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: cluster, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: data},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name},
		}},
	}}
}

// create creates objects as the tenant's user. The last one is owned by the MachinePool among them.
func (n *tenant) create(object client.Object, before ...client.Object) error {
	for _, other := range before {
		if err := n.user.Create(n.Context(), other); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if machinePool, is := other.(*clusterv1.MachinePool); is {
			if err := n.user.Get(n.Context(), client.ObjectKeyFromObject(machinePool), machinePool); err != nil {
				return err
			}
			object.SetOwnerReferences(append(object.GetOwnerReferences(), owned(clusterv1.GroupVersion.WithKind("MachinePool"), machinePool)))
		}
	}
	return n.user.Create(n.Context(), object)
}

func owned(kind schema.GroupVersionKind, by client.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: by.GetName(), UID: by.GetUID(), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// impersonate creates a cluster with the name of the third one, on the attacker's own
// infrastructure, and calls it ready.
func (n *tenant) impersonate() error {
	cluster := &clusterv1.Cluster{}
	if err := n.user.Get(n.Context(), client.ObjectKey{Namespace: n.namespace, Name: rogue}, cluster); err != nil {
		return err
	}
	twin := &clusterv1.Cluster{ObjectMeta: n.meta(third, third), Spec: *cluster.Spec.DeepCopy()}
	if err := n.user.Create(n.Context(), twin); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	return report(n, &clusterv1.Cluster{}, third, func(twin *clusterv1.Cluster) { twin.Status.Initialization = cluster.Status.Initialization })
}

// located returns the annotations with which Slipway finds the resources to delete, for a cluster
// of any name.
func (n *tenant) located(cluster string) map[string]string {
	name := string(n.identity.Kind)
	if n.identity.Name != "default" {
		name += "/" + n.identity.Name
	}
	return map[string]string{
		ownership.RegionAnnotation: n.Cloud.Region(), ownership.ClusterAnnotation: cluster, ownership.IdentityAnnotation: name, ownership.AccountAnnotation: n.account,
	}
}

// invented is a reference to a controller that does not exist.
func invented(kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: kind, Name: name, UID: uuid.NewUUID(), Controller: ptr.To(true)}
}

// lists are the kinds of hostile objects, in the order in which they are cleared away.
func lists() []client.ObjectList {
	return []client.ObjectList{
		&clusterv1.MachinePoolList{}, &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSMachinePoolMachineList{},
		&infrav1.AWSLaunchConfigList{}, &infrav1.AWSLaunchConfigTemplateList{}, &corev1.SecretList{},
	}
}

// attacking returns the tenant's hostile objects.
func (n *tenant) attacking() (objects []client.Object, err error) {
	for _, list := range lists() {
		if err := n.user.List(n.Context(), list, client.InNamespace(n.namespace), client.HasLabels{hostile}); err != nil {
			return nil, err
		}
		objects = append(objects, itemsOf(list)...)
	}
	return objects, nil
}

// clear takes the tenant's hostile objects away, at once where their deletion hangs.
func (n *tenant) clear() {
	n.Helper()
	began := n.clock.Now()
	n.Eventually("the hostile objects are gone", func() error {
		objects, err := n.attacking()
		if err != nil || len(objects) == 0 {
			return err
		}
		for _, object := range objects {
			if object.GetDeletionTimestamp().IsZero() {
				if err := client.IgnoreNotFound(n.user.Delete(n.Context(), object)); err != nil {
					return err
				}
			}
			if n.clock.Now().Sub(began) > patience && len(object.GetFinalizers()) > 0 {
				before := object.DeepCopyObject().(client.Object)
				object.SetFinalizers(nil)
				if err := client.IgnoreNotFound(n.user.Patch(n.Context(), object, client.MergeFrom(before))); err != nil {
					return err
				}
			}
		}
		return fmt.Errorf("%d are left", len(objects))
	})
}

// patience is the time that a hostile object may take to go by itself.
const patience = 10 * time.Minute

// change edits an object as the tenant's user.
func change[T client.Object](n *tenant, object T, name string, edit func(T)) error {
	if err := n.user.Get(n.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, object); err != nil {
		return err
	}
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	return n.user.Patch(n.Context(), object, client.MergeFrom(before))
}

// report edits an object's status as the tenant's user.
func report[T client.Object](n *tenant, object T, name string, edit func(T)) error {
	if err := n.user.Get(n.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, object); err != nil {
		return err
	}
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	return n.user.Status().Patch(n.Context(), object, client.MergeFrom(before))
}

// pass lets simulated time go by.
func (w *world) pass(duration time.Duration) {
	w.Helper()
	end := w.clock.Now().Add(duration)
	w.EventuallyWithin(10*time.Minute, fmt.Sprintf("%v pass", duration), func() error {
		if now := w.clock.Now(); now.Before(end) {
			return fmt.Errorf("%v are left", end.Sub(now))
		}
		return nil
	})
}

// finalizers are Slipway's own.
var finalizers = []string{infrav1.MachinePoolFinalizer, infrav1.ManagedMachinePoolFinalizer, infrav1.LaunchConfigFinalizer, infrav1.MachinePoolMachineFinalizer}

// withFinalizer adds the one of Slipway's that an object of the kind has.
func withFinalizer(object client.Object) {
	switch object.(type) {
	case *infrav1.AWSMachinePool:
		controllerutil.AddFinalizer(object, infrav1.MachinePoolFinalizer)
	case *infrav1.AWSManagedMachinePool:
		controllerutil.AddFinalizer(object, infrav1.ManagedMachinePoolFinalizer)
	case *infrav1.AWSLaunchConfig:
		controllerutil.AddFinalizer(object, infrav1.LaunchConfigFinalizer)
	case *infrav1.AWSMachinePoolMachine:
		controllerutil.AddFinalizer(object, infrav1.MachinePoolMachineFinalizer)
	}
}

func itemsOf(list client.ObjectList) (objects []client.Object) {
	switch list := list.(type) {
	case *clusterv1.MachinePoolList:
		return pointers(list.Items)
	case *infrav1.AWSMachinePoolList:
		return pointers(list.Items)
	case *infrav1.AWSManagedMachinePoolList:
		return pointers(list.Items)
	case *infrav1.AWSMachinePoolMachineList:
		return pointers(list.Items)
	case *infrav1.AWSLaunchConfigList:
		return pointers(list.Items)
	case *infrav1.AWSLaunchConfigTemplateList:
		return pointers(list.Items)
	case *corev1.SecretList:
		return pointers(list.Items)
	}
	return nil
}

func pointers[T any, P interface {
	*T
	client.Object
}](items []T) (objects []client.Object) {
	for i := range items {
		objects = append(objects, P(&items[i]))
	}
	return slices.Clip(objects)
}

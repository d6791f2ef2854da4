package provisioningtest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// tracker holds the objects of the API server. The fake client stamps deletions with the time of
// the machine, so that waits that are counted from them would never expire; tracker has them on the
// clock of the world, and gives the pods of Nodes their grace period.
type tracker struct {
	clienttesting.ObjectTracker
	clock clock.PassiveClock
}

// newTracker returns an empty tracker that keeps managed fields, with types that are deduced from the
// objects: nothing is applied by the server.
func newTracker(scheme *runtime.Scheme, clk clock.PassiveClock) *tracker {
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder()
	return &tracker{clienttesting.NewFieldManagedObjectTracker(scheme, decoder, managedfields.NewDeducedTypeConverter()), clk}
}

// Update implements ObjectTracker. The fake client marks an object as being deleted by an update.
func (t *tracker) Update(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions) error {
	next, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("reading the metadata of an update: %w", err)
	}
	if next.GetDeletionTimestamp() != nil {
		stored, err := t.Get(resource, namespace, next.GetName())
		if err != nil {
			return err
		}
		before, err := meta.Accessor(stored)
		if err != nil {
			return fmt.Errorf("reading the metadata of a stored object: %w", err)
		}
		deletion := before.GetDeletionTimestamp()
		if deletion == nil {
			deletion = ptr.To(metav1.NewTime(t.clock.Now().Add(gracePeriod(object))).Rfc3339Copy())
		}
		next.SetDeletionTimestamp(deletion)
	}
	return t.ObjectTracker.Update(resource, object, namespace, options...)
}

// gracePeriod returns how long an object may take to terminate: zero unless it is a pod of a Node
// (Kubernetes: registry/core/pod, strategy.go).
func gracePeriod(object runtime.Object) time.Duration {
	pod, is := object.(*corev1.Pod)
	if !is || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	return time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
}

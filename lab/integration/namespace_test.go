package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestNamespaceDeletion deletes a namespace that has a cluster with a pool of each kind. The
// namespace controller deletes all objects at once, and nothing can be created any longer: while
// the groups are being deleted, each pool reports what is left, and in the end nothing is left in
// Kubernetes and AWS.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.createSecret("eks-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\n/etc/eks/bootstrap.sh capa\n")})
	w.applyExample(bootstrapBySecret("eks-bootstrap")...)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	w.applyManaged()
	w.Eventually("the managed pool has its two nodes", func() error { return w.managedSettled(2) })
	w.clock.SetRate(unhurried)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := w.Client.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	// Both are checked together: the one may be gone before the other reports what is left.
	var poolReported, managedReported bool
	w.Eventually("the pools report that their groups are left", func() error {
		var failures []error
		if !poolReported {
			pool, err := w.pool()
			err = errors.Join(err, reportsLeft(pool.Status.Conditions, poolName))
			poolReported, failures = err == nil, append(failures, err)
		}
		if !managedReported {
			pool, err := w.managed()
			err = errors.Join(err, reportsLeft(pool.Status.Conditions, "node group"))
			managedReported, failures = err == nil, append(failures, err)
		}
		return errors.Join(failures...)
	})
	w.clock.SetRate(rate)
	w.Eventually("AWS holds nothing of it", func() error {
		if groups := w.nodegroups(); len(groups) > 0 {
			return fmt.Errorf("node groups %q are left", groups)
		}
		if roles := w.nodeRoles(); len(roles) > 0 {
			return fmt.Errorf("IAM roles %q are left", roles)
		}
		return w.remains()
	})
	w.Eventually("the namespace is gone", func() error {
		err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading it: %w; its conditions are %+v", err, namespace.Status.Conditions)
	})
}

// reportsLeft is nil if the Deleting condition says that something is left.
func reportsLeft(conditions []metav1.Condition, what string) error {
	deleting := meta.FindStatusCondition(conditions, infrav1.DeletingCondition)
	if deleting == nil || deleting.Status != metav1.ConditionTrue || !strings.Contains(deleting.Message, what) {
		return fmt.Errorf("it does not say that %q is left: %+v", what, conditions)
	}
	return nil
}

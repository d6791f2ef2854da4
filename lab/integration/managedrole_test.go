package integration

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/noderole"
)

// TestManagedSharedRole holds that a role that the user named and that did not exist is created,
// that another pool may have it too, and that it is deleted with the last of them: under nodes it
// stays as it is.
func TestManagedSharedRole(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	const role, second = "shared-nodes", "capa-mmp-1"
	named := []string{"  scaling:\n", "  roleName: " + role + "\n  scaling:\n"}
	w.haveManaged(named...)
	if made := w.mustManaged().Status.NodeRole; made == nil || made.Name != role || !made.Managed {
		t.Fatalf("the role is %+v", made)
	}
	w.applyManaged(append(named, managedName, second)...)
	w.Eventually("the second pool has its nodes", func() error { return w.managedNamedReady(second) })

	w.remove(&clusterv1.MachinePool{}, managedName)
	w.Eventually("the first pool is gone", func() error {
		if _, err := w.managed(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	attached, err := w.iam().ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(role)})
	if err != nil || len(attached.AttachedPolicies) < len(noderole.NodePolicies("aws")) {
		t.Fatalf("the second pool's nodes have a role with policies %+v, %v", attached, err)
	}
	w.awaitEvents("NodeRoleHandedOver")

	w.remove(&clusterv1.MachinePool{}, second)
	w.Eventually("the role went with the last pool", func() error {
		_, err := w.iam().GetRole(w.Context(), &iam.GetRoleInput{RoleName: aws.String(role)})
		if err == nil {
			return fmt.Errorf("role %s is there", role)
		}
		return nil
	})
}

func (w *world) managedNamedReady(name string) error {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, pool); err != nil {
		return err
	}
	if pool.Status.Nodegroup == nil || pool.Status.Nodegroup.Status != "ACTIVE" || len(pool.Spec.ProviderIDList) != 2 {
		return fmt.Errorf("status is %+v", pool.Status)
	}
	return nil
}

package clusteridentity

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/watches"
)

// byWait is the index of the cache that finds the objects that wait for an identity, by the value waits.
const (
	byWait = "waitsForIdentity"
	waits  = "true"
)

// Indexes returns the indexes of the cache that the controller needs.
func Indexes() []watches.Index {
	return []watches.Index{
		{Object: &infrav1.AWSMachinePool{}, Name: byWait, Values: waitOf},
		{Object: &infrav1.AWSManagedMachinePool{}, Name: byWait, Values: waitOf},
		{Object: &infrav1.AWSLaunchConfig{}, Name: byWait, Values: waitOf},
	}
}

// waitOf returns waits for an object that cannot go on without an identity.
func waitOf(object client.Object) []string {
	var conditions []metav1.Condition
	switch object := object.(type) {
	case *infrav1.AWSMachinePool:
		conditions = object.Status.Conditions
	case *infrav1.AWSManagedMachinePool:
		conditions = object.Status.Conditions
	case *infrav1.AWSLaunchConfig:
		conditions = object.Status.Conditions
	}
	reasons := []string{infrav1.IdentityNotFoundReason, infrav1.IdentityNotAllowedReason, infrav1.IdentityInvalidReason, infrav1.CredentialsInvalidReason}
	for _, kind := range []string{infrav1.ClusterInfrastructureReadyCondition, infrav1.DeletingCondition} {
		if condition := meta.FindStatusCondition(conditions, kind); condition != nil && slices.Contains(reasons, condition.Reason) {
			return []string{waits}
		}
	}
	return nil
}

package webhooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// approvalOnPool checks an approval on a pool, whose versions are its launch config's. It admits
// the approval if the launch config cannot be read.
func approvalOnPool(ctx context.Context, reader client.Reader, before, pool client.Object, reference *infrav1.LaunchConfigReference) error {
	if !newApproval(before, pool) {
		return nil
	}
	key := client.ObjectKeyFromObject(pool)
	if reference != nil {
		key.Name = reference.Name
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := reader.Get(ctx, key, config); err != nil && !apierrors.IsNotFound(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Admitting an approval unchecked", "reason", err.Error())
		return nil
	}
	return approval(before, pool, config)
}

// newApproval reports whether an update approves a version. An earlier approval is not checked
// again: every later update would be refused once the version is deleted.
func newApproval(before, after client.Object) bool {
	approved := after.GetAnnotations()[infrav1.ApprovedVersionAnnotation]
	return after.GetDeletionTimestamp().IsZero() && approved != "" && approved != before.GetAnnotations()[infrav1.ApprovedVersionAnnotation]
}

// approval returns an error for an update that approves a version which the launch config does not have.
func approval(before, after client.Object, config *infrav1.AWSLaunchConfig) error {
	approved := after.GetAnnotations()[infrav1.ApprovedVersionAnnotation]
	if !newApproval(before, after) || config.HasVersion(approved) {
		return nil
	}
	state := "no version waits for approval"
	if pending := config.Status.PendingVersion; pending != 0 {
		state = fmt.Sprintf("version %d waits for approval", pending)
	} else if len(config.Status.Versions) == 0 {
		state = "the launch template has no version yet"
	}
	return field.Invalid(field.NewPath("metadata", "annotations").Key(infrav1.ApprovedVersionAnnotation), approved,
		"the launch template has no version with this number, so the annotation would approve nothing; "+state)
}

package common

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ReleaseLaunchConfig has the launch config of a pool that goes back to CAPA leave a newest version
// that CAPA finds in order. The outcome ends the step until it is there.
func ReleaseLaunchConfig(ctx context.Context, c client.Client, pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig) *reconciling.Outcome {
	if config.Annotations[infrav1.ReleaseAnnotation] != "true" {
		err := reconciling.Patch(ctx, c, config, func(config *infrav1.AWSLaunchConfig) {
			metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
		})
		if err != nil {
			return ending(reconciling.Fail(fmt.Errorf("releasing the launch config: %w", err)))
		}
	}
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReleasedCondition)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != config.Generation {
		const message = "the launch template is being made as Cluster API Provider AWS would have it"
		return ending(RefuseRelease(pool, infrav1.ReleasingReason, message))
	}
	return nil
}

// RefuseRelease says in the condition why a pool is not released, or not yet, and waits for that to change.
func RefuseRelease(pool reconciling.Conditioned, reason, message string) reconciling.Outcome {
	reconciling.False(pool, infrav1.ReleasedCondition, reason, message)
	return reconciling.Stop(message)
}

// LetLaunchConfigGo ends the launch config of a pool that went back to CAPA, whose template stays.
// The outcome ends the step until it is gone. Live reads past the cache.
func LetLaunchConfigGo(ctx context.Context, live client.Reader, c client.Client, pool reconciling.Conditioned) *reconciling.Outcome {
	config := &infrav1.AWSLaunchConfig{}
	err := live.Get(ctx, client.ObjectKeyFromObject(pool), config)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(config, pool) {
		return nil
	}
	if err != nil {
		return ending(reconciling.Fail(fmt.Errorf("reading AWSLaunchConfig %q: %w", pool.GetName(), err)))
	}
	if config.Annotations[infrav1.ReleaseAnnotation] != "true" {
		return ending(reconciling.Fail(fmt.Errorf("AWSLaunchConfig %q has not been released", config.Name)))
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, config)); err != nil {
		return ending(reconciling.Fail(fmt.Errorf("deleting AWSLaunchConfig %q: %w", config.Name, err)))
	}
	const message = "the launch config is going"
	return ending(RefuseRelease(pool, infrav1.ReleasingReason, message))
}

// ShowReleased says that a pool has gone back to CAPA, and how it comes to Slipway again.
func ShowReleased(pool reconciling.Conditioned) reconciling.Outcome {
	reconciling.Remove(pool, infrav1.AdoptedCondition)
	message := fmt.Sprintf("nothing is done for this pool any more: let Cluster API Provider AWS run it. Take annotation %s away to have it adopted again",
		infrav1.ReleaseAnnotation)
	reconciling.True(pool, infrav1.ReleasedCondition, infrav1.ReleasedReason, message)
	return reconciling.Stop(message)
}

// Releasing is true for a pool that goes back to CAPA.
func Releasing(pool client.Object) bool {
	return pool.GetAnnotations()[infrav1.ReleaseAnnotation] == "true"
}

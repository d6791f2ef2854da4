package machinepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

func (c createLaunchConfig) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	config, err := a.Memory.created.Create(ctx, a.Client, a.Object, c.Config, a.Clock.Now())
	if err == nil {
		a.Seen.LaunchConfig.Object = config
	}
	return nil, err
}

// patchConfig changes the launch config of the pool.
func (a actor) patchConfig(ctx context.Context, change func(*infrav1.AWSLaunchConfig)) error {
	config := a.Seen.LaunchConfig.Object.DeepCopy()
	if err := reconciling.Patch(ctx, a.Client, config, change); err != nil {
		return err
	}
	a.Seen.LaunchConfig.Object = config
	return nil
}

func (u updateLaunchConfig) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, a.patchConfig(ctx, func(config *infrav1.AWSLaunchConfig) {
		config.Spec, config.Labels, config.Annotations = *u.Spec.DeepCopy(), u.Labels, u.Annotations
	})
}

func (r rollBack) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := a.patchConfig(ctx, func(config *infrav1.AWSLaunchConfig) { config.Spec.Rollback = r.Rollback.DeepCopy() }); err != nil {
		return nil, fmt.Errorf("going back to version %d: %w", r.Rollback.Version, err)
	}
	return eventsOf(reconcile.Warningf(infrav1.RolledBackEvent, "The roll-out failed. Rolling back to the "+
		"configuration of version %d: %s", r.Rollback.Version, r.Rollback.Reason)), nil
}

func (m markReleased) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, a.patchConfig(ctx, func(config *infrav1.AWSLaunchConfig) {
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
	})
}

func (d deleteLaunchConfig) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, client.IgnoreNotFound(a.Client.Delete(ctx, a.Seen.Leftovers.Config))
}

// do deletes a launch template with the owner's bootstrap data.
func (d deleteTemplate) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := pool.DeleteTemplate(ctx, a.Memory.cloud, d.Owner, d.Template); err != nil {
		return nil, err
	}
	a.Seen.Leftovers.Templates = a.Seen.Leftovers.Templates[1:]
	return eventsOf(reconcile.Eventf(infrav1.LaunchTemplateDeletedEvent, "Deleted launch template %s (%s), whose "+
		"AWSLaunchConfig no longer exists", d.Template.Name, d.Template.ID)), nil
}

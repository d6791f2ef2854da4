package managedmachinepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

func (c createLaunchConfig) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	config := c.Config.DeepCopy()
	if err := controllerutil.SetControllerReference(a.Object, config, a.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("owning the launch config: %w", err)
	}
	if err := a.Client.Create(ctx, config); err != nil {
		return nil, err
	}
	a.Memory.created, a.Memory.createdAt = config.DeepCopy(), a.Clock.Now()
	a.Seen.LaunchConfig.Object = config
	return nil, nil
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

func (m markReleased) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, a.patchConfig(ctx, func(config *infrav1.AWSLaunchConfig) {
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
	})
}

func (d deleteLaunchConfig) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, client.IgnoreNotFound(a.Client.Delete(ctx, a.Seen.Leftovers.Config))
}

// do deletes a launch template with the owner's bootstrap data wherever versions of the template
// say that some is kept.
func (d deleteTemplate) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	cloud := a.Memory.cloud
	versions, err := cloud.Templates.Versions(ctx, d.Template.ID)
	if err != nil {
		return nil, err
	}
	swept := map[bootstrapstorage.Place]bool{}
	for _, version := range versions {
		location, kept := bootstrapstorage.ParseLocation(version.Fingerprints.Data)
		if !kept || swept[location.Place] {
			continue
		}
		swept[location.Place] = true
		if _, err := cloud.Storage.Sweep(ctx, location.Place, d.Owner, nil, nil); err != nil {
			return nil, err
		}
	}
	if err := cloud.Templates.Delete(ctx, d.Owner, d.Template); err != nil {
		return nil, err
	}
	cloud.SeenTemplates.Invalidate(d.Template.Name)
	a.Seen.Leftovers.Templates = a.Seen.Leftovers.Templates[1:]
	return eventsOf(reconcile.Eventf("LaunchTemplateDeleted", "Deleted launch template %s (%s), whose AWSLaunchConfig is gone", d.Template.Name, d.Template.ID)), nil
}

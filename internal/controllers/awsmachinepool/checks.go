package awsmachinepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// checkOverrides refuses what Auto Scaling would take, or refuse in words that help nobody, and what no launch could come of: images, types and
// templates that do not exist, types that cannot run their image, and templates with an instance profile that the cluster's identity may not use.
func (r *Reconciler) checkOverrides(ctx context.Context, p *pass) *reconciling.Outcome {
	if p.pool.Spec.MixedInstancesPolicy == nil || p.config.WhatIsLaunched() == nil {
		return nil
	}
	for i := range p.pool.Spec.MixedInstancesPolicy.Overrides {
		reason, err := r.checkOverride(ctx, p, &p.pool.Spec.MixedInstancesPolicy.Overrides[i])
		var mismatch *mismatchError
		switch {
		case errors.As(err, &mismatch):
			reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ArchitectureMismatchReason, mismatch.Error())
			stop := reconciling.Stop(mismatch.Error())
			return &stop
		case err != nil:
			stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, reason, fmt.Errorf("mixedInstancesPolicy.overrides[%d]: %w", i, err))
			return &stop
		}
	}
	return nil
}

// checkOverride returns an error, and the reason for the condition that shows it.
func (r *Reconciler) checkOverride(ctx context.Context, p *pass, override *infrav1.Overrides) (reason string, err error) {
	launched := p.config.WhatIsLaunched()
	template := launchtemplate.Contents{ImageID: launched.ImageID, InstanceType: launched.InstanceType}
	if own := override.LaunchTemplate; own != nil {
		data, err := p.cloud.Discovery.TemplateVersion(ctx, own.ID, own.Version)
		if err != nil {
			return infrav1.LaunchTemplateNotFoundReason, err
		}
		if template, err = data.Contents(); err != nil {
			return infrav1.LaunchTemplateNotFoundReason, err
		}
		if err := r.Clouds.AllowsInstanceProfile(ctx, p.facts.Identity, template.InstanceProfile); err != nil {
			return infrav1.InstanceProfileNotAllowedReason, err
		}
	}
	imageID, architecture := cmp.Or(override.ImageID, template.ImageID), launched.ImageArchitecture
	if imageID != launched.ImageID {
		if architecture, err = r.architectureOf(ctx, p, imageID); err != nil {
			return infrav1.ImageNotFoundReason, err
		}
	}
	name := cmp.Or(override.InstanceType, template.InstanceType)
	if override.InstanceRequirements != nil || name == "" {
		return "", nil // AWS takes types that can run the image (AWS: create-mixed-instances-group-attribute-based-instance-type-selection)
	}
	instanceType, err := p.cloud.Discovery.InstanceType(ctx, name)
	if err != nil {
		return infrav1.InstanceTypeNotFoundReason, err
	}
	if architecture != "" && !slices.Contains(instanceType.Architectures, architecture) {
		return "", &mismatchError{image: imageID, architecture: architecture, instanceType: instanceType}
	}
	return "", nil
}

// architectureOf is that of an image that must exist, "" for one that is named by a Systems Manager parameter or not at all.
func (r *Reconciler) architectureOf(ctx context.Context, p *pass, imageID string) (string, error) {
	if !strings.HasPrefix(imageID, "ami-") {
		return "", nil
	}
	image, err := p.cloud.Discovery.ImageByID(ctx, imageID)
	return image.Architecture, err
}

// mismatchError says that an instance type can not run the image that it would be launched with.
type mismatchError struct {
	image, architecture string
	instanceType        discovery.InstanceType
}

// Error implements error.
func (e *mismatchError) Error() string {
	return fmt.Sprintf("image %s is for %s, and override %s runs %v: give the override an imageID of its architecture, or take types of one architecture",
		e.image, e.architecture, e.instanceType.Name, e.instanceType.Architectures)
}

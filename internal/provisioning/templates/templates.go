// Package templates looks inside the launch templates that provisioners and pods name: what each comes to for a node, or why nothing can be launched from it. What
// was read once serves on while AWS does not answer: from memory, and after a restart from what the status of Provisioners says of it.
package templates

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Configs reads an AWSLaunchConfig. The error is the API server's.
type Configs interface {
	LaunchConfig(ctx context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error)
}

// Reader reads launch templates. It is safe for concurrent use.
type Reader struct {
	Inspection inspection.Reader
	// Configs reads AWSLaunchConfigs, past the cache: their kind need not be there.
	Configs Configs

	mu    sync.Mutex
	known map[constraints.Reference]Known
}

// Known is what a reference leads to.
type Known struct {
	constraints.Template
	// ID of the launch template, and ImageID of its image.
	ID, ImageID string
	// FixesSubnet says that instances are launched where the template says.
	FixesSubnet bool
	// Reason is a condition's, where there is a problem.
	Reason string
	// Warnings are what people have to know of the template, though nodes can be launched.
	Warnings []string
	// Trouble is why it could not be looked at again; nil if it could.
	Trouble error
}

// Read reads what a reference leads to. That nothing can be launched from it is in the Problem. It fails where AWS did not say, now or before.
func (r *Reader) Read(ctx context.Context, reference constraints.Reference) (Known, error) {
	read, err := r.read(ctx, reference)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if known, was := r.known[reference]; was {
			known.Trouble = err
			return known, nil
		}
		return Known{}, err
	}
	r.remember(reference, read)
	return read, nil
}

func (r *Reader) remember(reference constraints.Reference, known Known) {
	if r.known == nil {
		r.known = map[constraints.Reference]Known{}
	}
	r.known[reference] = known
}

func (r *Reader) read(ctx context.Context, reference constraints.Reference) (Known, error) {
	asked := inspection.Reference{ID: reference.ID, Name: reference.Name, Version: reference.Version}
	if reference.Config != "" {
		var problem string
		var err error
		if asked, problem, err = r.ofConfig(ctx, reference.Config); err != nil {
			return Known{}, err
		}
		if problem != "" {
			return unusable(provisioningv1.LaunchConfigUnavailableReason, problem), nil
		}
	}
	version, err := r.Inspection.Read(ctx, asked)
	var notFound *discovery.NotFoundError
	var invalid *discovery.InvalidQueryError
	switch {
	case errors.As(err, &notFound), errors.As(err, &invalid):
		return unusable(provisioningv1.TemplateUnusableReason, err.Error()), nil
	case err != nil:
		return Known{}, fmt.Errorf("reading %s: %w", reference, err)
	}
	return known(version), nil
}

func unusable(reason, problem string) Known {
	return Known{Template: constraints.Template{Problem: problem}, Reason: reason}
}

// known is a version as provisioners see it.
func known(version inspection.Version) Known {
	k := Known{
		ID: version.Template.ID, ImageID: version.ImageID, FixesSubnet: len(version.SubnetIDs) > 0,
		Template: constraints.Template{
			Name: version.Template.Name, Version: version.Number,
			Architecture: provisioningv1.Architecture(version.Architecture).Label(),
			Zones:        version.Zones, EphemeralStorage: version.EphemeralStorageGiB << 30,
			Problem: inspection.Blocking(version.Gaps, inspection.Provisioner),
		},
	}
	if version.InstanceType != "" {
		k.InstanceTypes = []string{version.InstanceType}
	}
	if version.Market == provisioningv1.CapacityTypeSpot {
		k.CapacityType = provisioningv1.CapacityTypeSpot
	}
	if version.OperatingSystem == "windows" && k.Problem == "" {
		k.Problem = "its image is of Windows, and provisioners launch nodes of Linux"
	}
	if k.Problem != "" {
		k.Reason = provisioningv1.TemplateUnusableReason
	}
	for _, gap := range version.Gaps {
		if gap.Consumer == inspection.Provisioner && !gap.Blocking {
			k.Warnings = append(k.Warnings, gap.Message)
		}
	}
	if version.JoinsByToken {
		k.Warnings = append(k.Warnings, "its user data has a bootstrap token of kubeadm: nodes that are launched after its end do not join")
	}
	return k
}

// ofConfig is the template of an AWSLaunchConfig, or why there is none.
func (r *Reader) ofConfig(ctx context.Context, name string) (inspection.Reference, string, error) {
	namespace, plain, _ := strings.Cut(name, "/")
	config, err := r.Configs.LaunchConfig(ctx, namespace, plain)
	switch {
	case meta.IsNoMatchError(err):
		return inspection.Reference{}, "launchConfigRef is for clusters that have the kind AWSLaunchConfig, and this one has not: name the launch template in launchTemplateRef", nil
	case apierrors.IsNotFound(err):
		return inspection.Reference{}, fmt.Sprintf("there is no AWSLaunchConfig %s", name), nil
	case err != nil:
		return inspection.Reference{}, "", fmt.Errorf("reading AWSLaunchConfig %q: %w", name, err)
	case config.Status.LaunchTemplateID == "" || config.Status.Version == 0:
		return inspection.Reference{}, fmt.Sprintf("AWSLaunchConfig %s has no launch template yet", name), nil
	}
	return inspection.Reference{ID: config.Status.LaunchTemplateID, Version: strconv.FormatInt(config.Status.Version, 10)}, "", nil
}

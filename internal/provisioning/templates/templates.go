// Package templates reads the launch templates that provisioners and pods name: what a node from
// each would be, or why nothing can be launched from it. While AWS does not answer, it returns the
// last observation: from memory, and after a restart from the status of Provisioners.
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
	"github.com/slipway-project/slipway/internal/bounded"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Configs reads an AWSLaunchConfig. The error is the API server's.
type Configs interface {
	LaunchConfig(ctx context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error)
}

// Profiles limits instance profiles. Problem returns why instances may not be launched with one,
// given by name or ARN, or "" if they may.
type Profiles interface {
	Problem(ctx context.Context, profile string) (string, error)
}

// mostKnown bounds how many launch templates are remembered. Pods choose which are read.
const mostKnown = 1000

// Reader reads launch templates. It is safe for concurrent use.
type Reader struct {
	Inspection inspection.Reader
	// Configs reads AWSLaunchConfigs, past the cache: their kind need not be there.
	Configs Configs
	// Profiles limits the instance profiles of nodes; nil for no limit.
	Profiles Profiles

	mu sync.Mutex
	// known drops the references that were used least recently, and none for its age: an
	// observation serves for as long as AWS does not answer.
	known *bounded.Map[constraints.Reference, Known]
}

// Known describes the launch template that a reference leads to.
type Known struct {
	constraints.Template
	// ID of the launch template, and ImageID of its image.
	ID, ImageID string
	// FixesSubnet says that instances are launched where the template says.
	FixesSubnet bool
	// Reason is a condition's, where there is a problem.
	Reason string
	// Warnings are for users: nodes can be launched all the same.
	Warnings []string
	// Trouble is why it could not be read again; nil if it could.
	Trouble error
}

// Layer returns what the launch template is to pods and provisioners, where EC2 launches nothing of
// some offerings from it.
func (k *Known) Layer(refused constraints.Refused) constraints.Template {
	template := k.Template
	template.FixesSubnet, template.Refused = k.FixesSubnet, refused
	return template
}

// Read reads what a reference leads to. That nothing can be launched from it is in the Problem. It
// fails where AWS did not say, now or before.
func (r *Reader) Read(ctx context.Context, reference constraints.Reference) (Known, error) {
	read, err := r.read(ctx, reference)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if known, was := r.remembered(reference); was {
			known.Trouble = err
			return known, nil
		}
		return Known{}, err
	}
	r.remember(reference, read)
	return read, nil
}

// Forget has a launch template read anew before anything is launched from it: EC2 reported that it,
// or a version, is gone. The last observation is not used again.
func (r *Reader) Forget(id string) {
	r.Inspection.Forget(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		return
	}
	for reference, known := range r.known.All() {
		if known.ID == id {
			gone := fmt.Sprintf("EC2 reports that launch template %s or its version %d does not exist", id, known.Version)
			r.remember(reference, unusable(provisioningv1.TemplateUnusableReason, gone))
		}
	}
}

// remember keeps what was read of a reference. The reader is locked.
func (r *Reader) remember(reference constraints.Reference, known Known) {
	if r.known == nil {
		r.known = bounded.NewMap[constraints.Reference, Known](nil, mostKnown, 0, nil)
	}
	r.known.Put("", reference, known)
}

// remembered returns what was read last of a reference, and whether anything was. The reader is locked.
func (r *Reader) remembered(reference constraints.Reference) (Known, bool) {
	if r.known == nil {
		return Known{}, false
	}
	known, was, _ := r.known.Get(reference)
	return known, was
}

func (r *Reader) read(ctx context.Context, reference constraints.Reference) (Known, error) {
	asked := inspection.Reference{ID: reference.ID, Name: reference.Name, Version: reference.Version}
	var config *infrav1.AWSLaunchConfig
	if reference.Config != "" {
		var problem string
		var err error
		if config, problem, err = r.ofConfig(ctx, reference.Config); err != nil {
			return Known{}, err
		}
		if problem != "" {
			return unusable(provisioningv1.LaunchConfigUnavailableReason, problem), nil
		}
		asked = inspection.Reference{ID: config.Status.LaunchTemplateID, Version: strconv.FormatInt(config.Status.Version, 10)}
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
	if config != nil {
		if problem := unproven(config, version.Template); problem != "" {
			return unusable(provisioningv1.LaunchConfigUnavailableReason, problem), nil
		}
	}
	read := known(version)
	if r.Profiles == nil || read.Problem != "" {
		return read, nil
	}
	read.Problem, err = r.Profiles.Problem(ctx, read.InstanceProfile)
	if err != nil {
		return Known{}, fmt.Errorf("reading %s: %w", reference, err)
	}
	if read.Problem != "" {
		read.Reason = infrav1.InstanceProfileNotAllowedReason
	}
	return read, nil
}

func unusable(reason, problem string) Known {
	return Known{Template: constraints.Template{Problem: problem}, Reason: reason}
}

// known returns a version as provisioners see it.
func known(version inspection.Version) Known {
	k := Known{
		ID: version.Template.ID, ImageID: version.ImageID, FixesSubnet: len(version.SubnetIDs) > 0,
		Template: constraints.Template{
			Name: version.Template.Name, Version: version.Number, Tags: version.Template.Tags, InstanceProfile: version.InstanceProfile,
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
		k.Problem = "its image is for Windows, but Provisioners launch only Linux nodes"
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
		k.Warnings = append(k.Warnings, "its user data has a kubeadm bootstrap token: nodes that are launched "+
			"after the token expires cannot join")
	}
	return k
}

// ofConfig returns the AWSLaunchConfig of a name, or why there is none to launch from.
func (r *Reader) ofConfig(ctx context.Context, name string) (*infrav1.AWSLaunchConfig, string, error) {
	namespace, plain, _ := strings.Cut(name, "/")
	config, err := r.Configs.LaunchConfig(ctx, namespace, plain)
	switch {
	case meta.IsNoMatchError(err):
		return nil, "launchConfigRef requires the kind AWSLaunchConfig, which is not installed in this cluster: " +
			"use launchTemplateRef instead", nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("AWSLaunchConfig %s does not exist", name), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading AWSLaunchConfig %q: %w", name, err)
	case config.Status.LaunchTemplateID == "" || config.Status.Version == 0:
		return nil, fmt.Sprintf("AWSLaunchConfig %s has no launch template yet", name), nil
	}
	return config, "", nil
}

// unproven returns why a launch template is not the one of an AWSLaunchConfig, or "" if its tags,
// or the spec of the config, prove it. Status is no proof: users who may write it could name a
// launch template of another namespace.
func unproven(config *infrav1.AWSLaunchConfig, template launchtemplate.Template) string {
	name := config.Namespace + "/" + config.Name
	existing := config.Spec.Existing
	switch owner := launchtemplate.OwnerNamed(config.Namespace, config.Spec.ClusterName, config.Name); {
	case existing == nil && !template.OwnedBy(owner):
		return fmt.Sprintf("launch template %s, which the status of AWSLaunchConfig %s names, does not have tag %s with value %q. No node is launched from it: "+
			"set the tag if the launch template belongs to the AWSLaunchConfig", template.ID, name, infrav1.TagLaunchConfig, owner)
	case existing != nil && (existing.ID != "" && existing.ID != template.ID || existing.ID == "" && existing.Name != template.Name):
		return fmt.Sprintf("AWSLaunchConfig %s has not yet read the launch template that its spec names", name)
	case existing != nil && template.OtherOwner(config.Namespace) != "":
		return fmt.Sprintf("launch template %s, which AWSLaunchConfig %s names, is owned by %s according to its "+
			"tags, so no node is launched from it. Name a launch template that no other object owns",
			template.ID, name, template.OtherOwner(config.Namespace))
	}
	return ""
}

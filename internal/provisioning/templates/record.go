package templates

import (
	"k8s.io/apimachinery/pkg/api/resource"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Record returns the status entry of a launch template, for users and for Recall.
func (k *Known) Record(reference constraints.Reference) provisioningv1.ResolvedLaunchTemplate {
	entry := provisioningv1.ResolvedLaunchTemplate{
		Name: k.Name, ID: k.ID, AskedVersion: reference.Version, LaunchConfig: reference.Config, Version: k.Version,
		ImageID: k.ImageID, Architecture: provisioningv1.Architecture(k.Architecture),
	}
	if k.Problem != "" {
		entry.Name, entry.ID = reference.Name, reference.ID
		return entry
	}
	entry.Facts = &provisioningv1.LaunchTemplateFacts{InstanceTypes: k.InstanceTypes, Zones: k.Zones, CapacityType: k.CapacityType, InstanceProfile: k.InstanceProfile, FixesSubnet: k.FixesSubnet}
	if k.EphemeralStorage > 0 {
		entry.Facts.EphemeralStorage = resource.NewQuantity(k.EphemeralStorage, resource.BinarySI)
	}
	return entry
}

// Recall takes what a status reports about launch templates as their last observation, for the ones
// that were not read since the start.
func (r *Reader) Recall(status []provisioningv1.ResolvedLaunchTemplate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range status {
		entry := &status[i]
		if entry.Facts == nil {
			continue
		}
		for _, reference := range referencesTo(entry) {
			if _, known := r.remembered(reference); !known {
				r.remember(reference, recalled(entry))
			}
		}
	}
}

// referencesTo returns the references that led to an entry, or would have.
func referencesTo(entry *provisioningv1.ResolvedLaunchTemplate) []constraints.Reference {
	if entry.LaunchConfig != "" {
		return []constraints.Reference{{Config: entry.LaunchConfig, Version: entry.AskedVersion}}
	}
	return []constraints.Reference{{Name: entry.Name, Version: entry.AskedVersion}, {ID: entry.ID, Version: entry.AskedVersion}}
}

func recalled(entry *provisioningv1.ResolvedLaunchTemplate) Known {
	known := Known{
		ID: entry.ID, ImageID: entry.ImageID, FixesSubnet: entry.Facts.FixesSubnet,
		Template: constraints.Template{
			Name: entry.Name, Version: entry.Version, InstanceProfile: entry.Facts.InstanceProfile, Architecture: entry.Architecture.Label(),
			InstanceTypes: entry.Facts.InstanceTypes, Zones: entry.Facts.Zones, CapacityType: entry.Facts.CapacityType,
		},
	}
	if entry.Facts.EphemeralStorage != nil {
		known.EphemeralStorage = entry.Facts.EphemeralStorage.Value()
	}
	return known
}

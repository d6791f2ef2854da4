package simulation

import (
	"fmt"
	"slices"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ownVersions returns the versions of the launch template that the pool has, the newest first.
func (o *observer) ownVersions() ([]ec2types.LaunchTemplateVersion, error) {
	templates := o.aws.ownedTemplates()
	if len(templates) != 1 {
		return nil, fmt.Errorf("there are %d launch templates", len(templates))
	}
	return o.aws.LaunchTemplateVersions(*templates[0].LaunchTemplateId), nil
}

// tooManyVersions returns an error if versions of a pool's launch template, the newest first,
// should have been deleted: versionsToKeep should be kept, the wanted one among them. A version that a pool
// is pinned to stays, even if only a newer version of its configuration has the present join token: the
// user named it.
func tooManyVersions(versionsToKeep *int32, pinned *int64, wanted configuration, versions []ec2types.LaunchTemplateVersion, inUse func(template string, version int64) bool) error {
	var distinct []configuration
	var duplicates []int64
	keep := int(ptr.Deref(versionsToKeep, infrav1.DefaultVersionsToKeep))
	for _, version := range versions {
		switch configuration := configurationIn(version.LaunchTemplateData); {
		case !slices.Contains(distinct, configuration):
			distinct = append(distinct, configuration)
		case !*version.DefaultVersion && ptr.Deref(pinned, 0) != *version.VersionNumber && !inUse(*version.LaunchTemplateId, *version.VersionNumber):
			duplicates = append(duplicates, *version.VersionNumber)
		}
	}
	// The newest configurations are kept, and the wanted one, which may be older than all of them.
	// The newest version is never deleted, so that its number is not given again.
	allowed := keep
	if slices.Index(distinct, wanted) >= keep {
		allowed++
	}
	if len(distinct) > allowed {
		return fmt.Errorf("versions with %d configurations are kept, and %d are to be", len(distinct), allowed)
	}
	// Older versions of a kept configuration are deleted together with configurations that are too
	// many. Alone they stay, until they are many.
	if len(distinct) > keep && len(duplicates) > 0 {
		return fmt.Errorf("versions %v are kept, whose configuration a newer version has", duplicates)
	}
	return nil
}

// runs reports whether an instance runs a version of a launch template.
func (f *facts) runs(template string, version int64) bool {
	return slices.ContainsFunc(f.running(), func(id string) bool {
		return f.instances[id].template == template && f.instances[id].version == version
	})
}

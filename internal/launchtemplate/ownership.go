package launchtemplate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/digest"
)

// NotOwnedError reports that a template lacks the tag of the owner that would change or delete it.
// Nothing was sent to EC2.
type NotOwnedError struct {
	Template Template
	Owner    string
}

// Error implements error.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("launch template %s (%s) does not have tag %s with value %q, so Slipway does not change "+
		"or delete it",
		e.Template.Name, e.Template.ID, infrav1.TagLaunchConfig, e.Owner)
}

// WaitsForUser reports that only a person can put the tag back.
func (*NotOwnedError) WaitsForUser() bool { return true }

// ownedBy returns a *NotOwnedError unless the template has the owner's tag. Every call that changes
// or deletes an existing template comes after it, whatever the caller has checked.
func ownedBy(owner string, template Template) error {
	if owner == "" || !template.OwnedBy(owner) {
		return &NotOwnedError{Template: template, Owner: owner}
	}
	return nil
}

// OwnerTagMissingError reports that the template that status names exists without the owner's tag,
// so that it cannot be distinguished from another object's template. It is neither changed nor
// replaced by a second one until the tag is back.
type OwnerTagMissingError struct{ ID, Owner string }

// Error implements error.
func (e *OwnerTagMissingError) Error() string {
	return fmt.Sprintf("tag %[2]s with value %[3]q was removed from launch template %[1]s. Slipway does not "+
		"change it and does not create another one. Nodes keep the version that they run, and edits have no "+
		"effect. Restore the tag (aws ec2 create-tags --resources %[4]s --tags 'Key=%[5]s,Value=%[6]s'), or "+
		"delete the launch template to have Slipway create a new one",
		e.ID, infrav1.TagLaunchConfig, e.Owner, e.ID, infrav1.TagLaunchConfig, e.Owner)
}

// WaitsForUser reports that only a person can put the tag back.
func (*OwnerTagMissingError) WaitsForUser() bool { return true }

// ProvisionerOwner begins the values of the ownership tag of a Provisioner's default launch
// templates, which are provisioner/<cluster>/<provisioner>/<variant>. All other owners have three
// parts.
const ProvisionerOwner = "provisioner"

// OwnerNamed returns the value of the ownership tag of an object's resources:
// <namespace>/<cluster>/<name>. A name that would make it longer than AWS allows is cut, and ends in a
// hash of the whole.
func OwnerNamed(namespace, cluster, name string) string {
	owner := namespace + "/" + cluster + "/" + name
	if len(owner) <= longestTagValue {
		return owner
	}
	return digest.Suffixed(owner, owner, 16, longestTagValue)
}

// OtherOwner returns the owner that the template's tags name, if that is not an object of the
// namespace, and "" otherwise. Such a template has the user data of nodes that are not this
// namespace's to read or to launch. The tags of Cluster API Provider AWS name a cluster and no
// namespace, and every namespace can have a cluster of that name, so they never prove that the
// template is this namespace's. A template without any of these tags has no owner.
func (t Template) OtherOwner(namespace string) string {
	if owner, owned := t.Tags[infrav1.TagLaunchConfig]; owned {
		if parts := strings.Split(owner, "/"); len(parts) == 3 && parts[0] == namespace {
			return ""
		}
		return fmt.Sprintf("%q", owner)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		if cluster, marks := strings.CutPrefix(key, infrav1.TagProviderClusterPrefix); marks && t.Tags[key] == infrav1.TagValueOwned {
			return fmt.Sprintf("cluster %q of Cluster API Provider AWS", cluster)
		}
	}
	return ""
}

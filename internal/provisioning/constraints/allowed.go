package constraints

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Allowed selects the launch templates that pods may name. The zero Allowed selects none.
type Allowed struct {
	// Names and Prefixes of names.
	Names, Prefixes []string

	// Tags that a launch template has, if there are any.
	Tags map[string]string

	// InstanceProfiles are patterns, of names or ARNs. Any instance profile is allowed if there are none.
	InstanceProfiles []string
}

func allowedBy(spec *provisioningv1.ProvisionerSpec) Allowed {
	if spec.AllowedLaunchTemplates == nil {
		return Allowed{}
	}
	given := spec.AllowedLaunchTemplates
	return Allowed{Names: given.Names, Prefixes: given.Prefixes, Tags: given.Tags, InstanceProfiles: given.InstanceProfiles}
}

// byName reports whether the name is enough to allow a launch template.
func (a *Allowed) byName(name string) bool {
	return slices.Contains(a.Names, name) || slices.ContainsFunc(a.Prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// mayBe reports whether a launch template of the name may be allowed, so that it is worth reading.
func (a *Allowed) mayBe(name string) bool { return a.byName(name) || len(a.Tags) > 0 }

// byTags reports whether the tags allow a launch template.
func (a *Allowed) byTags(tags map[string]string) bool {
	if len(a.Tags) == 0 {
		return false
	}
	for key, value := range a.Tags {
		if has, there := tags[key]; !there || has != value {
			return false
		}
	}
	return true
}

// profile reports whether an instance profile is allowed. Having none is.
func (a *Allowed) profile(profile string) bool {
	if len(a.InstanceProfiles) == 0 || profile == "" {
		return true
	}
	name := profile[strings.LastIndex(profile, "/")+1:]
	return slices.ContainsFunc(a.InstanceProfiles, func(pattern string) bool {
		for _, candidate := range []string{profile, name} {
			if matches, err := path.Match(pattern, candidate); err == nil && matches {
				return true
			}
		}
		return false
	})
}

// own returns the provisioner's own launch template for a pod that names the same one, and the
// version that it would be launched from anyway or none at all.
func (p *Provisioner) own(templates Templates, reference Reference) (Reference, bool) {
	if p.Template.IsDefault() {
		return Reference{}, false
	}
	mine := templates[p.Template]
	same := mine.Name == reference.Name && (reference.Version == provisioningv1.VersionLatest || reference.Version == strconv.FormatInt(mine.Version, 10))
	return p.Template, same || p.Template == reference
}

// admit returns the launch template to take for a pod that names one, or why the pod may not name
// it, with the pod as the subject.
func (p *Provisioner) admit(templates Templates, reference Reference) (Reference, string) {
	if reference.IsDefault() {
		return reference, ""
	}
	template, known := templates[reference]
	allowed := p.Allowed.byName(reference.Name) || known && p.Allowed.byTags(template.Tags)
	own, same := p.own(templates, reference)
	switch {
	case !allowed && same:
		return own, ""
	case !allowed && known && template.Problem != "" && p.Allowed.mayBe(reference.Name):
		return reference, "" // which says more
	case !allowed:
		return reference, fmt.Sprintf("specifies %s, which spec.allowedLaunchTemplates of Provisioner %s does "+
			"not allow", reference, p.Name)
	case known && !p.Allowed.profile(template.InstanceProfile):
		return reference, fmt.Sprintf("specifies %s, whose instance profile %s is not in "+
			"spec.allowedLaunchTemplates.instanceProfiles of Provisioner %s",
			reference, template.InstanceProfile, p.Name)
	}
	return reference, ""
}

// readable returns the launch templates that the pods name and that the provisioner may allow.
// Slipway does not read others: pods would otherwise choose the calls to AWS.
func (p *Provisioner) readable(references []Reference) []Reference {
	return slices.DeleteFunc(slices.Clone(references), func(reference Reference) bool { return reference.IsDefault() || !p.Allowed.mayBe(reference.Name) })
}

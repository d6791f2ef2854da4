package launchtemplate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Template is an EC2 launch template as it was seen.
type Template struct {
	ID, Name                      string
	DefaultVersion, LatestVersion int64
	Tags                          map[string]string
	Created                       time.Time
}

// Version is one launch template version as it was seen.
type Version struct {
	Number       int64
	Fingerprints Fingerprints
	Default      bool
	ImageID      string
	// Market is how instances are bought: on-demand, or an EC2 market type. It is empty if the version
	// comes from a record of an earlier release.
	Market  string
	Created time.Time
	// Foreign is set for a version that Slipway did not create. The next two fields are only known
	// for such a version.
	Foreign bool
	// MadeByCAPA is true if it is CAPA who did.
	MadeByCAPA bool
	Settings   Settings
}

// Observation contains the known state of a config's template in AWS.
type Observation struct {
	// Template is nil when there is none that is ours.
	Template *Template
	// Versions are all that exist.
	Versions []Version
	// Taken are the candidate names that templates of other owners have.
	Taken []string
	// Recorded is set if the versions come from a record, and not from AWS: without their images.
	Recorded bool
	// Answered is the number of a version that is only known from EC2's answer to a request, and
	// Vanished the number of a version that EC2 answered with and then did not know; zero for none.
	// Both are known only until the template is observed again.
	Answered, Vanished int64
}

// OwnedBy reports whether the template's tags name the owner.
func (t Template) OwnedBy(owner string) bool { return t.Tags[infrav1.TagLaunchConfig] == owner }

// Adoptable reports whether CAPA created the template for the given cluster and nothing of
// Slipway's owns it. It does not say which pool of the cluster uses the template: the caller proves
// that before it adopts.
func (t Template) Adoptable(kubernetesName string) bool {
	for key := range t.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return false
		}
	}
	return t.Tags[infrav1.ClusterTagKey(kubernetesName)] == infrav1.TagValueOwned
}

// Choose picks the template with the owner's tag out of those with its names, and returns the names
// that other templates have. Only the tag counts: a template that will be adopted, but is not yet,
// is not the owner's.
func Choose(owner string, names []string, found map[string]Template) (template *Template, taken []string) {
	for _, name := range names {
		candidate, exists := found[name]
		switch {
		case !exists:
		case !candidate.OwnedBy(owner):
			taken = append(taken, name)
		case template == nil:
			template = &candidate
		}
	}
	return template, taken
}

// Wanted is the template and version that a config asks for.
type Wanted struct {
	// Owner is the value of the ownership tag: who this template belongs to.
	Owner string
	// Names are the names it may have, the best first.
	Names []string
	// Tags are the template's own tags, the ownership tag among them.
	Tags map[string]string
	// RetiredTags are keys that the config set earlier and no longer asks for.
	RetiredTags []string
	// Input is the data of the version.
	Input Input
	// UID identifies the object that asks, and Lost is the id of the template of this object that
	// was last found gone. Both are part of the client token of a new template: EC2 answers a
	// repeated token with the first template, even after that was deleted.
	UID, Lost string
	// Adopt is the id of a template without the owner's tag that the caller has proven to be the
	// owner's, empty for none.
	Adopt string
}

// Newest returns the newest version with the given config and bootstrap fingerprints.
func (o Observation) Newest(fingerprints Fingerprints) (Version, bool) {
	for _, version := range newestFirst(o.Versions) {
		if version.Fingerprints.Config == fingerprints.Config && version.Fingerprints.Bootstrap == fingerprints.Bootstrap {
			return version, true
		}
	}
	return Version{}, false
}

// NewestOf returns the newest version with a config, whatever its bootstrap data.
func (o Observation) NewestOf(config string) (Version, bool) {
	for _, version := range newestFirst(o.Versions) {
		if version.Fingerprints.Config == config {
			return version, true
		}
	}
	return Version{}, false
}

// Version returns the version with a number.
func (o Observation) Version(number int64) (Version, bool) {
	i := slices.IndexFunc(o.Versions, func(version Version) bool { return version.Number == number })
	if i < 0 {
		return Version{}, false
	}
	return o.Versions[i], true
}

// Settled returns the observation without what is known only until the template is observed again.
func (o Observation) Settled() Observation {
	o.Answered, o.Vanished = 0, 0
	return o
}

// ImageFor returns the image of the newest version that was looked up for the same thing. An image
// that was looked up is kept: AWS publishing a newer one rolls nothing.
func (o Observation) ImageFor(imageKey string) (string, bool) {
	if imageKey == "" {
		return "", false
	}
	for _, version := range newestFirst(o.Versions) {
		if version.Fingerprints.Image == imageKey && version.ImageID != "" {
			return version.ImageID, true
		}
	}
	return "", false
}

// NewestForeign returns the newest version that Slipway did not create, up to a number.
func (o Observation) NewestForeign(through int64) (Version, bool) {
	for _, version := range newestFirst(o.Versions) {
		if version.Foreign && version.Number <= through {
			return version, true
		}
	}
	return Version{}, false
}

// Untouched reports whether the template has versions, and Slipway created none of them.
func (o Observation) Untouched() bool {
	return len(o.Versions) > 0 && !slices.ContainsFunc(o.Versions, func(version Version) bool { return !version.Foreign })
}

// NewestSeen returns the highest version number seen so far, or 0 if there is none.
func (o Observation) NewestSeen() int64 { return o.newestSeen() }

// newestSeen returns the highest version number seen so far, in the template or among its versions,
// or 0 if there is none.
func (o Observation) newestSeen() int64 {
	if o.Template == nil {
		return 0
	}
	return max(o.Template.LatestVersion, o.newestVersion())
}

// newestVersion returns the highest number of the versions that were seen, or 0 if there is none.
func (o Observation) newestVersion() int64 {
	var newest int64
	for _, version := range o.Versions {
		newest = max(newest, version.Number)
	}
	return newest
}

// freeName returns the first candidate name that is not taken.
func (w Wanted) freeName(taken []string) (string, bool) {
	for _, name := range w.Names {
		if !slices.Contains(taken, name) {
			return name, true
		}
	}
	return "", false
}

// NewestFirst returns the versions, the newest first.
func (o Observation) NewestFirst() []Version { return newestFirst(o.Versions) }

// IsOf reports whether the observation is of this template as it is now: with the same latest and
// default version.
func (o Observation) IsOf(template Template) bool {
	return o.Template != nil && o.Template.ID == template.ID &&
		o.Template.LatestVersion == template.LatestVersion && o.Template.DefaultVersion == template.DefaultVersion
}

func newestFirst(versions []Version) []Version {
	sorted := slices.Clone(versions)
	slices.SortFunc(sorted, func(a, b Version) int { return cmp.Compare(b.Number, a.Number) })
	return sorted
}

// with returns the observation after a version was created, without asking AWS again.
func (o Observation) with(template Template, version Version) Observation {
	versions := slices.DeleteFunc(slices.Clone(o.Versions), func(v Version) bool { return v.Number == version.Number })
	template.LatestVersion = max(template.LatestVersion, version.Number)
	template.Tags = maps.Clone(template.Tags)
	versions = append(versions, version)
	o.Template, o.Versions = &template, versions
	return o
}

// withDefault returns the observation after the default version moved.
func (o Observation) withDefault(number int64) Observation {
	template := *o.Template
	template.DefaultVersion = number
	versions := slices.Clone(o.Versions)
	for i := range versions {
		versions[i].Default = versions[i].Number == number
	}
	o.Template, o.Versions = &template, versions
	return o
}

// without returns the observation after versions were deleted.
func (o Observation) without(numbers []int64) Observation {
	versions := slices.DeleteFunc(slices.Clone(o.Versions), func(v Version) bool { return slices.Contains(numbers, v.Number) })
	o.Versions = versions
	return o
}

// withoutAnswered returns the observation after the version that EC2 answered with turned out not to exist.
func (o Observation) withoutAnswered() Observation {
	gone := o.without([]int64{o.Answered})
	gone.Answered, gone.Vanished = 0, o.newestSeen()
	return gone
}

// withTags returns the observation after the template's tags changed.
func (o Observation) withTags(tags map[string]string) Observation {
	template := *o.Template
	template.Tags = tags
	o.Template = &template
	return o
}

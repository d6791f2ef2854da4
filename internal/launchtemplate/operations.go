package launchtemplate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// Operation is one change of a launch template as a value. It holds all that EC2 is asked for, so
// that whether it is due can be decided without a client. Its String is a verb phrase.
type Operation interface {
	fmt.Stringer
	// run asks EC2 for the change, and returns what EC2 answered and the observation afterwards.
	run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error)
}

// Answer contains the response of EC2 to an operation.
type Answer struct {
	// Version is the version that was created, the zero value if none was.
	Version Version
	// Repeated is true if EC2 answered with a version that it had created before: it takes a client
	// token that it knows for a repeated request.
	Repeated bool
	// Warning contains the warnings about data that EC2 accepted.
	Warning string
}

// CreateTemplate creates a template with its first version, which is its default.
type CreateTemplate struct {
	Owner, UID, Lost, Name string
	Tags                   map[string]string
	Input                  Input
}

// CreateVersion creates a version of a template.
type CreateVersion struct {
	Owner, TemplateID string
	Input             Input
	// After is zero, or the number of a version that EC2 returned and that no longer exists. It
	// changes the client token of the request.
	After int64
	// Beside is set for a version that does not become the default.
	Beside bool
}

// SetDefault sets the default version.
type SetDefault struct {
	Owner, TemplateID string
	Number            int64
	// From is the default version until then.
	From int64
}

// SetTags sets tags of a template. Adopt is set for a template that is not the owner's yet, and
// that the tags assign to the owner.
type SetTags struct {
	Owner, TemplateID string
	Tags              map[string]string
	Adopt             bool
}

// RemoveTags removes tags of a template by their keys, whatever their values. It is no error if the
// template does not have them.
type RemoveTags struct {
	Owner, TemplateID string
	Keys              []string
}

func (o CreateTemplate) String() string { return "create launch template " + o.Name }

func (o CreateVersion) String() string {
	return fmt.Sprintf("create a version of launch template %s", o.TemplateID)
}

func (o SetDefault) String() string {
	return fmt.Sprintf("make version %d the default of launch template %s", o.Number, o.TemplateID)
}

func (o SetTags) String() string {
	return fmt.Sprintf("set tags %s of launch template %s", strings.Join(slices.Sorted(maps.Keys(o.Tags)), ", "), o.TemplateID)
}

func (o RemoveTags) String() string {
	return fmt.Sprintf("remove tags %s of launch template %s", strings.Join(o.Keys, ", "), o.TemplateID)
}

// Plan returns the operations that create the wanted template and version and set the default
// version, in order: none if nothing differs. It is a pure function. It does not anticipate answers
// of EC2: the caller plans again after an operation.
func (w Wanted) Plan(seen Observation) ([]Operation, error) {
	if seen.Template == nil {
		name, free := w.freeName(seen.Taken)
		if !free {
			return nil, &NamesTakenError{Names: w.Names, Owner: w.Owner}
		}
		return []Operation{CreateTemplate{Owner: w.Owner, UID: w.UID, Lost: w.Lost, Name: name, Tags: w.Tags, Input: w.Input}}, nil
	}
	owned := seen.Template.OwnedBy(w.Owner)
	if !owned && seen.Template.ID != w.Adopt {
		return nil, &NotOwnedError{Template: *seen.Template, Owner: w.Owner}
	}
	tags := w.tagOperations(*seen.Template)
	version, exists := seen.Newest(w.Input.Fingerprints)
	var versions []Operation
	switch {
	case len(seen.Versions) == 0 && !owned:
		return tags, nil
	case len(seen.Versions) == 0:
		return nil, &VersionsUnseenError{TemplateID: seen.Template.ID}
	case !exists:
		versions = []Operation{CreateVersion{Owner: w.Owner, TemplateID: seen.Template.ID, Input: w.Input, After: seen.Vanished}}
	case seen.Template.DefaultVersion != version.Number:
		versions = []Operation{SetDefault{Owner: w.Owner, TemplateID: seen.Template.ID, Number: version.Number, From: seen.Template.DefaultVersion}}
	}
	if !owned {
		return append(tags, versions...), nil // a template is owned before anything else in it is changed
	}
	return append(versions, tags...), nil
}

// PlanBeside returns the operations that create a version with the wanted config, whatever its
// bootstrap data, unless one exists. The default version stays as it is. The template must exist.
func (w Wanted) PlanBeside(seen Observation) ([]Operation, error) {
	if err := ownedBy(w.Owner, *seen.Template); err != nil {
		return nil, err
	}
	if _, exists := seen.NewestOf(w.Input.Fingerprints.Config); exists {
		return nil, nil
	}
	return []Operation{CreateVersion{Owner: w.Owner, TemplateID: seen.Template.ID, Input: w.Input, After: seen.Vanished, Beside: true}}, nil
}

// tagOperations set what differs and remove what retired. One call sets all tags: the owner's, and
// the accepted versions.
func (w Wanted) tagOperations(template Template) []Operation {
	var operations []Operation
	if stale := tagdiff.Stale(w.Tags, template.Tags); len(stale) > 0 {
		operations = append(operations, SetTags{Owner: w.Owner, TemplateID: template.ID, Tags: stale, Adopt: !template.OwnedBy(w.Owner)})
	}
	if retired := tagdiff.Retired(w.RetiredTags, w.Tags); len(retired) > 0 {
		operations = append(operations, RemoveTags{Owner: w.Owner, TemplateID: template.ID, Keys: retired})
	}
	return operations
}

// Change describes what one call of Ensure changed.
type Change struct {
	// TemplateCreated is the ID of the template, VersionCreated the number of the version; both are
	// zero when nothing was created.
	TemplateCreated string
	VersionCreated  int64
	// Warning contains the warnings about data that EC2 accepted.
	Warning string
	// Adopted is true if the template was taken over.
	Adopted bool
	// Repaired describes what was reset in a template that has the wanted version: its default
	// version, its tags.
	Repaired string
}

// add adds what an operation did.
func (c *Change) add(operation Operation, answer Answer, existed bool, after Observation) {
	repaired := func(what string) {
		if existed {
			c.Repaired = strings.TrimPrefix(c.Repaired+"; "+what, "; ")
		}
	}
	switch operation := operation.(type) {
	case CreateTemplate:
		c.TemplateCreated, c.VersionCreated, c.Warning = after.Template.ID, answer.Version.Number, answer.Warning
	case CreateVersion:
		c.VersionCreated, c.Warning = answer.Version.Number, answer.Warning
	case SetDefault:
		repaired(operation.Repair())
	case SetTags:
		c.Adopted = c.Adopted || operation.Adopt
		if what := operation.Repair(); what != "" && !operation.Adopt {
			repaired(what)
		}
	}
}

// Repair describes what the operation resets in a template that has the wanted version.
func (o SetDefault) Repair() string {
	return fmt.Sprintf("default version %d → %d", o.From, o.Number)
}

// Repair describes what the operation resets in a template that has the wanted version, "" for
// nothing: the accepted versions change by themselves.
func (o SetTags) Repair() string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(o.Tags)), func(key string) bool { return key == infrav1.TagAccepted })
	if len(keys) == 0 {
		return ""
	}
	return "tags " + strings.Join(keys, ", ")
}

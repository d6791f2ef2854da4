package discovery

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

const noTemplate = "it does not exist in this region, or was deleted"

// LaunchTemplate describes a launch template by its id, or else by its name. If it does not exist
// the error is a *NotFoundError.
func (d *Discovery) LaunchTemplate(ctx context.Context, id, name string) (launchtemplate.Template, error) {
	// One launch template may have the ID of another as its name.
	question := "id:" + id
	if id == "" {
		question = "name:" + name
	}
	return d.launchTemplates.get(ctx, question, func(ctx context.Context) (launchtemplate.Template, error) {
		template, err := d.templates.One(ctx, id, name)
		if err != nil {
			return launchtemplate.Template{}, err
		}
		if template == nil {
			return launchtemplate.Template{}, &NotFoundError{Kind: "launch template", What: cmp.Or(id, name), Advice: noTemplate}
		}
		return *template, nil
	})
}

// TemplateVersion reads a version of a launch template. If it does not exist the error is a *NotFoundError.
func (d *Discovery) TemplateVersion(ctx context.Context, id string, version int64) (launchtemplate.Data, error) {
	number := strconv.FormatInt(version, 10)
	return d.templateVersions.get(ctx, id+":"+number, func(ctx context.Context) (launchtemplate.Data, error) {
		data, err := d.templates.Data(ctx, id, version)
		if aws.IsNotFound(err) {
			return launchtemplate.Data{}, &NotFoundError{
				Kind: "launch template", What: fmt.Sprintf("%s, version %s", id, number), Advice: noTemplate,
			}
		}
		return data, err
	})
}

// TemplateChanges describes what a node from one version of a launch template has that one from an
// earlier version does not have. Only the description is remembered: two versions with their user
// data for every pool would fill the memory of a manager.
func (d *Discovery) TemplateChanges(ctx context.Context, id string, from, to int64) ([]string, error) {
	return d.templateChanges.get(ctx, changesKey(id, from, to), func(ctx context.Context) ([]string, error) {
		return d.templates.Changes(ctx, id, from, to)
	})
}

// KnowTemplateChanges remembers what TemplateChanges would return, for a version that was just created.
func (d *Discovery) KnowTemplateChanges(ctx context.Context, id string, from, to int64, changes []string) {
	d.templateChanges.put(ctx, changesKey(id, from, to), changes)
}

func changesKey(id string, from, to int64) string { return fmt.Sprintf("%s:%d:%d", id, from, to) }

// ForgetLaunchTemplate has a launch template and its versions described again: EC2 said that one of
// them is gone.
func (d *Discovery) ForgetLaunchTemplate(id string) {
	d.launchTemplates.answers.DeleteFunc(func(_ string, known launchtemplate.Template) bool { return known.ID == id })
	d.templateVersions.answers.DeleteFunc(func(_ string, known launchtemplate.Data) bool { return known.TemplateID() == id })
}

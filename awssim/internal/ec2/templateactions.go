package ec2

import (
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var templatePages = pageLimits{min: 1, max: 200, unpaged: 200}

func createLaunchTemplate(c *sim.Call, in *awsec2.CreateLaunchTemplateInput) (*awsec2.CreateLaunchTemplateOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	previous, err := replay[awsec2.CreateLaunchTemplateOutput](s.tokens, c.Action, in.ClientToken, maxTemplateToken, request)
	if err != nil || previous != nil && s.templates.answersFor(previous.LaunchTemplate.LaunchTemplateId, 0) {
		return previous, err
	}
	tags, err := s.templates.checkNew(in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	t := template{
		id: c.Kernel.NewID("lt-", 17), name: *in.LaunchTemplateName, createTime: c.Now.Truncate(time.Second), createdBy: c.Principal, tags: tags,
		versions: sim.NewTable[templateVersion](c.Kernel),
	}
	if in.Operator != nil {
		t.operator = val(in.Operator.Principal)
	}
	t = s.templates.addVersion(t, templateVersion{description: val(in.VersionDescription), createTime: c.Now.Truncate(time.Second), createdBy: c.Principal, data: shape.Clone(*in.LaunchTemplateData)})
	t.defaultVersion = t.latestVersion
	s.templates.Put(t.id, t)
	s.templates.names.Put(t.name, t.id)
	out := &awsec2.CreateLaunchTemplateOutput{LaunchTemplate: ptr(t.describe()), Warning: validationWarning(s, *in.LaunchTemplateData)}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

var templateFilters = filterTable[template]{
	"create-time":          func(t template) []string { return instant(&t.createTime) },
	"launch-template-name": func(t template) []string { return []string{t.name} },
	"launch-template-id":   func(t template) []string { return []string{t.id} },
}

func describeLaunchTemplates(c *sim.Call, in *awsec2.DescribeLaunchTemplatesInput) (*awsec2.DescribeLaunchTemplatesOutput, error) {
	s := stateOf(c.Region)
	if err := checkNamedTemplates(in); err != nil {
		return nil, err
	}
	found, err := s.templates.named(in.LaunchTemplateIds, in.LaunchTemplateNames)
	if err != nil {
		return nil, err
	}
	found, err = templateFilters.apply(in.Filters, found, func(t template) []types.Tag { return t.tags })
	if err != nil {
		return nil, err
	}
	found, next, err := page(found, in.MaxResults, in.NextToken, templatePages, func(t template) string { return t.id })
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.DescribeLaunchTemplatesOutput{NextToken: next}
	for _, t := range found {
		out.LaunchTemplates = append(out.LaunchTemplates, t.describe())
	}
	return out, nil
}

func checkNamedTemplates(in *awsec2.DescribeLaunchTemplatesInput) error {
	for _, id := range in.LaunchTemplateIds {
		if err := launchTemplateID.check(id); err != nil {
			return err
		}
	}
	for _, name := range in.LaunchTemplateNames {
		if err := checkTemplateName(name); err != nil {
			return err
		}
	}
	return nil
}

func modifyLaunchTemplate(c *sim.Call, in *awsec2.ModifyLaunchTemplateInput) (*awsec2.ModifyLaunchTemplateOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	if previous, err := replay[awsec2.ModifyLaunchTemplateOutput](s.tokens, c.Action, in.ClientToken, maxTemplateToken, request); previous != nil || err != nil {
		return previous, err
	}
	if val(in.LaunchTemplateId) != "" && val(in.LaunchTemplateName) != "" {
		// moto, verified on AWS
		return nil, invalidCombination("Either provide launch template ID or launch template name to modify the template.")
	}
	t, err := s.templates.find(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if val(in.DefaultVersion) != "" {
		v, err := t.version(*in.DefaultVersion)
		switch {
		case err != nil && sim.AsError(err).Code == codeVersionNotFound: // moto, ec2/exceptions.py, InvalidLaunchTemplateVersionNotFound: verified on AWS
			return nil, sim.Errorf(codeVersionNotFound, "The launch template version %s is not found for the specified launch template.", *in.DefaultVersion)
		case err != nil:
			return nil, err
		}
		t.defaultVersion = v.number
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.templates.Put(t.id, t)
	out := &awsec2.ModifyLaunchTemplateOutput{LaunchTemplate: ptr(t.describe())}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

// deleteLaunchTemplate deletes a template with all of its versions (API reference, DeleteLaunchTemplate).
func deleteLaunchTemplate(c *sim.Call, in *awsec2.DeleteLaunchTemplateInput) (*awsec2.DeleteLaunchTemplateOutput, error) {
	s := stateOf(c.Region)
	t, err := s.templates.find(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.templates.Delete(t.id)
	s.templates.names.Delete(t.name)
	return &awsec2.DeleteLaunchTemplateOutput{LaunchTemplate: ptr(t.describe())}, nil
}

package ec2

import (
	"regexp"
	"time"
	"unicode/utf8"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// template is a launch template. Its versions are a table of their own, so that reading one
// template does not read all others.
type template struct {
	id, name       string
	createTime     time.Time
	createdBy      string
	operator       string // principal of the service that manages it, if any
	tags           []types.Tag
	defaultVersion int64
	latestVersion  int64 // the highest that exists
	// the highest that was ever given: numbers are not used again (User Guide, "Delete a launch
	// template version")
	lastNumber int64
	count      int // how many versions there are
	versions   *sim.Table[templateVersion]
}

// templateVersion never changes (User Guide, "Restrictions for Amazon EC2 launch templates").
type templateVersion struct {
	number      int64
	description string
	createTime  time.Time
	createdBy   string
	data        types.RequestLaunchTemplateData
}

// Quotas (User Guide, "Restrictions for Amazon EC2 launch templates"); a world can set others.
const (
	defaultTemplateQuota = 5000
	defaultVersionQuota  = 10000
)

var (
	templateName   = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]+$`)
	minNameLength  = 3
	maxNameLength  = 128
	maxDescription = 255
)

// templates holds the launch templates of a Region by id.
type templates struct {
	*sim.Table[template]
	kernel *sim.Kernel
	names  *sim.Table[string] // name -> id; names are unique per account and Region
}

func checkTemplateName(name string) error {
	if len(name) < minNameLength || len(name) > maxNameLength || !templateName.MatchString(name) {
		return sim.Errorf("InvalidLaunchTemplateName.MalformedException",
			"A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _.")
	}
	return nil
}

func checkDescription(description *string) error {
	if utf8.RuneCountInString(val(description)) > maxDescription {
		return sim.Errorf("InvalidParameterValue", "The launch template version description must be at most %d characters long.", maxDescription)
	}
	return nil
}

// checkNew refuses what EC2 refuses at creation and returns the tags of the template itself.
func (ts *templates) checkNew(in *awsec2.CreateLaunchTemplateInput) ([]types.Tag, error) {
	if val(in.LaunchTemplateName) == "" {
		return nil, missingParameter("LaunchTemplateName")
	}
	if err := checkTemplateName(*in.LaunchTemplateName); err != nil {
		return nil, err
	}
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return nil, err
	}
	if err := checkDescription(in.VersionDescription); err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate, types.ResourceTypeLaunchTemplate)
	if err != nil {
		return nil, err
	}
	if _, taken := ts.names.Get(*in.LaunchTemplateName); taken {
		return nil, sim.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	if quota := ts.kernel.World().Quota(world.QuotaLaunchTemplates, defaultTemplateQuota); ts.Len() >= quota {
		return nil, sim.Errorf("MaxTemplateLimitExceeded", "You have reached the maximum number of launch templates (%d) that you can create.", quota)
	}
	return tags, nil
}

// addVersion gives the version the next number and puts it into the template. The caller puts the template.
func (ts *templates) addVersion(t template, v templateVersion) template {
	t.lastNumber++
	t.count++
	t.latestVersion = t.lastNumber
	v.number = t.lastNumber
	t.versions.Put(versionKey(v.number), v)
	return t
}

// describe is the template as EC2 answers it.
func (t template) describe() types.LaunchTemplate {
	return types.LaunchTemplate{
		LaunchTemplateId: ptr(t.id), LaunchTemplateName: ptr(t.name), CreateTime: ptr(t.createTime), CreatedBy: ptr(t.createdBy),
		DefaultVersionNumber: ptr(t.defaultVersion), LatestVersionNumber: ptr(t.latestVersion), Tags: shape.Clone(t.tags), Operator: operatorOf(t.operator),
	}
}

func operatorOf(principal string) *types.OperatorResponse {
	return &types.OperatorResponse{Managed: ptr(principal != ""), Principal: optional(principal)}
}

// find returns the template that a request names by id or by name, as writes see it.
func (ts *templates) find(id, name *string) (template, error) {
	if err := checkTemplateReference(id, name); err != nil {
		return template{}, err
	}
	if val(id) != "" {
		t, ok := ts.Get(*id)
		if !ok {
			return template{}, templateIDNotFound(*id)
		}
		return t, nil
	}
	templateID, ok := ts.names.Get(*name)
	if !ok {
		return template{}, templateNameNotFound(*name)
	}
	t, _ := ts.Get(templateID)
	return t, nil
}

// visible returns the template that a request names, as reads see it, which may lag.
func (ts *templates) visible(id, name *string) (template, error) {
	if err := checkTemplateReference(id, name); err != nil {
		return template{}, err
	}
	if val(id) != "" {
		t, ok := ts.Visible(*id)
		if !ok {
			return template{}, templateIDNotFound(*id)
		}
		return t, nil
	}
	if templateID, ok := ts.names.Visible(*name); ok {
		if t, ok := ts.Visible(templateID); ok {
			return t, nil
		}
	}
	return template{}, templateNameNotFound(*name)
}

// checkTemplateReference wants exactly one of id and name (SDK, LaunchTemplateId of every action).
func checkTemplateReference(id, name *string) error {
	switch {
	case val(id) != "" && val(name) != "":
		return invalidCombination("You must specify either the launch template ID or the launch template name, but not both.")
	case val(id) != "":
		return launchTemplateID.check(*id)
	case val(name) != "":
		return checkTemplateName(*name)
	default:
		return sim.Errorf("MissingParameter", "Either the launch template ID or the launch template name is required.")
	}
}

func templateIDNotFound(id string) error {
	return sim.Errorf("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
}

func templateNameNotFound(name string) error {
	return sim.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}

// named returns every visible template, or those with one of the ids or names. All that are
// named must exist.
func (ts *templates) named(ids, names []string) ([]template, error) {
	if len(ids)+len(names) == 0 {
		return ts.VisibleAll(), nil
	}
	const message = "At least one of the launch templates specified in the request does not exist."
	chosen := map[string]bool{}
	var found []template
	add := func(t template) {
		if !chosen[t.id] {
			chosen[t.id] = true
			found = append(found, t)
		}
	}
	for _, id := range ids {
		t, ok := ts.Visible(id)
		if !ok {
			return nil, sim.Errorf("InvalidLaunchTemplateId.NotFound", message)
		}
		add(t)
	}
	for _, name := range names {
		id, _ := ts.names.Visible(name)
		t, ok := ts.Visible(id)
		if !ok {
			return nil, sim.Errorf("InvalidLaunchTemplateName.NotFoundException", message)
		}
		add(t)
	}
	return found, nil
}

// answersFor reports whether a repeated request is answered with the template and version, 0 for
// any, that the first one created.
func (ts *templates) answersFor(id *string, version int64) bool {
	if !ts.kernel.Behavior().ForgetTokens {
		return true
	}
	t, exists := ts.Get(*id)
	if !exists || version == 0 {
		return exists
	}
	_, exists = t.versions.Get(versionKey(version))
	return exists
}

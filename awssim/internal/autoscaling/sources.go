package autoscaling

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// configurations holds the launch configurations of a Region. They are never changed.
type configurations struct {
	table *sim.Table[*types.LaunchConfiguration]
}

// find returns a launch configuration, or AWS's error, as Spinnaker's clouddriver and
// others match it.
func (cs configurations) find(name *string) (*types.LaunchConfiguration, error) {
	if val(name) == "" {
		return nil, required("launchConfigurationName")
	}
	l, ok := cs.table.Get(*name)
	if !ok {
		return nil, invalid("Launch configuration name not found - Launch configuration %s not found", *name)
	}
	return l, nil
}

// nameOf returns the name of the launch configuration of an instance. AWS no longer shows it once
// that is deleted (kubernetes/kops#6558).
func (cs configurations) nameOf(l *types.LaunchConfiguration) *string {
	if l == nil {
		return nil
	}
	if now, ok := cs.table.Get(*l.LaunchConfigurationName); !ok || now != l {
		return nil
	}
	return l.LaunchConfigurationName
}

// sources resolves what a group launches from, as it is at this moment: launch templates, their
// versions and launch configurations.
type sources struct {
	region         *sim.Region
	configurations configurations
}

// resolved is a launch template version, as it is at this moment, or a launch configuration.
type resolved struct {
	id, name      string
	number        int
	configuration *types.LaunchConfiguration // nil for a launch template
	data          ec2types.RequestLaunchTemplateData
}

// base returns what a configuration launches before its overrides.
func (s *sources) base(c configuration) (resolved, error) {
	if c.launchConfiguration == "" {
		return s.resolve(c.specification())
	}
	l, err := s.configurations.find(&c.launchConfiguration)
	if err != nil {
		return resolved{}, err
	}
	return resolved{configuration: l, data: launchData(l)}, nil
}

func (s *sources) resolve(spec *types.LaunchTemplateSpecification) (resolved, error) {
	named := ec2.LaunchTemplateSpec{ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version)}
	if named.ID != "" {
		named.Name = ""
	}
	v, err := ec2.ResolveLaunchTemplate(s.region, named)
	if err != nil {
		return resolved{}, err
	}
	return resolved{id: v.ID, name: v.Name, number: int(v.Number), data: v.Data}, nil
}

// templateOf returns the launch template of an override: its own, or the policy's.
func (s *sources) templateOf(o types.LaunchTemplateOverrides, base resolved) (resolved, error) {
	if o.LaunchTemplateSpecification == nil {
		return base, nil
	}
	return s.resolve(o.LaunchTemplateSpecification)
}

// attributeBased reports whether instance types are chosen by their attributes, which the overrides
// or the launch templates may name (UG
// create-mixed-instances-group-attribute-based-instance-type-selection). A template that is gone
// names none.
func (s *sources) attributeBased(c configuration) bool {
	base, baseErr := s.base(c)
	return slices.ContainsFunc(c.alternatives(), func(o types.LaunchTemplateOverrides) bool {
		if o.InstanceRequirements != nil || o.InstanceType != nil {
			return o.InstanceRequirements != nil
		}
		template, err := s.templateOf(o, base)
		return err == nil && (baseErr == nil || o.LaunchTemplateSpecification != nil) && template.data.InstanceRequirements != nil
	})
}

// usesParameterImage reports whether a template of the configuration names its image by a
// parameter. A template that is gone names none.
func (s *sources) usesParameterImage(c configuration) bool {
	if c.launchConfiguration != "" {
		return false
	}
	specs := []*types.LaunchTemplateSpecification{c.specification()}
	for _, o := range c.overrides() {
		if o.LaunchTemplateSpecification != nil {
			specs = append(specs, o.LaunchTemplateSpecification)
		}
	}
	return slices.ContainsFunc(specs, func(spec *types.LaunchTemplateSpecification) bool {
		t, err := s.resolve(spec)
		return err == nil && parameterImage(t)
	})
}

// parameterImage reports whether a template's image is a Systems Manager parameter, which the
// refresh features exclude (UG using-systems-manager-parameters).
func parameterImage(t resolved) bool { return strings.HasPrefix(val(t.data.ImageId), "resolve:ssm:") }

// numbered reports whether every launch template of a configuration is named with a version number.
// A launch configuration never changes.
func numbered(c configuration) bool {
	if c.launchConfiguration != "" {
		return true
	}
	isNumber := func(spec *types.LaunchTemplateSpecification) bool {
		_, err := strconv.Atoi(val(spec.Version))
		return err == nil
	}
	for _, o := range c.overrides() {
		if o.LaunchTemplateSpecification != nil && !isNumber(o.LaunchTemplateSpecification) {
			return false
		}
	}
	return isNumber(c.specification())
}

// overrideFor returns the first override for the type of an instance.
func (s *sources) overrideFor(c configuration, m *member) (types.LaunchTemplateOverrides, bool) {
	base, err := s.base(c)
	if err != nil {
		return types.LaunchTemplateOverrides{}, false
	}
	for _, o := range c.overrides() {
		t, err := s.templateOf(o, base)
		if err == nil && valOr(o.InstanceType, string(t.data.InstanceType)) == m.instanceType {
			return o, true
		}
	}
	return types.LaunchTemplateOverrides{}, false
}

// launchedFrom reports whether an instance has the launch template version that a configuration
// names for an override.
func (s *sources) launchedFrom(m *member, c configuration, o types.LaunchTemplateOverrides) bool {
	base, err := s.base(c)
	if err != nil {
		return false
	}
	t, err := s.templateOf(o, base)
	return err == nil && m.template != nil && *m.template.LaunchTemplateId == t.id && m.version() == t.number
}

package ssm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var names = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)

func invalid(format string, args ...any) error {
	return sim.Errorf("ValidationException", format, args...)
}

// longestARN bounds the length of a name together with its prefix in the ARN (AWS: PutParameter,
// Name).
const longestARN = 1011

// checkName follows AWS: PutParameter, Name.
func (s *state) checkName(name string) error {
	bare := strings.ToLower(strings.TrimPrefix(name, "/"))
	switch {
	case name == "" || len(name) > 2048:
		return invalid("Parameter name: the length must be between 1 and 2048")
	case len(s.arn(name, false)) > longestARN:
		return invalid("Parameter name: the fully qualified name must have at most %d characters, those of its ARN included", longestARN)
	case strings.HasPrefix(bare, "aws"), strings.HasPrefix(bare, "ssm"): // the codes and the words: moto, ssm/models.py
		switch path := strings.Count(name, "/") > 1; {
		case path && strings.HasPrefix(strings.ToLower(name), "/aws"):
			return sim.Errorf("AccessDeniedException", "No access to reserved parameter name: %s.", name)
		case path:
			return malformedName()
		}
		return invalid("Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive).")
	case !names.MatchString(name):
		return invalid("Invalid characters in parameter name. Only a-zA-Z0-9_.-/ are allowed.")
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return invalid("Parameter name must be a fully qualified name.")
	case strings.Contains(name, "//") || strings.HasSuffix(name, "/"):
		return invalid("Parameter name must not have empty levels.")
	case strings.Count(name, "/") > 15:
		return sim.Errorf("HierarchyLevelLimitExceededException", "A hierarchy can have a maximum of 15 levels.")
	}
	return nil
}

func putParameter(c *sim.Call, in *ssm.PutParameterInput) (*ssm.PutParameterOutput, error) {
	s := of(c.Region)
	name := str(in.Name)
	if err := s.checkName(name); err != nil {
		return nil, err
	}
	p, exists := s.parameters.Get(key(name))
	overwrite := in.Overwrite != nil && *in.Overwrite
	switch {
	case exists && !overwrite:
		return nil, sim.Errorf("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite "+
			"option in the request to true.")
	case overwrite && len(in.Tags) > 0:
		return nil, invalid("Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please " +
			"remove overwrite flag.")
	case str(in.Policies) != "":
		return nil, invalid("The simulated parameter store does not support policies.")
	}
	v, err := newVersion(c, in, p, exists)
	if err != nil {
		return nil, err
	}
	if !exists {
		p = parameter{Name: name, ARN: s.arn(name, false)}
		if p.Tags, err = tagged(nil, in.Tags); err != nil {
			return nil, err
		}
	}
	p.Versions = append(slices.Clone(p.Versions), v)
	if len(p.Versions) > maxVersions {
		p.Forgotten++
		p.Versions = p.Versions[1:]
	}
	s.parameters.Put(key(name), p)
	return &ssm.PutParameterOutput{Version: int64(p.number()), Tier: v.Tier}, nil
}

// newVersion checks what a version of its own must satisfy; what is left out stays as it was.
func newVersion(c *sim.Call, in *ssm.PutParameterInput, p parameter, exists bool) (version, error) {
	v := version{
		Value: str(in.Value), Type: in.Type, DataType: str(in.DataType), Tier: in.Tier, Description: str(in.Description),
		AllowedPattern: str(in.AllowedPattern), KeyID: str(in.KeyId), Modified: c.Now, ModifiedBy: c.Principal,
	}
	if exists {
		was := p.newest()
		if v.Type == "" {
			v.Type = was.Type
		}
		if v.DataType == "" {
			v.DataType = was.DataType
		}
		if v.Tier == "" {
			v.Tier = was.Tier
		}
		if was.Type != v.Type {
			return v, sim.Errorf("HierarchyTypeMismatchException", "The parameter type can't be changed from %s to %s.", was.Type, v.Type)
		}
		// An advanced parameter stays advanced (AWS: "Managing parameter tiers").
		if was.Tier == types.ParameterTierAdvanced && v.Tier == types.ParameterTierIntelligentTiering {
			v.Tier = types.ParameterTierAdvanced
		}
		if was.Tier == types.ParameterTierAdvanced && v.Tier == types.ParameterTierStandard {
			return v, invalid("This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the " +
				"advanced-parameter tier to the standard-parameter tier.")
		}
	}
	if v.Type == "" {
		return v, invalid("A parameter type is required when you create a parameter.")
	}
	if !slices.Contains(v.Type.Values(), v.Type) {
		return v, sim.Errorf("UnsupportedParameterType", "The parameter type %s is not supported.", v.Type)
	}
	return v, v.complete()
}

// complete fills in defaults and checks sizes and patterns (AWS: "Managing parameter tiers": 4 KB
// standard, 8 KB advanced).
func (v *version) complete() error {
	if v.DataType == "" {
		v.DataType = "text"
	}
	if v.DataType != "text" && v.DataType != "aws:ec2:image" {
		return invalid("The following data type is not supported: %s", v.DataType)
	}
	switch v.Tier {
	case "":
		v.Tier = types.ParameterTierStandard
	case types.ParameterTierIntelligentTiering:
		v.Tier = types.ParameterTierStandard
		if len(v.Value) > 4096 {
			v.Tier = types.ParameterTierAdvanced
		}
	case types.ParameterTierStandard, types.ParameterTierAdvanced:
	default:
		return invalid("The tier %s is not known.", v.Tier)
	}
	if v.Type == types.ParameterTypeSecureString && v.KeyID == "" {
		v.KeyID = "alias/aws/ssm"
	}
	limit := 4096
	if v.Tier == types.ParameterTierAdvanced {
		limit = 8192
	}
	if v.Value == "" || len(v.Value) > limit {
		return invalid("%s tier parameters support a maximum parameter value of %d characters, and at least one.", v.Tier, limit)
	}
	return v.matchPattern()
}

func (v *version) matchPattern() error {
	// AWS: PutParameter, Value: "You can't include values wrapped in double brackets {{}} or
	// {{ssm:parameter-name}}".
	if strings.Contains(v.Value, "{{") && strings.Contains(v.Value, "}}") {
		return invalid("Parameter value: parameter references, {{}}, are not allowed in the values of parameters.")
	}
	if v.AllowedPattern == "" {
		return nil
	}
	pattern, err := regexp.Compile("^(?:" + v.AllowedPattern + ")$")
	if err != nil {
		return sim.Errorf("InvalidAllowedPatternException", "The pattern is not valid: %s", err)
	}
	if !pattern.MatchString(v.Value) {
		return sim.Errorf("ParameterPatternMismatchException", "Parameter value, cannot be validated against allowedPattern: %s",
			v.AllowedPattern)
	}
	return nil
}

func (s *state) remove(name string) error {
	p, ok := s.parameters.Get(key(name))
	if !ok {
		return sim.Errorf("ParameterNotFound", "") // AWS's answer has no message
	}
	if p.Public {
		return sim.Errorf("AccessDeniedException", "No access to reserved parameter name: %s.", name)
	}
	s.parameters.Delete(key(name))
	return nil
}

func deleteParameter(c *sim.Call, in *ssm.DeleteParameterInput) (*ssm.DeleteParameterOutput, error) {
	return &ssm.DeleteParameterOutput{}, of(c.Region).remove(str(in.Name))
}

func deleteParameters(c *sim.Call, in *ssm.DeleteParametersInput) (*ssm.DeleteParametersOutput, error) {
	out := &ssm.DeleteParametersOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if err := of(c.Region).remove(name); err != nil {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		out.DeletedParameters = append(out.DeletedParameters, name)
	}
	return out, nil
}

package ssm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func getParameter(c *sim.Call, in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	answer, err := of(c.Region).get(*in.Name, in.WithDecryption != nil && *in.WithDecryption)
	if err != nil {
		return nil, err
	}
	return &ssm.GetParameterOutput{Parameter: &answer}, nil
}

// get answers the parameter of a reference, by the name that was asked for: /x for a parameter that
// was created as x (LocalStack verified it on AWS). An ARN gives the name that the parameter was
// created with.
func (s *state) get(reference string, decrypt bool) (types.Parameter, error) {
	p, v, n, err := s.find(reference, (*sim.Table[parameter]).Visible)
	if err != nil {
		return types.Parameter{}, err
	}
	answer := p.answer(v, n, decrypt)
	name, selector, selected := s.split(reference)
	if !isARN(reference) {
		answer.Name = &name
	}
	if selected {
		selector = ":" + selector
		answer.Selector = &selector
	}
	return answer, nil
}

// getParameters answers up to ten parameters. Missing parameters, and malformed names, are listed
// as invalid (API GetParameters, InvalidParameters).
func getParameters(c *sim.Call, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	out := &ssm.GetParametersOutput{Parameters: []types.Parameter{}, InvalidParameters: []string{}}
	for i, name := range in.Names {
		if slices.Contains(in.Names[:i], name) {
			return nil, sim.Errorf("ValidationException", "Duplicate parameters in request")
		}
		answer, err := of(c.Region).get(name, in.WithDecryption != nil && *in.WithDecryption)
		if err != nil {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		out.Parameters = append(out.Parameters, answer)
	}
	return out, nil
}

func getParametersByPath(c *sim.Call, in *ssm.GetParametersByPathInput) (*ssm.GetParametersByPathOutput, error) {
	path := str(in.Path)
	if err := checkPath(path); err != nil {
		return nil, err
	}
	wanted, err := filterBy(in.ParameterFilters, "Type", "KeyId", "Label")
	if err != nil {
		return nil, err
	}
	recursive := in.Recursive != nil && *in.Recursive
	var found []types.Parameter
	for _, p := range of(c.Region).sorted() {
		// Public parameters are found by their own paths alone, not as everything below /.
		if p.Public && !strings.HasPrefix(path, "/aws/") || !below(slashed(p.Name), path, recursive) || !wanted(p) {
			continue
		}
		found = append(found, p.answer(p.newest(), p.number(), in.WithDecryption != nil && *in.WithDecryption))
	}
	page, next, err := paginate(found, in.NextToken, in.MaxResults, 10, func(p types.Parameter) string { return *p.Name })
	if err != nil {
		return nil, err
	}
	return &ssm.GetParametersByPathOutput{Parameters: page, NextToken: next}, nil
}

// unmetRequirements is AWS's message about a path that does not begin with a slash, and about any
// malformed one in a filter (moto, ssm/models.py).
const unmetRequirements = `The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward slash "/". It can't be ` +
	`prefixed with "aws" or "ssm" (case-insensitive). It must use only letters, numbers, or the following symbols: . (period), - (hyphen), _ (underscore). ` +
	`Special characters are not allowed. All sub-paths, if specified, must use the forward slash symbol "/". Valid example: /get/parameters2-/by1./path0_.`

// checkPath follows AWS's message for GetParametersByPath, which users have published.
func checkPath(path string) error {
	lower := strings.ToLower(path)
	switch {
	case !strings.HasPrefix(path, "/"):
		return invalid("%s", unmetRequirements)
	case !names.MatchString(path), strings.Contains(path, "//"), strings.HasPrefix(lower, "/ssm"), strings.HasPrefix(lower, "/aws") && !strings.HasPrefix(path, "/aws"):
		return invalid(`Parameter path: can't be prefixed with "aws" or "ssm" (case-insensitive) except global parameter name path prefixed with "aws" ` +
			`(case-sensitive). It should always begin with / symbol.It consists of sub-paths divided by slash symbol; each sub-path can be formed as a ` +
			`mix of letters, numbers and the following 3 symbols .-_`)
	}
	return nil
}

// checkPathFilter follows AWS: DescribeParameters, for filters with the key Path (moto,
// ssm/models.py).
func checkPathFilter(path string) error {
	lower := strings.ToLower(path)
	switch {
	case strings.HasPrefix(lower, "/aws"), strings.HasPrefix(lower, "/ssm"):
		return invalid(`Filters for common parameters can't be prefixed with "aws" or "ssm" (case-insensitive). When using global parameters, please specify ` +
			`within a global namespace.`)
	case !strings.HasPrefix(path, "/"), !names.MatchString(path), strings.Contains(path, "//"):
		return invalid("%s", unmetRequirements)
	}
	return nil
}

// slashed returns a name as it is in the ARN, by which paths and filters find it: x and /x are one
// parameter.
func slashed(name string) string { return "/" + strings.TrimPrefix(name, "/") }

// below reports whether a name is in a path or, if recursive, deeper.
func below(name, path string, recursive bool) bool {
	rest, found := strings.CutPrefix(name, strings.TrimSuffix(path, "/")+"/")
	return found && rest != "" && (recursive || !strings.Contains(rest, "/"))
}

func (s *state) sorted() []parameter {
	list := s.parameters.VisibleAll()
	slices.SortFunc(list, func(a, b parameter) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// paginate cuts a page of up to maximum elements out of a list.
func paginate[T any](list []T, token *string, maxResults *int32, maximum int, key func(T) string) ([]T, *string, error) {
	size := maximum
	if maxResults != nil {
		if size = int(*maxResults); size < 1 || size > maximum {
			return nil, nil, sim.Errorf("ValidationException", "1 validation error detected: Value '%d' at 'maxResults' failed to "+
				"satisfy constraint: Member must have value between 1 and %d", size, maximum)
		}
	}
	page, next, ok := sim.Page(list, token, size, key)
	if !ok {
		return nil, nil, sim.Errorf("InvalidNextToken", "The specified token is not valid.")
	}
	return append([]T{}, page...), next, nil
}

// filterBy returns a predicate from filters, which may have only the given keys.
func filterBy(filters []types.ParameterStringFilter, keys ...string) (func(parameter) bool, error) {
	var tests []func(parameter) bool
	for _, f := range filters {
		key, option := str(f.Key), str(f.Option)
		known := key
		if strings.HasPrefix(key, "tag:") {
			known = "tag:"
		}
		if !slices.Contains(keys, known) {
			return nil, sim.Errorf("InvalidFilterKey", "The following filter key is not valid: %s. Valid filter keys include: [%s].",
				key, strings.Join(keys, ", "))
		}
		if option == "" {
			option = "Equals"
			if key == "Path" {
				option = "OneLevel"
			}
		}
		if len(f.Values) == 0 {
			return nil, sim.Errorf("InvalidFilterValue", "The filter %s has no values.", key)
		}
		if key == "Path" {
			for _, path := range f.Values {
				if err := checkPathFilter(path); err != nil {
					return nil, err
				}
			}
		}
		match, err := matcher(key, option)
		if err != nil {
			return nil, err
		}
		tests = append(tests, func(p parameter) bool {
			return slices.ContainsFunc(f.Values, func(value string) bool { return match(p, value) })
		})
	}
	return func(p parameter) bool {
		return !slices.ContainsFunc(tests, func(test func(parameter) bool) bool { return !test(p) })
	}, nil
}

// attributes returns the text that a filter of a parameter compares, by the filter's key.
var attributes = map[string]func(parameter) string{
	"Type":     func(p parameter) string { return string(p.newest().Type) },
	"Tier":     func(p parameter) string { return string(p.newest().Tier) },
	"KeyId":    func(p parameter) string { return p.newest().KeyID },
	"DataType": func(p parameter) string { return p.newest().DataType },
}

// matchers are the filters that compare a parameter otherwise, by their key and option. moto (ssm/models.py) takes names with
// and without a slash for one. Labels are not simulated, so that no version has any.
var matchers = map[[2]string]func(p parameter, value string) bool{
	{"Name", "Equals"}:     func(p parameter, value string) bool { return slashed(p.Name) == slashed(value) },
	{"Name", "BeginsWith"}: func(p parameter, value string) bool { return strings.HasPrefix(slashed(p.Name), slashed(value)) },
	{"Name", "Contains"}:   func(p parameter, value string) bool { return strings.Contains(p.Name, value) },
	{"Label", "Equals"}:    func(parameter, string) bool { return false },
	{"Path", "OneLevel"}:   func(p parameter, value string) bool { return below(slashed(p.Name), value, false) },
	{"Path", "Recursive"}:  func(p parameter, value string) bool { return below(slashed(p.Name), value, true) },
}

// matcher returns how a filter with a key and an option compares a parameter with a value.
func matcher(key, option string) (func(p parameter, value string) bool, error) {
	if name, isTag := strings.CutPrefix(key, "tag:"); isTag && option == "Equals" {
		return func(p parameter, value string) bool { got, tagged := p.Tags[name]; return tagged && got == value }, nil
	}
	if match := matchers[[2]string{key, option}]; match != nil {
		return match, nil
	}
	if attribute := attributes[key]; attribute != nil && option == "Equals" {
		return func(p parameter, value string) bool { return attribute(p) == value }, nil
	} else if attribute != nil && option == "BeginsWith" {
		return func(p parameter, value string) bool { return strings.HasPrefix(attribute(p), value) }, nil
	}
	return nil, sim.Errorf("InvalidFilterOption", "The following filter option is not valid for %s: %s.", key, option)
}

// describeParameters answers the account's own parameters, without their values.
func describeParameters(c *sim.Call, in *ssm.DescribeParametersInput) (*ssm.DescribeParametersOutput, error) {
	filters := slices.Clone(in.ParameterFilters)
	for _, f := range in.Filters { // the older form
		key := string(f.Key)
		filters = append(filters, types.ParameterStringFilter{Key: &key, Values: f.Values})
	}
	wanted, err := filterBy(filters, "Name", "Type", "Tier", "KeyId", "DataType", "Path", "tag:")
	if err != nil {
		return nil, err
	}
	var found []types.ParameterMetadata
	for _, p := range of(c.Region).sorted() {
		if p.Public || !wanted(p) || in.Shared != nil && *in.Shared {
			continue
		}
		found = append(found, p.metadata())
	}
	page, next, err := paginate(found, in.NextToken, in.MaxResults, 50, func(p types.ParameterMetadata) string { return *p.Name })
	if err != nil {
		return nil, err
	}
	return &ssm.DescribeParametersOutput{Parameters: page, NextToken: next}, nil
}

func (p parameter) metadata() types.ParameterMetadata {
	v := p.newest()
	m := types.ParameterMetadata{
		Name: &p.Name, ARN: &p.ARN, Type: v.Type, DataType: &v.DataType, Tier: v.Tier, Version: int64(p.number()),
		LastModifiedDate: &v.Modified, LastModifiedUser: &v.ModifiedBy, Policies: []types.ParameterInlinePolicy{},
	}
	for text, member := range map[*string]**string{&v.Description: &m.Description, &v.AllowedPattern: &m.AllowedPattern, &v.KeyID: &m.KeyId} {
		if *text != "" {
			*member = text
		}
	}
	return m
}

// Package ssm owns the simulated parameter store of Systems Manager: AWS's public parameters, which
// name images, and the parameters of an account. A parameter keeps its versions; labels, policies and
// real encryption are not simulated.
package ssm

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// parameter is a parameter with its versions, oldest first; version n is at index n-1-forgotten.
type parameter struct {
	Name      string            `json:"name"`
	ARN       string            `json:"arn"`
	Public    bool              `json:"-"`
	Forgotten int               `json:"forgotten,omitempty"` // versions beyond the newest hundred
	Versions  []version         `json:"versions"`
	Tags      map[string]string `json:"tags,omitempty"`
}

type version struct {
	Value          string              `json:"value"`
	Type           types.ParameterType `json:"type"`
	DataType       string              `json:"dataType"`
	Tier           types.ParameterTier `json:"tier"`
	Description    string              `json:"description,omitempty"`
	AllowedPattern string              `json:"allowedPattern,omitempty"`
	KeyID          string              `json:"keyID,omitempty"`
	Modified       time.Time           `json:"modified"`
	ModifiedBy     string              `json:"modifiedBy"`
}

// maxVersions is the number of versions that are kept (AWS: PutParameter).
const maxVersions = 100

func (p parameter) number() int { return p.Forgotten + len(p.Versions) }

func (p parameter) newest() version { return p.Versions[len(p.Versions)-1] }

type state struct {
	region     *sim.Region
	parameters *sim.Table[parameter]
}

func of(r *sim.Region) *state { return sim.Store(r, build) }

func build(r *sim.Region) *state {
	s := &state{region: r, parameters: sim.NewTable[parameter](r.Kernel())}
	for _, p := range r.World().Parameters {
		v := version{
			Value: p.Value, Type: types.ParameterTypeString, DataType: "text", Tier: types.ParameterTierStandard,
			Modified: world.Born,
		}
		if p.Type != "" {
			v.Type = types.ParameterType(p.Type)
		}
		if p.DataType != "" {
			v.DataType = p.DataType
		}
		s.parameters.Put(key(p.Name), parameter{
			Name: p.Name, ARN: s.arn(p.Name, p.Public), Public: p.Public, Versions: []version{v},
		})
	}
	return s
}

// arn returns a parameter's ARN. Public parameters belong to no account.
func (s *state) arn(name string, public bool) string {
	account := s.region.Account.ID
	if public {
		account = ""
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return "arn:aws:ssm:" + s.region.Name + ":" + account + ":parameter" + name
}

// Value returns the value of a parameter by name, name:version or ARN, as launch templates refer to
// parameters by resolve:ssm:. The error is ParameterNotFound or ParameterVersionNotFound. Only for
// code under the kernel's lock.
func Value(r *sim.Region, reference string) (string, error) {
	_, v, _, err := of(r).find(reference, (*sim.Table[parameter]).Get)
	return v.Value, err
}

// find returns the parameter and version that a reference means, and the version's number.
func (s *state) find(reference string, get func(*sim.Table[parameter], string) (parameter, bool)) (parameter, version, int, error) {
	name, selector, selected := s.split(reference)
	if !isARN(reference) && !wellFormed(name) {
		return parameter{}, version{}, 0, malformedName()
	}
	p, ok := get(s.parameters, key(name))
	if !ok {
		return p, version{}, 0, sim.Errorf("ParameterNotFound", "Parameter %s not found.", reference)
	}
	if !selected {
		return p, p.newest(), p.number(), nil
	}
	n, err := strconv.Atoi(selector)
	if err != nil || n <= p.Forgotten || n > p.number() {
		return p, version{}, 0, sim.Errorf("ParameterVersionNotFound",
			"Systems Manager could not find version %s of %s. Verify the version and try again.", selector, name)
	}
	return p, p.Versions[n-1-p.Forgotten], n, nil
}

func isARN(reference string) bool { return strings.HasPrefix(reference, "arn:") }

// formed matches a name without a slash, and levels that each begin with one. LocalStack verified
// on AWS that neither /a//b nor a/b is a name.
var formed = regexp.MustCompile(`^(?:[a-zA-Z0-9_.\-]+|(?:/[a-zA-Z0-9_.\-]+)+)$`)

// wellFormed reports whether a name may be asked for. AWS publishes parameters below /aws/, so only
// ssm is reserved here.
func wellFormed(name string) bool {
	return formed.MatchString(name) && !strings.HasPrefix(strings.ToLower(slashed(name)), "/ssm")
}

// malformedName returns AWS's error (moto, ssm/models.py; LocalStack, tests/aws/services/ssm).
func malformedName() error {
	return invalid(`Parameter name: can't be prefixed with "ssm" (case-insensitive). If formed as a path, it can consist of sub-paths divided by slash ` +
		`symbol; each sub-path can be formed as a mix of letters, numbers and the following 3 symbols .-_`)
}

// key returns the name by which a parameter is kept. x and /x are one parameter, as their ARN is
// one (moto and LocalStack verified it on AWS); it is described by the name that it was created
// with (inference).
func key(name string) string {
	if bare := strings.TrimPrefix(name, "/"); !strings.Contains(bare, "/") {
		return bare
	}
	return name
}

// split removes an ARN's prefix and the selector :version from a reference. The ARN of /a/b and the
// ARN of a/b look alike, so both are tried.
func (s *state) split(reference string) (name, selector string, selected bool) {
	if isARN(reference) {
		_, after, _ := strings.Cut(reference, ":parameter")
		name, selector, selected = strings.Cut(after, ":")
		if _, ok := s.parameters.Get(key(name)); !ok {
			name = strings.TrimPrefix(name, "/")
		}
		return name, selector, selected
	}
	return strings.Cut(reference, ":")
}

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, "ssm", "GetParameter", getParameter)
	sim.Handle(reg, "ssm", "GetParameters", getParameters)
	sim.Handle(reg, "ssm", "GetParametersByPath", getParametersByPath)
	sim.Handle(reg, "ssm", "DescribeParameters", describeParameters)
	sim.Handle(reg, "ssm", "PutParameter", putParameter)
	sim.Handle(reg, "ssm", "DeleteParameter", deleteParameter)
	sim.Handle(reg, "ssm", "DeleteParameters", deleteParameters)
	sim.Handle(reg, "ssm", "AddTagsToResource", addTags)
	sim.Handle(reg, "ssm", "RemoveTagsFromResource", removeTags)
	sim.Handle(reg, "ssm", "ListTagsForResource", listTags)
	reg.State("ssm", dump)
	registerAuthorization(reg)
}

// dump leaves out the public parameters, which cannot be changed.
func dump(r *sim.Region) any {
	parameters := map[string]any{}
	for _, p := range of(r).parameters.All() {
		if !p.Public {
			parameters[p.Name] = p
		}
	}
	return map[string]any{"parameters": parameters}
}

// answer returns a version as GetParameter answers it.
func (p parameter) answer(v version, number int, decrypt bool) types.Parameter {
	value := v.Value
	if v.Type == types.ParameterTypeSecureString && !decrypt {
		value = cipherText(value)
	}
	answer := types.Parameter{
		Name: &p.Name, Type: v.Type, Value: &value, Version: int64(number),
		DataType: &v.DataType, LastModifiedDate: &v.Modified, ARN: &p.ARN,
	}
	return answer
}

// cipherText stands for the blob that is answered for a SecureString without decryption.
func cipherText(value string) string {
	return "AQICAH" + base64.StdEncoding.EncodeToString([]byte("encrypted:"+value))
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

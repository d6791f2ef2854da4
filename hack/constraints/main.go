// Command constraints writes the tables of package awssim/internal/constraints: what AWS's API models demand
// of requests. The models come with botocore, which hack/install-packages.sh installs:
//
//	go run ./hack/constraints -models "$(python3 -c 'import botocore, os; print(os.path.dirname(botocore.__file__))')/data"
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	actionsFile = "awssim/internal/wire/actions.txt"
	tables      = "awssim/internal/constraints/tables"
)

func main() {
	models := flag.String("models", "", "botocore's directory of API models")
	flag.Parse()
	if err := run(*models); err != nil {
		fmt.Fprintln(os.Stderr, "constraints:", err)
		os.Exit(1)
	}
}

func run(models string) error {
	actions, err := readActions()
	if err != nil {
		return err
	}
	for service, list := range actions {
		m, err := readModel(models, service)
		if err != nil {
			return fmt.Errorf("reading the model of %s: %w", service, err)
		}
		content, err := m.table(list)
		if err != nil {
			return fmt.Errorf("writing the table of %s: %w", service, err)
		}
		if err := os.WriteFile(filepath.Join(tables, service+".jsonl"), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readActions returns the actions that the simulated AWS has, by service.
func readActions() (map[string][]string, error) {
	content, err := os.ReadFile(actionsFile)
	if err != nil {
		return nil, err
	}
	actions := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(fields[0], "#") {
			actions[fields[0]] = append(actions[fields[0]], fields[1])
		}
	}
	for _, list := range actions {
		slices.Sort(list)
	}
	return actions, nil
}

// model is as much of botocore's service-2.json as the tables need.
type model struct {
	Operations map[string]struct{ Input reference }
	Shapes     map[string]*shape

	constrained map[string]bool
}

type reference struct{ Shape string }

type shape struct {
	Type     string
	Required []string
	Members  ordered
	Member   reference
	Key      reference
	Value    reference
	Min      *json.Number
	Max      *json.Number
	Pattern  string
	Enum     []string
}

// ordered are members in the order of the model, which is the order in which AWS reports them.
type ordered []struct{ name, shape string }

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var to reference
		if err := decoder.Decode(&to); err != nil {
			return err
		}
		*o = append(*o, struct{ name, shape string }{fmt.Sprint(name), to.Shape})
	}
	return nil
}

// readModel reads the newest model of a service, packed or not.
func readModel(models, service string) (*model, error) {
	files, err := filepath.Glob(filepath.Join(models, service, "*", "service-2.json*"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("there is none below %s", models))
	}
	slices.Sort(files)
	file, err := os.Open(files[len(files)-1])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var reader io.Reader = file
	if strings.HasSuffix(file.Name(), ".gz") {
		if reader, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	m := &model{}
	return m, json.NewDecoder(reader).Decode(m)
}

// openEnums are enumerations that grow faster than their models, by service and shape: AWS takes
// values that an older model lacks.
var openEnums = map[string]bool{"InstanceType": true}

// demands reports whether anything is demanded of a shape itself.
func (s *shape) demands(name string) bool {
	return s.Min != nil || s.Max != nil || s.Pattern != "" || len(s.Required) > 0 || len(s.Enum) > 0 && !openEnums[name]
}

func (s *shape) below() []string {
	var names []string
	for _, member := range s.Members {
		names = append(names, member.shape)
	}
	for _, to := range []reference{s.Member, s.Key, s.Value} {
		if to.Shape != "" {
			names = append(names, to.Shape)
		}
	}
	return names
}

// mark finds the shapes that have constraints, or whose members have.
func (m *model) mark() {
	m.constrained = map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name, s := range m.Shapes {
			if !m.constrained[name] && (s.demands(name) || slices.ContainsFunc(s.below(), func(below string) bool { return m.constrained[below] })) {
				m.constrained[name], changed = true, true
			}
		}
	}
}

// line is a copy of constraints.Entry: that package cannot be built without its tables.
type line struct {
	Action  string       `json:"action,omitempty"`
	Input   string       `json:"input,omitempty"`
	Shape   string       `json:"shape,omitempty"`
	Type    string       `json:"type,omitempty"`
	Members []member     `json:"members,omitempty"`
	Element string       `json:"element,omitempty"`
	Key     string       `json:"key,omitempty"`
	Min     *json.Number `json:"min,omitempty"`
	Max     *json.Number `json:"max,omitempty"`
	Pattern string       `json:"pattern,omitempty"`
	Enum    bool         `json:"enum,omitempty"`
	Values  []string     `json:"values,omitempty"`
}

type member struct {
	Name     string `json:"name"`
	Shape    string `json:"shape,omitempty"`
	Required bool   `json:"required,omitempty"`
}

func (m *model) table(actions []string) ([]byte, error) {
	m.mark()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	reached := map[string]bool{}
	for _, action := range actions {
		operation, known := m.Operations[action]
		if !known {
			return nil, fmt.Errorf("the model has no action %s: it is older than the SDK", action)
		}
		input := m.kept(operation.Input.Shape)
		if err := encoder.Encode(line{Action: action, Input: input}); err != nil {
			return nil, err
		}
		m.reach(input, reached)
	}
	names := make([]string, 0, len(reached))
	for name := range reached {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := encoder.Encode(m.line(name)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// kept returns the name of a shape that has constraints, or "".
func (m *model) kept(name string) string {
	if m.constrained[name] {
		return name
	}
	return ""
}

func (m *model) reach(name string, reached map[string]bool) {
	if name == "" || reached[name] {
		return
	}
	reached[name] = true
	for _, below := range m.Shapes[name].below() {
		m.reach(m.kept(below), reached)
	}
}

func (m *model) line(name string) line {
	s := m.Shapes[name]
	l := line{
		Shape: name, Type: s.Type, Min: s.Min, Max: s.Max, Pattern: s.Pattern, Enum: len(s.Enum) > 0 && !openEnums[name],
		Element: m.kept(s.Member.Shape + s.Value.Shape), Key: m.kept(s.Key.Shape),
	}
	if l.Enum && m.isKey(name) {
		l.Values = s.Enum
	}
	for _, to := range s.Members {
		required := slices.Contains(s.Required, to.name)
		if below := m.kept(to.shape); below != "" || required {
			l.Members = append(l.Members, member{Name: to.name, Shape: below, Required: required})
		}
	}
	return l
}

// isKey reports whether the shape is the key of a map.
func (m *model) isKey(name string) bool {
	for _, s := range m.Shapes {
		if s.Key.Shape == name {
			return true
		}
	}
	return false
}

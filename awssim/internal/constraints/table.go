// Package constraints holds requests to what AWS's own API models demand of them: members that are required,
// lengths, ranges, patterns, and enumerations. The tables are generated from those models by
// hack/constraints, since the SDK for Go does not have them.
package constraints

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed tables/*.jsonl
var tables embed.FS

// Entry is one line of a table: an action, or a shape that it reaches.
type Entry struct {
	// Action and Input are an action and the shape of its input; Input is empty if nothing is demanded of it.
	Action string `json:"action,omitempty"`
	Input  string `json:"input,omitempty"`

	// Shape and Type are a shape and its type in the model.
	Shape string `json:"shape,omitempty"`
	Type  string `json:"type,omitempty"`
	// Members are the members of a structure that have constraints.
	Members []Member `json:"members,omitempty"`
	// Element is the shape of a list's elements or a map's values, Key the shape of a map's keys.
	Element string `json:"element,omitempty"`
	Key     string `json:"key,omitempty"`
	// Min and Max bound the length of a text or a list, or the value of a number.
	Min *int64 `json:"min,omitempty"`
	Max *int64 `json:"max,omitempty"`
	// Pattern is a regular expression in the syntax of Java.
	Pattern string `json:"pattern,omitempty"`
	// Enum is true for an enumeration. Its values are the SDK's.
	Enum bool `json:"enum,omitempty"`
	// Values are the values of an enumeration that is the key of a map, which is a plain string in
	// the SDK.
	Values []string `json:"values,omitempty"`

	expression *regexp.Regexp
}

// Member is a member of a structure.
type Member struct {
	Name     string `json:"name"`
	Shape    string `json:"shape,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// table holds the constraints of a service's model.
type table struct {
	inputs map[string]string // shapes by action
	shapes map[string]*Entry
}

var load = sync.OnceValue(func() map[string]*table {
	all := map[string]*table{}
	files, err := fs.Glob(tables, "tables/*.jsonl")
	if err != nil {
		panic("constraints: " + err.Error()) // the pattern is a constant
	}
	for _, name := range files {
		content, err := tables.ReadFile(name)
		if err != nil {
			panic("constraints: " + err.Error()) // it is embedded
		}
		service := strings.TrimSuffix(strings.TrimPrefix(name, "tables/"), ".jsonl")
		if all[service], err = parse(service, content); err != nil {
			panic("constraints: " + err.Error()) // the tables are tested
		}
	}
	return all
})

func parse(service string, content []byte) (*table, error) {
	t := &table{inputs: map[string]string{}, shapes: map[string]*Entry{}}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		entry := &Entry{}
		if err := json.Unmarshal(lines.Bytes(), entry); err != nil {
			return nil, fmt.Errorf("reading the table of %s: %w", service, err)
		}
		if entry.Action != "" {
			t.inputs[entry.Action] = entry.Input
			continue
		}
		if entry.Pattern != "" {
			var err error
			if entry.expression, err = compile(entry.Pattern); err != nil {
				return nil, fmt.Errorf("reading shape %s of %s: %w", entry.Shape, service, err)
			}
		}
		t.shapes[entry.Shape] = entry
	}
	return t, lines.Err()
}

// translated are the patterns that Go's regular expressions cannot express as they are: Java's run
// over UTF-16, so that characters beyond U+FFFF are pairs of surrogates, and look ahead, here for a
// character other than white space.
var translated = strings.NewReplacer(
	`^(?!\s*$).+`, `.*\S.*`,
	`\uD800\uDC00-\uDBFF\uDFFF`, `\x{10000}-\x{10FFFF}`,
	`\u10000-\u10FFFF`, `\x{10000}-\x{10FFFF}`,
)

var unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)

// compile translates a pattern of Java's, which must match a whole text.
func compile(pattern string) (*regexp.Regexp, error) {
	text := unicodeEscape.ReplaceAllString(translated.Replace(pattern), `\x{$1}`)
	return regexp.Compile(`^(?:` + text + `)$`)
}

// Covers reports whether the tables have the action.
func Covers(service, action string) bool {
	t := load()[service]
	if t == nil {
		return false
	}
	_, known := t.inputs[action]
	return known
}

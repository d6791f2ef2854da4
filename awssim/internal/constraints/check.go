package constraints

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Violation is a demand that a request does not meet.
type Violation struct {
	// Path names the member, such as tags.1.member.key.
	Path string
	// Value is the value as AWS prints it: null if the member is missing.
	Value string
	// Rule is what AWS says the member must satisfy.
	Rule string
	// Kind is the kind of the demand.
	Kind Kind
	// Bound is the bound of a length or a range.
	Bound int64
}

// Kind is a kind of demand.
type Kind string

// The kinds of demands.
const (
	Required  Kind = "required"
	MinLength Kind = "minimum length"
	MaxLength Kind = "maximum length"
	MinValue  Kind = "minimum value"
	MaxValue  Kind = "maximum value"
	Pattern   Kind = "pattern"
	Enum      Kind = "enumeration"
)

// checker collects what a request violates.
type checker struct {
	service, action string
	table           *table
	found           []Violation
}

// violations returns what the input of an action violates, in the order of the model.
func violations(service, action string, input any) []Violation {
	t := load()[service]
	if t == nil || t.inputs[action] == "" {
		return nil
	}
	c := &checker{service: service, action: action, table: t}
	c.value("", t.inputs[action], reflect.ValueOf(input))
	return c.found
}

func (c *checker) value(path, shape string, v reflect.Value) {
	entry := c.table.shapes[shape]
	if entry == nil {
		return
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch entry.Type {
	case "structure":
		for _, member := range entry.Members {
			c.member(path, member, v.FieldByName(goName(member.Name)))
		}
	case "list":
		c.length(path, entry, v, v.Len())
		for i := range v.Len() {
			c.value(path+"."+strconv.Itoa(i+1)+".member", entry.Element, v.Index(i))
		}
	case "map":
		c.length(path, entry, v, v.Len())
		for _, key := range slices.Sorted(maps.Keys(stringKeys(v))) {
			c.value(path, entry.Key, reflect.ValueOf(key))
			c.value(path+"."+key+".member", entry.Element, stringKeys(v)[key])
		}
	default:
		c.scalar(path, entry, v)
	}
}

func stringKeys(v reflect.Value) map[string]reflect.Value {
	found := make(map[string]reflect.Value, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		found[entries.Key().String()] = entries.Value()
	}
	return found
}

// goName returns the name of a member in the SDK's types.
func goName(member string) string {
	first, size := utf8.DecodeRuneInString(member)
	return string(unicode.ToUpper(first)) + member[size:]
}

// wireName returns the name of a member in AWS's messages.
func wireName(member string) string {
	first, size := utf8.DecodeRuneInString(member)
	return string(unicode.ToLower(first)) + member[size:]
}

func (c *checker) member(parent string, m Member, v reflect.Value) {
	path := strings.TrimPrefix(parent+"."+wireName(m.Name), ".")
	if !v.IsValid() {
		return // a member that the SDK does not have; TestTablesFitTheSDK holds that there is none
	}
	if isUnset(v) {
		// Numbers and truth values that are no pointers have a default, so that zero is no omission.
		if m.Required && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map || v.Kind() == reflect.String) {
			c.add(path, "null", Required, 0, "Member must not be null")
		}
		return
	}
	c.value(path, m.Shape, v)
}

func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	default:
		return v.IsZero()
	}
}

// maxViolations bounds how many violations of one request the simulator reports.
const maxViolations = 50

func (c *checker) add(path, value string, kind Kind, bound int64, rule string) {
	if len(c.found) == maxViolations || excepted(c.service, c.action, path, kind) {
		return
	}
	c.found = append(c.found, Violation{Path: path, Value: value, Rule: rule, Kind: kind, Bound: bound})
}

func (c *checker) length(path string, entry *Entry, v reflect.Value, n int) {
	if entry.Min != nil && int64(n) < *entry.Min {
		c.add(path, printed(v), MinLength, *entry.Min, fmt.Sprintf("Member must have length greater than or equal to %d", *entry.Min))
	}
	if entry.Max != nil && int64(n) > *entry.Max {
		c.add(path, printed(v), MaxLength, *entry.Max, fmt.Sprintf("Member must have length less than or equal to %d", *entry.Max))
	}
}

func (c *checker) scalar(path string, entry *Entry, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		c.text(path, entry, v)
	case reflect.Slice:
		c.length(path, entry, v, v.Len())
	case reflect.Int32, reflect.Int64:
		c.number(path, entry, v, float64(v.Int()))
	case reflect.Float32, reflect.Float64:
		c.number(path, entry, v, v.Float())
	default: // nothing is demanded of truth values
	}
}

func (c *checker) text(path string, entry *Entry, v reflect.Value) {
	text := v.String()
	c.length(path, entry, v, len(utf16.Encode([]rune(text)))) // as Java counts
	if entry.expression != nil && !entry.expression.MatchString(text) {
		c.add(path, text, Pattern, 0, "Member must satisfy regular expression pattern: "+entry.Pattern)
	}
	values := entry.Values
	if values == nil {
		values = enumOf(v)
	}
	if entry.Enum && values != nil && !slices.Contains(values, text) {
		c.add(path, text, Enum, 0, "Member must satisfy enum value set: ["+strings.Join(values, ", ")+"]")
	}
}

func (c *checker) number(path string, entry *Entry, v reflect.Value, n float64) {
	if entry.Min != nil && n < float64(*entry.Min) {
		c.add(path, printed(v), MinValue, *entry.Min, fmt.Sprintf("Member must have value greater than or equal to %d", *entry.Min))
	}
	if entry.Max != nil && n > float64(*entry.Max) {
		c.add(path, printed(v), MaxValue, *entry.Max, fmt.Sprintf("Member must have value less than or equal to %d", *entry.Max))
	}
}

// enumOf returns the values of one of the SDK's enumerations, or nil if v is not of one.
func enumOf(v reflect.Value) []string {
	method := v.MethodByName("Values")
	if !method.IsValid() {
		return nil
	}
	list := method.Call(nil)[0]
	values := make([]string, list.Len())
	for i := range values {
		values[i] = list.Index(i).String()
	}
	return values
}

// printed returns a value as Java prints it. A long value is cut: the text is for humans.
func printed(v reflect.Value) string {
	const longest = 1024
	var text string
	switch v.Kind() {
	case reflect.Slice:
		elements := make([]string, 0, min(v.Len(), longest))
		for i := range min(v.Len(), longest) {
			elements = append(elements, element(v.Index(i)))
		}
		text = "[" + strings.Join(elements, ", ") + "]"
	case reflect.Map:
		text = fmt.Sprintf("{%d entries}", v.Len())
	default:
		text = fmt.Sprint(v.Interface())
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}

// element returns one element of a list as text. AWS prints structures by names of its own code.
func element(v reflect.Value) string {
	if v = reflect.Indirect(v); !v.IsValid() || v.Kind() == reflect.Struct {
		return "..."
	}
	return fmt.Sprint(v.Interface())
}

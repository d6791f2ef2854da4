package main

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kindsOf are the kinds whose conditions a directory sets. Other directories set conditions of all
// kinds that have them.
var kindsOf = map[string][]string{
	"internal/machinepool":                    {"AWSMachinePool"},
	"internal/managedmachinepool":             {"AWSManagedMachinePool"},
	"internal/launchconfig":                   {"AWSLaunchConfig"},
	"internal/provisioning/provisionerstatus": {"Provisioner"},
	"internal/provisioning/nodelifecycle":     {"ProvisionedNode"},
}

// constant is a condition, a reason or the reason of an event, with its documentation.
type constant struct {
	group, name, value     string
	meaning, nodes, remedy string
	kinds                  []string  // of a condition
	copied                 []string  // the kinds that show a condition of their AWSLaunchConfig, with its reasons
	settings               []marking // of a reason, by its markers
	isCondition, isAnEvent bool
}

// marking is a condition that a reason is used with, where the code does not show it.
type marking struct {
	condition, status string
	kinds             []string
}

// anyCondition stands for every condition that reports calls to AWS.
const anyCondition = "any"

var conditionMarker = regexp.MustCompile(`^\+slipway:condition=(\w+):(\w+)(?: on ([\w, ]+))?$`)

// documented returns the conditions, reasons and reasons of events that a group declares, in order,
// and what their documentation lacks.
func documented(dir string, group *source) (all []constant, problems []string) {
	for _, file := range group.files {
		for _, declaration := range file.Decls {
			general, is := declaration.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range general.Specs {
				value, is := spec.(*ast.ValueSpec)
				if !is || len(value.Values) != 1 || value.Type != nil {
					continue
				}
				one := constant{group: dir, name: value.Names[0].Name}
				one.isCondition, one.isAnEvent = strings.HasSuffix(one.name, "Condition"), strings.HasSuffix(one.name, "Event")
				if !one.isCondition && !one.isAnEvent && !strings.HasSuffix(one.name, "Reason") {
					continue
				}
				one.value, _ = text(value.Values[0], nil)
				one.read(value.Doc)
				all = append(all, one)
				problems = append(problems, one.lacks()...)
			}
		}
	}
	return all, problems
}

// read reads the documentation of a constant.
func (c *constant) read(doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	var paragraph *string
	for _, comment := range doc.List {
		line := strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), " ")
		switch match := conditionMarker.FindStringSubmatch(line); {
		case match != nil:
			c.settings = append(c.settings, marking{match[1], match[2], list(match[3])})
			continue
		case strings.HasPrefix(line, "+slipway:kinds="):
			c.kinds = list(strings.TrimPrefix(line, "+slipway:kinds="))
			continue
		case strings.HasPrefix(line, "+slipway:copied="):
			c.copied = list(strings.TrimPrefix(line, "+slipway:copied="))
			continue
		case strings.HasPrefix(line, "Nodes: "):
			paragraph, line = &c.nodes, strings.TrimPrefix(line, "Nodes: ")
		case strings.HasPrefix(line, "Remedy: "):
			paragraph, line = &c.remedy, strings.TrimPrefix(line, "Remedy: ")
		case paragraph == nil:
			paragraph = &c.meaning
		}
		if line != "" {
			*paragraph = strings.TrimSpace(*paragraph + " " + line)
		}
	}
	c.meaning = sentence(strings.TrimPrefix(c.meaning, c.name+" "))
	c.nodes, c.remedy = sentence(c.nodes), sentence(c.remedy)
}

func list(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
}

// sentence begins a text with an upper-case letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// lacks returns what the documentation of a constant lacks.
func (c *constant) lacks() []string {
	var missing []string
	lack := func(what string) { missing = append(missing, fmt.Sprintf("%s: %s lacks %s", c.group, c.name, what)) }
	if c.meaning == "" {
		lack("a doc comment")
	}
	if c.isCondition {
		if len(c.kinds) == 0 {
			lack("a marker +slipway:kinds=")
		}
		return missing
	}
	if c.nodes == "" && !c.isAnEvent {
		lack(`a line "Nodes: " with what it means for nodes`)
	}
	if c.remedy == "" {
		lack(`a line "Remedy: " with what to do`)
	}
	return missing
}

// row is a reason of a condition.
type row struct {
	condition, status string
	kinds             []string
	reason            constant
}

// catalog holds what the API groups document, and where the code uses it.
type catalog struct {
	code       *codebase
	constants  map[name]string // values
	conditions []constant
	reasons    []constant
	events     []constant
}

// catalogOf reads the documentation of all groups.
func catalogOf(code *codebase) (*catalog, []string) {
	all := &catalog{code: code, constants: map[name]string{}}
	var problems []string
	for _, group := range groups {
		for identifier, value := range values(code.sources[group].files) {
			if literal, is := text(value, nil); is {
				all.constants[name{group, identifier}] = literal
			}
		}
		found, missing := documented(group, code.sources[group])
		problems = append(problems, missing...)
		for _, one := range found {
			switch {
			case one.isCondition:
				all.conditions = append(all.conditions, one)
			case one.isAnEvent:
				all.events = append(all.events, one)
			default:
				all.reasons = append(all.reasons, one)
			}
		}
	}
	return all, problems
}

func (c *catalog) conditionValues() map[string]bool {
	names := map[string]bool{}
	for _, condition := range c.conditions {
		names[condition.value] = true
	}
	return names
}

func (c *catalog) resolver(from *source) resolver {
	return resolver{constants: c.constants, local: values(from.files)}
}

// kindsWith returns the kinds of a group that have a condition; all of them for any condition.
func (c *catalog) kindsWith(condition string) []string {
	var kinds []string
	for _, one := range c.conditions {
		if one.value == condition {
			kinds = append(kinds, one.kinds...)
		}
	}
	return kinds
}

// addCopying adds the kinds that copy a condition, with its reason, from their AWSLaunchConfig, if that
// is one of the kinds with the reason.
func (c *catalog) addCopying(kinds map[string]bool, condition string) {
	if !kinds["AWSLaunchConfig"] {
		return
	}
	for _, one := range c.conditions {
		if one.value != condition {
			continue
		}
		for _, kind := range one.copied {
			kinds[kind] = true
		}
	}
}

// reason returns the constant with a value: of the group of a kind or, as for the errors of AWS, of
// another one.
func (c *catalog) reason(value, kind string) (constant, bool) {
	var found constant
	for _, one := range c.reasons {
		isProvisioning := strings.Contains(one.group, "provisioning")
		if one.value == value && (found.name == "" || isProvisioning == strings.HasPrefix(kind, "Provision")) {
			found = one
		}
	}
	return found, found.name != ""
}

// rows returns the reasons of all conditions, and reasons that are not documented or not used.
func (c *catalog) rows() (rows []row, problems []string) {
	type key struct{ condition, status, group, reason string }
	kinds := map[key]map[string]bool{}
	add := func(condition, status, reason, kind string) {
		one, is := c.reason(reason, kind)
		if !is {
			problems = append(problems, fmt.Sprintf("reason %s of condition %s has no constant", reason, condition))
			return
		}
		at := key{condition, status, one.group, reason}
		if kinds[at] == nil {
			kinds[at] = map[string]bool{}
		}
		kinds[at][kind] = true
	}
	for _, source := range c.code.sorted() {
		for _, set := range settings(source, c.resolver(source), c.conditionValues()) {
			with := c.kindsWith(set.condition)
			for _, kind := range kindsSet(source.dir, with) {
				if !slices.Contains(with, kind) {
					problems = append(problems, fmt.Sprintf("%s: condition %s lacks kind %s in its marker", c.code.place(set.at), set.condition, kind))
				}
				add(set.condition, set.status, set.reason, kind)
			}
		}
		problems = append(problems, c.literals(source)...)
	}
	for _, one := range c.reasons {
		for _, marked := range one.settings {
			for _, kind := range marked.on(one, c.kindsWith(marked.condition)) {
				add(marked.condition, marked.status, one.value, kind)
			}
		}
	}
	used := map[string]bool{}
	for at, on := range kinds {
		c.addCopying(on, at.condition)
		one := c.reasons[slices.IndexFunc(c.reasons, func(r constant) bool { return r.group == at.group && r.value == at.reason })]
		used[one.group+one.name] = true
		rows = append(rows, row{at.condition, at.status, slices.Sorted(maps.Keys(on)), one})
	}
	for _, one := range c.reasons {
		if !used[one.group+one.name] {
			problems = append(problems, fmt.Sprintf("%s: no condition is known for %s: add a marker +slipway:condition=TYPE:STATUS, or remove it", one.group, one.name))
		}
	}
	return rows, problems
}

// kindsSet returns the kinds whose condition a directory sets, among the kinds that have the
// condition.
func kindsSet(dir string, with []string) []string {
	if own := kindsOf[dir]; own != nil {
		return own
	}
	return with
}

// on returns the kinds of a marking: the kinds that it names, or the kinds with the condition in
// the group of the reason.
func (m marking) on(reason constant, with []string) []string {
	if len(m.kinds) > 0 {
		return m.kinds
	}
	if m.condition == anyCondition {
		return []string{"AWSMachinePool", "AWSManagedMachinePool", "AWSLaunchConfig"}
	}
	isProvisioning := strings.Contains(reason.group, "provisioning")
	return slices.DeleteFunc(slices.Clone(with), func(kind string) bool { return strings.HasPrefix(kind, "Provision") != isProvisioning })
}

// literals returns the calls of a directory that set a condition for a reason that is written as a
// string.
func (c *catalog) literals(from *source) []string {
	var problems []string
	resolve := c.resolver(from)
	conditions := c.conditionValues()
	for identifier, value := range resolve.local {
		literal, is := text(value, nil)
		_, known := c.reason(literal, "")
		if is && !known && strings.HasPrefix(from.dir, "internal/") && strings.HasPrefix(identifier, "Reason") && len(identifier) > len("Reason") {
			problems = append(problems, fmt.Sprintf("%s: %s has the value %s, of which the API has no constant", from.dir, identifier, literal))
		}
	}
	for _, file := range from.files {
		ast.Inspect(file, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is {
				return true
			}
			if condition, _ := resolve.conditionOf(call, conditions); condition != "" && statuses[called(call)] != "" {
				after := resolve.afterCondition(call, conditions)
				if _, isLiteral := after[0].(*ast.BasicLit); isLiteral {
					problems = append(problems, fmt.Sprintf("%s: the reason of condition %s is a string: give it a constant", c.code.place(call), condition))
				}
			}
			return true
		})
	}
	return problems
}

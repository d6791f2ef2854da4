package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// message is the template of a text that users read.
type message struct{ class, dir, template string }

const messagesIntroduction = `# The templates of all messages to users, written by hack/references (make generate). Do not edit.
# A message says what is wrong, what it means for the nodes, and what to do.
#
# condition  the message of a condition, or a part of it
# error      an error that a condition or an event shows
# event      the message of an event
# pod        why a pod gets no node
# rule       the message with which the API server refuses an object
# warning    a warning at admission, or a refusal by the webhook

`

// policyFile has the messages of the ValidatingAdmissionPolicy.
const policyFile = "config/provisioner/admission_policy.yaml"

// podDirs have the reasons for which pods get no node: every format in them is one.
var podDirs = []string{"internal/provisioning/constraints", "internal/provisioning/packing"}

// messagesPage returns docs/reference/messages.txt.
func messagesPage(c *catalog) (page, error) {
	var all []message
	for _, source := range c.code.sorted() {
		all = append(all, c.messagesIn(source)...)
	}
	policy, err := os.ReadFile(filepath.Join(c.code.root, policyFile))
	if err != nil && !os.IsNotExist(err) {
		return page{}, fmt.Errorf("reading the admission policy: %w", err)
	}
	for _, match := range regexp.MustCompile(`(?m)^\s+message: "(.*)"$`).FindAllStringSubmatch(string(policy), -1) {
		all = append(all, message{"warning", "config/provisioner", match[1]})
	}
	slices.SortFunc(all, func(a, b message) int {
		return cmp.Or(strings.Compare(a.class, b.class), strings.Compare(a.dir, b.dir), strings.Compare(a.template, b.template))
	})
	out := &strings.Builder{}
	out.WriteString(messagesIntroduction)
	for _, one := range slices.Compact(all) {
		fmt.Fprintf(out, "%-9s %s: %s\n", one.class, strings.TrimPrefix(one.dir, "internal/"), strings.ReplaceAll(one.template, "\n", `\n`))
	}
	return page{"docs/reference/messages.txt", out.String()}, nil
}

// messagesIn returns the messages of a directory.
func (c *catalog) messagesIn(from *source) []message {
	found := &finder{catalog: c, from: from, reader: &templateReader{resolver: c.resolver(from), functions: functionsOf(from)}}
	for _, file := range from.files {
		for _, line := range celMessages(file) {
			found.all = append(found.all, message{"rule", from.dir, line})
		}
		for _, declaration := range file.Decls {
			function, is := declaration.(*ast.FuncDecl)
			if is {
				found.reader.within = function
			}
			found.inError = is && function.Recv != nil && function.Name.Name == "Error"
			ast.Inspect(declaration, found.inspect)
		}
	}
	return found.all
}

// finder finds the messages of a directory.
type finder struct {
	catalog *catalog
	from    *source
	reader  *templateReader
	// inError is true within the method Error of an error.
	inError bool
	all     []message
}

// inspect is for ast.Inspect.
func (f *finder) inspect(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.CallExpr:
		if call, is := eventCalls[called(n)]; is && call.place+1 < len(n.Args) && eventKinds[f.from.dir] != nil {
			f.add("event", n.Args[call.place+1])
			return true
		}
		if called(n) == "Sprintf" && slices.Contains(podDirs, f.from.dir) {
			f.add("pod", n)
		}
		f.add("condition", f.catalog.afterReason(f.reader, n.Args)...)
	case *ast.CompositeLit:
		f.add("condition", f.catalog.afterReason(f.reader, n.Elts)...)
	case *ast.AssignStmt:
		f.add("condition", f.catalog.afterReason(f.reader, n.Rhs)...)
	case *ast.ReturnStmt:
		switch {
		case f.inError:
			f.add("error", n.Results...)
		case f.from.dir == "internal/webhooks" && !isWrapped(n):
			f.add("warning", n.Results...)
		default:
			f.add("condition", f.catalog.afterReason(f.reader, n.Results)...)
		}
	}
	return true
}

// add adds the messages that expressions may be.
func (f *finder) add(class string, expressions ...ast.Expr) {
	for _, expression := range expressions {
		for _, template := range f.reader.templates(expression, 0) {
			if strings.Contains(template, " ") {
				f.all = append(f.all, message{class, f.from.dir, template})
			}
		}
	}
}

// afterReason returns the message among expressions that follows a reason, or that precedes it at
// the end.
func (c *catalog) afterReason(reader *templateReader, expressions []ast.Expr) []ast.Expr {
	for i, expression := range expressions {
		if pair, is := expression.(*ast.KeyValueExpr); is {
			expression = pair.Value
		}
		selector, is := expression.(*ast.SelectorExpr)
		if !is {
			// reconciling.False(object, condition, reason, message) with the reason in a variable
			if variable, is := expression.(*ast.Ident); !is || variable.Name != "reason" {
				continue
			}
		} else if _, is := reader.value(selector); !is || !strings.HasSuffix(selector.Sel.Name, "Reason") {
			continue
		}
		if i+1 == len(expressions) && i > 0 {
			return expressions[i-1 : i] // return message, reason
		}
		if i+1 == len(expressions) {
			return nil
		}
		next := expressions[i+1]
		if pair, is := next.(*ast.KeyValueExpr); is {
			next = pair.Value
		}
		return []ast.Expr{next}
	}
	return nil
}

// celMessages returns the messages of the CEL rules in a file.
func celMessages(file *ast.File) []string {
	var all []string
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if message, _, is := celMessage([]string{comment.Text}); is {
				all = append(all, message)
			}
		}
	}
	return all
}

func functionsOf(from *source) map[string]*ast.FuncDecl {
	found := map[string]*ast.FuncDecl{}
	for _, file := range from.files {
		for _, declaration := range file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is {
				found[function.Name.Name] = function
			}
		}
	}
	return found
}

// templateReader finds the templates that an expression can be.
type templateReader struct {
	resolver
	functions map[string]*ast.FuncDecl
	within    *ast.FuncDecl // whose variables are followed
}

// placeholder stands for a part of a message that the code computes.
const placeholder = "%s"

// templates returns what an expression can be: texts with placeholders. The depth bounds how many
// variables and functions are followed.
func (r *templateReader) templates(expression ast.Expr, depth int) []string {
	if depth > 4 {
		return nil
	}
	switch e := expression.(type) {
	case *ast.BasicLit:
		if literal, is := text(e, nil); is {
			return []string{literal}
		}
	case *ast.ParenExpr:
		return r.templates(e.X, depth)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return nil
		}
		var all []string
		for _, left := range orPlaceholder(r.templates(e.X, depth+1)) {
			for _, right := range orPlaceholder(r.templates(e.Y, depth+1)) {
				all = append(all, left+right)
			}
		}
		return all
	case *ast.Ident:
		if local := r.local[e.Name]; local != nil {
			return r.templates(local, depth+1)
		}
		return r.assigned(e.Name, depth+1)
	case *ast.CallExpr:
		return r.called(e, depth)
	}
	return nil
}

func orPlaceholder(templates []string) []string {
	if len(templates) == 0 {
		return []string{placeholder}
	}
	return templates
}

// called returns the templates of a call: of a function that formats, of one that shortens, and of
// the functions of the directory.
func (r *templateReader) called(call *ast.CallExpr, depth int) []string {
	function := called(call)
	switch function {
	case "Sprintf", "Errorf", "Shortened", "bounded", "TrimSuffix", "TrimRight", "TrimPrefix", "Or":
		if len(call.Args) > 0 {
			return r.templates(call.Args[0], depth+1)
		}
		return nil
	}
	declared := r.functions[function]
	if declared == nil || declared.Body == nil || declared.Type.Results == nil {
		return nil
	}
	outer := r.within
	r.within = declared
	defer func() { r.within = outer }()
	var all []string
	ast.Inspect(declared.Body, func(node ast.Node) bool {
		if _, isFunction := node.(*ast.FuncLit); isFunction {
			return false
		}
		if returned, is := node.(*ast.ReturnStmt); is {
			for _, result := range returned.Results {
				all = append(all, r.templates(result, depth+1)...)
			}
		}
		return true
	})
	return all
}

// assigned returns the templates that a variable of the current function is given.
func (r *templateReader) assigned(variable string, depth int) []string {
	if r.within == nil || r.within.Body == nil {
		return nil
	}
	var all []string
	ast.Inspect(r.within.Body, func(node ast.Node) bool {
		assignment, is := node.(*ast.AssignStmt)
		if !is || assignment.Tok == token.ADD_ASSIGN || len(assignment.Lhs) != len(assignment.Rhs) {
			return true
		}
		for i, target := range assignment.Lhs {
			given, is := target.(*ast.Ident)
			if !is || given.Name != variable || mentions(assignment.Rhs[i], variable) {
				continue
			}
			all = append(all, r.templates(assignment.Rhs[i], depth+1)...)
		}
		return true
	})
	return all
}

// mentions reports whether an expression has a variable.
func mentions(expression ast.Expr, variable string) bool {
	found := false
	ast.Inspect(expression, func(node ast.Node) bool {
		name, is := node.(*ast.Ident)
		found = found || is && name.Name == variable
		return !found
	})
	return found
}

// isWrapped reports whether a function returns an error that fmt.Errorf wraps, which is not shown.
func isWrapped(returned *ast.ReturnStmt) bool {
	return slices.ContainsFunc(returned.Results, func(result ast.Expr) bool {
		call, is := result.(*ast.CallExpr)
		return is && called(call) == "Errorf"
	})
}

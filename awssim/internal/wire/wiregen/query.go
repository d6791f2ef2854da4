package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// queryReader reads the serializers and deserializers of the query protocols (EC2's and the common
// one). Each shape has one function on each side; a structure's function names its members and
// calls the functions of the shapes below.
type queryReader struct {
	funcs map[string]*ast.FuncDecl
	in    map[string][]field
	out   map[string][]field
}

// unsupported are members that the tables leave out, by structure: a union, and maps in answers. The
// simulated AWS refuses them as unknown parameters, and does not answer with them.
var unsupported = map[string]string{
	"SimulatePrincipalPolicyInput": "PolicyExclusionList", "EvaluationResult": "EvalDecisionDetails", "ResourceSpecificResult": "EvalDecisionDetails",
}

func readQuery(dir string, actions []string) (*model, error) {
	r := &queryReader{funcs: map[string]*ast.FuncDecl{}, in: map[string][]field{}, out: map[string][]field{}}
	version := ""
	for _, name := range []string{"serializers.go", "deserializers.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				_, short, _ := strings.Cut(f.Name.Name, "_")
				r.funcs[short] = f
			}
		}
		if version == "" {
			version = apiVersion(file)
		}
	}
	for _, action := range actions {
		// An action without parameters or without an answer has no function on that side.
		if err := r.readIfThere("serializeOpDocument"+action+"Input", r.readInput); err != nil {
			return nil, err
		}
		if err := r.readIfThere("deserializeOpDocument"+action+"Output", r.readOutput); err != nil {
			return nil, err
		}
		if r.funcs["serializeOpDocument"+action+"Input"] == nil && r.funcs["deserializeOpError"+action] == nil {
			return nil, fmt.Errorf("the SDK has no action %s", action)
		}
	}
	return &model{version: version, actions: actions, inputs: r.in, outputs: r.out}, nil
}

// apiVersion finds body.Key("Version").String("…").
func apiVersion(file *ast.File) (version string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || version != "" {
			return version == ""
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "String" {
			if key, ok := sel.X.(*ast.CallExpr); ok && literal(key) == "Version" {
				version = literal(call)
			}
		}
		return true
	})
	return version
}

func (r *queryReader) readIfThere(function string, read func(*ast.FuncDecl) error) error {
	if f := r.funcs[function]; f != nil {
		return read(f)
	}
	return nil
}

// readInput reads a structure's serializer: one statement per member, in which object.Key or
// object.FlatKey has the wire name, v.Member the Go name, and a call of another serializer, if
// any, the shape below.
func (r *queryReader) readInput(f *ast.FuncDecl) error {
	shape := typeName(f.Type.Params.List[0].Type)
	if _, done := r.in[shape]; done {
		return nil
	}
	fields := []field{}
	r.in[shape] = fields
	for _, stmt := range f.Body.List {
		m := inputMember(stmt)
		if m.wire == "" {
			continue
		}
		if m.goName == "" {
			return fmt.Errorf("%s: no member for %s", f.Name.Name, m.wire)
		}
		if unsupported[shape] == m.goName {
			continue
		}
		item, err := r.descend(m, r.readInput, inputItem)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", shape, m.goName, err)
		}
		if m.flat {
			item = ""
		}
		fields = append(fields, field{m.goName, m.wire, item})
	}
	r.in[shape] = fields
	return nil
}

type member struct {
	goName, wire, callee string
	flat                 bool
}

func inputMember(stmt ast.Stmt) member {
	var m member
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isIdent(n.X, "v") && m.goName == "" {
				m.goName = n.Sel.Name
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && isIdent(sel.X, "object") {
				m.wire, m.flat = literal(n), sel.Sel.Name == "FlatKey"
			}
			if id, ok := n.Fun.(*ast.Ident); ok {
				if _, short, found := strings.Cut(id.Name, "_serialize"); found {
					m.callee = "serialize" + short
				}
			}
		}
		return true
	})
	return m
}

// inputItem finds value.Array("…") in a list's serializer.
func inputItem(f *ast.FuncDecl) (item, callee string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Array" {
				item = literal(call)
			}
			if id, ok := call.Fun.(*ast.Ident); ok {
				if _, short, found := strings.Cut(id.Name, "_serialize"); found {
					callee = "serialize" + short
				}
			}
		}
		return true
	})
	return item, callee
}

// descend reads the shape that a member leads to and returns the name of its elements if it is a list.
func (r *queryReader) descend(m member, read func(*ast.FuncDecl) error,
	element func(*ast.FuncDecl) (item, callee string),
) (item string, err error) {
	if m.callee == "" {
		return "", nil
	}
	f := r.funcs[m.callee]
	if f == nil {
		return "", fmt.Errorf("no function %s", m.callee)
	}
	switch kind := shapeOf(f.Type.Params.List[0].Type).(type) {
	case *ast.MapType:
		return "", errors.New("maps are not supported")
	case *ast.ArrayType:
		item, callee := element(f)
		if item == "" {
			return "", fmt.Errorf("%s names no element", m.callee)
		}
		if _, nested := shapeOf(kind.Elt).(*ast.ArrayType); nested {
			return "", errors.New("lists of lists are not supported")
		}
		if callee == "" {
			return item, nil
		}
		below := r.funcs[callee]
		if below == nil {
			return "", fmt.Errorf("no function %s", callee)
		}
		return item, read(below)
	default:
		return "", read(f)
	}
}

// readOutput reads a structure's deserializer: one case per member, whose condition has the wire
// name and whose body mentions sv.Member.
func (r *queryReader) readOutput(f *ast.FuncDecl) error {
	shape := typeName(f.Type.Params.List[0].Type)
	if _, done := r.out[shape]; done {
		return nil
	}
	fields := []field{}
	r.out[shape] = fields
	for _, clause := range cases(f) {
		m, err := outputMember(clause)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name.Name, err)
		}
		if unsupported[shape] == m.goName {
			continue
		}
		item, err := r.descend(m, r.readOutput, outputItem)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", shape, m.goName, err)
		}
		fields = append(fields, field{m.goName, m.wire, item})
	}
	r.out[shape] = fields
	return nil
}

func outputMember(clause *ast.CaseClause) (member, error) {
	m := member{wire: caseName(clause)}
	var err error
	for _, stmt := range clause.Body {
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isIdent(n.X, "sv") && m.goName == "" {
					m.goName = n.Sel.Name
				}
				if isIdent(n.X, "smithytime") && n.Sel.Name != "ParseDateTime" {
					err = fmt.Errorf("%s: the time format of %s is not supported", m.wire, n.Sel.Name)
				}
			case *ast.CallExpr:
				if callee := deserializer(n); callee != "" {
					m.callee = callee
				}
			}
			return true
		})
	}
	if m.goName == "" && err == nil {
		err = fmt.Errorf("%s: no member", m.wire)
	}
	if strings.HasSuffix(m.callee, "Unwrapped") {
		err = fmt.Errorf("%s: flat lists are not supported in answers", m.wire)
	}
	return m, err
}

func outputItem(f *ast.FuncDecl) (item, callee string) {
	for _, clause := range cases(f) {
		item = caseName(clause)
		for _, stmt := range clause.Body {
			ast.Inspect(stmt, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && deserializer(call) != "" {
					callee = deserializer(call)
				}
				return true
			})
		}
	}
	return item, callee
}

// cases returns the cases of a deserializer's switch, without the default.
func cases(f *ast.FuncDecl) []*ast.CaseClause {
	var clauses []*ast.CaseClause
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok && len(c.List) == 1 && caseName(c) != "" {
			clauses = append(clauses, c)
		}
		return true
	})
	return clauses
}

// caseName returns the name in strings.EqualFold("name", …).
func caseName(c *ast.CaseClause) string {
	if call, ok := c.List[0].(*ast.CallExpr); ok {
		return literal(call)
	}
	return ""
}

func deserializer(call *ast.CallExpr) string {
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return ""
	}
	_, short, found := strings.Cut(id.Name, "_deserialize")
	if !found {
		return ""
	}
	return "deserialize" + short
}

// literal returns a call's first argument if that is a string literal.
func literal(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// shapeOf strips pointers from a type expression.
func shapeOf(e ast.Expr) ast.Expr {
	for {
		star, ok := e.(*ast.StarExpr)
		if !ok {
			return e
		}
		e = star.X
	}
}

// typeName returns the name of a struct type, without its package.
func typeName(e ast.Expr) string {
	switch e := shapeOf(e).(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

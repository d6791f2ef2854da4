package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
)

// route is the address of an action of a REST service: method and path, in which {name} stands for
// the member of that name on the wire. queries are the members that are query parameters. All
// others are members of the JSON body.
type route struct {
	method, path string
	queries      []string
}

// readREST reads the serializers of a service that speaks JSON over REST. They have the form of a
// JSON service's; the traits of the schemas say where each member goes.
func readREST(dir string, actions []string) (*model, error) {
	m, err := readJSON(dir, actions)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "schemas", "schemas.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	m.routes = map[string]route{}
	queries := queryMembers(file)
	operations := operationTraits(file)
	for _, action := range actions {
		r, ok := operations[action]
		if !ok {
			return nil, fmt.Errorf("%s: no trait says its method and path", action)
		}
		for _, f := range m.inputs[action+"Input"] {
			if queries[action+"Request_"+f.wire] {
				r.queries = append(r.queries, f.wire)
			}
		}
		m.routes[action] = r
	}
	return m, nil
}

// operationTraits finds var Action = smithy.NewSchema(…, &smithytraits.HTTP{Method: …, URI: …}).
func operationTraits(file *ast.File) map[string]route {
	found := map[string]route{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
			return true
		}
		for _, trait := range traitsIn(spec.Values[0], "HTTP") {
			found[spec.Names[0].Name] = route{method: stringMember(trait, "Method"), path: stringMember(trait, "URI")}
		}
		return false
	})
	return found
}

// queryMembers finds Shape_member = Shape.AddMember("wire", …, &smithytraits.HTTPQuery{…}). The
// name of the parameter is the member's.
func queryMembers(file *ast.File) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		if id, isID := assign.Lhs[0].(*ast.Ident); isID && len(traitsIn(assign.Rhs[0], "HTTPQuery")) > 0 {
			found[id.Name] = true
		}
		return false
	})
	return found
}

func traitsIn(e ast.Expr, name string) []*ast.CompositeLit {
	var found []*ast.CompositeLit
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && isIdent(sel.X, "smithytraits") && sel.Sel.Name == name {
				found = append(found, lit)
			}
		}
		return true
	})
	return found
}

func stringMember(lit *ast.CompositeLit, name string) string {
	for _, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok || !isIdent(pair.Key, name) {
			continue
		}
		if value, ok := pair.Value.(*ast.BasicLit); ok {
			if text, err := strconv.Unquote(value.Value); err == nil {
				return text
			}
		}
	}
	return ""
}

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// jsonReader reads the schema-driven serializers of a JSON service: a type's SerializeMembers pairs
// v.Member with schemas.Shape_member, and the schemas name the member on the wire. Input and output
// are alike.
type jsonReader struct {
	wire    map[string]string // of schemas.Shape_member
	methods map[string]*ast.FuncDecl
	structs map[string]*ast.StructType
	shapes  map[string][]field
}

func readJSON(dir string, actions []string) (*model, error) {
	r := &jsonReader{
		wire: map[string]string{}, methods: map[string]*ast.FuncDecl{},
		structs: map[string]*ast.StructType{}, shapes: map[string][]field{},
	}
	if err := r.readSchemas(filepath.Join(dir, "schemas", "schemas.go")); err != nil {
		return nil, err
	}
	files := []string{filepath.Join(dir, "types", "types.go"), filepath.Join(dir, "types", "common_serde.go")}
	for _, action := range actions {
		files = append(files, filepath.Join(dir, "api_op_"+action+".go"))
	}
	for _, path := range files {
		if err := r.readDeclarations(path); err != nil {
			return nil, err
		}
	}
	for _, action := range actions {
		for _, shape := range []string{action + "Input", action + "Output"} {
			if err := r.readShape(shape); err != nil {
				return nil, fmt.Errorf("%s: %w", shape, err)
			}
		}
	}
	return &model{actions: actions, inputs: r.shapes, outputs: r.shapes}, nil
}

// readSchemas finds Shape_member = Shape.AddMember("wire", …).
func (r *jsonReader) readSchemas(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		id, isID := assign.Lhs[0].(*ast.Ident)
		call, isCall := assign.Rhs[0].(*ast.CallExpr)
		if isID && isCall {
			r.wire[id.Name] = literal(call)
		}
		return true
	})
	return nil
}

func (r *jsonReader) readDeclarations(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "SerializeMembers" {
				r.methods[typeName(n.Recv.List[0].Type)] = n
			}
			return false
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				r.structs[n.Name.Name] = s
			}
		}
		return true
	})
	return nil
}

func (r *jsonReader) readShape(shape string) error {
	if _, done := r.shapes[shape]; done {
		return nil
	}
	method, structure := r.methods[shape], r.structs[shape]
	if method == nil || structure == nil {
		return errors.New("no such structure")
	}
	fields := []field{}
	r.shapes[shape] = fields
	for _, stmt := range method.Body.List {
		m := r.member(stmt)
		if m.goName == "" || m.wire == "" {
			return fmt.Errorf("a statement without member or name: %+v", m)
		}
		fields = append(fields, field{m.goName, m.wire, ""})
	}
	r.shapes[shape] = fields
	for _, f := range structure.Fields.List {
		if len(f.Names) == 0 {
			continue
		}
		if below := r.structBelow(f.Type); below != "" {
			if err := r.readShape(below); err != nil {
				return fmt.Errorf("%s: %w", below, err)
			}
		}
	}
	return nil
}

func (r *jsonReader) member(stmt ast.Stmt) member {
	var m member
	ast.Inspect(stmt, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if isIdent(sel.X, "v") && m.goName == "" {
				m.goName = sel.Sel.Name
			}
			if isIdent(sel.X, "schemas") && m.wire == "" {
				m.wire = r.wire[sel.Sel.Name]
			}
		}
		return true
	})
	return m
}

// structBelow returns the name of the structure that a member's type consists of, or "".
func (r *jsonReader) structBelow(e ast.Expr) string {
	if list, ok := shapeOf(e).(*ast.ArrayType); ok {
		e = list.Elt
	}
	if dictionary, ok := shapeOf(e).(*ast.MapType); ok {
		e = dictionary.Value
	}
	if sel, ok := shapeOf(e).(*ast.SelectorExpr); ok && !isIdent(sel.X, "types") {
		return "" // middleware.Metadata, time.Time
	}
	name := typeName(e)
	if strings.Contains(name, ".") || r.structs[name] == nil {
		return ""
	}
	return name
}

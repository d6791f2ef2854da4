package main

import (
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// declared is a type of an API group.
type declared struct {
	name string
	expr ast.Expr
	doc  *ast.CommentGroup
}

// types returns the types of a group in the order of its files.
func types(group *source) (inOrder []declared, byName map[string]declared) {
	byName = map[string]declared{}
	for _, file := range group.files {
		for _, declaration := range file.Decls {
			general, is := declaration.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range general.Specs {
				if one, is := spec.(*ast.TypeSpec); is {
					doc := one.Doc
					if doc == nil {
						doc = general.Doc
					}
					found := declared{name: one.Name.Name, expr: one.Type, doc: doc}
					inOrder = append(inOrder, found)
					byName[found.name] = found
				}
			}
		}
	}
	return inOrder, byName
}

// kinds returns the names of the kinds of a group: the types with the metadata of an object.
func kinds(inOrder []declared) []string {
	var names []string
	for _, one := range inOrder {
		object, is := one.expr.(*ast.StructType)
		if is && slices.ContainsFunc(object.Fields.List, isObjectMeta) {
			names = append(names, one.name)
		}
	}
	return names
}

func isObjectMeta(field *ast.Field) bool {
	selector, is := field.Type.(*ast.SelectorExpr)
	return is && selector.Sel.Name == "ObjectMeta" && jsonName(field) == "metadata" && len(field.Names) == 0
}

// use is a place in a kind that has a type.
type use struct{ kind, path string }

// uses returns the places that have each type of a group, by its name.
func uses(group *source) map[string][]use {
	inOrder, byName := types(group)
	found := map[string][]use{}
	var visit func(kind, path string, expr ast.Expr, depth int)
	visit = func(kind, path string, expr ast.Expr, depth int) {
		if depth > 12 {
			return
		}
		switch e := expr.(type) {
		case *ast.StarExpr:
			visit(kind, path, e.X, depth)
		case *ast.ArrayType:
			visit(kind, path+"[]", e.Elt, depth)
		case *ast.MapType:
			visit(kind, path, e.Key, depth)
			visit(kind, path+"{}", e.Value, depth)
		case *ast.Ident:
			if one, is := byName[e.Name]; is {
				found[e.Name] = append(found[e.Name], use{kind, path})
				visit(kind, path, one.expr, depth+1)
			}
		case *ast.StructType:
			for _, field := range e.Fields.List {
				visit(kind, below(path, jsonName(field)), field.Type, depth)
			}
		}
	}
	for _, kind := range kinds(inOrder) {
		visit(kind, "", byName[kind].expr, 0)
		found[kind] = append(found[kind], use{kind, ""})
	}
	return found
}

// below returns the path of a field in an object; a field without a name is inlined.
func below(path, name string) string {
	return strings.Trim(path+"."+name, ".")
}

// jsonName returns the name of a field in JSON. It is empty for a field that is inlined.
func jsonName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

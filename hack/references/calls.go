package main

import (
	"go/ast"
	"slices"
	"strings"
)

// aliases are the names under which the code imports the API groups.
var aliases = map[string]string{"infrav1": groups[0], "provisioningv1": groups[1]}

// name is a constant of an API group.
type name struct{ group, identifier string }

// setting is a place in the code that gives a condition a reason.
type setting struct {
	source            *source
	condition, reason string // values
	status            string
	at                ast.Node
}

// statuses are the functions that set a condition, and the status that they set. Other functions
// with a condition and a reason report a failure.
var statuses = map[string]string{"True": "True", "False": "False", "Unknown": "Unknown"}

// resolver finds the values of expressions in one directory.
type resolver struct {
	constants map[name]string     // of the API groups
	local     map[string]ast.Expr // of the directory
}

// value returns the string that an expression is, and whether it is a constant of an API group.
func (r resolver) value(expression ast.Expr) (value string, isConstant bool) {
	switch e := expression.(type) {
	case *ast.SelectorExpr:
		if alias, is := e.X.(*ast.Ident); is && aliases[alias.Name] != "" {
			value, isConstant = r.constants[name{aliases[alias.Name], e.Sel.Name}]
			return value, isConstant
		}
	case *ast.Ident:
		if local := r.local[e.Name]; local != nil {
			if _, is := local.(*ast.Ident); is {
				return "", false
			}
			return r.value(local)
		}
	case *ast.CallExpr: // a conversion, as in string(provisioningv1.DisruptionEmpty)
		if converted, is := e.Fun.(*ast.Ident); is && converted.Name == "string" && len(e.Args) == 1 {
			return r.value(e.Args[0])
		}
	case *ast.BasicLit:
		literal, _ := text(e, nil)
		return literal, false
	}
	return "", false
}

// wrapper is a function that sets a fixed condition for a reason that its caller gives.
type wrapper struct {
	argument          int // the reason's place
	condition, status string
}

// settings returns the places in a source that give a condition a reason.
func settings(from *source, r resolver, conditions map[string]bool) []setting {
	var found []setting
	wrappers := wrappersIn(from, r, conditions)
	for _, file := range from.files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CallExpr:
				condition, status := r.conditionOf(n, conditions)
				if condition == "" {
					if by, is := wrappers[called(n)]; is && by.argument < len(n.Args) {
						if reason, is := r.value(n.Args[by.argument]); is {
							found = append(found, setting{from, by.condition, reason, by.status, n})
						}
					}
					return true
				}
				for _, argument := range r.afterCondition(n, conditions) {
					if reason, is := r.value(argument); is {
						found = append(found, setting{from, condition, reason, status, n})
						break
					}
				}
			case *ast.CompositeLit:
				if one, is := r.literal(n, conditions); is {
					one.source = from
					found = append(found, one)
				}
			}
			return true
		})
	}
	return found
}

// conditionOf returns the condition among the arguments of a call, and the status that it gets.
func (r resolver) conditionOf(call *ast.CallExpr, conditions map[string]bool) (condition, status string) {
	function := called(call)
	if slices.Contains([]string{"FindStatusCondition", "IsStatusConditionTrue", "IsStatusConditionFalse", "Remove", "Done", "Warn", "IsTrue", "turned", "Eventf"}, function) {
		return "", ""
	}
	for _, argument := range call.Args {
		if selector, is := argument.(*ast.SelectorExpr); is && strings.HasSuffix(selector.Sel.Name, "Condition") {
			if value, is := r.value(selector); is && conditions[value] {
				status = statuses[function]
				if status == "" {
					status = "False"
				}
				return value, status
			}
		}
	}
	return "", ""
}

// afterCondition returns the arguments that follow a call's condition.
func (r resolver) afterCondition(call *ast.CallExpr, conditions map[string]bool) []ast.Expr {
	for i, argument := range call.Args {
		if value, is := r.value(argument); is && conditions[value] {
			return call.Args[i+1:]
		}
	}
	return nil
}

// literal reads a condition, or a summary of conditions, that is written as a literal.
func (r resolver) literal(node *ast.CompositeLit, conditions map[string]bool) (setting, bool) {
	found := setting{status: "True", at: node}
	for _, element := range node.Elts {
		pair, is := element.(*ast.KeyValueExpr)
		if !is {
			continue
		}
		key, is := pair.Key.(*ast.Ident)
		if !is {
			continue
		}
		value, isConstant := r.value(pair.Value)
		switch {
		case (key.Name == "Type" || key.Name == "Target") && conditions[value]:
			found.condition = value
		case key.Name == "Reason" && isConstant:
			found.reason = value
		case key.Name == "Status":
			if selector, is := pair.Value.(*ast.SelectorExpr); is {
				found.status = strings.TrimPrefix(selector.Sel.Name, "Condition")
			}
		}
	}
	return found, found.condition != "" && found.reason != ""
}

// wrappersIn returns the functions of a source that set one condition for the reason in one of
// their parameters, by name.
func wrappersIn(from *source, r resolver, conditions map[string]bool) map[string]wrapper {
	found := map[string]wrapper{}
	visit := func(function string, parameters *ast.FieldList, body *ast.BlockStmt) {
		place := parameterPlace(parameters, "reason")
		if place < 0 || body == nil {
			return
		}
		ast.Inspect(body, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is {
				return true
			}
			condition, status := r.conditionOf(call, conditions)
			if condition == "" {
				return true
			}
			if slices.ContainsFunc(call.Args, func(argument ast.Expr) bool {
				given, is := argument.(*ast.Ident)
				return is && given.Name == "reason"
			}) {
				found[function] = wrapper{place, condition, status}
			}
			return true
		})
	}
	for _, file := range from.files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				visit(n.Name.Name, n.Type.Params, n.Body)
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if function, is := value.(*ast.FuncLit); is {
						if target, is := n.Lhs[i].(*ast.Ident); is {
							visit(target.Name, function.Type.Params, function.Body)
						}
					}
				}
			}
			return true
		})
	}
	return found
}

// parameterPlace returns the index of a parameter, or -1.
func parameterPlace(parameters *ast.FieldList, wanted string) int {
	place := 0
	for _, field := range parameters.List {
		for _, parameter := range field.Names {
			if parameter.Name == wanted {
				return place
			}
			place++
		}
		if len(field.Names) == 0 {
			place++
		}
	}
	return -1
}

// called returns the name of the function that is called, without its package or receiver.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

package main

import (
	"fmt"
	"go/ast"
	"maps"
	"strings"
)

// returns counts the functions of decide files that send their reader back, more than twice, to a file
// that the reader has left.
func returns(packages []*pkg) figure {
	var many []counted
	for _, p := range packages {
		declared := p.declarations()
		p.functions(func(file string, function *ast.FuncDecl) {
			if !strings.HasPrefix(file, "decide") || function.Body == nil {
				return
			}
			reader := &reader{declared: declared, home: file}
			reader.finish(reader.read(function.Body.List, path{at: file, visits: map[string]int{}}))
			if reader.most-1 > mostReturns {
				many = append(many, counted{p.dir + "." + function.Name.Name, reader.most - 1})
			}
		})
	}
	return figure{
		name: fmt.Sprintf("functions of decide files that return to a file more than %d times", mostReturns), goal: "0", measured: fmt.Sprint(len(many)), worst: worstOf(many), met: len(many) == 0,
	}
}

// path is one way through a function: the file that its reader is at, and how often each other file was
// visited. Calls that follow each other into the same file are one visit.
type path struct {
	at     string
	visits map[string]int
}

func (p path) copy() path { return path{p.at, maps.Clone(p.visits)} }

// reader follows the ways through one function. A branch that ends the function is a way of its own.
type reader struct {
	declared map[string]string
	home     string
	most     int
}

// finish notes a way that is complete.
func (r *reader) finish(p path) {
	for file, visits := range p.visits {
		if file != r.home {
			r.most = max(r.most, visits)
		}
	}
}

// read follows statements, and returns the way after them.
func (r *reader) read(statements []ast.Stmt, p path) path {
	for _, statement := range statements {
		switch statement := statement.(type) {
		case *ast.IfStmt:
			p = r.choose(p, statement)
		case *ast.SwitchStmt:
			p = r.calls(statement.Init, r.calls(statement.Tag, p))
			p = r.clauses(statement.Body, p)
		case *ast.TypeSwitchStmt:
			p = r.calls(statement.Assign, p)
			p = r.clauses(statement.Body, p)
		case *ast.BlockStmt:
			p = r.read(statement.List, p)
		default:
			p = r.calls(statement, p)
		}
	}
	return p
}

func (r *reader) choose(p path, statement *ast.IfStmt) path {
	p = r.calls(statement.Cond, r.calls(statement.Init, p))
	after := r.branch(statement.Body.List, p)
	if statement.Else != nil {
		after = longer(after, r.branch([]ast.Stmt{statement.Else}, p))
	}
	return longer(p, after)
}

func (r *reader) clauses(body *ast.BlockStmt, p path) path {
	after := p
	for _, clause := range body.List {
		one := clause.(*ast.CaseClause)
		way := p.copy()
		for _, condition := range one.List {
			way = r.calls(condition, way)
		}
		after = longer(after, r.branch(one.Body, way))
	}
	return after
}

// branch follows statements that may leave the function. If they do, the way after them is the one
// before.
func (r *reader) branch(statements []ast.Stmt, p path) path {
	way := r.read(statements, p.copy())
	if len(statements) == 0 {
		return way
	}
	if _, ends := statements[len(statements)-1].(*ast.ReturnStmt); ends {
		r.finish(way)
		return p
	}
	return way
}

// longer returns the way with more visits.
func longer(a, b path) path {
	count := func(p path) (all int) {
		for _, visits := range p.visits {
			all += visits
		}
		return all
	}
	if count(b) > count(a) {
		return b
	}
	return a
}

// calls follows the calls of a node into the files of the functions.
func (r *reader) calls(node ast.Node, p path) path {
	if node == nil {
		return p
	}
	p = p.copy()
	ast.Inspect(node, func(node ast.Node) bool {
		call, is := node.(*ast.CallExpr)
		if !is {
			return true
		}
		if callee, is := call.Fun.(*ast.Ident); is && r.declared[callee.Name] != "" {
			if to := r.declared[callee.Name]; to != p.at {
				p.at = to
				p.visits[to]++
			}
		}
		return true
	})
	return p
}

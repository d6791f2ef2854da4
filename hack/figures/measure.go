package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// The goals.
const (
	mostLines    = 60
	mostMethods  = 30
	mostExported = 60
	// mostReturns bounds how often a function may send its reader back to a file that the reader
	// has left.
	mostReturns = 2
	mostWorst   = 4
)

// counted is something with a number, such as a package and its exported names.
type counted struct {
	name   string
	number int
}

// worstOf returns the largest, with their numbers.
func worstOf(all []counted) []string {
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.number, a.number), strings.Compare(a.name, b.name))
	})
	var worst []string
	for _, one := range all[:min(len(all), mostWorst)] {
		worst = append(worst, fmt.Sprintf("`%s` %d", one.name, one.number))
	}
	return worst
}

func list(items []string) string { return strings.Join(items, ", ") }

// most returns the largest number, zero for none.
func most(all []counted) int {
	largest := 0
	for _, one := range all {
		largest = max(largest, one.number)
	}
	return largest
}

// figuresOf measures packages.
func figuresOf(packages []*pkg) []figure {
	return []figure{
		longFunctions(packages), largestReceiver(packages), exportedNames(packages), upwardReferences(packages), returns(packages), linesOfTests(packages),
	}
}

func longFunctions(packages []*pkg) figure {
	var long []counted
	for _, p := range packages {
		p.functions(func(_ string, function *ast.FuncDecl) {
			lines := p.set.Position(function.End()).Line - p.set.Position(function.Pos()).Line + 1
			if lines > mostLines {
				long = append(long, counted{p.dir + "." + function.Name.Name, lines})
			}
		})
	}
	return figure{
		name: fmt.Sprintf("functions of more than %d lines", mostLines), goal: "0", measured: fmt.Sprint(len(long)), worst: worstOf(long), met: len(long) == 0,
	}
}

// largestReceiver counts the methods of types, including the methods of the types of the same
// package that they embed.
func largestReceiver(packages []*pkg) figure {
	var receivers []counted
	for _, p := range packages {
		declared, embeds := map[string]int{}, p.embeds()
		p.functions(func(_ string, function *ast.FuncDecl) {
			if name := receiver(function); name != "" {
				declared[name]++
			}
		})
		for name := range declared {
			receivers = append(receivers, counted{p.dir + "." + name, methodsOf(name, declared, embeds, map[string]bool{})})
		}
	}
	largest := most(receivers)
	return figure{
		name: "methods of the largest receiver", goal: fmt.Sprintf("≤ %d", mostMethods), measured: fmt.Sprint(largest), worst: worstOf(receivers), met: largest <= mostMethods,
	}
}

func methodsOf(name string, declared map[string]int, embeds map[string][]string, seen map[string]bool) int {
	if seen[name] {
		return 0
	}
	seen[name] = true
	count := declared[name]
	for _, embedded := range embeds[name] {
		count += methodsOf(embedded, declared, embeds, seen)
	}
	return count
}

// embeds returns which types of the package each of its structs embeds.
func (p *pkg) embeds() map[string][]string {
	embedded := map[string][]string{}
	p.types(func(spec *ast.TypeSpec) {
		structure, is := spec.Type.(*ast.StructType)
		if !is {
			return
		}
		for _, field := range structure.Fields.List {
			if len(field.Names) > 0 {
				continue
			}
			kind := field.Type
			if pointer, is := kind.(*ast.StarExpr); is {
				kind = pointer.X
			}
			if name, is := kind.(*ast.Ident); is {
				embedded[spec.Name.Name] = append(embedded[spec.Name.Name], name.Name)
			}
		}
	})
	return embedded
}

func (p *pkg) types(visit func(*ast.TypeSpec)) {
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			general, is := declaration.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range general.Specs {
				if kind, is := spec.(*ast.TypeSpec); is {
					visit(kind)
				}
			}
		}
	}
}

func exportedNames(packages []*pkg) figure {
	var exported []counted
	for _, p := range packages {
		if strings.HasPrefix(p.dir, "api/") {
			continue
		}
		count := 0
		for name := range p.declarations() {
			if ast.IsExported(name) {
				count++
			}
		}
		exported = append(exported, counted{p.dir, count})
	}
	largest := most(exported)
	return figure{
		name: "exported names of a package outside `api`", goal: fmt.Sprintf("≤ %d", mostExported), measured: fmt.Sprint(largest), worst: worstOf(exported), met: largest <= mostExported,
	}
}

// declarations returns the file of each function, type, variable and constant that a package declares.
func (p *pkg) declarations() map[string]string {
	declared := map[string]string{}
	for name, file := range p.files {
		for _, declaration := range file.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				if declaration.Recv == nil {
					declared[declaration.Name.Name] = name
				}
			case *ast.GenDecl:
				for _, spec := range declaration.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declared[spec.Name.Name] = name
					case *ast.ValueSpec:
						for _, one := range spec.Names {
							declared[one.Name] = name
						}
					}
				}
			}
		}
	}
	return declared
}

// upwardReferences counts the pairs of files of a package that refer to each other: neither can be
// read first.
func upwardReferences(packages []*pkg) figure {
	var pairs []counted
	total := 0
	for _, p := range packages {
		refers := p.references()
		count := 0
		for from, to := range refers {
			for other := range to {
				if from < other && refers[other][from] {
					count++
				}
			}
		}
		total += count
		pairs = append(pairs, counted{p.dir, count})
	}
	return figure{name: "pairs of files of a package that refer to each other", goal: "—", measured: fmt.Sprint(total), worst: worstOf(pairs), met: true}
}

// references returns which files of a package each file refers to, by the functions, types, variables
// and constants that it uses.
func (p *pkg) references() map[string]map[string]bool {
	declared, refers := p.declarations(), map[string]map[string]bool{}
	for name, file := range p.files {
		refers[name] = map[string]bool{}
		ast.Inspect(file, func(node ast.Node) bool {
			if selector, is := node.(*ast.SelectorExpr); is {
				ast.Inspect(selector.X, func(inner ast.Node) bool {
					if used, is := inner.(*ast.Ident); is && declared[used.Name] != "" {
						refers[name][declared[used.Name]] = true
					}
					return true
				})
				return false
			}
			if used, is := node.(*ast.Ident); is && declared[used.Name] != "" {
				refers[name][declared[used.Name]] = true
			}
			return true
		})
		delete(refers[name], name)
	}
	return refers
}

// linesOfTests compares the lines of tests in internal with the lines of code. Code that only tests
// use, in packages with the suffix test and in internal/simulation, counts as tests.
func linesOfTests(packages []*pkg) figure {
	code, tests := 0, 0
	var lacking []counted
	for _, p := range packages {
		if !strings.HasPrefix(p.dir, "internal/") {
			continue
		}
		if forTests(p.dir) {
			tests += p.lines + p.testLines
			continue
		}
		code += p.lines
		tests += p.testLines
		lacking = append(lacking, counted{p.dir, p.lines - p.testLines})
	}
	if code == 0 {
		return figure{name: "lines of tests per line of code in `internal`", goal: "≥ 1", measured: "no code", met: true}
	}
	ratio := float64(tests) / float64(code)
	return figure{
		name: "lines of tests per line of code in `internal`", goal: "≥ 1", measured: fmt.Sprintf("%.2f (%d to %d)", ratio, tests, code), worst: worstOf(lacking), met: ratio >= 1,
	}
}

func forTests(dir string) bool {
	for _, part := range strings.Split(dir, "/") {
		if strings.HasSuffix(part, "test") || part == "simulation" || part == "templateleaves" || part == "managedcases" {
			return true
		}
	}
	return false
}

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// groups are the directories of the API groups, in the order in which pages list them.
var groups = []string{"api/infrastructure/v1beta2", "api/provisioning/v1alpha2"}

// source is one directory of Go files.
type source struct {
	dir   string // with slashes, below the root
	files []*ast.File
}

// codebase is the parsed code.
type codebase struct {
	root      string
	positions *token.FileSet
	sources   map[string]*source // by directory
}

// load parses the directories below root that define kinds, report to users, or try rules.
func load(root string) (*codebase, error) {
	code := &codebase{root: root, positions: token.NewFileSet(), sources: map[string]*source{}}
	for _, top := range []string{"api", "internal"} {
		walk := func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			return code.add(root, path)
		}
		if err := filepath.WalkDir(filepath.Join(root, top), walk); err != nil {
			return nil, fmt.Errorf("reading %s: %w", top, err)
		}
	}
	for _, dir := range groups {
		if code.sources[dir] == nil {
			return nil, fmt.Errorf("there is no Go code in %s", dir)
		}
	}
	return code, nil
}

func (c *codebase) add(root, path string) error {
	below, err := filepath.Rel(root, path)
	if err != nil {
		return fmt.Errorf("naming a directory: %w", err)
	}
	parsed := &source{dir: filepath.ToSlash(below)}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("listing a directory: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") {
			continue
		}
		file, err := parser.ParseFile(c.positions, filepath.Join(path, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", name, err)
		}
		parsed.files = append(parsed.files, file)
	}
	if len(parsed.files) > 0 {
		c.sources[parsed.dir] = parsed
	}
	return nil
}

// sorted returns the sources by directory.
func (c *codebase) sorted() []*source {
	var all []*source
	for _, dir := range slices.Sorted(maps.Keys(c.sources)) {
		all = append(all, c.sources[dir])
	}
	return all
}

// place returns where a node is, for the message of an error.
func (c *codebase) place(node ast.Node) string {
	position := c.positions.Position(node.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(filepath.Dir(position.Filename))+"/"+filepath.Base(position.Filename), position.Line)
}

// values returns the values of the variables and constants that files declare at their top, by name.
func values(files []*ast.File) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	for _, file := range files {
		for _, declared := range file.Decls {
			general, is := declared.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range general.Specs {
				value, is := spec.(*ast.ValueSpec)
				if !is {
					continue
				}
				for i, name := range value.Names {
					if i < len(value.Values) {
						found[name.Name] = value.Values[i]
					}
				}
			}
		}
	}
	return found
}

// text returns the string that an expression of literals, constants and sums stands for.
func text(expression ast.Expr, known map[string]ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return text(e.X, known)
	case *ast.Ident:
		if value := known[e.Name]; value != nil {
			return text(value, known)
		}
	case *ast.BinaryExpr:
		left, isLeft := text(e.X, known)
		right, isRight := text(e.Y, known)
		return left + right, isLeft && isRight && e.Op == token.ADD
	}
	return "", false
}

// joined joins errors in the order of their texts, each once.
func joined(problems []string) error {
	slices.Sort(problems)
	var all []error
	for _, problem := range slices.Compact(problems) {
		all = append(all, errors.New(problem))
	}
	return errors.Join(all...)
}

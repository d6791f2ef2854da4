package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// pkg is the Go code of one directory.
type pkg struct {
	// dir is relative to the root, with slashes.
	dir string
	// files are those without tests and without generated code, by name.
	files map[string]*ast.File
	// lines and testLines count the lines of code and of tests, comments included.
	lines, testLines int
	set              *token.FileSet
}

// skipped reports whether a directory is not measured: another module, or one without code.
func skipped(dir string) bool {
	switch first, _, _ := strings.Cut(dir, "/"); first {
	case "lab", "image", "tools", "bin", "out", "_artifacts", "node_modules":
		return true
	}
	return dir != "." && strings.HasPrefix(filepath.Base(dir), ".") || strings.Contains(dir, "testdata") || dir == "bench/karpenter"
}

// parse reads the Go files under a directory.
func parse(root string) ([]*pkg, error) {
	packages := map[string]*pkg{}
	var order []*pkg
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if skipped(relative) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(relative))
		if packages[dir] == nil {
			packages[dir] = &pkg{dir: dir, files: map[string]*ast.File{}, set: set}
			order = append(order, packages[dir])
		}
		return packages[dir].add(path)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the code: %w", err)
	}
	return order, nil
}

// add reads one file.
func (p *pkg) add(path string) error {
	file, err := parser.ParseFile(p.set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing %s: %w", path, err)
	}
	lines := p.set.File(file.FileStart).LineCount()
	switch {
	case strings.HasSuffix(path, "_test.go"):
		p.testLines += lines
	case ast.IsGenerated(file):
	default:
		p.lines += lines
		p.files[filepath.Base(path)] = file
	}
	return nil
}

// functions calls visit for each function and method of a package, with the name of its file.
func (p *pkg) functions(visit func(file string, function *ast.FuncDecl)) {
	for name, file := range p.files {
		for _, declaration := range file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is {
				visit(name, function)
			}
		}
	}
}

// receiver returns the name of the type of a method's receiver, "" for a function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	expression := function.Recv.List[0].Type
	for {
		switch inner := expression.(type) {
		case *ast.StarExpr:
			expression = inner.X
		case *ast.IndexExpr:
			expression = inner.X
		case *ast.IndexListExpr:
			expression = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

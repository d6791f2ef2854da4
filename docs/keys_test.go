package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// keyName matches the names of constants that hold the key of an annotation, label, tag or finalizer.
var keyName = regexp.MustCompile(`(Annotation|Label|Finalizer)$|^(Legacy|Karpenter)?(Label|Tag)[A-Z]`)

// keyValue matches values that are keys, and not the name or the value of one.
var keyValue = regexp.MustCompile(`^[a-z0-9.-]+\.[a-z0-9.-]+/?[A-Za-z0-9./-]*$`)

// TestKeysAreDocumented holds that the reference has every annotation, label, tag and finalizer.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "reference/annotations-and-labels.md")
	found := 0
	for _, root := range []string{"../api", "../internal"} {
		for _, file := range walk(t, root, ".go") {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "zz_generated") || strings.Contains(file, "/simulation/") {
				continue
			}
			for name, key := range keysOf(t, file) {
				found++
				if !strings.Contains(page, "`"+key) {
					t.Errorf("%s: reference/annotations-and-labels.md lacks %s, the constant %s", file, key, name)
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d keys", found)
	}
}

// keysOf returns the constants of a file that hold keys, by name.
func keysOf(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, declaration := range tree.Decls {
		group, isGroup := declaration.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant, isConstant := spec.(*ast.ValueSpec)
			if !isConstant || len(constant.Names) != 1 || len(constant.Values) != 1 || !keyName.MatchString(constant.Names[0].Name) {
				continue
			}
			if value := textOf(constant.Values[0]); keyValue.MatchString(value) {
				keys[constant.Names[0].Name] = value
			}
		}
	}
	return keys
}

// textOf returns the value of a literal, or of a prefix that the API defines and a literal, and
// nothing for any other expression.
func textOf(expression ast.Expr) string {
	prefixes := map[string]string{"TagSlipwayPrefix": "slipway.infrastructure.cluster.x-k8s.io/", "TagProviderPrefix": "sigs.k8s.io/cluster-api-provider-aws/"}
	switch e := expression.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return value
	case *ast.Ident:
		return prefixes[e.Name]
	case *ast.SelectorExpr:
		return prefixes[e.Sel.Name]
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	default:
		return ""
	}
}

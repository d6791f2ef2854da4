package aws_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented is where the permissions are, and sources what uses them.
const (
	documented = "../../docs/permissions.md"
	sources    = ".."
)

// otherwise are the permissions that IAM wants for calls of another name (AWS: Service Authorization Reference).
var otherwise = map[string]string{
	"s3:HeadObject": "s3:GetObject", "s3:ListObjectsV2": "s3:ListBucket", "s3:DeleteObjects": "s3:DeleteObject", "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
}

// notCalled are the permissions that others ask for in Slipway's name, or that come with a call of another name.
var notCalled = []string{"iam:PassRole", "ssm:AddTagsToResource"}

// TestPermissionsAreDocumented holds that the document lists what the product calls, and nothing else.
func TestPermissionsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(documented)
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`\b(autoscaling|ec2|eks|iam|s3|sqs|ssm|sts):[A-Z][A-Za-z0-9]+`).FindAllString(string(text), -1)
	called := slices.Clone(notCalled)
	err = filepath.WalkDir(sources, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			called = append(called, callsIn(file)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range called {
		if !slices.Contains(listed, call) {
			t.Errorf("%s does not list %s, which is called", documented, call)
		}
	}
	for _, permission := range listed {
		if !slices.Contains(called, permission) {
			t.Errorf("%s lists %s, which nobody calls", documented, permission)
		}
	}
}

// callsIn are the permissions for the requests that a file makes: values of the SDK's input types.
func callsIn(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		literal, isLiteral := node.(*ast.CompositeLit)
		if !isLiteral {
			return true
		}
		selector, isSelector := literal.Type.(*ast.SelectorExpr)
		if !isSelector {
			return true
		}
		service, isName := selector.X.(*ast.Ident)
		action, isInput := strings.CutSuffix(selector.Sel.Name, "Input")
		if !isName || !isInput || !slices.Contains([]string{"autoscaling", "ec2", "eks", "iam", "s3", "sqs", "ssm", "sts"}, service.Name) {
			return true
		}
		call := service.Name + ":" + action
		if permission, named := otherwise[call]; named {
			call = permission
		}
		found = append(found, call)
		return true
	})
	return found
}

package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dependency is the module that the small program is built with.
const dependency = "github.com/google/uuid"

// TestSBOM holds that the bill of materials of a program conforms to the schema of CycloneDX, that it
// names the main module, the program's checksum, and each dependency with its version, and that it
// is the same when it is written again.
func TestSBOM(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	program := filepath.Join(directory, "slipway-linux-amd64")
	version := buildSmallProgram(t, program)
	if err := os.WriteFile(filepath.Join(directory, "kubectl-slipway-linux-amd64"), []byte(read(t, program)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := WriteSBOMs(directory, "v1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"kubectl-slipway-linux-amd64", "kubectl-slipway-linux-amd64.cdx.json", "slipway-linux-amd64", "slipway-linux-amd64.cdx.json"}, names(t, directory)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	content := read(t, program+".cdx.json")
	schema := bomSchema(t)
	if err := schema.Validate(parsed(t, content)); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(parsed(t, strings.Replace(content, `"application"`, `"program"`, 1))); err == nil {
		t.Error("the schema accepts a type of component that does not exist")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(strings.NewReader(content), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	main := bom.Metadata.Component
	checksum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, program))))
	if diff := cmp.Diff(&[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: checksum}}, main.Hashes); diff != "" || main.Name != "example.com/small" || main.Version != "v1.2.3" {
		t.Errorf("the main component is %s %s, with checksums (-want +got):\n%s", main.Name, main.Version, diff)
	}
	found := map[string]string{}
	for _, component := range *bom.Components {
		found[component.Name] = component.Version
	}
	if diff := cmp.Diff(map[string]string{dependency: version, "std": strings.TrimSpace(goTool(t, "..", "env", "GOVERSION"))}, found); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	again, err := SBOM(program, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content, string(again)); diff != "" {
		t.Errorf("the bill of materials differs when it is written again (-first +second):\n%s", diff)
	}
	if err := WriteSBOMs(t.TempDir(), "v1.2.3"); err == nil {
		t.Error("a release without programs is accepted")
	}
	if _, err := SBOM("sbom_test.go", "v1.2.3"); err == nil {
		t.Error("a file that is not a Go program is accepted")
	}
}

// buildSmallProgram builds a program of a module of its own, and returns the version of its
// dependency, which is the laboratory's.
func buildSmallProgram(t *testing.T, program string) string {
	t.Helper()
	version := strings.TrimSpace(goTool(t, "..", "list", "-m", "-f", "{{.Version}}", dependency))
	var sums []string
	for line := range strings.Lines(read(t, "../go.sum")) {
		if strings.HasPrefix(line, dependency+" "+version) {
			sums = append(sums, line)
		}
	}
	source := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module example.com/small\n\ngo 1.26.0\n\nrequire " + dependency + " " + version + "\n",
		"go.sum":  strings.Join(sums, ""),
		"main.go": "package main\n\nimport \"" + dependency + "\"\n\nfunc main() { println(uuid.Nil.String()) }\n",
	} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goTool(t, source, "build", "-buildvcs=false", "-o", program, ".")
	return version
}

// bomSchema returns the JSON schema of CycloneDX, which is in the module of its library.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schemas := filepath.Join(strings.TrimSpace(goTool(t, "..", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")), "schema")
	compiler := jsonschema.NewCompiler()
	const site = "http://cyclonedx.org/schema/"
	for name, file := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		if err := compiler.AddResource(site+name, parsed(t, read(t, filepath.Join(schemas, file)))); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(site + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func parsed(t *testing.T, content string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// goTool runs the go command in a directory and returns what it prints.
func goTool(t *testing.T, directory string, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), "go", args...) // #nosec G204 -- arguments of tests
	command.Dir, command.Stdout, command.Stderr = directory, &out, &problems
	command.Env = append(os.Environ(), "GOWORK=off")
	if err := command.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.String()
}

// names returns the names of the files in a directory.
func names(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	slices.Sort(found)
	return found
}

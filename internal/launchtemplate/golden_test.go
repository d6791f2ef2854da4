package launchtemplate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/config/crd"
	"github.com/slipway-project/slipway/internal/apitest"
)

// writeMissing writes golden files that do not exist. There is no flag that changes one.
var writeMissing = flag.Bool("write-missing", false, "write golden files for new cases of testdata/fingerprints")

// goldenCase is a file of testdata/fingerprints: an AWSLaunchConfig's spec as it may be stored, and
// what was resolved for it.
type goldenCase struct {
	Spec     map[string]any `json:"spec"`
	Resolved struct {
		ImageID          string            `json:"imageID"`
		ImageLookup      map[string]string `json:"imageLookup"`
		RootDeviceName   string            `json:"rootDeviceName"`
		SecurityGroupIDs []string          `json:"securityGroupIDs"`
		Tags             map[string]string `json:"tags"`
		UserData         string            `json:"userData"`
	} `json:"resolved"`
}

// TestFingerprintsNeverChange compares fingerprints with the fingerprints of earlier releases.
//
// A golden file must never be changed, nor deleted. Nodes are replaced when their fingerprint is
// another than the wanted one, so a change here rolls every node of every user on the day that they
// upgrade Slipway, although they changed nothing. A new field, a new default, another release of Go
// or of the SDK must give the same text for the same stored object. If this test fails, mend the
// code: leave out what is not set, and give new defaults at a place that objects which exist do not
// pass. New cases are welcome: add a file NAME.yaml and run go test -write-missing.
func TestFingerprintsNeverChange(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/fingerprints/*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			got := report(t, goldenInput(t, file))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			want, err := os.ReadFile(golden)
			if errors.Is(err, fs.ErrNotExist) && *writeMissing {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(string(want), got); difference != "" {
				t.Errorf("an upgrade would roll these nodes; an earlier release (-), this one (+):\n%s", difference)
			}
		})
	}
}

// TestGoldenFilesHaveCases fails for golden files without a case, which would go unnoticed.
func TestGoldenFilesHaveCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/fingerprints/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		if _, err := os.Stat(strings.TrimSuffix(file, ".golden") + ".yaml"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestRotatedTokenKeepsGoldenConfig(t *testing.T) {
	t.Parallel()
	one, other := goldenInput(t, "testdata/fingerprints/seed.yaml").Fingerprints, goldenInput(t, "testdata/fingerprints/rotated.yaml").Fingerprints
	if one.Config != other.Config || one.Image != other.Image {
		t.Errorf("config and image fingerprints differ: %+v, %+v", one, other)
	}
	if one.Bootstrap == other.Bootstrap {
		t.Error("bootstrap fingerprints do not differ")
	}
}

// goldenInput reads a case as the controller would get it: from an API server, which puts this
// release's defaults into objects that were stored by an earlier one.
func goldenInput(t *testing.T, file string) Input {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenCase
	if err := yaml.UnmarshalStrict(text, &golden); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	values := Resolved{
		ImageID: golden.Resolved.ImageID, RootDeviceName: golden.Resolved.RootDeviceName, SecurityGroupIDs: golden.Resolved.SecurityGroupIDs,
		Tags: golden.Resolved.Tags, UserData: []byte(golden.Resolved.UserData),
	}
	if golden.Resolved.ImageLookup != nil {
		values.ImageKey = ImageKey(golden.Resolved.ImageLookup)
	}
	return input(t, stored(t, golden.Spec), values)
}

// stored returns the spec as an API server answers it.
func stored(t *testing.T, spec map[string]any) infrav1.AWSLaunchConfigSpec {
	t.Helper()
	definitions, err := apitest.Load(crd.FS, "bases")
	if err != nil {
		t.Fatal(err)
	}
	resource, err := definitions.Resource("AWSLaunchConfig", infrav1.GroupVersion.Version)
	if err != nil {
		t.Fatal(err)
	}
	object := resource.Default(map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": "AWSLaunchConfig",
		"metadata": map[string]any{"name": "pool", "namespace": "default"}, "spec": spec,
	})
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var config infrav1.AWSLaunchConfig
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Spec
}

// report returns the content of a golden file: the fingerprints, the description that carries them,
// and, for reviewers, the text that they were computed from.
func report(t *testing.T, made Input) string {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(asked(t, made)), &tree); err != nil {
		t.Fatal(err)
	}
	userData, err := base64.StdEncoding.DecodeString(awssdk.ToString(made.data.UserData))
	if err != nil {
		t.Fatal(err)
	}
	delete(tree, "UserData")
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("config:      %s\nbootstrap:   %s\nimage:       %s\ndescription: %s\n\n%s\n\n%s",
		made.Fingerprints.Config, made.Fingerprints.Bootstrap, made.Fingerprints.Image, made.Fingerprints.Description(), text, userData)
}

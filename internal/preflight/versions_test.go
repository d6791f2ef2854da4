package preflight

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/config/crd"
)

// TestVersionsAreThoseOfTheRepository compares the supported versions with what the charts require and
// the laboratory runs.
func TestVersionsAreThoseOfTheRepository(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"charts/slipway/Chart.yaml":       `kubeVersion: ">= ` + MinimumKubernetes + ".0",
		"lab/go.mod":                      "k8s.io/kubernetes v" + TestedKubernetes + ".",
		"docs/reference/compatibility.md": MinimumKubernetes + " to " + TestedKubernetes,
	} {
		content, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), text) {
			t.Errorf("%s lacks %q", file, text)
		}
	}
}

// TestDefinitionsAreThoseOfARelease decides about the definitions that a release installs.
func TestDefinitionsAreThoseOfARelease(t *testing.T) {
	t.Parallel()
	files, err := crd.FS.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	observed := sound(t)
	notInstalled(&observed)
	var names []string
	for _, file := range files {
		content, err := crd.FS.ReadFile("bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(content, &definition); err != nil {
			t.Fatal(err)
		}
		names = append(names, definition.Name)
		observed.Cluster.Definitions[definition.Name] = definitionOf(&definition)
	}
	want := slices.Concat(sharedDefinitions, ownDefinitions)
	slices.Sort(want)
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("a release has the definitions %q, and %q are checked", names, want)
	}
	if finding := decideSlipwayCRDs(observed); finding.Result != OK {
		t.Errorf("the finding is %+v", finding)
	}
}

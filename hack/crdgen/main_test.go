package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func definition(kind string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: x}
  scope: Namespaced
  versions:
  - name: v1beta2
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              additionalTags: {type: object, additionalProperties: {type: string}}
              specifications: {type: array, items: {type: object, properties: {tags: {type: object, additionalProperties: {type: string}}}}}
`, kind, plural)
}

func TestRun(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	for _, kind := range []string{"AWSMachinePool", "AWSLaunchConfig", "AWSMachinePoolMachine"} {
		write(t, filepath.Join(in, kind+".yaml"), definition(kind))
	}
	write(t, filepath.Join(out, "gone.yaml"), "of a kind that no longer exists")
	for range 2 { // the second run finds its own output, and must not build upon it
		if err := run(in, out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "gone.yaml")); !os.IsNotExist(err) {
		t.Errorf("a definition without source was kept: %v", err)
	}
	for _, c := range []struct {
		reason, kind, contract string
		versions               []string
		storage                []bool
		moved                  bool
	}{
		{"a kind of CAPA's is served as CAPA's manifests name it", "AWSMachinePool", "v1beta1_v1beta2",
			[]string{"v1beta1", "v1beta2"}, []bool{false, true}, false},
		{"a kind of our own has one version, and is moved when it was written by hand too", "AWSLaunchConfig", "v1beta2", []string{"v1beta2"}, []bool{true}, true},
		{"so have the instances of pools", "AWSMachinePoolMachine", "v1beta2", []string{"v1beta2"}, []bool{true}, false},
	} {
		data, err := os.ReadFile(filepath.Join(out, c.kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "\nstatus:") {
			t.Errorf("%s: the file has a status, which is the API server's", c.kind)
		}
		var got apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &got); err != nil {
			t.Fatal(err)
		}
		var versions []string
		var storage []bool
		for _, version := range got.Spec.Versions {
			versions = append(versions, version.Name)
			storage = append(storage, version.Storage)
			limit := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["additionalTags"].
				AdditionalProperties.Schema.MaxLength
			if limit == nil || *limit != 256 {
				t.Errorf("%s %s: values of tags are not limited", c.kind, version.Name)
			}
			inList := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["specifications"].Items.Schema.
				Properties["tags"].AdditionalProperties.Schema.MaxLength
			if inList == nil || *inList != 256 {
				t.Errorf("%s %s: values of tags in a list are not limited", c.kind, version.Name)
			}
		}
		if diff := cmp.Diff(c.versions, versions) + cmp.Diff(c.storage, storage); diff != "" {
			t.Errorf("%s (%s), versions and storage (-want +got):\n%s", c.kind, c.reason, diff)
		}
		want := map[string]string{
			"cluster.x-k8s.io/provider": "infrastructure-slipway",
			"cluster.x-k8s.io/v1beta1":  c.contract,
			"cluster.x-k8s.io/v1beta2":  "v1beta2",
		}
		if c.moved {
			want["clusterctl.cluster.x-k8s.io/move"] = ""
		}
		if diff := cmp.Diff(want, got.Labels); diff != "" {
			t.Errorf("%s, labels (-want +got):\n%s", c.kind, diff)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, content, says string }{
		{"a misread definition must not be written half", strings.Replace(definition("AWSMachinePool"), "scope:", "scoop:", 1), "scoop"},
		{"the version to serve a second time is missing", strings.Replace(definition("AWSMachinePool"), "v1beta2", "v1", 1), "no version v1beta2"},
	} {
		in := t.TempDir()
		write(t, filepath.Join(in, "crd.yaml"), c.content)
		if err := run(in, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", c.reason, err, c.says)
		}
	}
	if err := run(t.TempDir(), t.TempDir()); err == nil {
		t.Error("an empty input directory would remove every definition, and was accepted")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

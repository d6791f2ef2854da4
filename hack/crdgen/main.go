// Command crdgen finishes the CRDs that controller-gen writes. It adds what no marker can say: the
// labels by which Cluster API and clusterctl find the kinds, a limit for the values of tags, and
// the second served version of kinds that are served as v1beta1 too. A version that is added has
// the schema of the one it is copied from, so that no conversion webhook is needed. It replaces the
// macros in rules (rules.go), such as a list of all fields of a type, by CEL.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	in := flag.String("in", "", "directory with the CRDs that controller-gen wrote")
	out := flag.String("out", "", "directory for the finished CRDs; those in it that have no source are removed")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	sources, err := filepath.Glob(filepath.Join(in, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing CRDs: %w", err)
	}
	if len(sources) == 0 {
		return fmt.Errorf("no CRDs in %q", in)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("making the output directory: %w", err)
	}
	var names []string
	for _, source := range sources {
		data, err := os.ReadFile(source)
		if err != nil {
			return fmt.Errorf("reading a CRD: %w", err)
		}
		finished, err := finish(data)
		if err != nil {
			return fmt.Errorf("finishing %s: %w", filepath.Base(source), err)
		}
		names = append(names, filepath.Base(source))
		if err := os.WriteFile(filepath.Join(out, filepath.Base(source)), finished, 0o644); err != nil {
			return fmt.Errorf("writing a CRD: %w", err)
		}
	}
	return removeStale(out, names)
}

// removeStale deletes the CRDs of kinds that no longer exist.
func removeStale(dir string, keep []string) error {
	written, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing finished CRDs: %w", err)
	}
	for _, path := range written {
		if slices.Contains(keep, filepath.Base(path)) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing a CRD without source: %w", err)
		}
	}
	return nil
}

// finish returns the finished YAML of one CRD.
func finish(data []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		return nil, err
	}
	for i := range crd.Spec.Versions {
		if err := expandRules(crd.Spec.Versions[i].Schema.OpenAPIV3Schema); err != nil {
			return nil, err
		}
	}
	if servedAsV1Beta1[crd.Spec.Names.Kind] {
		if err := serveToo(&crd, "v1beta1", "v1beta2"); err != nil {
			return nil, err
		}
	}
	for i := range crd.Spec.Versions {
		limitValues(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	label(&crd)
	finished, err := yaml.Marshal(&crd)
	if err != nil {
		return nil, err
	}
	return append([]byte("---\n"), withoutEmptyStatus(finished)...), nil
}

// withoutEmptyStatus drops the status that marshaling adds; it belongs to the API server.
func withoutEmptyStatus(data []byte) []byte {
	if i := bytes.LastIndex(data, []byte("\nstatus:\n")); i >= 0 {
		return data[:i+1]
	}
	return data
}

// servedAsV1Beta1 are the kinds that exist in CAPA: their manifests say v1beta1 or v1beta2.
var servedAsV1Beta1 = map[string]bool{"AWSMachinePool": true, "AWSManagedMachinePool": true}

// serveToo adds a served version with the schema, columns and subresources of an existing one.
func serveToo(crd *apiextensionsv1.CustomResourceDefinition, added, existing string) error {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == existing
	})
	if i < 0 {
		return fmt.Errorf("%s has no version %s to serve as %s", crd.Name, existing, added)
	}
	version := crd.Spec.Versions[i].DeepCopy()
	version.Name = added
	version.Storage = false
	crd.Spec.Versions = slices.Insert(crd.Spec.Versions, i, *version)
	return nil
}

// label sets the labels that Cluster API's contract asks for on the kinds of Cluster API's group.
// The versions in a label are the versions that fulfill the contract of its name; Cluster API takes
// the last.
func label(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Spec.Group != "infrastructure.cluster.x-k8s.io" {
		return
	}
	var served []string
	for _, version := range crd.Spec.Versions {
		served = append(served, version.Name)
	}
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	crd.Labels["cluster.x-k8s.io/provider"] = "infrastructure-slipway"
	crd.Labels["cluster.x-k8s.io/v1beta1"] = strings.Join(served, "_")
	crd.Labels["cluster.x-k8s.io/v1beta2"] = "v1beta2"
	if movedByItself[crd.Spec.Names.Kind] {
		crd.Labels["clusterctl.cluster.x-k8s.io/move"] = ""
	}
}

// movedByItself are the kinds whose objects clusterctl move must take although no object of the
// Cluster may own them: users write them by hand and pools refer to them.
var movedByItself = map[string]bool{"AWSLaunchConfig": true, "AWSLaunchConfigTemplate": true}

// maxValueLengths are the limits for the values of maps, by the name of the field: tags (AWS:
// Using_Tags, tag restrictions), labels of node groups (AWS: API_CreateNodegroup, labels) and of
// Kubernetes objects, and annotations (Kubernetes: all of an object together have 256 KiB).
var maxValueLengths = map[string]int64{"additionalTags": 256, "tags": 256, "labels": 63, "matchLabels": 63, "annotations": 256 << 10}

// limitValues bounds the values of such maps: controller-gen has no marker for the values of a map,
// and without a bound the cost estimate of rules about them is beyond what the API server allows.
func limitValues(schema *apiextensionsv1.JSONSchemaProps) {
	for name, property := range schema.Properties {
		if limit := maxValueLengths[name]; limit > 0 && property.AdditionalProperties != nil {
			property.AdditionalProperties.Schema.MaxLength = &limit
		}
		limitValues(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		limitValues(schema.Items.Schema)
	}
}

package crd_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/config/crd"
)

// TestKustomizationListsEveryDefinition fails when a kind was added, or removed, and kustomize was not told.
func TestKustomizationListsEveryDefinition(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		t.Fatal(err)
	}
	entries, err := crd.FS.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	var bases []string
	for _, entry := range entries {
		bases = append(bases, "bases/"+entry.Name())
	}
	slices.Sort(kustomization.Resources)
	if diff := cmp.Diff(bases, kustomization.Resources); diff != "" {
		t.Errorf("kustomization.yaml (-bases +listed):\n%s", diff)
	}
}

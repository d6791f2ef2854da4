package cli

import (
	"bytes"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomized returns the objects of a kustomization, as `kubectl apply -k` builds them. No plugins run,
// and no files outside the directory are read, except for other kustomizations.
func kustomized(directory string) ([]*unstructured.Unstructured, error) {
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--kustomize is %.253q, and must be a directory with a kustomization", directory)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("building the kustomization in %s: %w", directory, err)
	}
	data, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("encoding the kustomization in %s: %w", directory, err)
	}
	return decodeObjects(bytes.NewReader(data), directory)
}

// Package release writes what a release of Slipway gives to clusterctl, from the manifests that are checked in: the components, built as
// kustomize builds them and with the image of the release, the metadata, and the templates of clusters.
package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Names of what clusterctl looks for beside a release (Cluster API: clusterctl provider contract, "Provider repositories").
const (
	ComponentsFile = "infrastructure-components.yaml"
	MetadataFile   = "metadata.yaml"
	templatePrefix = "cluster-template-"
)

// controllerImage is what config/manager calls the image.
const controllerImage = "slipway"

// Write makes a release of the sources in root in directory, which is made if need be. The image is REPOSITORY:TAG.
func Write(root, directory, image string) error {
	components, err := Components(root, image)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("making the directory of the release: %w", err)
	}
	files := map[string][]byte{ComponentsFile: components}
	templates, err := filepath.Glob(filepath.Join(root, "templates", templatePrefix+"*.yaml"))
	if err != nil {
		return fmt.Errorf("looking for templates: %w", err)
	}
	if len(templates) == 0 {
		return errors.New("there is no template of a cluster")
	}
	for _, path := range append(templates, filepath.Join(root, MetadataFile)) {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil { // #nosec G304 -- of the sources
			return fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
	}
	flavors, err := os.ReadDir(filepath.Join(root, "templates", "flavors"))
	if err != nil {
		return fmt.Errorf("looking for flavors: %w", err)
	}
	for _, flavor := range flavors {
		if files[templatePrefix+flavor.Name()+".yaml"], err = Flavor(root, flavor.Name()); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o644); err != nil { // #nosec G306 -- for everybody to read
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// Components is everything that a management cluster needs of Slipway, as YAML, with the given image.
func Components(root, image string) ([]byte, error) {
	repository, tag, found := cutTag(image)
	if !found {
		return nil, fmt.Errorf("image %q has no tag", image)
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", "default"))
	if err != nil {
		return nil, fmt.Errorf("building the components: %w", err)
	}
	err = objects.ApplyFilter(imagetag.Filter{
		ImageTag: types.Image{Name: controllerImage, NewName: repository, NewTag: tag},
		FsSlice:  []types.FieldSpec{{Path: "spec/template/spec/containers[]/image"}},
	})
	if err != nil {
		return nil, fmt.Errorf("setting the image: %w", err)
	}
	components, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing the components: %w", err)
	}
	return components, nil
}

// Flavor is the template of a cluster that is made from another template.
func Flavor(root, name string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // what it is made from lies beside it
	objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "templates", "flavors", name))
	if err != nil {
		return nil, fmt.Errorf("building flavor %s: %w", name, err)
	}
	template, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing flavor %s: %w", name, err)
	}
	return template, nil
}

// cutTag parts an image from its tag. A colon before the last slash is of a registry's port.
func cutTag(image string) (repository, tag string, found bool) {
	at := strings.LastIndex(image, ":")
	if at <= strings.LastIndex(image, "/") {
		return image, "", false
	}
	return image[:at], image[at+1:], true
}

// Package release writes the files of a release of Slipway, from the manifests that are checked in:
// the components for clusterctl and for kubectl, built as kustomize builds them and with the image of
// the release, the metadata, the templates of clusters, and the IAM policies that it needs. It also
// writes the software bills of materials of the programs.
package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/util/version"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/internal/permissions"
)

// Names of the files that clusterctl looks for in a release (Cluster API: clusterctl provider
// contract, "Provider repositories").
const (
	ComponentsFile = "infrastructure-components.yaml"
	MetadataFile   = "metadata.yaml"
	templatePrefix = "cluster-template-"
)

// Files for kubectl, which clusterctl leaves alone.
const (
	// StandaloneFile has the manager without cert-manager.
	StandaloneFile = "standalone-components.yaml"
	// ProvisionerFile has the provisioner, for a cluster whose pending pods get nodes.
	ProvisionerFile = "provisioner-components.yaml"
	// DefinitionsFile has the manager's custom resource definitions alone.
	DefinitionsFile = "crds.yaml"
	// KubeStateMetricsFile configures kube-state-metrics to serve metrics of the manager's objects.
	KubeStateMetricsFile = "kube-state-metrics-components.yaml"
	// ProvisionerKubeStateMetricsFile does so for the provisioner's objects.
	ProvisionerKubeStateMetricsFile = "kube-state-metrics-provisioner-components.yaml"
	// ApprovalFile makes approving a roll-out a permission of its own.
	ApprovalFile = "rollout-approval.yaml"
)

// bases has the directory in config/ of each file that is built from one.
var bases = map[string]string{
	ComponentsFile: "clusterctl", StandaloneFile: "standalone", ProvisionerFile: "provisioner", DefinitionsFile: "crd",
	KubeStateMetricsFile: "kube-state-metrics", ProvisionerKubeStateMetricsFile: "provisioner/kube-state-metrics",
	ApprovalFile: "approval",
}

// policyFile is the name of the policies' files, by number: clusterctl leaves alone what it does
// not know.
const policyFile = "iam-policy-%d.json"

// controllerImage is the image's name in config/manager.
const controllerImage = "slipway"

// WriteInstallation writes what a release is installed from: the files of Write, and the charts. The
// version must belong to a release series of the metadata, because clusterctl refuses a release
// without one.
func WriteInstallation(root, directory, image, version string) error {
	parsed, err := apiversion.ParseSemantic(version)
	if err != nil || !strings.HasPrefix(version, "v") {
		return fmt.Errorf("version %q is not a semantic version such as v0.1.0", version)
	}
	content, err := os.ReadFile(filepath.Join(root, MetadataFile)) // #nosec G304 -- of the sources
	if err != nil {
		return fmt.Errorf("reading %s: %w", MetadataFile, err)
	}
	var metadata clusterctlv1.Metadata
	if err := yaml.Unmarshal(content, &metadata); err != nil {
		return fmt.Errorf("parsing %s: %w", MetadataFile, err)
	}
	if !slices.ContainsFunc(metadata.ReleaseSeries, func(series clusterctlv1.ReleaseSeries) bool {
		return fmt.Sprint(series.Major, series.Minor) == fmt.Sprint(parsed.Major(), parsed.Minor())
	}) {
		return fmt.Errorf("%s has no release series for version %s; add it", MetadataFile, version)
	}
	if err := Write(root, directory, image); err != nil {
		return err
	}
	return WriteCharts(root, directory, image, version)
}

// Write writes the manifests of a release of the sources in root into directory, which is created if need be. The
// image is REPOSITORY:TAG.
func Write(root, directory, image string) error {
	files := map[string][]byte{}
	for name, base := range bases {
		components, err := Components(root, base, image)
		if err != nil {
			return err
		}
		files[name] = components
	}
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("making the directory of the release: %w", err)
	}
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
	policies, err := permissions.Policies(permissions.Scope{}, permissions.Defaults(permissions.Scope{})...)
	if err != nil {
		return fmt.Errorf("making the IAM policies: %w", err)
	}
	for i, policy := range policies {
		files[fmt.Sprintf(policyFile, i+1)] = []byte(policy.String() + "\n")
	}
	for name, content := range files {
		// #nosec G306 -- all users may read it
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// Components returns the objects of a base in config/, as YAML, with the given image. They are in the
// order in which they can be created: the Namespace and definitions come first.
func Components(root, base, image string) ([]byte, error) {
	repository, tag, found := cutTag(image)
	if !found {
		return nil, fmt.Errorf("image %q has no tag", image)
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	return build(options, filepath.Join(root, "config", base), func(objects resmap.ResMap) error {
		return objects.ApplyFilter(imagetag.Filter{
			ImageTag: types.Image{Name: controllerImage, NewName: repository, NewTag: tag},
			FsSlice:  []types.FieldSpec{{Path: "spec/template/spec/containers[]/image"}},
		})
	})
}

// Flavor returns the template of a cluster that is built from another template.
func Flavor(root, name string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // its sources are outside of its directory
	return build(options, filepath.Join(root, "templates", "flavors", name), nil)
}

// Kustomize builds a base as the command does, as YAML.
func Kustomize(base string) ([]byte, error) { return build(krusty.MakeDefaultOptions(), base, nil) }

// build builds a base and changes its objects, if there is something to change.
func build(options *krusty.Options, base string, change func(resmap.ResMap) error) ([]byte, error) {
	objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), base)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", base, err)
	}
	if change != nil {
		if err := change(objects); err != nil {
			return nil, fmt.Errorf("changing what %s is made of: %w", base, err)
		}
	}
	built, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing what %s is made of: %w", base, err)
	}
	return built, nil
}

// cutTag parts an image from its tag. A colon before the last slash is of a registry's port.
func cutTag(image string) (repository, tag string, found bool) {
	at := strings.LastIndex(image, ":")
	if at <= strings.LastIndex(image, "/") {
		return image, "", false
	}
	return image[:at], image[at+1:], true
}

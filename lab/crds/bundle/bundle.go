// Package bundle builds the files that package crds embeds: the custom resource definitions and
// webhook registrations of Cluster API, of Cluster API Provider AWS, and of cert-manager, as their Go
// modules carry them. Only the generator and the test that guards its output use it.
package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Modules whose files are bundled.
const (
	ClusterAPI            = "sigs.k8s.io/cluster-api"
	ClusterAPIProviderAWS = "sigs.k8s.io/cluster-api-provider-aws/v2"
	CertManager           = "github.com/cert-manager/cert-manager"
)

// source is a directory of manifests in a module and what its provider's kustomization adds to them.
type source struct {
	module, dir string
	// only keeps the files whose names have one of these suffixes; all if empty.
	only   []string
	labels map[string]string
}

// contract says which API version implements which version of the Cluster API contract.
func contract(provider string, versions map[string]string) map[string]string {
	labels := map[string]string{"cluster.x-k8s.io/provider": provider}
	for version, served := range versions {
		labels["cluster.x-k8s.io/"+version] = served
	}
	return labels
}

// sources lists what goes into each bundle, in the order of creation.
var sources = map[string][]source{
	"cluster-api": {
		{
			module: ClusterAPI, dir: "core/config/crd/bases",
			labels: contract("cluster-api", nil),
		},
		{
			module: ClusterAPI, dir: "bootstrap/kubeadm/config/crd/bases",
			labels: contract("bootstrap-kubeadm", map[string]string{"v1beta1": "v1beta1", "v1beta2": "v1beta2"}),
		},
		{
			module: ClusterAPI, dir: "controlplane/kubeadm/config/crd/bases",
			labels: contract("control-plane-kubeadm", map[string]string{"v1beta1": "v1beta1", "v1beta2": "v1beta2"}),
		},
		{module: ClusterAPI, dir: "core/config/webhook", only: []string{"manifests.yaml"}},
		{module: ClusterAPI, dir: "bootstrap/kubeadm/config/webhook", only: []string{"manifests.yaml"}},
		{module: ClusterAPI, dir: "controlplane/kubeadm/config/webhook", only: []string{"manifests.yaml"}},
	},
	// Cluster kinds, identities, and the bootstrap of EKS nodes: what stays CAPA's when Slipway is
	// installed. Not its pools: those are Slipway's own.
	"cluster-api-provider-aws": {{
		module: ClusterAPIProviderAWS, dir: "config/crd/bases",
		only: []string{
			"_awsclusters.yaml", "_awsclustercontrolleridentities.yaml", "_awsclusterroleidentities.yaml",
			"_awsclusterstaticidentities.yaml", "_awsmachines.yaml", "_awsmachinetemplates.yaml",
			"_awsmanagedclusters.yaml", "_awsmanagedcontrolplanes.yaml",
			"_awsclustertemplates.yaml", "_awsmanagedclustertemplates.yaml", "_awsmanagedcontrolplanetemplates.yaml",
			"_eksconfigs.yaml", "_eksconfigtemplates.yaml",
		},
		labels: contract("infrastructure-aws", map[string]string{"v1beta1": "v1beta1_v1beta2"}),
	}},
	"cert-manager": {{module: CertManager, dir: "deploy/crds"}},
}

// Build returns every bundle by name: JSON arrays of objects. moduleDir returns where a module's
// files are.
func Build(moduleDir func(module string) (string, error)) (map[string][]byte, error) {
	bundles := map[string][]byte{}
	for name, parts := range sources {
		var objects []map[string]any
		for _, part := range parts {
			read, err := part.read(moduleDir)
			if err != nil {
				return nil, fmt.Errorf("bundling %s of %s: %w", part.dir, part.module, err)
			}
			objects = append(objects, read...)
		}
		encoded, err := json.Marshal(objects)
		if err != nil {
			return nil, fmt.Errorf("encoding bundle %q: %w", name, err)
		}
		bundles[name] = encoded
	}
	return bundles, nil
}

func (s source) read(moduleDir func(string) (string, error)) ([]map[string]any, error) {
	root, err := moduleDir(s.module)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, s.dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var objects []map[string]any
	for _, file := range files {
		if !s.wants(file) {
			continue
		}
		read, err := s.readFile(file)
		if err != nil {
			return nil, err
		}
		objects = append(objects, read...)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("no manifest in %s", s.dir)
	}
	return objects, nil
}

func (s source) wants(file string) bool {
	return len(s.only) == 0 || slices.ContainsFunc(s.only, func(suffix string) bool { return strings.HasSuffix(file, suffix) })
}

func (s source) readFile(file string) ([]map[string]any, error) {
	content, err := os.ReadFile(file) // #nosec G304 -- a manifest of a Go module
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		if len(bytes.TrimSpace(bytes.TrimPrefix(document, []byte("---")))) == 0 {
			continue
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", filepath.Base(file), err)
		}
		dropDescriptions(object)
		metadata, ok := object["metadata"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("an object in %s has no metadata", filepath.Base(file))
		}
		if len(s.labels) > 0 {
			metadata["labels"] = s.labels
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// dropDescriptions removes the prose of schemas: two thirds of their bytes, which an API server
// would parse at every start. A field that is itself called "description" has a schema, not a
// string, and stays.
func dropDescriptions(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, isProse := value["description"].(string); isProse {
			delete(value, "description")
		}
		for _, child := range value {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range value {
			dropDescriptions(child)
		}
	}
}

// ModuleDir downloads a module in the version that the module in the working directory builds with,
// and returns the directory with its files. The version of cert-manager is the one that the program
// certmanager builds with.
func ModuleDir(module string) (string, error) {
	directory := "."
	if module == CertManager {
		root, err := goCommand(".", "list", "-m", "-f", "{{.Dir}}", "github.com/slipway-project/slipway")
		if err != nil {
			return "", fmt.Errorf("asking where Slipway's sources are: %w", err)
		}
		directory = filepath.Join(strings.TrimSpace(string(root)), "certmanager")
	}
	output, err := goCommand(directory, "mod", "download", "-json", module)
	if err != nil {
		return "", fmt.Errorf("downloading module %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output, &downloaded); err != nil {
		return "", fmt.Errorf("reading where module %s is: %w", module, err)
	}
	return downloaded.Dir, nil
}

// goCommand runs the go command in a directory, and returns what it prints.
func goCommand(directory string, arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...) // #nosec G204 -- constants of this package
	command.Dir = directory
	return command.Output()
}

// Compress returns content in gzip's format.
func Compress(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// Decompress reverses Compress.
func Decompress(compressed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	return content, reader.Close()
}

// Package clusterctl runs the real clusterctl, as the library behind its command, against API
// servers of the laboratory. It owns a local repository with releases of Slipway, of Cluster API
// and of Cluster API Provider AWS, all built from the manifests in their sources.
//
// There are no pods in the laboratory. So cert-manager is installed by its definitions, its controllers
// are a process if a test needs certificates, and the controllers of Cluster API run in the
// laboratory's process, where a management cluster that clusterctl initialized has Deployments.
package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/lab/crds/bundle"
	"github.com/slipway-project/slipway/lab/release"
)

// Versions of the releases in the repository. The versions of the others are in go.mod.
const (
	SlipwayVersion            = "v0.1.0"
	ClusterAPIVersion         = "v1.14.2"
	ClusterAPIProviderVersion = "v2.13.0"
)

// slipway is clusterctl's name for Slipway.
const slipway = "slipway"

// releasedFile is the file that Cluster API Provider AWS released, before anything was removed from
// it.
const releasedFile = "released.yaml"

// provider is one of the repository.
type provider struct {
	name, kind, version, components string
	// write writes the release into a directory.
	write func(directory string) error
}

// label returns the name of the provider's directory (clusterctl: local repositories).
func (p provider) label() string {
	prefix, _, _ := strings.Cut(p.components, "-components")
	if prefix == "core" {
		return p.name
	}
	return prefix + "-" + p.name
}

// Repository is a local repository of providers and the configuration that leads clusterctl to it.
type Repository struct {
	// Config is the path of clusterctl's configuration file.
	Config string
}

// NewRepository creates a repository in directory. The root is where Slipway's sources are. The
// variables are the ones that templates of clusters and components ask for.
func NewRepository(directory, root string, variables map[string]string) (*Repository, error) {
	configuration := map[string]any{}
	for name, value := range variables {
		configuration[name] = value
	}
	var entries []map[string]string
	for _, p := range providers(root) {
		of := filepath.Join(directory, p.label(), p.version)
		if err := os.MkdirAll(of, 0o750); err != nil {
			return nil, fmt.Errorf("making the directory of a release: %w", err)
		}
		if err := p.write(of); err != nil {
			return nil, fmt.Errorf("making a release of %s: %w", p.label(), err)
		}
		entries = append(entries, map[string]string{"name": p.name, "type": p.kind, "url": "file://" + filepath.Join(of, p.components)})
	}
	configuration["providers"] = entries
	// Nothing is fetched: InstallCertManager did it.
	configuration["cert-manager"] = map[string]string{"externallyProvisioned": "true"}
	encoded, err := yaml.Marshal(configuration)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	repository := &Repository{Config: filepath.Join(directory, "clusterctl.yaml")}
	if err := os.WriteFile(repository.Config, encoded, 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	return repository, nil
}

func (r *Repository) configuration(ctx context.Context) (config.Client, error) {
	configuration, err := config.New(ctx, r.Config)
	if err != nil {
		return nil, fmt.Errorf("reading clusterctl's configuration: %w", err)
	}
	return configuration, nil
}

// Client returns clusterctl with the repository. There is one configuration in a process: the one
// of the client that was created last.
func (r *Repository) Client(ctx context.Context) (client.Client, error) {
	return client.New(ctx, r.Config)
}

func providers(root string) []provider {
	return []provider{
		{
			name: "cluster-api", kind: "CoreProvider", version: ClusterAPIVersion, components: "core-components.yaml",
			write: fromModule(bundle.ClusterAPI, "core/config/default", "core-components.yaml"),
		},
		{
			name: "kubeadm", kind: "BootstrapProvider", version: ClusterAPIVersion, components: "bootstrap-components.yaml",
			write: fromModule(bundle.ClusterAPI, "bootstrap/kubeadm/config/default", "bootstrap-components.yaml"),
		},
		{
			name: "kubeadm", kind: "ControlPlaneProvider", version: ClusterAPIVersion, components: "control-plane-components.yaml",
			write: fromModule(bundle.ClusterAPI, "controlplane/kubeadm/config/default", "control-plane-components.yaml"),
		},
		{
			name: "aws", kind: "InfrastructureProvider", version: ClusterAPIProviderVersion, components: release.ComponentsFile,
			write: func(directory string) error { return besidePools(root, directory) },
		},
		{
			name: slipway, kind: "InfrastructureProvider", version: SlipwayVersion, components: release.ComponentsFile,
			write: func(directory string) error {
				return release.Write(root, directory, "registry.example.com:5000/slipway:"+SlipwayVersion)
			},
		},
	}
}

// fromModule builds the components of a provider from the base in its Go module, and brings the
// module's metadata.
func fromModule(module, base, components string) func(string) error {
	return func(directory string) error {
		source, err := bundle.ModuleDir(module)
		if err != nil {
			return err
		}
		built, err := release.Kustomize(filepath.Join(source, base))
		if err != nil {
			return err
		}
		// #nosec G304 -- of a Go module
		metadata, err := os.ReadFile(filepath.Join(source, release.MetadataFile))
		if err != nil {
			return err
		}
		return errors.Join(
			os.WriteFile(filepath.Join(directory, components), built, 0o600),
			// #nosec G703 -- a directory of a test's
			os.WriteFile(filepath.Join(directory, release.MetadataFile), metadata, 0o600),
		)
	}
}

// besidePools builds a release of Cluster API Provider AWS as a user builds one for use next to
// Slipway: from the released components, with a kustomization of its own that includes Slipway's
// component.
func besidePools(root, directory string) error {
	if err := fromModule(bundle.ClusterAPIProviderAWS, "config/default", releasedFile)(directory); err != nil {
		return err
	}
	component, err := filepath.Abs(filepath.Join(root, "config", "beside-capa"))
	if err != nil {
		return err
	}
	// kustomize takes directories by relative paths alone.
	resolved, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return err
	}
	if component, err = filepath.Rel(resolved, component); err != nil {
		return err
	}
	overlay, err := yaml.Marshal(map[string]any{"resources": []string{releasedFile}, "components": []string{component}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), overlay, 0o600); err != nil {
		return err
	}
	built, err := release.Kustomize(directory)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, release.ComponentsFile), built, 0o600)
}

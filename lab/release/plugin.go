package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	// PluginFile describes the plugin of kubectl to krew, the plugin manager.
	PluginFile = "krew-slipway.yaml"
	// mainProgram is the name of the program with the controllers, as in slipway-linux-amd64.
	mainProgram = "slipway"
	// pluginProgram is the name by which kubectl finds a plugin. The names of its programs begin with it, as
	// in kubectl-slipway-linux-amd64.
	pluginProgram = "kubectl-slipway"
	// archiveSuffix is the suffix of the names of the plugin's archives.
	archiveSuffix = ".tar.gz"
)

// plugin is krew's description of a plugin (krew: pkg/index/types.go). krew's module cannot be
// required here: it requires a k8s.io/client-go that sorts after all present versions.
type plugin struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   pluginMetadata `json:"metadata"`
	Spec       pluginSpec     `json:"spec"`
}

type pluginMetadata struct {
	Name string `json:"name"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector pluginSelector `json:"selector"`
	URI      string         `json:"uri"`
	SHA256   string         `json:"sha256"`
	Bin      string         `json:"bin"`
}

type pluginSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// WritePlugin writes an archive with the plugin of kubectl for each program of a release in directory,
// and the manifest with which krew installs them.
// Archives are downloaded from files in downloads, a URL that names the release.
func WritePlugin(root, directory, version, downloads string) error {
	programs, err := programsIn(directory, pluginProgram+"-")
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(root, "LICENSE")) // #nosec G304 -- of the sources
	if err != nil {
		return fmt.Errorf("reading the license: %w", err)
	}
	described := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: pluginMetadata{Name: "slipway"}}
	described.Spec = pluginSpec{
		Version: version, Homepage: "https://github.com/slipway-project/slipway", ShortDescription: "Preview edits of AWS nodes and migrate pools",
		Description: "Shows what an edit of an AWSMachinePool or AWSManagedMachinePool does to nodes before it is applied, checks\n" +
			"a management cluster and an AWS account for Slipway, moves pools from Cluster API Provider AWS, and prints IAM policies.\n",
	}
	for _, program := range programs {
		platform := strings.TrimPrefix(filepath.Base(program), pluginProgram+"-")
		system, architecture, found := strings.Cut(platform, "-")
		if !found {
			return fmt.Errorf("program %s does not name its platform", filepath.Base(program))
		}
		name := pluginProgram + "-" + platform + archiveSuffix
		sum, err := writePluginArchive(program, filepath.Join(directory, name), license)
		if err != nil {
			return err
		}
		described.Spec.Platforms = append(described.Spec.Platforms, pluginPlatform{
			Selector: pluginSelector{MatchLabels: map[string]string{"os": system, "arch": architecture}},
			URI:      strings.TrimSuffix(downloads, "/") + "/" + name, SHA256: sum, Bin: pluginProgram,
		})
	}
	content, err := yaml.Marshal(described)
	if err != nil {
		return fmt.Errorf("encoding the krew manifest: %w", err)
	}
	// #nosec G306 -- for everyone to read
	if err := os.WriteFile(filepath.Join(directory, PluginFile), content, 0o644); err != nil {
		return fmt.Errorf("writing the krew manifest: %w", err)
	}
	return nil
}

// writePluginArchive writes the archive of a plugin, and returns its checksum.
func writePluginArchive(program, to string, license []byte) (string, error) {
	content, err := os.ReadFile(program) // #nosec G304 -- a program of the release
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", filepath.Base(program), err)
	}
	if err := writeArchive(to, []archived{{name: "LICENSE", mode: 0o644, content: license}, {name: pluginProgram, mode: 0o755, content: content}}); err != nil {
		return "", err
	}
	written, err := os.ReadFile(to) // #nosec G304 -- a file of the release
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", filepath.Base(to), err)
	}
	sum := sha256.Sum256(written)
	return hex.EncodeToString(sum[:]), nil
}

// programsIn returns the paths of the programs of a release whose names begin with prefix.
func programsIn(directory, prefix string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(directory, prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("looking for programs: %w", err)
	}
	var programs []string
	for _, path := range found {
		if !strings.HasSuffix(path, sbomSuffix) && !strings.HasSuffix(path, archiveSuffix) {
			programs = append(programs, path)
		}
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("the directory of the release has no program %s*", prefix)
	}
	return programs, nil
}

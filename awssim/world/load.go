package world

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"sigs.k8s.io/yaml"
)

var (
	//go:embed default.yaml
	defaultYAML []byte
	//go:embed instancetypes.yaml
	instanceTypesYAML []byte
)

// Default returns the embedded world. It is shared and must not be changed.
func Default() *World { return loadDefault() }

// loadDefault panics if the embedded files are wrong, which a test would have found.
var loadDefault = sync.OnceValue(func() *World {
	var f file
	if err := yaml.UnmarshalStrict(defaultYAML, &f); err != nil {
		panic("world: default.yaml: " + err.Error())
	}
	if err := yaml.UnmarshalStrict(instanceTypesYAML, &f.InstanceTypes); err != nil {
		panic("world: instancetypes.yaml: " + err.Error())
	}
	w, err := f.world()
	if err != nil {
		panic("world: the default world: " + err.Error())
	}
	return w
})

// file is a world as it is written: some images are given as series.
type file struct {
	// Extends, if "default", takes the sections that the file leaves out from the default world.
	Extends string `json:"extends,omitempty"`
	// WholeCatalogue takes all instance types that a region of EC2 has, not the default world's choice of them.
	WholeCatalogue     bool      `json:"wholeCatalogue,omitempty"`
	KubernetesReleases []Release `json:"kubernetesReleases,omitempty"`
	ImageSeries        []Series  `json:"imageSeries,omitempty"`
	World              `json:",inline"`
}

// Load reads a world from a YAML file. Unknown fields, dangling references and duplicates are errors
// that say where they are.
func Load(path string) (*World, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("reading a world: %w", err)
	}
	w, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("world %s: %w", path, err)
	}
	return w, nil
}

// Parse is Load for data in memory.
func Parse(data []byte) (*World, error) {
	var f file
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	switch f.Extends {
	case "":
	case "default":
		if err := f.extend(); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("extends: %q is no world; only \"default\" is", f.Extends)
	}
	return f.world()
}

func (f *file) extend() error {
	var base file
	if err := yaml.UnmarshalStrict(defaultYAML, &base); err != nil {
		return fmt.Errorf("parsing the default world: %w", err)
	}
	if f.Regions == nil {
		f.Regions = base.Regions
	}
	switch {
	case f.WholeCatalogue && f.InstanceTypes != nil:
		return errors.New("wholeCatalogue: there are instanceTypes too")
	case f.WholeCatalogue:
		f.InstanceTypes = Catalogue()
	case f.InstanceTypes == nil:
		f.InstanceTypes = Default().InstanceTypes
	}
	if f.Roles == nil {
		f.Roles = base.Roles
	}
	if f.InstanceProfiles == nil {
		f.InstanceProfiles = base.InstanceProfiles
	}
	if f.KubernetesReleases == nil {
		f.KubernetesReleases = base.KubernetesReleases
	}
	if f.ImageSeries == nil {
		f.ImageSeries = base.ImageSeries
	}
	return nil
}

// world expands the series in every region and checks the outcome.
func (f *file) world() (*World, error) {
	w := f.World
	var errs []error
	for i := range w.Regions {
		r := &w.Regions[i]
		for j := range r.Images {
			r.Images[j].complete(r.Name)
		}
		for _, s := range f.ImageSeries {
			if err := s.expand(r, f.KubernetesReleases); err != nil {
				errs = append(errs, fmt.Errorf("imageSeries %q: %w", s.Name, err))
			}
		}
	}
	errs = append(errs, w.check()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &w, nil
}

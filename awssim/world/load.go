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

//go:embed default.yaml
var defaultYAML []byte

// Default returns the embedded world. It is shared and must not be changed.
func Default() *World { return loadDefault() }

// loadDefault panics if the embedded file is wrong, which a test would have found.
var loadDefault = sync.OnceValue(func() *World {
	var f file
	if err := yaml.UnmarshalStrict(defaultYAML, &f); err != nil {
		panic("world: default.yaml: " + err.Error())
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
	// WholeCatalogue takes all instance types of the catalogue, and CatalogueTypes those with these names.
	WholeCatalogue bool     `json:"wholeCatalogue,omitempty"`
	CatalogueTypes []string `json:"catalogueTypes,omitempty"`
	// FurtherRegions have a default VPC each in addition to what is written of them, and images and
	// parameters from when they are used.
	FurtherRegions     []Region  `json:"furtherRegions,omitempty"`
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

// Parse does the same as Load, for data in memory.
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
		f.Regions, f.FurtherRegions = base.Regions, append(base.FurtherRegions, f.FurtherRegions...)
	}
	if f.InstanceTypes == nil && f.CatalogueTypes == nil && !f.WholeCatalogue {
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

// instanceTypes returns the types that the file has or names.
func (f *file) instanceTypes() ([]InstanceType, error) {
	switch {
	case f.InstanceTypes != nil && (f.WholeCatalogue || f.CatalogueTypes != nil), f.WholeCatalogue && f.CatalogueTypes != nil:
		return nil, errors.New("instanceTypes, catalogueTypes and wholeCatalogue: only one of them may be there")
	case f.WholeCatalogue:
		return Catalogue(), nil
	case f.CatalogueTypes != nil:
		return chosenTypes(f.CatalogueTypes)
	}
	return f.InstanceTypes, nil
}

// world expands the series in every region and checks the outcome.
func (f *file) world() (*World, error) {
	w := f.World
	var errs []error
	var err error
	if w.InstanceTypes, err = f.instanceTypes(); err != nil {
		errs = append(errs, err)
	}
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
	for _, r := range f.FurtherRegions {
		r.addDefaultVPC()
		r.later = f.imagesOf(r.Name)
		w.Regions = append(w.Regions, r)
	}
	errs = append(errs, w.check()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &w, nil
}

// imagesOf returns a function that expands the series in a region, once. The regions that are
// expanded at once have shown that they can be.
func (f *file) imagesOf(region string) func() ([]Image, []Parameter) {
	series, releases := f.ImageSeries, f.KubernetesReleases
	return sync.OnceValues(func() ([]Image, []Parameter) {
		r := Region{Name: region}
		for _, s := range series {
			if err := s.expand(&r, releases); err != nil {
				panic("world: imageSeries " + s.Name + ": " + err.Error())
			}
		}
		return r.Images, r.Parameters
	})
}

// addDefaultVPC adds the VPC that AWS creates in each region of a new account, with a public subnet
// of 4,096 addresses in each zone (VPC User Guide, "Default VPCs").
func (r *Region) addDefaultVPC() {
	vpc := HashID("vpc-", r.Name, "default")
	r.VPCs = append(r.VPCs, VPC{ID: vpc, CIDR: "172.31.0.0/16", Default: true})
	r.SecurityGroups = append(r.SecurityGroups, SecurityGroup{
		ID: HashID("sg-", r.Name, "default"), Name: "default", Description: "default VPC security group", VPC: vpc,
	})
	for i, zone := range r.Zones {
		r.Subnets = append(r.Subnets, Subnet{
			ID: HashID("subnet-", r.Name, zone.Name), VPC: vpc, Zone: zone.Name, CIDR: fmt.Sprintf("172.31.%d.0/20", 16*i), MapPublicIPOnLaunch: true, DefaultForZone: true,
		})
	}
}

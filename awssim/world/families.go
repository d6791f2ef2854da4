package world

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed families.yaml
var familiesYAML []byte

// Catalogue returns as many instance types as a region of EC2 has: those of the default world, and what their families make of the others. It is shared and must
// not be changed. Where a type's facts come from, and which are inferred, is said in families.yaml.
func Catalogue() []InstanceType { return loadCatalogue() }

// loadCatalogue panics if the embedded file is wrong, which a test would have found.
var loadCatalogue = sync.OnceValue(func() []InstanceType {
	all := slices.Clone(Default().InstanceTypes)
	known := map[string]bool{}
	for i := range all {
		known[all[i].Name] = true
	}
	derived, err := derivedTypes()
	if err != nil {
		panic("world: families.yaml: " + err.Error())
	}
	for i := range derived {
		if !known[derived[i].Name] {
			all = append(all, derived[i])
		}
	}
	return all
})

func derivedTypes() ([]InstanceType, error) {
	var families []family
	if err := yaml.UnmarshalStrict(familiesYAML, &families); err != nil {
		return nil, err
	}
	var all []InstanceType
	for i := range families {
		types, err := families[i].types()
		if err != nil {
			return nil, fmt.Errorf("family %q: %w", families[i].Family, err)
		}
		all = append(all, types...)
	}
	return all, nil
}

// family are instance types that differ in size. families.yaml says what its fields are.
type family struct {
	Family         string     `json:"family"`
	Sizes          string     `json:"sizes"`
	Processor      string     `json:"processor"`
	Architecture   string     `json:"architecture,omitempty"` // x86_64 if empty
	ThreadsPerCore int32      `json:"threadsPerCore,omitempty"`
	GiBPerVCPU     float64    `json:"gibPerVCPU"`
	ClockSpeedGHz  float64    `json:"clockSpeedGHz,omitempty"`
	USD            float64    `json:"usd"`
	Network        [2]float64 `json:"network"`
	Interfaces     string     `json:"interfaces,omitempty"` // standard if empty
	DiskGBPerVCPU  float64    `json:"diskGBPerVCPU,omitempty"`
	HDD            bool       `json:"hdd,omitempty"`
	EFA            string     `json:"efa,omitempty"`
	Burstable      bool       `json:"burstable,omitempty"`
	Xen            bool       `json:"xen,omitempty"`
	Previous       bool       `json:"previous,omitempty"` // not of the current generation
	OnDemandOnly   bool       `json:"onDemandOnly,omitempty"`
	CapacityBlocks bool       `json:"capacityBlocks,omitempty"`
	// Except has fields of InstanceType for some sizes.
	Except map[string]json.RawMessage `json:"except,omitempty"`
}

func (f *family) types() ([]InstanceType, error) {
	sizes := strings.Fields(f.Sizes)
	var largest int32
	for _, size := range sizes {
		largest = max(largest, vcpusOf(size))
	}
	var all []InstanceType
	for _, size := range sizes {
		t := InstanceType{Name: f.Family + "." + size, VCPUs: vcpusOf(size), BareMetal: strings.HasPrefix(size, "metal")}
		if t.VCPUs == 0 {
			t.VCPUs = largest
		}
		f.complete(&t, size, largest)
		if except, some := f.Except[size]; some {
			if err := json.Unmarshal(except, &t); err != nil {
				return nil, fmt.Errorf("except %q: %w", size, err)
			}
		}
		t.Cores = t.VCPUs / t.ThreadsPerCore
		if t.Cores == 0 {
			t.Cores, t.ThreadsPerCore = 1, t.VCPUs // a medium of two threads a core has one of them
		}
		all = append(all, t)
	}
	for size := range f.Except {
		if !slices.Contains(sizes, size) {
			return nil, fmt.Errorf("except: there is no size %q", size)
		}
	}
	return all, nil
}

// vcpusOf is what the name of a size says; 0 for metal, whose family decides, and for sizes below medium, which are all exceptions.
func vcpusOf(size string) int32 {
	switch size {
	case "medium":
		return 1
	case "large":
		return 2
	case "xlarge":
		return 4
	}
	times, isTimes := strings.CutSuffix(strings.TrimPrefix(size, "metal-"), "xl")
	if !isTimes {
		times, _ = strings.CutSuffix(size, "xlarge")
	}
	n, err := strconv.ParseInt(times, 10, 32)
	if err != nil {
		return 0
	}
	return 4 * int32(n)
}

// complete sets what follows from the family and the number of vCPUs.
func (f *family) complete(t *InstanceType, size string, largest int32) {
	share := float64(t.VCPUs)
	t.MemoryMiB = int64(math.Round(share * f.GiBPerVCPU * 1024))
	t.Processor, t.ClockSpeedGHz, t.Burstable, t.CurrentGeneration = f.Processor, f.ClockSpeedGHz, f.Burstable, !f.Previous
	t.OnDemandUSD = math.Round(f.USD*share/4*1e6) / 1e6
	t.MaxENIs, t.IPv4PerENI = f.interfaces(t.VCPUs)
	t.NetworkPerformance = f.network(share / float64(largest))
	t.EBSOptimized = "default"
	t.Architectures, t.ThreadsPerCore, t.BootModes = []string{"x86_64"}, 2, []string{"legacy-bios", "uefi"}
	t.Hypervisor, t.ENASupport, t.NVMe = "nitro", "required", "required"
	if f.Architecture != "" {
		t.Architectures, t.ThreadsPerCore, t.BootModes = []string{f.Architecture}, 1, []string{"uefi"}
	}
	if f.ThreadsPerCore > 0 {
		t.ThreadsPerCore = f.ThreadsPerCore
	}
	if f.Xen {
		t.Hypervisor, t.ENASupport, t.NVMe, t.BootModes = "xen", "supported", "unsupported", []string{"legacy-bios"}
	}
	if t.BareMetal {
		t.Hypervisor = ""
	}
	if slices.Contains(strings.Fields(f.EFA), size) {
		t.EFA, t.MaxEFAInterfaces = true, 1
	}
	t.UsageClasses, t.PlacementGroupStrategies = []string{"on-demand"}, []string{"partition", "spread"}
	if !f.OnDemandOnly {
		t.UsageClasses = append(t.UsageClasses, "spot")
	}
	if f.CapacityBlocks {
		t.UsageClasses = append(t.UsageClasses, "capacity-block")
	}
	if !f.Burstable {
		t.PlacementGroupStrategies = []string{"cluster", "partition", "spread"}
	}
	t.InstanceStorage = f.disks(share)
}

// largestDisk is the size of the largest that EC2 has for most types.
const largestDisk = 7500

func (f *family) disks(vcpus float64) []Disk {
	total := int32(vcpus * f.DiskGBPerVCPU)
	if total == 0 {
		return nil
	}
	count := (total + largestDisk - 1) / largestDisk
	if f.HDD {
		return []Disk{{Count: count, SizeGB: total / count, Type: "hdd"}}
	}
	return []Disk{{Count: count, SizeGB: total / count, Type: "ssd", NVMe: true, Encrypt: true}}
}

// interfaces are the network interfaces, and the IPv4 addresses of each, by the number of vCPUs up to which they are.
func (f *family) interfaces(vcpus int32) (interfaces, addresses int32) {
	table := [][3]int32{{1, 2, 4}, {2, 3, 10}, {12, 4, 15}, {48, 8, 30}, {math.MaxInt32, 15, 50}}
	if f.Interfaces == "eighth" {
		table = [][3]int32{{2, 3, 20}, {8, 4, 30}, {16, 8, 50}, {32, 10, 50}, {48, 12, 50}, {128, 16, 64}, {math.MaxInt32, 24, 64}}
	}
	row := table[slices.IndexFunc(table, func(row [3]int32) bool { return vcpus <= row[0] })]
	return row[1], row[2]
}

// network is the performance of a type with a share of the largest one's vCPUs.
func (f *family) network(share float64) string {
	burst, most := f.Network[0], f.Network[1]
	if own := most * share; own >= burst {
		return strconv.FormatFloat(own, 'f', -1, 64) + " Gigabit"
	}
	return "Up to " + strconv.FormatFloat(burst, 'f', -1, 64) + " Gigabit"
}

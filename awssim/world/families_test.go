package world

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCatalogueIsAWorlds(t *testing.T) {
	t.Parallel()
	w, err := Parse([]byte("extends: default\nwholeCatalogue: true"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.InstanceTypes); n < 1000 {
		t.Errorf("got %d instance types, want as many as a region has: about 1,090", n)
	}
	for _, it := range w.InstanceTypes {
		if it.Cores*it.ThreadsPerCore != it.VCPUs {
			t.Errorf("%s: %d cores of %d threads are not %d vCPUs", it.Name, it.Cores, it.ThreadsPerCore, it.VCPUs)
		}
		if it.OnDemandUSD <= 0 || it.ENASupport == "" || it.NetworkPerformance == "" || len(it.BootModes) == 0 {
			t.Errorf("%s: something is missing: %+v", it.Name, it)
		}
	}
	if diff := cmp.Diff(Default().InstanceTypes, w.InstanceTypes[:len(Default().InstanceTypes)]); diff != "" {
		t.Errorf("the default world's types are no more first, as they are:\n%s", diff)
	}
}

// TestDerivedTypes compares what families make of types with what is written down of the same types.
func TestDerivedTypes(t *testing.T) {
	t.Parallel()
	derived, err := derivedTypes()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, exact := range Default().InstanceTypes {
		i := slices.IndexFunc(derived, func(d InstanceType) bool { return d.Name == exact.Name })
		if i < 0 {
			t.Logf("%s is in no family", exact.Name)
			continue
		}
		compared++
		// Named in families.yaml as left out or inferred.
		ignored := cmpopts.IgnoreFields(InstanceType{}, "FreeTierEligible", "Hibernation", "NitroEnclaves", "NetworkPerformance", "ENASupport", "BootModes", "SpotUSD")
		near := cmpopts.EquateApprox(0.002, 0)
		total := cmp.Transformer("total", func(disks []Disk) (gb int32) {
			for _, d := range disks {
				gb += d.Count * d.SizeGB
			}
			return gb / 10 // sizes are rounded, by disk or together
		})
		if diff := cmp.Diff(exact, derived[i], ignored, near, total); diff != "" {
			t.Errorf("%s is not as its family makes it (-written +derived):\n%s", exact.Name, diff)
		}
	}
	if compared < 70 {
		t.Errorf("%d types were compared", compared)
	}
}

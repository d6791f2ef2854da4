package world

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCatalogueLaws holds what is true of every instance type that EC2 has.
func TestCatalogueLaws(t *testing.T) {
	t.Parallel()
	w, err := Parse([]byte("extends: default\nwholeCatalogue: true"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.InstanceTypes); n < 1300 {
		t.Errorf("the catalogue has %d instance types; EC2 was recorded to have some 1,370", n)
	}
	laws := []struct {
		reason string
		holds  func(*InstanceType) bool
	}{
		{"it has a price on demand and a lower one on the spot market", func(i *InstanceType) bool { return 0 < i.SpotPrice() && i.SpotPrice() < i.OnDemandUSD }},
		{"its vCPUs are threads of its cores", func(i *InstanceType) bool { return i.VCPUs > 0 && i.Cores*i.ThreadsPerCore == i.VCPUs }},
		{"it can have all of its cores, where it can have fewer", func(i *InstanceType) bool {
			return len(i.ValidCores) == 0 || slices.IsSorted(i.ValidCores) && i.ValidCores[len(i.ValidCores)-1] <= i.Cores
		}},
		{"it has memory and an architecture", func(i *InstanceType) bool { return i.MemoryMiB > 0 && len(i.Architectures) > 0 }},
		{"it has network cards with interfaces and addresses", func(i *InstanceType) bool {
			return len(i.NetworkCards) > 0 && i.NetworkCards[0].MaxENIs > 0 && i.IPv4PerENI > 0 && i.NetworkPerformance != ""
		}},
		{"it has no fewer IPv4 addresses than IPv6 addresses", func(i *InstanceType) bool { return i.IPv6PerENI == 0 || i.IPv6PerENI == i.IPv4PerENI }},
		{"only bare metal has no hypervisor", func(i *InstanceType) bool { return i.BareMetal == (i.Hypervisor == "") }},
		{"it can be attached volumes, and boots from one", func(i *InstanceType) bool {
			return i.EBS.MaxAttachments > 0 && slices.Contains(i.RootDeviceTypes, "ebs") && len(i.BootModes) > 0
		}},
		{"a bandwidth to volumes does not exceed its maximum", func(i *InstanceType) bool {
			return i.EBS.Baseline.Mbps <= i.EBS.Maximum.Mbps && (i.EBS.Maximum.Mbps > 0) == (i.EBSOptimized != "unsupported")
		}},
		{"its disks have a size and a kind", func(i *InstanceType) bool {
			return !slices.ContainsFunc(i.InstanceStorage, func(d Disk) bool { return d.Count < 1 || d.SizeGB < 1 || d.Type == "" })
		}},
		{"it can be bought", func(i *InstanceType) bool { return slices.Contains(i.UsageClasses, "on-demand") }},
		{"Elastic Fabric Adapters are network interfaces", func(i *InstanceType) bool { return i.MaxEFAInterfaces <= i.MaxENIs }},
	}
	for _, law := range laws {
		for i := range w.InstanceTypes {
			if it := &w.InstanceTypes[i]; !law.holds(it) {
				t.Errorf("%s is none for which %s: %+v", it.Name, law.reason, *it)
			}
		}
	}
}

func TestChoiceOfTheCatalogue(t *testing.T) {
	t.Parallel()
	w, err := Parse([]byte("extends: default\ncatalogueTypes: [t3.nano, c5.large]"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range w.InstanceTypes {
		names = append(names, i.Name)
	}
	if diff := cmp.Diff([]string{"t3.nano", "c5.large"}, names); diff != "" {
		t.Errorf("the types are others than were chosen (-want +got):\n%s", diff)
	}
}

func TestCatalogueErrors(t *testing.T) {
	t.Parallel()
	lines := strings.SplitN(instanceTypesTSV, "\n", 4)
	header, line := lines[1], lines[2]
	for _, row := range []struct{ reason, table, want string }{
		{"an empty table", "# nothing\n", "is unknown"},
		{"a column that nothing reads", header + "\tNews\n", `column "News" is unknown`},
		{"a column that is missing", strings.TrimPrefix(header, "InstanceType\t") + "\n", "columns, not"},
		{"a line with a cell too many", header + "\n" + line + "\tx\n", "it does not have"},
		{"a line with a cell too few", header + "\n" + line[:strings.LastIndex(line, "\t")] + "\n", "it does not have"},
		{"a number that is none", header + "\n" + strings.Replace(line, "\t2048\t", "\tmuch\t", 1) + "\n", `"much"`},
	} {
		if _, err := parseCatalogue(row.table, pricesTXT, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %q", row.reason, err, row.want)
		}
	}
	for _, row := range []struct{ reason, prices, want string }{
		{"a price that is none", "m5 cheap", `"cheap"`},
		{"a type without a price", "m5 1", "a1.medium: it has no price"},
		{"a family twice", "m5 1\nm5 2", "family m5 is there twice"},
	} {
		if _, err := parseCatalogue(instanceTypesTSV, row.prices, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %q", row.reason, err, row.want)
		}
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	byName := map[string]float64{}
	for _, i := range Catalogue() {
		byName[i.Name] = i.OnDemandUSD
	}
	// AWS's price list, us-east-1, January 2026.
	for name, want := range map[string]float64{
		"m5.large": 0.096, "m5.metal": 4.608, "c7a.medium": 0.05132, "g5.2xlarge": 1.212, "p5.48xlarge": 55.04, "t3.nano": 0.0052, "m8g.metal-24xl": 4.73933, "x1.32xlarge": 13.338,
	} {
		if got := byName[name]; got != want {
			t.Errorf("%s costs %v dollars, want %v", name, got, want)
		}
	}
}

func BenchmarkCatalogue(b *testing.B) {
	for b.Loop() {
		if _, err := parseCatalogue(instanceTypesTSV, pricesTXT, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		if _, err := Parse([]byte("extends: default")); err != nil {
			b.Fatal(err)
		}
	}
}

package launcher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
)

// TestSamples holds by which launches a launch template is tried: of types that differ, each in
// another zone.
func TestSamples(t *testing.T) {
	t.Parallel()
	sized := func(name string, cpus int32, edit ...func(*discovery.InstanceType)) *discovery.InstanceType {
		kind := &discovery.InstanceType{Name: name, VCPUs: cpus, MemoryMiB: int64(cpus) << 12, CurrentGeneration: true}
		for _, one := range edit {
			one(kind)
		}
		return kind
	}
	old := func(t *discovery.InstanceType) { t.CurrentGeneration = false }
	gpu := func(t *discovery.InstanceType) { t.GPUs = 1 }
	offered := func(zones, markets string, kinds ...*discovery.InstanceType) (offers []catalog.Offer) {
		for _, kind := range kinds {
			for _, zone := range strings.Fields(zones) {
				for _, market := range strings.Fields(markets) {
					offers = append(offers, catalog.Offer{Offering: catalog.Offering{InstanceType: kind.Name, Zone: zone, CapacityType: market}, Type: kind})
				}
			}
		}
		return offers
	}
	for _, row := range []struct {
		reason string
		offers []catalog.Offer
		want   []string
	}{
		{"nothing", nil, nil},
		{"one type, in its zones", offered("a b c", "on-demand", sized("m.large", 2)), []string{"m.large/a/s-a", "m.large/b/s-b", "m.large/c/s-c"}},
		{"one type in one zone", offered("a", "on-demand", sized("m.large", 2)), []string{"m.large/a/s-a"}},
		{"all of a few, the smallest ordinary one first", offered("a b", "on-demand", sized("g.xlarge", 4, gpu), sized("m.xlarge", 4), sized("t.large", 2), sized("x.small", 1, old)), []string{
			"t.large/a/s-a", "m.xlarge/b/s-b", "x.small/a/s-a", "g.xlarge/b/s-b",
		}},
		{"of many the smallest, the largest, one between, and one that is not ordinary", offered("a", "on-demand", sized("m.8", 8), sized("m.2", 2), sized("m.4", 4), sized("m.16", 16), sized("g.4", 4, gpu)),
			[]string{"m.2/a/s-a", "m.16/a/s-a", "m.4/a/s-a", "g.4/a/s-a"}},
		{"On-Demand where both are allowed", offered("a", "on-demand spot", sized("m.large", 2)), []string{"m.large/a/s-a"}},
		{"Spot where nothing else is", offered("a", "spot", sized("m.large", 2)), []string{"m.large/a/s-a spot"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			provisioner := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			from := provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 7}
			var got []string
			for _, sample := range launcher.Samples(provisioner, "uid", from, slices.Values(row.offers), places(map[string]string{"a": "s-a", "b": "s-b", "c": "s-c"})) {
				of := sample.Offerings[0]
				text := fmt.Sprintf("%s/%s/%s", of.InstanceType, of.Zone, of.SubnetID)
				if sample.Spot {
					text += " spot"
				}
				if sample.TemplateID != from.ID || sample.Version != from.Version || sample.Nodes != 1 || len(sample.Offerings) != 1 || sample.ClusterUID != "uid" {
					t.Errorf("a sample is %+v", sample)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package region

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// TestUnoffered holds what is said where AWS offers nothing that a node could be.
func TestUnoffered(t *testing.T) {
	t.Parallel()
	facts := catalog.Facts{
		Region: "r", Zones: map[string][]string{"m5.large": {"r-1a", "r-1b"}, "t2.micro": {"r-1c"}},
		Types: []discovery.InstanceType{
			{Name: "m5.large", Architectures: []string{"x86_64"}, EBSRoot: true, UsageClasses: []string{"on-demand"}},
			{Name: "t2.micro", Architectures: []string{"x86_64"}, EBSRoot: true, UsageClasses: []string{"on-demand", "spot"}},
		},
	}
	for _, row := range []struct {
		reason, types, zones, market, want string
	}{
		{"no such type", "m9.huge", "r-1a", "on-demand", "no instance type of this region is within its limits " +
			"and compatible with its launch template"},
		{"not in the zones of the subnets", "m5.large", "r-1c", "on-demand",
			"AWS offers m5.large not in r-1c, where its subnets are, but in r-1a and r-1b. No node is launched. " +
				"Allow other instance types, or add a subnet in one of these zones"},
		{"not as Spot Instance", "m5.large", "r-1a r-1b", "spot", "AWS does not offer m5.large as spot in r-1a " +
			"or r-1b. No node is launched. Allow other instance types or capacity types"},
	} {
		ask := constraints.Ask{Requirements: constraints.Requirements{
			corev1.LabelInstanceTypeStable: constraints.In(row.types), corev1.LabelTopologyZone: constraints.In(strings.Fields(row.zones)...),
			provisioningv1.LabelCapacityType: constraints.In(row.market),
		}}
		if offers := slices.Collect(catalog.Offers(facts, &ask)); len(offers) > 0 {
			t.Errorf("%s: there are offers: %v", row.reason, offers)
		}
		if got := unoffered(facts, &ask); got != row.want {
			t.Errorf("%s: it says %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestOutdated holds which subnets are described anew: full ones after some seconds, and others
// only if they were seen before a time.
func TestOutdated(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	subnets := []discovery.Subnet{
		{ID: "full", Seen: now.Add(-10 * time.Second)}, {ID: "full-now", Seen: now.Add(-9 * time.Second)}, {ID: "free", Free: 5, Seen: now.Add(-time.Minute)},
		{ID: "refused", Free: 5, Seen: now.Add(-10 * time.Second)}, {ID: "of-the-cluster"},
	}
	short := func(id string) bool { return id == "refused" }
	for _, row := range []struct {
		reason    string
		notBefore time.Time
		want      []string
	}{
		{"full ones", time.Time{}, []string{"full", "refused"}},
		{"old ones too", now.Add(-20 * time.Second), []string{"full", "free", "refused", "of-the-cluster"}},
	} {
		if diff := cmp.Diff(row.want, outdated(subnets, short, now, row.notBefore)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

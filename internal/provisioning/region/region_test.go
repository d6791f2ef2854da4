package region

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/discovery"
)

// TestPrivateFirst holds that public subnets are left out unless there are no others.
func TestPrivateFirst(t *testing.T) {
	t.Parallel()
	private, public := discovery.Subnet{ID: "s1", Zone: "a"}, discovery.Subnet{ID: "s2", Zone: "b", Public: true}
	for _, row := range []struct {
		reason      string
		found, want []discovery.Subnet
	}{
		{"both kinds", []discovery.Subnet{public, private}, []discovery.Subnet{private}},
		{"public ones alone", []discovery.Subnet{public}, []discovery.Subnet{public}},
		{"private ones alone", []discovery.Subnet{private}, []discovery.Subnet{private}},
	} {
		if diff := cmp.Diff(row.want, privateFirst(row.found)); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
	}
}

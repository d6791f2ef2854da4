package pool

import (
	"testing"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
)

// TestEnclavesAtEdge holds where instances can have Nitro Enclaves.
func TestEnclavesAtEdge(t *testing.T) {
	t.Parallel()
	subnets := []cluster.Subnet{
		{ID: "subnet-zone", AvailabilityZone: "us-east-1a"}, {ID: "subnet-edge", AvailabilityZone: "us-east-1-bos-1a", Edge: true},
	}
	for _, row := range []struct {
		reason    string
		enabled   *bool
		placement Placement
		refused   bool
	}{
		{"no enclaves", nil, Placement{SubnetIDs: []string{"subnet-edge"}}, false},
		{"enclaves that are off", ptr.To(false), Placement{SubnetIDs: []string{"subnet-edge"}}, false},
		{"nothing is named: private subnets of Availability Zones", ptr.To(true), Placement{}, false},
		{"a subnet of an Availability Zone", ptr.To(true), Placement{SubnetIDs: []string{"subnet-zone", "subnet-other"}}, false},
		{"a subnet of a Local Zone", ptr.To(true), Placement{SubnetIDs: []string{"subnet-zone", "subnet-edge"}}, true},
		{"an Availability Zone", ptr.To(true), Placement{Zones: []string{"us-east-1a", "us-gov-west-1b", "ap-southeast-2c"}}, false},
		{"a Local Zone", ptr.To(true), Placement{Zones: []string{"us-east-1a", "us-east-1-bos-1a"}}, true},
		{"a Wavelength Zone that the cluster has no subnet in", ptr.To(true), Placement{Zones: []string{"us-east-1-wl1-bos-wlz-1"}}, true},
	} {
		row.placement.ClusterSubnets = subnets
		spec := &infrav1.AWSLaunchConfigSpec{}
		if row.enabled != nil {
			spec.EnclaveOptions = &infrav1.EnclaveOptions{Enabled: row.enabled}
		}
		if said := row.placement.enclavesAtEdge(spec); (said != "") != row.refused {
			t.Errorf("%s: it says %q", row.reason, said)
		}
	}
}

package pool

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
)

// Placement describes where a pool asks its instances to run.
type Placement struct {
	// SubnetIDs and Zones are the subnets and zones that the pool names, and ClusterSubnets the
	// subnets that its cluster knows.
	SubnetIDs, Zones []string
	ClusterSubnets   []cluster.Subnet
}

// PlacementOf returns the placement of a pool: its subnets decide alone if it names any, else its
// zones, else the failure domains of its MachinePool. Facts are nil where nothing is known about
// the cluster.
func PlacementOf(subnetIDs, zones, failureDomains []string, facts *cluster.Facts) Placement {
	placement := Placement{SubnetIDs: subnetIDs}
	if facts != nil {
		placement.ClusterSubnets = facts.Subnets
	}
	switch {
	case len(subnetIDs) > 0:
	case len(zones) > 0:
		placement.Zones = zones
	default:
		placement.Zones = failureDomains
	}
	return placement
}

// availabilityZone matches the name of an Availability Zone, such as us-east-1a. Names of Local
// Zones and Wavelength Zones have more parts, such as us-east-1-bos-1a (AWS:
// concepts.regions-and-availability-zones).
var availabilityZone = regexp.MustCompile(`^[a-z]+(-[a-z]+)+-[0-9]+[a-z]$`)

// edge returns the first subnet or zone of the placement that is in a Local Zone or Wavelength
// Zone, empty if none is.
func (p Placement) edge() string {
	for _, subnet := range p.ClusterSubnets {
		if subnet.Edge && slices.Contains(p.SubnetIDs, subnet.ID) {
			return fmt.Sprintf("subnet %s, in zone %s,", subnet.ID, subnet.AvailabilityZone)
		}
	}
	for _, zone := range p.Zones {
		known := slices.ContainsFunc(p.ClusterSubnets, func(subnet cluster.Subnet) bool { return subnet.Edge && subnet.AvailabilityZone == zone })
		if known || !availabilityZone.MatchString(zone) {
			return fmt.Sprintf("zone %s", zone)
		}
	}
	return ""
}

// enclavesAtEdge says that instances of the placement cannot have the enclaves that a launch config
// asks for, empty if they can (AWS: Nitro Enclaves user guide, "Considerations"; Cluster API
// Provider AWS refuses it too).
func (p Placement) enclavesAtEdge(spec *infrav1.AWSLaunchConfigSpec) string {
	if spec.EnclaveOptions == nil || !ptr.Deref(spec.EnclaveOptions.Enabled, false) {
		return ""
	}
	if where := p.edge(); where != "" {
		return fmt.Sprintf("%s of the pool is in a Local Zone or Wavelength Zone, where AWS does not support "+
			"Nitro Enclaves. Nodes stay as they are. Use another subnet or zone, or remove enclaveOptions", where)
	}
	return ""
}

package ec2

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// privateDNSName returns the host name that EC2 gives (User Guide, "EC2 instance hostnames and
// domains"): from the address or, where asked for, from the instance id, under ec2.internal in
// us-east-1 and <region>.compute.internal elsewhere.
func privateDNSName(region *sim.Region, instanceID, address string, kind types.HostnameType) string {
	domain := privateDomain(region)
	if kind == types.HostnameTypeResourceName {
		return instanceID + "." + domain
	}
	return "ip-" + strings.ReplaceAll(address, ".", "-") + "." + domain
}

func privateDomain(region *sim.Region) string {
	if region.Name == "us-east-1" {
		return "ec2.internal"
	}
	return region.Name + ".compute.internal"
}

func publicDNSName(region *sim.Region, address string) string {
	domain := region.Name + ".compute.amazonaws.com"
	if region.Name == "us-east-1" {
		domain = "compute-1.amazonaws.com"
	}
	return fmt.Sprintf("ec2-%s.%s", strings.ReplaceAll(address, ".", "-"), domain)
}

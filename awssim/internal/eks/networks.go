package eks

import (
	"net/netip"
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// networks checks the subnets, security groups and addresses of clusters and node groups.
type networks struct {
	region *sim.Region
}

// checkSubnets requires subnets in the cluster's VPC.
func (nw *networks) checkSubnets(c *cluster, subnets []string) error {
	if len(subnets) == 0 {
		return invalid("Subnets are required for the nodegroup.")
	}
	for _, id := range subnets {
		subnet, ok := ec2.LookupSubnet(nw.region, id)
		if !ok {
			return invalid("The subnet ID '%s' does not exist (Service: AmazonEC2; Status Code: 400; Error Code: InvalidSubnetID.NotFound)", id)
		}
		if val(subnet.VpcId) != c.vpc {
			return invalid("Subnets specified must be in the same VPC as the cluster: %s is not in %s.", id, c.vpc)
		}
	}
	return nil
}

// checkClusterSubnets requires subnets in at least two zones of one VPC, which is the given VPC for
// a cluster that already exists (SDK UpdateClusterConfig). The wording about zones is from
// awsdocs/amazon-eks-user-guide#795. The wording about the VPC is an inference.
func (nw *networks) checkClusterSubnets(subnets []string, vpc string) error {
	for _, id := range subnets {
		if _, ok := ec2.LookupSubnet(nw.region, id); !ok {
			return invalid("The subnet ID '%s' does not exist (Service: AmazonEC2; Status Code: 400; Error Code: InvalidSubnetID.NotFound)", id)
		}
		if vpc == "" {
			vpc = nw.vpcOf(id)
		}
		if nw.vpcOf(id) != vpc {
			return invalid("Subnets specified must be in the same VPC: %s is not in %s.", id, vpc)
		}
	}
	if nw.zones(subnets) < 2 {
		return invalid("Subnets specified must be in at least two different AZs")
	}
	return nil
}

// zones returns the number of zones that the subnets are in.
func (nw *networks) zones(subnets []string) int {
	zones := map[string]bool{}
	for _, id := range subnets {
		if subnet, ok := ec2.LookupSubnet(nw.region, id); ok {
			zones[val(subnet.AvailabilityZone)] = true
		}
	}
	return len(zones)
}

// onlyIn reports whether all subnets are in the zone.
func (nw *networks) onlyIn(zone string, subnets []string) bool {
	for _, id := range subnets {
		if subnet, ok := ec2.LookupSubnet(nw.region, id); !ok || val(subnet.AvailabilityZone) != zone {
			return false
		}
	}
	return true
}

// vpcOf returns the VPC of a subnet, or "" if the subnet does not exist.
func (nw *networks) vpcOf(subnet string) string {
	found, _ := ec2.LookupSubnet(nw.region, subnet)
	return val(found.VpcId)
}

// checkSecurityGroups requires security groups in the cluster's VPC. The wording is an inference
// from the wording about subnets.
func (nw *networks) checkSecurityGroups(groups []string, vpc string) error {
	if len(groups) > maxClusterSecurityGroups {
		return invalid("A cluster can have at most %d security groups.", maxClusterSecurityGroups)
	}
	for _, id := range groups {
		found, err := call[awsec2.DescribeSecurityGroupsOutput](nw.region, "ec2", "DescribeSecurityGroups", &awsec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		if err != nil {
			failure := sim.AsError(err)
			return invalid("%s (Service: AmazonEC2; Status Code: 400; Error Code: %s)", failure.Message, failure.Code)
		}
		if val(found.SecurityGroups[0].VpcId) != vpc {
			return invalid("Security group %s does not belong to the VPC of the subnets: %s.", id, vpc)
		}
	}
	return nil
}

// privateBlocks are the ranges that the addresses of services may be in (SDK
// KubernetesNetworkConfigRequest.ServiceIpv4Cidr).
var privateBlocks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}

// checkNetwork enforces the rules for the addresses of services (SDK
// KubernetesNetworkConfigRequest). Simulated VPCs have no IPv6. The wording is an inference.
func (nw *networks) checkNetwork(n *types.KubernetesNetworkConfigRequest, subnet string) error {
	if n == nil {
		return nil
	}
	if err := checkEnum("ipFamily", n.IpFamily, n.IpFamily.Values()); err != nil {
		return err
	}
	if n.IpFamily == types.IpFamilyIpv6 {
		return invalid("The VPC and subnets must have IPv6 CIDR blocks assigned to them for ipFamily ipv6.")
	}
	if n.ServiceIpv4Cidr == nil {
		return nil
	}
	block, err := netip.ParsePrefix(*n.ServiceIpv4Cidr)
	if err != nil || block.Masked() != block || block.Bits() < 12 || block.Bits() > 24 || !slices.ContainsFunc(privateBlocks, func(p netip.Prefix) bool { return contains(p, block) }) {
		return invalid("serviceIpv4Cidr %s must be a block between /24 and /12 within 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16.", *n.ServiceIpv4Cidr)
	}
	if vpc := nw.cidrOf(nw.vpcOf(subnet)); vpc.Overlaps(block) {
		return invalid("serviceIpv4Cidr %s overlaps with CIDR block %s of the VPC.", block, vpc)
	}
	return nil
}

func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// cidrOf returns the CIDR block of a VPC, or an invalid prefix if the VPC does not exist.
func (nw *networks) cidrOf(vpc string) netip.Prefix {
	found, err := call[awsec2.DescribeVpcsOutput](nw.region, "ec2", "DescribeVpcs", &awsec2.DescribeVpcsInput{VpcIds: []string{vpc}})
	if err != nil || len(found.Vpcs) == 0 {
		return netip.Prefix{}
	}
	block, err := netip.ParsePrefix(val(found.Vpcs[0].CidrBlock))
	if err != nil {
		return netip.Prefix{}
	}
	return block
}

// serviceCIDR returns the requested addresses of services, or the default block that does not
// overlap the VPC (UG network-reqs).
func (nw *networks) serviceCIDR(vpc string, n *types.KubernetesNetworkConfigRequest) string {
	if n != nil && n.ServiceIpv4Cidr != nil {
		return *n.ServiceIpv4Cidr
	}
	if nw.cidrOf(vpc).Overlaps(netip.MustParsePrefix(defaultServiceCIDR)) {
		return "10.100.0.0/16"
	}
	return defaultServiceCIDR
}

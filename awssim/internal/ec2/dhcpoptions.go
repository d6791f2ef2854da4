package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// dhcpOptionSets holds the sets of DHCP options of a Region.
type dhcpOptionSets struct {
	*sim.Table[types.DhcpOptions]
	region *sim.Region
}

func (do *dhcpOptionSets) check(id *string) error {
	if val(id) == "" {
		return missingParameter("dhcpOptionsId")
	}
	if err := dhcpOptionsID.check(*id); err != nil {
		return err
	}
	if _, ok := do.Get(*id); !ok {
		return dhcpOptionsID.missing(*id)
	}
	return nil
}

// addDefault stores the set of DHCP options that AWS gives a Region (VPC User Guide, "DHCP
// option sets in Amazon VPC").
func (do *dhcpOptionSets) addDefault() {
	value := func(text string) []types.AttributeValue { return []types.AttributeValue{{Value: ptr(text)}} }
	do.Put(do.defaultID(), types.DhcpOptions{
		DhcpOptionsId: ptr(do.defaultID()), OwnerId: ptr(do.region.Account.ID),
		DhcpConfigurations: []types.DhcpConfiguration{
			{Key: ptr("domain-name"), Values: value(privateDomain(do.region))}, {Key: ptr("domain-name-servers"), Values: value("AmazonProvidedDNS")},
		},
	})
}

func (do *dhcpOptionSets) defaultID() string { return derivedID("dopt-", do.region.Name) }

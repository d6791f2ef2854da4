package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// dhcpKeys are the options that a set may have, and how many values each takes (API reference,
// CreateDhcpOptions; a domain name, a type of NetBIOS nodes, and a lease time are one value).
var dhcpKeys = map[string]int{
	"domain-name-servers": 4, "domain-name": 1, "ntp-servers": 4, "netbios-name-servers": 4, "netbios-node-type": 1, "ipv6-address-preferred-lease-time": 1,
}

// noDHCPOptions associates a VPC with no set of options (SDK, AssociateDhcpOptionsInput.DhcpOptionsId).
const noDHCPOptions = "default"

func createDhcpOptions(c *sim.Call, in *awsec2.CreateDhcpOptionsInput) (*awsec2.CreateDhcpOptionsOutput, error) {
	s := stateOf(c.Region)
	if len(in.DhcpConfigurations) == 0 {
		return nil, missingParameter("dhcpConfiguration")
	}
	options := types.DhcpOptions{DhcpOptionsId: ptr(c.Kernel.NewID("dopt-", 17)), OwnerId: ptr(s.region.Account.ID)}
	for _, given := range in.DhcpConfigurations {
		most, known := dhcpKeys[val(given.Key)]
		if !known {
			return nil, invalidValue("dhcpConfiguration", val(given.Key), "Unknown DHCP option.")
		}
		if len(given.Values) == 0 || len(given.Values) > most {
			return nil, invalidValue("value", val(given.Key), "Wrong number of values.")
		}
		option := types.DhcpConfiguration{Key: given.Key}
		for _, value := range given.Values {
			option.Values = append(option.Values, types.AttributeValue{Value: ptr(value)})
		}
		options.DhcpConfigurations = append(options.DhcpConfigurations, option)
	}
	var err error
	if options.Tags, err = tagsFor(in.TagSpecifications, types.ResourceTypeDhcpOptions, types.ResourceTypeDhcpOptions); err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.dhcpOptions.Put(*options.DhcpOptionsId, options)
	return &awsec2.CreateDhcpOptionsOutput{DhcpOptions: &options}, nil
}

// deleteDhcpOptions refuses to delete a set that a VPC is associated with (API reference, DeleteDhcpOptions).
func deleteDhcpOptions(c *sim.Call, in *awsec2.DeleteDhcpOptionsInput) (*awsec2.DeleteDhcpOptionsOutput, error) {
	s := stateOf(c.Region)
	if err := s.dhcpOptions.check(in.DhcpOptionsId); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.vpcs.All(), func(vpc types.Vpc) bool { return val(vpc.DhcpOptionsId) == *in.DhcpOptionsId }) {
		return nil, dependencyViolation("dhcpOptions", *in.DhcpOptionsId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.dhcpOptions.Delete(*in.DhcpOptionsId)
	return &awsec2.DeleteDhcpOptionsOutput{}, nil
}

func associateDhcpOptions(c *sim.Call, in *awsec2.AssociateDhcpOptionsInput) (*awsec2.AssociateDhcpOptionsOutput, error) {
	s := stateOf(c.Region)
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	if val(in.DhcpOptionsId) != noDHCPOptions {
		if err := s.dhcpOptions.check(in.DhcpOptionsId); err != nil {
			return nil, err
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	vpc.DhcpOptionsId = in.DhcpOptionsId
	s.vpcs.Put(*vpc.VpcId, vpc)
	return &awsec2.AssociateDhcpOptionsOutput{}, nil
}

var dhcpListing = listing[types.DhcpOptions]{
	kind: dhcpOptionsID, id: func(d types.DhcpOptions) string { return *d.DhcpOptionsId }, tags: func(d types.DhcpOptions) []types.Tag { return d.Tags }, pages: commonPages,
	filters: filterTable[types.DhcpOptions]{
		"dhcp-options-id": func(d types.DhcpOptions) []string { return text(d.DhcpOptionsId) },
		"key": func(d types.DhcpOptions) []string {
			return collect(d.DhcpConfigurations, func(o types.DhcpConfiguration) []string { return text(o.Key) })
		},
		"owner-id": func(d types.DhcpOptions) []string { return text(d.OwnerId) },
		"value": func(d types.DhcpOptions) []string {
			return collect(d.DhcpConfigurations, func(o types.DhcpConfiguration) []string {
				return collect(o.Values, func(v types.AttributeValue) []string { return text(v.Value) })
			})
		},
	},
}

func describeDhcpOptions(c *sim.Call, in *awsec2.DescribeDhcpOptionsInput) (*awsec2.DescribeDhcpOptionsOutput, error) {
	q := query{in.DhcpOptionsIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun}
	found, next, err := dhcpListing.read(stateOf(c.Region).dhcpOptions.VisibleAll(), q)
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeDhcpOptionsOutput{DhcpOptions: found, NextToken: next}, nil
}

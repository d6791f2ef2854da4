package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestInstancesByWhatBelongsToThem holds that DescribeInstances finds instances by their network
// interfaces, addresses, and Capacity Reservations.
func TestInstancesByWhatBelongsToThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	ctx, address := t.Context(), r.allocate()
	one := *r.launched(func(in *ec2.RunInstancesInput) {
		into(onDemandID)(in)
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{tag("team", "blue")}}}
	}).InstanceId
	two := *r.launched(nil).InstanceId
	association := must[*ec2.AssociateAddressOutput](t)(r.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: address.AllocationId, InstanceId: &two}))
	rows := []struct {
		reason string
		filter types.Filter
		want   []string
	}{
		{"the key of an interface's tag", filter("network-interface.tag-key", "team"), []string{one}},
		{"the value of an interface's tag", filter("network-interface.tag-value", "blue"), []string{one}},
		{"a tag that no interface has", filter("network-interface.tag-key", "color"), nil},
		{"the allocation of an address", filter("network-interface.association.allocation-id", *address.AllocationId), []string{two}},
		{"the association of an address", filter("network-interface.association.association-id", *association.AssociationId), []string{two}},
		{"the allocation of the address of a private one", filter("network-interface.addresses.association.allocation-id", *address.AllocationId), []string{two}},
		{"the association of the address of a private one", filter("network-interface.addresses.association.association-id", *association.AssociationId), []string{two}},
		{"the reservation that was named", filter("capacity-reservation-specification.capacity-reservation-target.capacity-reservation-id", onDemandID), []string{one}},
		{"a group of reservations, which no instance names", filter("capacity-reservation-specification.capacity-reservation-target.capacity-reservation-resource-group-arn", "*"), nil},
	}
	for _, row := range rows {
		out := must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{row.filter}}))
		var found []string
		for _, reservation := range out.Reservations {
			for _, i := range reservation.Instances {
				found = append(found, *i.InstanceId)
			}
		}
		if diff := cmp.Diff(row.want, found, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestDefaultVPCByItsOlderFilter holds that isDefault, the name that EC2 documented until 2020,
// finds what is-default finds.
func TestDefaultVPCByItsOlderFilter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := r.newVPC("10.9.0.0/16")
	for _, row := range []struct {
		value string
		want  bool
	}{{"true", false}, {"false", true}} {
		out := must[*ec2.DescribeVpcsOutput](t)(r.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("isDefault", row.value)}}))
		found := false
		for _, v := range out.Vpcs {
			found = found || *v.VpcId == own
			if aws.ToBool(v.IsDefault) != (row.value == "true") {
				t.Errorf("isDefault=%s finds %s, whose IsDefault is %v", row.value, *v.VpcId, *v.IsDefault)
			}
		}
		if found != row.want {
			t.Errorf("isDefault=%s finds a VPC that was created: %v, want %v", row.value, found, row.want)
		}
	}
}

package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// interfaces returns the network interfaces that pass filters.
func (r *rig) interfaces(filters ...types.Filter) []types.NetworkInterface {
	r.Helper()
	out, err := r.ec2.DescribeNetworkInterfaces(r.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: filters})
	if err != nil {
		r.Fatalf("describing network interfaces: %v", err)
	}
	return out.NetworkInterfaces
}

// launched launches an instance and returns it when it runs.
func (r *rig) launched(change func(*ec2.RunInstancesInput)) types.Instance {
	r.Helper()
	out, err := r.run(change)
	if err != nil {
		r.Fatalf("launching: %v", err)
	}
	return r.instance(*out.Instances[0].InstanceId)
}

// TestInterfacesOfInstances: an interface comes with its instance, shows what the instance shows,
// follows its changes, and goes with it.
func TestInterfacesOfInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	i := r.launched(func(in *ec2.RunInstancesInput) {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{tag("team", "blue")}}}
	})
	found := r.interfaces(filter("attachment.instance-id", *i.InstanceId))
	if len(found) != 1 {
		t.Fatalf("the instance has %d interfaces, want 1", len(found))
	}
	n := found[0]
	shown := map[string]string{
		"id": *n.NetworkInterfaceId, "address": *n.PrivateIpAddress, "name": *n.PrivateDnsName, "subnet": *n.SubnetId, "vpc": *n.VpcId, "group": *n.Groups[0].GroupId,
		"status": string(n.Status), "type": string(n.InterfaceType), "zone": *n.AvailabilityZone, "mac": *n.MacAddress, "team": tagMap(n.TagSet)["team"],
		"attachment": *n.Attachment.AttachmentId,
	}
	want := map[string]string{
		"id": *i.NetworkInterfaces[0].NetworkInterfaceId, "address": *i.PrivateIpAddress, "name": *i.PrivateDnsName, "subnet": *i.SubnetId, "vpc": *i.VpcId,
		"group": *i.SecurityGroups[0].GroupId, "status": "in-use", "type": "interface", "zone": "us-east-1a", "mac": *i.NetworkInterfaces[0].MacAddress, "team": "blue",
		"attachment": *i.NetworkInterfaces[0].Attachment.AttachmentId,
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the interface differs from the instance's (-instance +interface):\n%s", diff)
	}
	if _, err := r.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: i.InstanceId, Groups: []string{r.group("node")}}); err != nil {
		t.Fatal(err)
	}
	if got := len(r.interfaces(filter("group-id", r.group("node")))); got != 1 {
		t.Errorf("%d interfaces have the group that the instance was given, want 1", got)
	}
	_, err := r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: aws.String(r.group("node"))})
	wantError(t, err, "DependencyViolation", "has a dependent object")
	_, err = r.ec2.DeleteNetworkInterface(t.Context(), &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: n.NetworkInterfaceId})
	wantError(t, err, "InvalidParameterValue", "is currently in use")
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if left := r.interfaces(); len(left) > 0 {
		t.Errorf("%d interfaces outlive the only instance", len(left))
	}
}

// TestInterfacesOnTheirOwn: an interface that was created is attached to an instance as a second
// one, and survives it.
func TestInterfacesOnTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subnet := r.subnet("us-east-1a")
	free := *subnet.AvailableIpAddressCount
	created, err := r.ec2.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{
		SubnetId: subnet.SubnetId, Description: aws.String("second"), SecondaryPrivateIpAddressCount: aws.Int32(2), Groups: []string{r.group("node")},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{tag("a", "b")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := *created.NetworkInterface.NetworkInterfaceId
	if got := *r.subnet("us-east-1a").AvailableIpAddressCount; got != free-3 {
		t.Errorf("the subnet has %d free addresses, want %d less 3", got, free)
	}
	if n := r.interfaces(filter("network-interface-id", id))[0]; n.Status != types.NetworkInterfaceStatusAvailable || len(n.PrivateIpAddresses) != 3 || *n.Description != "second" {
		t.Errorf("the interface is %s with %d addresses and the description %q", n.Status, len(n.PrivateIpAddresses), *n.Description)
	}
	i := r.launched(nil)
	attached, err := r.ec2.AttachNetworkInterface(t.Context(), &ec2.AttachNetworkInterfaceInput{NetworkInterfaceId: &id, InstanceId: i.InstanceId, DeviceIndex: aws.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.instance(*i.InstanceId).NetworkInterfaces; len(got) != 2 || *got[1].NetworkInterfaceId != id {
		t.Errorf("the instance has the interfaces %v", got)
	}
	_, err = r.ec2.AttachNetworkInterface(t.Context(), &ec2.AttachNetworkInterfaceInput{NetworkInterfaceId: &id, InstanceId: i.InstanceId, DeviceIndex: aws.Int32(2)})
	wantError(t, err, "InvalidNetworkInterface.InUse", id)
	primary := i.NetworkInterfaces[0].Attachment.AttachmentId
	_, err = r.ec2.DetachNetworkInterface(t.Context(), &ec2.DetachNetworkInterfaceInput{AttachmentId: primary})
	wantError(t, err, "OperationNotPermitted", "device index 0")
	if _, err := r.ec2.DetachNetworkInterface(t.Context(), &ec2.DetachNetworkInterfaceInput{AttachmentId: attached.AttachmentId}); err != nil {
		t.Fatal(err)
	}
	if got := r.instance(*i.InstanceId).NetworkInterfaces; len(got) != 1 {
		t.Errorf("the instance still has %d interfaces", len(got))
	}
	if _, err := r.ec2.DeleteNetworkInterface(t.Context(), &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id}); err != nil {
		t.Fatal(err)
	}
	_, err = r.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{id}})
	wantError(t, err, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '"+id+"' does not exist")
	if got := *r.subnet("us-east-1a").AvailableIpAddressCount; got != free-1 {
		t.Errorf("the subnet has %d free addresses, want %d less the instance's", got, free)
	}
}

// TestLaunchWithAnInterface: a launch can take an interface that exists, which stays when the instance goes.
func TestLaunchWithAnInterface(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	created, err := r.ec2.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: r.subnet("us-east-1a").SubnetId, Groups: []string{r.group("node")}})
	if err != nil {
		t.Fatal(err)
	}
	n := created.NetworkInterface
	take := func(change func(*types.InstanceNetworkInterfaceSpecification)) func(*ec2.RunInstancesInput) {
		spec := types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(0), NetworkInterfaceId: n.NetworkInterfaceId}
		if change != nil {
			change(&spec)
		}
		return func(in *ec2.RunInstancesInput) {
			in.SubnetId, in.NetworkInterfaces = nil, []types.InstanceNetworkInterfaceSpecification{spec}
		}
	}
	_, err = r.run(take(func(spec *types.InstanceNetworkInterfaceSpecification) { spec.Groups = []string{r.group("lb")} }))
	wantError(t, err, "InvalidParameterCombination", "network interface ID")
	_, err = r.run(func(in *ec2.RunInstancesInput) { take(nil)(in); in.MaxCount = aws.Int32(2) })
	wantError(t, err, "InvalidParameterCombination", "single instance")
	i := r.launched(take(nil))
	if *i.PrivateIpAddress != *n.PrivateIpAddress || *i.SecurityGroups[0].GroupName != "node" || *i.SubnetId != *n.SubnetId {
		t.Errorf("the instance has the address %s and the groups %v, want the interface's", *i.PrivateIpAddress, i.SecurityGroups)
	}
	_, err = r.run(take(nil))
	wantError(t, err, "InvalidNetworkInterface.InUse", *n.NetworkInterfaceId)
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if left := r.interfaces(filter("status", "available")); len(left) != 1 {
		t.Errorf("%d interfaces are available, want the one that the launch named", len(left))
	}
}

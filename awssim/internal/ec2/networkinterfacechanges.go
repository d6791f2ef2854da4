package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func createNetworkInterface(c *sim.Call, in *awsec2.CreateNetworkInterfaceInput) (*awsec2.CreateNetworkInterfaceOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateNetworkInterfaceOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
		return answer, err
	}
	request, err := interfaceAsked(s, in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	n, err := s.interfaces.create(request)
	if err != nil {
		return nil, err
	}
	n.Status = types.NetworkInterfaceStatus("pending") // in the answer; a describe finds it available
	out := &awsec2.CreateNetworkInterfaceOutput{NetworkInterface: &n, ClientToken: in.ClientToken}
	remember(s.tokens, c.Action, in.ClientToken, asked, out)
	return out, nil
}

func interfaceAsked(s *state, in *awsec2.CreateNetworkInterfaceInput) (interfaceRequest, error) {
	var request interfaceRequest
	if len(in.Ipv6Addresses)+len(in.Ipv6Prefixes)+len(in.Ipv4Prefixes) > 0 || in.Ipv6AddressCount != nil || in.Ipv6PrefixCount != nil || in.Ipv4PrefixCount != nil {
		return request, sim.Errorf("Unsupported", "The simulation's network interfaces have IPv4 addresses only, without prefixes.")
	}
	if val(in.SubnetId) == "" {
		return request, missingParameter("subnetId")
	}
	subnet, err := s.subnets.find(in.SubnetId)
	if err != nil {
		return request, err
	}
	groups, err := s.groups.forInterface(in.Groups, nil, subnet, false)
	if err != nil {
		return request, err
	}
	if err := checkEnum("interfaceType", in.InterfaceType, in.InterfaceType.Values()); err != nil {
		return request, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeNetworkInterface, types.ResourceTypeNetworkInterface)
	if err != nil {
		return request, err
	}
	spec := types.InstanceNetworkInterfaceSpecification{
		PrivateIpAddress: in.PrivateIpAddress, PrivateIpAddresses: in.PrivateIpAddresses, SecondaryPrivateIpAddressCount: in.SecondaryPrivateIpAddressCount,
	}
	for _, check := range []error{checkInterface(spec, 1), s.subnets.refuseShared([]interfacePlan{{spec: spec, subnet: subnet}}, 1)} {
		if check != nil {
			return request, check
		}
	}
	kind := types.NetworkInterfaceTypeInterface
	if in.InterfaceType != "" {
		kind = types.NetworkInterfaceType(in.InterfaceType)
	}
	return interfaceRequest{
		subnet: subnet, groups: groups, description: val(in.Description), kind: kind, tags: tags,
		primary: primaryAddress(spec), further: secondaryAddresses(spec),
	}, nil
}

// deleteNetworkInterface refuses one that is attached (error codes, InvalidNetworkInterface.InUse:
// "you may also receive the InvalidParameterValue error").
func deleteNetworkInterface(c *sim.Call, in *awsec2.DeleteNetworkInterfaceInput) (*awsec2.DeleteNetworkInterfaceOutput, error) {
	s := stateOf(c.Region)
	n, err := s.interfaces.find(val(in.NetworkInterfaceId))
	if err != nil {
		return nil, err
	}
	if n.Attachment != nil {
		return nil, sim.Errorf("InvalidParameterValue", "Network interface '%s' is currently in use.", *n.NetworkInterfaceId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.interfaces.drop(s.interfaces.withoutPublicAddress(n, false))
	return &awsec2.DeleteNetworkInterfaceOutput{}, nil
}

func attachNetworkInterface(c *sim.Call, in *awsec2.AttachNetworkInterfaceInput) (*awsec2.AttachNetworkInterfaceOutput, error) {
	s := stateOf(c.Region)
	n, err := s.interfaces.find(val(in.NetworkInterfaceId))
	if err != nil {
		return nil, err
	}
	found, err := s.instances.named([]string{val(in.InstanceId)})
	if err != nil {
		return nil, err
	}
	i := found[0]
	if in.DeviceIndex == nil {
		return nil, missingParameter("deviceIndex")
	}
	if err := s.interfaces.checkAttachment(n, i, *in.DeviceIndex, val(in.NetworkCardIndex)); err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	n = s.interfaces.attached(n, i.id(), c.Now, types.NetworkInterfaceAttachment{
		DeviceIndex: in.DeviceIndex, NetworkCardIndex: ptr(val(in.NetworkCardIndex)), DeleteOnTermination: ptr(false),
	})
	s.interfaces.Put(*n.NetworkInterfaceId, n)
	s.instances.Put(i.id(), i.showing(append(slices.Clone(i.api.NetworkInterfaces), onInstance(n))))
	return &awsec2.AttachNetworkInterfaceOutput{AttachmentId: n.Attachment.AttachmentId, NetworkCardIndex: n.Attachment.NetworkCardIndex}, nil
}

// detachNetworkInterface is done at once. EC2 takes a while, which nothing documents.
func detachNetworkInterface(c *sim.Call, in *awsec2.DetachNetworkInterfaceInput) (*awsec2.DetachNetworkInterfaceOutput, error) {
	s := stateOf(c.Region)
	if val(in.AttachmentId) == "" {
		return nil, missingParameter("attachmentId")
	}
	all := s.interfaces.All()
	place := slices.IndexFunc(all, func(n types.NetworkInterface) bool { return val(val(n.Attachment).AttachmentId) == *in.AttachmentId })
	if place < 0 {
		return nil, sim.Errorf("InvalidAttachmentID.NotFound", "The attachment ID '%s' does not exist", *in.AttachmentId)
	}
	n := all[place]
	i, onInstance := s.instances.Get(val(n.Attachment.InstanceId))
	if !onInstance {
		return nil, sim.Errorf("OperationNotPermitted", "You are not allowed to manage '%s' attachments.", *in.AttachmentId)
	}
	if val(n.Attachment.DeviceIndex) == 0 && val(n.Attachment.NetworkCardIndex) == 0 {
		return nil, sim.Errorf("OperationNotPermitted", "The network interface at device index 0 cannot be detached.")
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	n.Attachment, n.Status = nil, types.NetworkInterfaceStatusAvailable
	s.interfaces.Put(*n.NetworkInterfaceId, n)
	s.instances.Put(i.id(), s.interfaces.refreshed(i))
	return &awsec2.DetachNetworkInterfaceOutput{}, nil
}

// errNotYours refuses a change of a network interface that an AWS service manages (error codes,
// AuthFailure).
var errNotYours = sim.Errorf("AuthFailure", "You do not have permission to access the specified resource.")

func modifyNetworkInterfaceAttribute(c *sim.Call, in *awsec2.ModifyNetworkInterfaceAttributeInput) (*awsec2.ModifyNetworkInterfaceAttributeOutput, error) {
	s := stateOf(c.Region)
	n, err := s.interfaces.find(val(in.NetworkInterfaceId))
	if err != nil {
		return nil, err
	}
	if val(n.RequesterManaged) {
		return nil, errNotYours
	}
	if n, err = changedInterface(s, n, in); err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.interfaces.store(n)
	return &awsec2.ModifyNetworkInterfaceAttributeOutput{}, nil
}

// changedInterface returns an interface with the one attribute changed that a request names (API reference,
// ModifyNetworkInterfaceAttribute: "You can specify only one attribute at a time").
func changedInterface(s *state, n types.NetworkInterface, in *awsec2.ModifyNetworkInterfaceAttributeInput) (types.NetworkInterface, error) {
	changes := 0
	for _, given := range []bool{in.Description != nil, in.SourceDestCheck != nil, len(in.Groups) > 0, in.Attachment != nil} {
		if given {
			changes++
		}
	}
	switch {
	case changes > 1:
		return n, invalidCombination("Fields for multiple attribute types specified.")
	case in.Description != nil:
		n.Description = ptr(val(in.Description.Value))
	case in.SourceDestCheck != nil:
		n.SourceDestCheck = ptr(val(in.SourceDestCheck.Value))
	case len(in.Groups) > 0:
		subnet, _ := s.subnets.Get(*n.SubnetId)
		groups, err := s.groups.forInterface(in.Groups, nil, subnet, false)
		if err != nil {
			return n, err
		}
		n.Groups = groups
	case in.Attachment != nil:
		if n.Attachment == nil || val(n.Attachment.AttachmentId) != val(in.Attachment.AttachmentId) {
			return n, sim.Errorf("InvalidAttachmentID.NotFound", "The attachment ID '%s' does not exist", val(in.Attachment.AttachmentId))
		}
		changed := shape.Clone(*n.Attachment)
		changed.DeleteOnTermination = ptr(val(in.Attachment.DeleteOnTermination))
		n.Attachment = &changed
	default:
		return n, sim.Errorf("Unsupported", "The simulation can't modify this attribute.")
	}
	return n, nil
}

func describeNetworkInterfaceAttribute(c *sim.Call, in *awsec2.DescribeNetworkInterfaceAttributeInput) (*awsec2.DescribeNetworkInterfaceAttributeOutput, error) {
	s := stateOf(c.Region)
	found, err := selectByID(networkInterfaceID, s.interfaces.VisibleAll(), interfaceListing.id, []string{val(in.NetworkInterfaceId)})
	if err != nil {
		return nil, err
	}
	n := found[0]
	out := &awsec2.DescribeNetworkInterfaceAttributeOutput{NetworkInterfaceId: n.NetworkInterfaceId}
	switch in.Attribute {
	case types.NetworkInterfaceAttributeDescription:
		out.Description = &types.AttributeValue{Value: n.Description}
	case types.NetworkInterfaceAttributeGroupSet:
		out.Groups = n.Groups
	case types.NetworkInterfaceAttributeSourceDestCheck:
		out.SourceDestCheck = &types.AttributeBooleanValue{Value: n.SourceDestCheck}
	case types.NetworkInterfaceAttributeAttachment:
		out.Attachment = n.Attachment
	case "":
		return nil, missingParameter("attribute")
	default:
		return nil, invalidValue("attribute", in.Attribute, "The simulation does not have this attribute.")
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return out, nil
}

func describeNetworkInterfaces(c *sim.Call, in *awsec2.DescribeNetworkInterfacesInput) (*awsec2.DescribeNetworkInterfacesOutput, error) {
	q := query{in.NetworkInterfaceIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun}
	found, next, err := interfaceListing.read(stateOf(c.Region).interfaces.VisibleAll(), q)
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: found, NextToken: next}, nil
}

package launchtemplate

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/userdata"
)

// Resolved is everything about a config that its spec does not say by itself.
type Resolved struct {
	// ImageID is the AMI.
	ImageID string
	// ImageKey is what the image was looked up for, empty for one given by id.
	ImageKey string
	// RootDeviceName is the image's root device, such as /dev/xvda.
	RootDeviceName string
	// SecurityGroupIDs are the groups of the cluster's nodes and those that the spec adds.
	SecurityGroupIDs []string
	// UserData is what goes to the instance, before base64. Empty when the config has no bootstrap data.
	UserData []byte
	// Bootstrap is the bootstrap data that the user data points to or wraps, and Data where it is. They are empty where the user data is
	// the bootstrap data.
	Bootstrap []byte
	Data      string
	// Tags are the tags of instances and volumes.
	Tags map[string]string
}

// Input is the data of a version, ready to be sent, with its fingerprints.
type Input struct {
	Fingerprints Fingerprints
	data         *ec2types.RequestLaunchTemplateData
	// bootstrap is the bootstrap data in base64: what a node is judged by, whether user data holds it or points to it.
	bootstrap string
	// text is the canonical form of all of it, user data included.
	text string
}

// NewInput makes the request from a spec and what was resolved for it. It is the only function that does, so there is no second list of
// fields: what it sets is what the fingerprints cover.
func NewInput(spec *infrav1.AWSLaunchConfigSpec, resolved Resolved) (Input, error) {
	return newInput(requestData(spec, resolved), resolved)
}

func newInput(data *ec2types.RequestLaunchTemplateData, resolved Resolved) (Input, error) {
	fingerprints, err := fingerprintsOf(data, awssdk.ToString(data.UserData))
	if err != nil {
		return Input{}, err
	}
	bootstrap := awssdk.ToString(data.UserData)
	if len(resolved.Bootstrap) > 0 {
		bootstrap = base64.StdEncoding.EncodeToString(resolved.Bootstrap)
		// What a node is does not depend on how it comes by its bootstrap data.
		fetched, err := fingerprintsOf(data, bootstrap)
		if err != nil {
			return Input{}, err
		}
		fingerprints.Config = fetched.Config
	}
	fingerprints.Image, fingerprints.Data = resolved.ImageKey, resolved.Data
	text, err := canonical(data)
	if err != nil {
		return Input{}, err
	}
	return Input{Fingerprints: fingerprints, data: data, bootstrap: bootstrap, text: text}, nil
}

func requestData(spec *infrav1.AWSLaunchConfigSpec, resolved Resolved) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{
		ImageId:                          stringOrNil(resolved.ImageID),
		InstanceType:                     ec2types.InstanceType(spec.InstanceType),
		IamInstanceProfile:               instanceProfile(spec.IamInstanceProfile),
		SecurityGroupIds:                 sortedUnique(resolved.SecurityGroupIDs),
		BlockDeviceMappings:              blockDevices(spec, resolved.RootDeviceName),
		MetadataOptions:                  metadataOptions(spec.InstanceMetadataOptions),
		InstanceMarketOptions:            marketOptions(spec),
		CapacityReservationSpecification: capacityReservation(spec),
		PrivateDnsNameOptions:            privateDNSName(spec.PrivateDNSName),
		TagSpecifications:                tagSpecifications(resolved.Tags),
	}
	// An empty key name asks for no key, as in CAPA.
	if spec.SSHKeyName != nil {
		data.KeyName = stringOrNil(*spec.SSHKeyName)
	}
	if spec.EnclaveOptions != nil && spec.EnclaveOptions.Enabled != nil {
		data.EnclaveOptions = &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: spec.EnclaveOptions.Enabled}
	}
	if len(resolved.UserData) > 0 {
		data.UserData = awssdk.String(base64.StdEncoding.EncodeToString(resolved.UserData))
	}
	return data
}

// instanceProfile takes a name or an ARN, as the API says; CAPA sends an ARN as a name, which EC2 refuses at launch.
func instanceProfile(nameOrARN string) *ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest {
	if nameOrARN == "" {
		return nil
	}
	if strings.HasPrefix(nameOrARN, "arn:") {
		return &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: &nameOrARN}
	}
	return &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &nameOrARN}
}

func blockDevices(spec *infrav1.AWSLaunchConfigSpec, rootDeviceName string) []ec2types.LaunchTemplateBlockDeviceMappingRequest {
	var mappings []ec2types.LaunchTemplateBlockDeviceMappingRequest
	if spec.RootVolume != nil {
		// The image decides what its root device is called; another name would add a volume and leave the root as it is.
		mappings = append(mappings, blockDevice(spec.RootVolume, rootDeviceName))
	}
	for i := range spec.NonRootVolumes {
		mappings = append(mappings, blockDevice(&spec.NonRootVolumes[i], spec.NonRootVolumes[i].DeviceName))
	}
	// In one order, whatever the spec's: a client token admits no other request than the one that it was first used for.
	slices.SortStableFunc(mappings, func(a, b ec2types.LaunchTemplateBlockDeviceMappingRequest) int {
		return strings.Compare(*a.DeviceName, *b.DeviceName)
	})
	return mappings
}

func blockDevice(volume *infrav1.Volume, deviceName string) ec2types.LaunchTemplateBlockDeviceMappingRequest {
	device := &ec2types.LaunchTemplateEbsBlockDeviceRequest{
		DeleteOnTermination: awssdk.Bool(true),
		VolumeSize:          int32Or(volume.Size),
		VolumeType:          ec2types.VolumeType(volume.Type),
		Iops:                int32Or(volume.IOPS),
		Encrypted:           volume.Encrypted,
		KmsKeyId:            stringOrNil(volume.EncryptionKey),
	}
	if volume.Throughput != nil {
		device.Throughput = int32Or(*volume.Throughput)
	}
	if volume.EncryptionKey != "" {
		device.Encrypted = awssdk.Bool(true)
	}
	return ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: &deviceName, Ebs: device}
}

func metadataOptions(options *infrav1.InstanceMetadataOptions) *ec2types.LaunchTemplateInstanceMetadataOptionsRequest {
	if options == nil {
		return nil
	}
	return &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
		HttpProtocolIpv6:        ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(options.HTTPProtocolIPv6),
		HttpPutResponseHopLimit: int32Or(options.HTTPPutResponseHopLimit),
		HttpTokens:              ec2types.LaunchTemplateHttpTokensState(options.HTTPTokens),
		InstanceMetadataTags:    ec2types.LaunchTemplateInstanceMetadataTagsState(options.InstanceMetadataTags),
	}
}

// marketOptions are nil for on-demand instances: that is what a template without them launches.
func marketOptions(spec *infrav1.AWSLaunchConfigSpec) *ec2types.LaunchTemplateInstanceMarketOptionsRequest {
	switch {
	case spec.MarketType == infrav1.MarketTypeCapacityBlock:
		return &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeCapacityBlock}
	case spec.MarketType == infrav1.MarketTypeSpot || spec.SpotMarketOptions != nil:
		options := &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
		if spec.SpotMarketOptions != nil && awssdk.ToString(spec.SpotMarketOptions.MaxPrice) != "" {
			options.SpotOptions = &ec2types.LaunchTemplateSpotMarketOptionsRequest{MaxPrice: spec.SpotMarketOptions.MaxPrice}
		}
		return options
	}
	return nil
}

func capacityReservation(spec *infrav1.AWSLaunchConfigSpec) *ec2types.LaunchTemplateCapacityReservationSpecificationRequest {
	preference := map[infrav1.CapacityReservationPreference]ec2types.CapacityReservationPreference{
		infrav1.CapacityReservationPreferenceNone: ec2types.CapacityReservationPreferenceNone,
		infrav1.CapacityReservationPreferenceOnly: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
		infrav1.CapacityReservationPreferenceOpen: ec2types.CapacityReservationPreferenceOpen,
	}[spec.CapacityReservationPreference]
	id := stringOrNil(awssdk.ToString(spec.CapacityReservationID))
	if preference == "" && id == nil {
		return nil
	}
	specification := &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: preference}
	if id != nil {
		specification.CapacityReservationTarget = &ec2types.CapacityReservationTarget{CapacityReservationId: id}
	}
	return specification
}

func privateDNSName(options *infrav1.PrivateDNSName) *ec2types.LaunchTemplatePrivateDnsNameOptionsRequest {
	if options == nil {
		return nil
	}
	request := &ec2types.LaunchTemplatePrivateDnsNameOptionsRequest{
		EnableResourceNameDnsAAAARecord: options.EnableResourceNameDNSAAAARecord,
		EnableResourceNameDnsARecord:    options.EnableResourceNameDNSARecord,
	}
	if options.HostnameType != nil {
		request.HostnameType = ec2types.HostnameType(*options.HostnameType)
	}
	return request
}

func tagSpecifications(tags map[string]string) []ec2types.LaunchTemplateTagSpecificationRequest {
	if len(tags) == 0 {
		return nil
	}
	return []ec2types.LaunchTemplateTagSpecificationRequest{
		{ResourceType: ec2types.ResourceTypeInstance, Tags: tagList(tags)},
		{ResourceType: ec2types.ResourceTypeVolume, Tags: tagList(tags)},
	}
}

// fingerprintsOf takes the fingerprints of launch template data, a request's or a response's. Encoded is its user data in base64.
func fingerprintsOf(data any, encoded string) (Fingerprints, error) {
	bootstrap, err := plainUserData(encoded)
	if err != nil {
		return Fingerprints{}, err
	}
	withoutUserData := data
	switch data := data.(type) {
	case *ec2types.RequestLaunchTemplateData:
		clone := *data
		clone.UserData = nil
		withoutUserData = &clone
	case *ec2types.ResponseLaunchTemplateData:
		clone := *data
		clone.UserData = nil
		withoutUserData = &clone
	}
	text, err := canonical(withoutUserData)
	if err != nil {
		return Fingerprints{}, err
	}
	masked := userdata.Masked(bootstrap, userdata.FormatCloudConfig)
	return Fingerprints{
		Config:    hash(32, "config/1", text, string(masked)),
		Bootstrap: hash(32, "bootstrap/1", string(bootstrap)),
	}, nil
}

// plainUserData decodes user data, and unpacks it if it is compressed: what a node reads does not depend on how well it was packed.
// What does not unpack is taken as it is: a version that somebody else broke must not stand in the way of making a better one.
func plainUserData(encoded string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("decoding user data: %w", err)
	}
	if plain, packed := userdata.Unpack(data); packed {
		return plain, nil
	}
	return data, nil
}

func stringOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// int32Or is nil for 0, which none of these fields allows. The API's schema keeps values within 32 bits.
func int32Or(value int64) *int32 {
	if value == 0 {
		return nil
	}
	narrow := int32(min(value, math.MaxInt32)) //nolint:gosec // bounded on this line
	return &narrow
}

func sortedUnique(values []string) []string {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

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
	"github.com/slipway-project/slipway/internal/optional"
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
	// SecurityGroupIDs are the groups of the cluster's nodes and the groups that the spec adds.
	SecurityGroupIDs []string
	// UserData is what goes to the instance, before base64. Empty when the config has no bootstrap data.
	UserData []byte
	// Bootstrap is the bootstrap data that the user data points to or wraps, and Data where it is.
	// They are empty where the user data is the bootstrap data.
	Bootstrap []byte
	Data      string
	// Tags are the tags of instances and volumes.
	Tags map[string]string
	// Interfaces are what spec.networkInterfaces leads to, in its order.
	Interfaces []Interface
	// TokensRequired has IMDS require session tokens where the spec does not mention IMDS.
	TokensRequired bool
}

// Interface contains what the lookups of a network interface of the spec found.
type Interface struct {
	// SubnetID is empty where the interface is where the instance is launched.
	SubnetID string
	// GroupIDs are the interface's own groups, empty where it has the groups of the config.
	GroupIDs []string
}

// Input is the data of a version, ready to be sent, with its fingerprints.
type Input struct {
	Fingerprints Fingerprints
	data         *ec2types.RequestLaunchTemplateData
	// bootstrap is the bootstrap data in base64: what a node is judged by, whether user data holds
	// it or points to it.
	bootstrap string
	// sent is the data as EC2 gets it, and text the canonical form of all of that, user data included.
	sent *ec2types.RequestLaunchTemplateData
	text string
}

// NewInput builds the request from a spec and what was resolved for it. No other function does, so
// there is no second list of fields: the fingerprints cover exactly what it sets.
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
		// The way in which a node gets its bootstrap data does not affect what it is.
		fetched, err := fingerprintsOf(data, bootstrap)
		if err != nil {
			return Input{}, err
		}
		fingerprints.Config = fetched.Config
	}
	fingerprints.Image, fingerprints.Data = resolved.ImageKey, resolved.Data
	made := Input{Fingerprints: fingerprints, data: data, bootstrap: bootstrap, sent: withoutFalse(data)}
	made.text, err = canonical(made.sent)
	return made, err
}

func requestData(spec *infrav1.AWSLaunchConfigSpec, resolved Resolved) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{
		ImageId:                          optional.Text(resolved.ImageID),
		InstanceType:                     ec2types.InstanceType(spec.InstanceType),
		IamInstanceProfile:               instanceProfile(spec.IamInstanceProfile),
		SecurityGroupIds:                 sortedUnique(resolved.SecurityGroupIDs),
		BlockDeviceMappings:              blockDevices(spec, resolved.RootDeviceName),
		MetadataOptions:                  metadataOptions(spec, resolved.TokensRequired),
		InstanceMarketOptions:            marketOptions(spec),
		CapacityReservationSpecification: capacityReservation(spec),
		PrivateDnsNameOptions:            privateDNSName(spec.PrivateDNSName),
		TagSpecifications:                tagSpecifications(resolved.Tags, spec.TagSpecifications),
		InstanceRequirements:             instanceRequirements(spec.InstanceRequirements),
		LicenseSpecifications:            licenses(spec.LicenseSpecifications),
		Placement:                        placement(spec.Placement),
		SecondaryInterfaces:              secondaryInterfaces(spec.SecondaryInterfaces),
	}
	if len(spec.NetworkInterfaces) > 0 {
		// EC2 takes security groups in one of the two places.
		data.SecurityGroupIds, data.NetworkInterfaces = nil, networkInterfaces(spec.NetworkInterfaces, resolved)
	}
	setOptions(data, &spec.LaunchConfigData)
	// An empty key name asks for no key, as in CAPA.
	if spec.SSHKeyName != nil {
		data.KeyName = optional.Text(*spec.SSHKeyName)
	}
	if spec.EnclaveOptions != nil && spec.EnclaveOptions.Enabled != nil {
		data.EnclaveOptions = &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: spec.EnclaveOptions.Enabled}
	}
	if len(resolved.UserData) > 0 {
		data.UserData = awssdk.String(base64.StdEncoding.EncodeToString(resolved.UserData))
	}
	return data
}

// instanceProfile takes a name or an ARN, as the API says; CAPA sends an ARN as a name, which EC2
// refuses at launch.
func instanceProfile(nameOrARN string) *ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest {
	if nameOrARN == "" {
		return nil
	}
	if strings.HasPrefix(nameOrARN, "arn:") {
		return &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: &nameOrARN}
	}
	return &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &nameOrARN}
}

// fingerprintsOf takes the fingerprints of launch template data, a request's or a response's.
// Encoded is its user data in base64.
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

// plainUserData decodes user data, and unpacks it if it is compressed: the compression does not
// affect what a node reads. Data that cannot be unpacked is taken as it is: a broken version must
// not prevent Slipway from creating a better one.
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

// int32Or returns nil for 0, which none of these fields allows. The API's schema keeps values
// within 32 bits.
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

package ec2

import (
	"encoding/base64"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// maxUserData limits the bytes of user data before it is encoded (User Guide, "Run commands when
// you launch an EC2 instance").
const maxUserData = 16384

// checkTemplateData refuses what EC2 refuses when a version is created. EC2 does not fully validate
// there (User Guide, "Restrictions for Amazon EC2 launch templates"): it refuses what is malformed
// in itself, such as an id that cannot be one or a value that an enumeration lacks, and lets pass
// what depends on other resources or on combinations, which a launch then fails on. That the line
// runs exactly here is an inference from the error codes that exist for launch templates alone
// (InvalidKernelId.Malformed, InvalidRamDiskId.Malformed, InvalidCpuCredits.Malformed, …) and from
// failures that users report at creation (InvalidUserData.Malformed).
func checkTemplateData(data *types.RequestLaunchTemplateData) error {
	if data == nil || shape.IsEmpty(reflect.ValueOf(*data)) {
		return sim.Errorf("MissingParameter", "No launch template data was provided. Launch template data is required to create a launch template.")
	}
	for _, check := range []func(*types.RequestLaunchTemplateData) error{
		checkTemplateUserData, checkTemplateEnums, checkTemplateIDs, checkTemplateRequirements, checkTemplateRequiredMembers, checkTemplateTags,
	} {
		if err := check(data); err != nil {
			return err
		}
	}
	return nil
}

func checkTemplateUserData(data *types.RequestLaunchTemplateData) error {
	_, err := decodeUserData(val(data.UserData), "InvalidUserData.Malformed")
	return err
}

// decodeUserData returns the bytes of user data, which must be base64 and of limited size. The code
// differs between launch templates (InvalidUserData.Malformed) and RunInstances
// (InvalidParameterValue), as users report.
func decodeUserData(encoded, code string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(encoded))
	if err != nil {
		return nil, sim.Errorf(code, "Invalid BASE64 encoding of user data.")
	}
	if len(raw) > maxUserData {
		return nil, sim.Errorf(code, "User data is limited to %d bytes", maxUserData)
	}
	return raw, nil
}

// checkTemplateEnums compares every value of an enumeration with the SDK's list of it. Instance
// types are left to the launch: a new one may come any day, and templates are made before the type
// is offered (inference).
func checkTemplateEnums(data *types.RequestLaunchTemplateData) error {
	return checkEnums(*data, "LaunchTemplateData")
}

// checkEnums refuses values that the SDK's enumerations lack, but for instance types.
func checkEnums(v any, path string) error {
	return shape.CheckEnums(v, path, checkEnum[string], reflect.TypeFor[types.InstanceType]())
}

var (
	kernelID      = idKind{prefix: "aki", malformed: "InvalidKernelId.Malformed"}
	ramDiskID     = idKind{prefix: "ari", malformed: "InvalidRamDiskId.Malformed"}
	hostID        = idKind{prefix: "h", malformed: "InvalidHostId.Malformed"}
	placementID   = idKind{prefix: "pg", malformed: "InvalidPlacementGroupId.Malformed"}
	interfaceID   = idKind{prefix: "eni", malformed: "InvalidNetworkInterfaceId.Malformed"}
	reservationID = idKind{"cr", "InvalidCapacityReservationId.Malformed", "InvalidCapacityReservationId.NotFound", "capacity reservation ID", ""}
	templateGroup = idKind{prefix: "sg", malformed: "InvalidSecurityGroupId.Malformed"}
)

var profileARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:instance-profile/.+$`)

// imageAlias is the prefix of an image that is specified by a Systems Manager parameter (User
// Guide, "Create a launch template", "Use a Systems Manager parameter instead of an AMI ID").
const imageAlias = "resolve:ssm:"

// templateImage matches the image ids that a template may have. Their length is checked when an
// instance is launched: moto's tests of launch templates, which are verified on AWS, store
// ami-def456.
var templateImage = regexp.MustCompile(`^ami-[0-9a-f]+$`)

// checkTemplateIDs refuses ids that are malformed. Whether they name something is seen at launch.
func checkTemplateIDs(data *types.RequestLaunchTemplateData) error {
	type reference struct {
		kind idKind
		id   *string
	}
	placement, reservation := val(data.Placement), val(val(data.CapacityReservationSpecification).CapacityReservationTarget)
	references := []reference{
		{kernelID, data.KernelId}, {ramDiskID, data.RamDiskId}, {hostID, placement.HostId}, {placementID, placement.GroupId},
		{reservationID, reservation.CapacityReservationId},
	}
	if id := val(data.ImageId); id != "" && !strings.HasPrefix(id, imageAlias) && !templateImage.MatchString(id) {
		return imageID.check(id)
	}
	for i := range data.SecurityGroupIds {
		references = append(references, reference{templateGroup, &data.SecurityGroupIds[i]})
	}
	for _, n := range data.NetworkInterfaces {
		references = append(references, reference{subnetID, n.SubnetId}, reference{interfaceID, n.NetworkInterfaceId})
		for i := range n.Groups {
			references = append(references, reference{templateGroup, &n.Groups[i]})
		}
	}
	for _, b := range data.BlockDeviceMappings {
		references = append(references, reference{snapshotID, val(b.Ebs).SnapshotId})
	}
	for _, r := range references {
		if val(r.id) == "" {
			continue
		}
		if err := r.kind.check(*r.id); err != nil {
			return err
		}
	}
	return checkTemplateNamedValues(data)
}

// checkTemplateNamedValues checks members that are strings in the SDK but have a form of their own.
func checkTemplateNamedValues(data *types.RequestLaunchTemplateData) error {
	if arn := val(val(data.IamInstanceProfile).Arn); arn != "" && !profileARN.MatchString(arn) {
		return sim.Errorf("InvalidIamInstanceProfileArn.Malformed", "The ARN '%s' for the IAM instance profile is malformed.", arn)
	}
	if credits := val(val(data.CreditSpecification).CpuCredits); credits != "" && credits != "standard" && credits != "unlimited" {
		return sim.Errorf("InvalidCpuCredits.Malformed", "The specified CpuCredit value '%s' is invalid. Valid values are standard and unlimited.", credits)
	}
	for _, n := range data.NetworkInterfaces {
		switch val(n.InterfaceType) {
		case "", "interface", "efa", "efa-only":
		default:
			return sim.Errorf("InvalidInterfaceType.Malformed", "'%s' is not a valid value for interface type. Enter a valid value and try again.", *n.InterfaceType)
		}
	}
	if limit := val(data.MetadataOptions).HttpPutResponseHopLimit; limit != nil && (*limit < 1 || *limit > 64) {
		return invalidValue("HttpPutResponseHopLimit", *limit, "Expecting a value between 1 and 64.")
	}
	return nil
}

// checkTemplateRequirements holds the rules of instance requirements in a launch template (SDK,
// RequestLaunchTemplateData.InstanceRequirements).
func checkTemplateRequirements(data *types.RequestLaunchTemplateData) error {
	r := data.InstanceRequirements
	switch {
	case r == nil:
		return nil
	case data.InstanceType != "":
		return invalidCombination("Either InstanceRequirements or InstanceType may be specified, but not both.")
	case strings.HasPrefix(val(data.ImageId), imageAlias):
		// User Guide, "Create a launch template": a parameter cannot be used together with instance
		// requirements.
		return invalidCombination("A Systems Manager parameter for the AMI may not be specified together with InstanceRequirements.")
	}
	return checkRequirements(r)
}

// checkRequirements holds the rules of instance requirements wherever they are given (SDK,
// InstanceRequirementsRequest).
func checkRequirements(r *types.InstanceRequirementsRequest) error {
	if err := checkRequiredRanges(r); err != nil {
		return err
	}
	switch {
	case len(r.AllowedInstanceTypes) > 0 && len(r.ExcludedInstanceTypes) > 0:
		return invalidCombination("Only one of AllowedInstanceTypes or ExcludedInstanceTypes may be specified.")
	case len(r.AllowedInstanceTypes) > 400 || len(r.ExcludedInstanceTypes) > 400:
		return sim.Errorf("InvalidParameterValue", "At most 400 instance types may be allowed or excluded.")
	case r.SpotMaxPricePercentageOverLowestPrice != nil && r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice != nil:
		return invalidCombination("Only one of SpotMaxPricePercentageOverLowestPrice or MaxSpotPriceAsPercentageOfOptimalOnDemandPrice may be specified.")
	case r.BaselinePerformanceFactors != nil && r.BaselinePerformanceFactors.Cpu != nil && len(r.BaselinePerformanceFactors.Cpu.References) > 1:
		// SDK, CpuPerformanceFactorRequest
		return sim.Errorf("InvalidParameterValue", "Only one instance family may be specified as a baseline performance factor.")
	}
	for _, name := range slices.Concat(r.AllowedInstanceTypes, r.ExcludedInstanceTypes) {
		if !instanceTypePattern.MatchString(name) {
			return invalidValue("InstanceTypes", name, "Expecting 1 to 30 letters, digits, periods, hyphens and asterisks.")
		}
	}
	return nil
}

// instanceTypePattern matches allowed and excluded instance types (EC2's API model,
// AllowedInstanceType).
var instanceTypePattern = regexp.MustCompile(`^[a-zA-Z0-9.*-]{1,30}$`)

// checkRequiredRanges wants the vCPUs and the memory, each with a minimum (SDK, InstanceRequirementsRequest).
func checkRequiredRanges(r *types.InstanceRequirementsRequest) error {
	switch {
	case r.VCpuCount == nil || r.VCpuCount.Min == nil:
		return missingParameter("VCpuCount")
	case r.MemoryMiB == nil || r.MemoryMiB.Min == nil:
		return missingParameter("MemoryMiB")
	case r.VCpuCount.Max != nil && *r.VCpuCount.Max < *r.VCpuCount.Min:
		return invalidValue("VCpuCount", *r.VCpuCount.Max, "The maximum must not be less than the minimum.")
	case r.MemoryMiB.Max != nil && *r.MemoryMiB.Max < *r.MemoryMiB.Min:
		return invalidValue("MemoryMiB", *r.MemoryMiB.Max, "The maximum must not be less than the minimum.")
	}
	return nil
}

// checkTemplateRequiredMembers wants what the API marks as required inside of structures.
func checkTemplateRequiredMembers(data *types.RequestLaunchTemplateData) error {
	if data.CreditSpecification != nil && val(data.CreditSpecification.CpuCredits) == "" {
		return missingParameter("CreditSpecification.CpuCredits")
	}
	for _, g := range data.ElasticGpuSpecifications { //nolint:staticcheck // deprecated, but EC2 still accepts and checks it
		if val(g.Type) == "" {
			return missingParameter("ElasticGpuSpecification.Type")
		}
	}
	for _, a := range data.ElasticInferenceAccelerators { //nolint:staticcheck // deprecated, but EC2 still accepts and checks it
		if val(a.Type) == "" {
			return missingParameter("ElasticInferenceAccelerator.Type")
		}
	}
	return nil
}

// templateTaggable lists the types of resources that a launch can tag (SDK,
// LaunchTemplateTagSpecificationRequest.ResourceType).
var templateTaggable = []types.ResourceType{
	types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface, types.ResourceTypeSpotInstancesRequest,
}

func checkTemplateTags(data *types.RequestLaunchTemplateData) error {
	_, err := tagsFor(shape.Convert[[]types.TagSpecification](data.TagSpecifications), types.ResourceTypeInstance, templateTaggable...)
	return err
}

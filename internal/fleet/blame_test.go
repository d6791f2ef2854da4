package fleet_test

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
)

// TestBlame holds what each error of a launch is about: only capacity and quotas of instances keep
// others from an offering.
func TestBlame(t *testing.T) {
	t.Parallel()
	const zone = "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1e)."
	for _, row := range []struct {
		reason, code, message string
		want                  fleet.Blame
	}{
		{"capacity", "InsufficientInstanceCapacity", "", fleet.BlameOffering},
		{"capacity, as a failure of the server", "Server.InsufficientInstanceCapacity", "", fleet.BlameOffering},
		{"capacity of reserved instances", "InsufficientReservedInstanceCapacity", "", fleet.BlameOffering},
		{"Spot pool without capacity", "UnfulfillableCapacity", "", fleet.BlameOffering},
		{"Spot price above the bid", "SpotMaxPriceTooLow", "", fleet.BlameOffering},
		{"quota of Spot Instances", "MaxSpotInstanceCountExceeded", "", fleet.BlameOffering},
		{"quota of vCPUs", "VcpuLimitExceeded", "", fleet.BlameOffering},
		{"quota of instances of a type", "InstanceLimitExceeded", "", fleet.BlameOffering},
		{"a type that the zone lacks", "Unsupported", zone, fleet.BlameOffering},
		{"a type that the zone lacks, of a fleet", "InvalidFleetConfiguration", zone, fleet.BlameOffering},
		{"a type that does not exist", "InvalidInstanceType", "", fleet.BlameOffering},
		{"a subnet without addresses", "InsufficientFreeAddressesInSubnet", "", fleet.BlameSubnet},
		{"a subnet that does not exist", "InvalidSubnetID.NotFound", "", fleet.BlameSubnet},
		{"no such key pair", "InvalidKeyPair.NotFound", "", fleet.BlameTemplate},
		{"no such security group", "InvalidGroup.NotFound", "", fleet.BlameTemplate},
		{"no such security group, by id", "InvalidSecurityGroupID.NotFound", "", fleet.BlameTemplate},
		{"no such instance profile", "InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", fleet.BlameTemplate},
		{"no such placement group", "InvalidPlacementGroup.Unknown", "", fleet.BlameTemplate},
		{"no such snapshot", "InvalidSnapshot.NotFound", "", fleet.BlameTemplate},
		{"no such image", "InvalidAMIID.NotFound", "", fleet.BlameTemplate},
		{"a deregistered image", "InvalidAMIID.Unavailable", "", fleet.BlameTemplate},
		{"groups of another network", "InvalidParameter", "", fleet.BlameTemplate},
		{"a combination that EC2 refuses", "InvalidParameterCombination", "", fleet.BlameTemplate},
		{"a volume that EC2 refuses", "InvalidBlockDeviceMapping", "", fleet.BlameTemplate},
		{"a market that is not the fleet's", "InvalidFleetConfiguration", "The launch template specifies the market type spot", fleet.BlameTemplate},
		{"a feature that the type lacks", "Unsupported", "The instance type t3.nano does not support Elastic Fabric Adapters.", fleet.BlameTemplate},
		{"an image of the marketplace", "OptInRequired", "", fleet.BlameTemplate},
		{"an image that is not shared", "AuthFailure", "Not authorized for images: [ami-0123]", fleet.BlameTemplate},
		{"a host without room", "InsufficientCapacityOnHost", "", fleet.BlameTemplate},
		{"a used-up reservation", "ReservationCapacityExceeded", "", fleet.BlameTemplate},
		{"more interfaces than the type takes", "AttachmentLimitExceeded", "Interface count 4 exceeds the limit for t3.micro", fleet.BlameTemplate},
		{"an error of tomorrow", "SomethingNew", "", fleet.BlameTemplate},
		{"no such launch template", "InvalidLaunchTemplateId.NotFound", "", fleet.BlameMissingTemplate},
		{"no such launch template, of a fleet", "InvalidLaunchTemplateName.NotFoundException", "", fleet.BlameMissingTemplate},
		{"no such version", "InvalidLaunchTemplateId.VersionNotFound", "", fleet.BlameMissingTemplate},
		{"no permission", "UnauthorizedOperation", "", fleet.BlameAccount},
		{"Spot without its role", "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", fleet.BlameAccount},
		{"credentials that have ended", "ExpiredToken", "", fleet.BlameAccount},
		{"quota of volumes", "VolumeLimitExceeded", "", fleet.BlameAccount},
		{"throttling", "RequestLimitExceeded", "", fleet.BlameMoment},
		{"throttling of a service", "Throttling", "", fleet.BlameMoment},
		{"too much data", "BandwidthLimitExceeded", "", fleet.BlameMoment},
		{"a failure inside EC2", "InternalError", "", fleet.BlameMoment},
		{"a failure inside EC2, of a fleet", "Server.InternalError", "", fleet.BlameMoment},
		{"something else goes on", "IncorrectState", "", fleet.BlameMoment},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := fleet.BlameFor(row.code, row.message); got != row.want {
				t.Errorf("%s is about %s, want %s", row.code, got, row.want)
			}
		})
	}
}

// TestReach holds which errors of a launch template, or of the account, hold for every offering,
// and which for an instance type wherever it is.
func TestReach(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, code, message string
		forAll, ofType        bool
	}{
		{"no such key pair", "InvalidKeyPair.NotFound", "", true, false},
		{"no such security group", "InvalidGroup.NotFound", "", true, false},
		{"no such placement group", "InvalidPlacementGroup.Unknown", "", true, false},
		{"no such image", "InvalidAMIID.NotFound", "", true, false},
		{"a deregistered image", "InvalidAMIID.Unavailable", "", true, false},
		{"no such instance profile", "InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", true, false},
		{"an image that is not shared", "AuthFailure", "Not authorized for images: [ami-0123]", true, false},
		{"credentials that have ended", "ExpiredToken", "", true, false},
		{"a quota of volumes", "VolumeLimitExceeded", "", true, false},
		{"the template's own subnet is full", "InsufficientFreeAddressesInSubnet", "", true, false},
		{"no permission, for the type perhaps", "UnauthorizedOperation", "", false, false},
		{"a feature that the type lacks", "Unsupported", "The instance type t3.large does not support AWS Nitro Enclaves.", false, true},
		{"a market or a zone, perhaps", "Unsupported", "The requested configuration is currently not supported.", false, false},
		{"a combination", "InvalidParameterCombination", "", false, true},
		{"more interfaces than the type takes", "AttachmentLimitExceeded", "Interface count 4 exceeds the limit", false, true},
		{"a value that the type does not take", "InvalidParameterValue", "Value (8) for parameter CoreCount is invalid. It is not supported by the instance type t3.large.", false, true},
		{"a value", "InvalidParameterValue", "The architecture 'arm64' does not match.", false, false},
		{"credits", "InstanceCreditSpecification.NotSupported", "", false, true},
		{"groups of another network than the subnet's", "InvalidParameter", "", false, false},
		{"an error of tomorrow", "SomethingNew", "", false, false},
	} {
		if forAll, ofType := fleet.HoldsForAll(row.code, row.message), fleet.OfType(row.code, row.message, "t3.large"); forAll != row.forAll || ofType != row.ofType {
			t.Errorf("%s: it holds for all: %v, and for the type: %v", row.reason, forAll, ofType)
		}
	}
}

// TestSpotRole holds that the lack of the role for Spot Instances is about these alone.
func TestSpotRole(t *testing.T) {
	t.Parallel()
	err := &smithy.GenericAPIError{Code: "AuthFailure.ServiceLinkedRoleCreationNotPermitted", Message: "no"}
	for spot, want := range map[bool]fleet.Blame{true: fleet.BlameSpot, false: fleet.BlameAccount} {
		if got := (fleet.Request{Spot: spot}).VerdictOf(err).Blame; got != want {
			t.Errorf("for Spot Instances (%v) it is about %s, want %s", spot, got, want)
		}
	}
}

// TestVerdict holds what one launch with several failures came to nothing for.
func TestVerdict(t *testing.T) {
	t.Parallel()
	failed := func(blames ...fleet.Blame) (launched fleet.Launched) {
		for _, blame := range blames {
			launched.Failures = append(launched.Failures, fleet.Failure{Blame: blame, Code: string(blame), Message: "because"})
		}
		return launched
	}
	some := failed(fleet.BlameTemplate)
	some.Instances = []fleet.Instance{{ID: "i-1"}}
	for _, row := range []struct {
		reason string
		given  fleet.Launched
		want   fleet.Verdict
	}{
		{"nothing failed", fleet.Launched{}, fleet.Verdict{}},
		{"another offering may do", failed(fleet.BlameTemplate, fleet.BlameOffering), fleet.Verdict{Blame: fleet.BlameOffering, Message: "Offering: because"}},
		{"another subnet may do", failed(fleet.BlameMoment, fleet.BlameSubnet), fleet.Verdict{Blame: fleet.BlameSubnet, Message: "Subnet: because"}},
		{"all fail for the launch template", failed(fleet.BlameTemplate, fleet.BlameTemplate), fleet.Verdict{Blame: fleet.BlameTemplate, Message: "Template: because"}},
		{"the caller may not", failed(fleet.BlameMoment, fleet.BlameAccount), fleet.Verdict{Blame: fleet.BlameAccount, Message: "Account: because"}},
		{"something was launched", some, fleet.Verdict{Message: "Template: because"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := row.given.Verdict(); got != row.want {
				t.Errorf("the verdict is %+v, want %+v", got, row.want)
			}
		})
	}
}

// TestDryRun holds that a dry run finds what a launch template names and does not exist, launches
// nothing, and takes templates with network interfaces of their own.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change ec2types.RequestLaunchTemplateData
		want   fleet.Blame
	}{
		{"nothing is wrong", ec2types.RequestLaunchTemplateData{EbsOptimized: awssdk.Bool(true)}, ""},
		{"a network interface", ec2types.RequestLaunchTemplateData{NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{DeviceIndex: awssdk.Int32(0), AssociatePublicIpAddress: awssdk.Bool(false)},
		}}, ""},
		{"no such key pair", ec2types.RequestLaunchTemplateData{KeyName: awssdk.String("missing")}, fleet.BlameTemplate},
		{"no such security group", ec2types.RequestLaunchTemplateData{SecurityGroupIds: []string{"sg-00000000000000000"}}, fleet.BlameTemplate},
		{"no such profile", ec2types.RequestLaunchTemplateData{IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: awssdk.String("missing")}}, fleet.BlameTemplate},
		{"no such placement group", ec2types.RequestLaunchTemplateData{Placement: &ec2types.LaunchTemplatePlacementRequest{GroupName: awssdk.String("missing")}}, fleet.BlameTemplate},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			_, err := p.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
				LaunchTemplateId: &p.template, SourceVersion: awssdk.String("1"), LaunchTemplateData: &row.change,
			})
			if err != nil {
				t.Fatal(err)
			}
			request := p.request("one", 1)
			request.Version = 2
			dry := fleet.DryRuns{Fleets: p.Fleets, Versions: discovery.New(p.clients, p.clock)}
			if verdict := fleet.VerdictOf(dry.DryRun(t.Context(), request)); verdict.Blame != row.want {
				t.Errorf("the answer is %+v, want %q", verdict, row.want)
			}
			if err := dry.DryRunFleet(t.Context(), request); err != nil {
				t.Errorf("the fleet is refused: %v", err)
			}
			if len(p.running()) != 0 {
				t.Error("an instance runs")
			}
		})
	}
}

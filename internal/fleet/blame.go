package fleet

import (
	"strings"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/errorcode"
)

// Blame says what an error of a launch is about. It decides which offerings or templates are
// avoided because of the error, and by which provisioners.
type Blame string

const (
	// BlameOffering is for an instance type in a zone that AWS does not sell now to the whole
	// account: capacity and quotas of instances.
	BlameOffering Blame = "Offering"
	// BlameSubnet is for a subnet that has no free address, or does not exist. Others in its zone may do.
	BlameSubnet Blame = "Subnet"
	// BlameTemplate is for what a version of a launch template names or asks for. Other launch
	// templates are not affected.
	BlameTemplate Blame = "Template"
	// BlameMissingTemplate is for a launch template, or a version, that does not exist.
	BlameMissingTemplate Blame = "MissingTemplate"
	// BlameAccount is for what the caller may not do, and for quotas other than quotas of
	// instances.
	BlameAccount Blame = "Account"
	// BlameSpot is for the service-linked role of Spot, which the account lacks and the caller may
	// not create. No Spot Instance can be launched in the account; On-Demand Instances can.
	BlameSpot Blame = "Spot"
	// BlameMoment is for throttling and for failures inside AWS.
	BlameMoment Blame = "Moment"
)

// spotRoleMissing is the code of a launch of Spot Instances in an account without the
// service-linked role AWSServiceRoleForEC2Spot (AWS: EC2 user guide, "Service-linked role for Spot
// Instance requests").
const spotRoleMissing = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

// instanceQuotas bound how many instances of a type an account has (AWS: EC2 API reference, errors-overview).
var instanceQuotas = map[string]bool{
	"InstanceLimitExceeded": true, "VcpuLimitExceeded": true, "MaxSpotInstanceCountExceeded": true, "SpotInstanceLimitExceeded": true,
}

// ofHostsAndReservations are codes of capacity that only the launch template at hand uses: its
// dedicated host, or its Capacity Reservation.
var ofHostsAndReservations = map[string]bool{
	"InsufficientHostCapacity": true, "InsufficientCapacityOnHost": true, "ReservationCapacityExceeded": true,
}

// attachmentLimit is the code of an instance type that takes fewer network interfaces or volumes
// than the launch template has (AWS: EC2 API reference, errors-overview). It is no quota of the
// account.
const attachmentLimit = "AttachmentLimitExceeded"

// ofTypesAndZones are codes of an instance type, or of a zone, that does not exist or cannot be used.
var ofTypesAndZones = map[string]bool{
	"InvalidInstanceType": true, "InvalidAvailabilityZone": true, "InvalidZone.NotFound": true,
}

// BlameFor decides from an error code and message of EC2. An error that is not known is the launch
// template's: there it does the least harm to others.
func BlameFor(code, message string) Blame {
	// Fleets repeat answers of other parts of EC2, which may say whose fault it is.
	code = strings.TrimPrefix(strings.TrimPrefix(code, "Client."), "Server.")
	switch {
	case strings.HasPrefix(code, "InvalidLaunchTemplate") && strings.Contains(code, "NotFound"):
		return BlameMissingTemplate
	case code == noFreeAddress, IsSubnetMissing(code):
		return BlameSubnet
	case ofHostsAndReservations[code], code == attachmentLimit:
		return BlameTemplate
	case errorcode.IsCapacity(code), instanceQuotas[code], ofTypesAndZones[code]:
		return BlameOffering
	case (code == "Unsupported" || code == "InvalidFleetConfiguration") && strings.Contains(message, "in your requested Availability Zone"):
		return BlameOffering
	case ofTheImage(code, message):
		return BlameTemplate
	case errorcode.IsAccessDenied(code), strings.HasPrefix(code, "AuthFailure."):
		return BlameAccount
	case errorcode.IsTemporary(code), failuresInside[code]:
		return BlameMoment
	case strings.HasSuffix(code, "LimitExceeded"):
		return BlameAccount
	}
	return BlameTemplate
}

// blameFor decides for a launch. It knows the market, which a code does not say.
func (r Request) blameFor(code, message string) Blame {
	if r.Spot && strings.TrimPrefix(code, "Client.") == spotRoleMissing {
		return BlameSpot
	}
	return BlameFor(code, message)
}

// noFreeAddress is the code of a launch into a subnet that has none.
const noFreeAddress = "InsufficientFreeAddressesInSubnet"

// IsSubnetMissing reports whether a code says that a subnet does not exist, or cannot be launched
// into.
func IsSubnetMissing(code string) bool {
	return strings.HasPrefix(strings.TrimPrefix(code, "Client."), "InvalidSubnet")
}

// IsInstanceQuota reports whether a code says that the account has as many instances of a kind, or
// vCPUs of them, as its quota allows.
func IsInstanceQuota(code string) bool {
	return instanceQuotas[strings.TrimPrefix(code, "Client.")]
}

// HoldsForAll reports whether an error that is the launch template's or the account's holds
// whatever the instance type, the zone, and the capacity type: something that the launch template
// names does not exist, the credentials are not valid, or a quota of the account is used up. Any
// other error may be about one of these: a feature that an instance type lacks, for example, or a
// condition in an IAM policy.
func HoldsForAll(code, message string) bool {
	code = strings.TrimPrefix(strings.TrimPrefix(code, "Client."), "Server.")
	switch {
	case strings.Contains(code, "NotFound"), strings.HasSuffix(code, ".Malformed"), strings.HasSuffix(code, ".Unknown"), strings.HasPrefix(code, "InvalidAMIID"):
		return true
	case code == "InvalidParameterValue" && strings.Contains(strings.ToLower(message), "instance profile"):
		return true
	case ofTheImage(code, message), code == noFreeAddress:
		return true
	case code == "UnauthorizedOperation", code == "AccessDenied", code == "AccessDeniedException":
		return false
	}
	return BlameFor(code, message) == BlameAccount
}

// OfType reports whether an error names the instance type, or has a code by which EC2 refuses a
// feature or a combination that depends on it. It then holds for the type in every zone. EC2
// answers "The requested configuration is currently not supported" for a type in one zone or market
// too.
func OfType(code, message, instanceType string) bool {
	switch strings.TrimPrefix(code, "Client.") {
	case "Unsupported":
		return !strings.Contains(message, "requested configuration")
	case "UnsupportedOperation", "UnsupportedHibernationConfiguration", "InvalidParameterCombination", "InstanceCreditSpecification.NotSupported", attachmentLimit:
		return true
	}
	return instanceType != "" && strings.Contains(message, instanceType)
}

// failuresInside are codes of failures inside AWS (AWS: EC2 API reference, errors-overview, "Server
// error codes").
var failuresInside = map[string]bool{
	"InternalError": true, "InternalFailure": true, "InternalServerError": true, "ServiceUnavailable": true, "Unavailable": true, "RequestExpired": true,
}

// ofTheImage reports whether a refusal to authorize is about the image alone: one that is not
// shared with the account ("Not authorized for images: [ami-…]"), or whose terms the account has
// not accepted.
func ofTheImage(code, message string) bool {
	return code == "OptInRequired" || code == "AuthFailure" && strings.Contains(message, "images")
}

// Verdict says why there is nothing, or less than was asked for.
type Verdict struct {
	// Blame is empty if something was launched, or if EC2 gives no reason.
	Blame Blame
	// Message has EC2's code and message.
	Message string
}

// gravity orders what may be to blame for one launch: what another offering may mend comes before
// what holds for all of them.
var gravity = []Blame{BlameOffering, BlameSubnet, BlameSpot, BlameMissingTemplate, BlameTemplate, BlameAccount, BlameMoment}

// Verdict returns why nothing was launched, or less than was asked for.
func (l Launched) Verdict() Verdict {
	for _, blame := range gravity {
		for _, failure := range l.Failures {
			if failure.Blame != blame {
				continue
			}
			if len(l.Instances) > 0 {
				blame = ""
			}
			return Verdict{blame, failure.Code + ": " + failure.Message}
		}
	}
	return Verdict{}
}

// VerdictOf returns why the call of a request failed; the Blame is empty if it did not, or if EC2
// did not answer.
func (r Request) VerdictOf(err error) Verdict {
	verdict := VerdictOf(err)
	if verdict.Blame == BlameAccount {
		verdict.Blame = r.blameFor(aws.Code(err), err.Error())
	}
	return verdict
}

// VerdictOf returns why a call failed; the Blame is empty if it did not, or if EC2 did not answer.
func VerdictOf(err error) Verdict {
	message := aws.AnswerMessage(err)
	switch code := aws.Code(err); {
	case err == nil:
		return Verdict{}
	case aws.IsThrottled(err):
		return Verdict{BlameMoment, message}
	case code == "":
		return Verdict{}
	case aws.IsLaunchTemplateNotFound(err):
		return Verdict{BlameMissingTemplate, message}
	default:
		return Verdict{BlameFor(code, err.Error()), message}
	}
}

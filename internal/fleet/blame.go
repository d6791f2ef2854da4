package fleet

import (
	"strings"

	"github.com/slipway-project/slipway/internal/aws"
)

// Blame is what an error of a launch is about. It decides what is left alone because of the error, and for whom.
type Blame string

const (
	// BlameOffering is for an instance type in a zone that AWS does not sell now, to anybody in the account: capacity and quotas of instances.
	BlameOffering Blame = "Offering"
	// BlameSubnet is for a subnet that has no free address, or does not exist. Others in its zone may do.
	BlameSubnet Blame = "Subnet"
	// BlameTemplate is for what a version of a launch template names or asks for. Other launch templates are not affected.
	BlameTemplate Blame = "Template"
	// BlameMissingTemplate is for a launch template, or a version, that does not exist.
	BlameMissingTemplate Blame = "MissingTemplate"
	// BlameAccount is for what the caller may not do, and for quotas other than those of instances.
	BlameAccount Blame = "Account"
	// BlameMoment is for throttling and for failures inside AWS.
	BlameMoment Blame = "Moment"
)

// instanceQuotas bound how many instances of a type an account has (AWS: EC2 API reference, errors-overview).
var instanceQuotas = map[string]bool{
	"InstanceLimitExceeded": true, "VcpuLimitExceeded": true, "MaxSpotInstanceCountExceeded": true, "SpotInstanceLimitExceeded": true,
}

// ofHostsAndReservations are codes of capacity that only the launch template at hand uses: its dedicated host, or its Capacity Reservation.
var ofHostsAndReservations = map[string]bool{
	"InsufficientHostCapacity": true, "InsufficientCapacityOnHost": true, "ReservationCapacityExceeded": true,
}

// ofTypesAndZones are codes of an instance type, or of a zone, that does not exist or cannot be used.
var ofTypesAndZones = map[string]bool{
	"InvalidInstanceType": true, "InvalidAvailabilityZone": true, "InvalidZone.NotFound": true,
}

// BlameFor decides from an error code and message of EC2. An error that is not known is the launch template's: there it does the least harm to others.
func BlameFor(code, message string) Blame {
	// Fleets repeat answers of other parts of EC2, which may say whose fault it is.
	code = strings.TrimPrefix(strings.TrimPrefix(code, "Client."), "Server.")
	switch {
	case strings.HasPrefix(code, "InvalidLaunchTemplate") && strings.Contains(code, "NotFound"):
		return BlameMissingTemplate
	case code == "InsufficientFreeAddressesInSubnet", strings.HasPrefix(code, "InvalidSubnet"):
		return BlameSubnet
	case ofHostsAndReservations[code]:
		return BlameTemplate
	case aws.IsCapacityCode(code), instanceQuotas[code], ofTypesAndZones[code]:
		return BlameOffering
	case (code == "Unsupported" || code == "InvalidFleetConfiguration") && strings.Contains(message, "in your requested Availability Zone"):
		return BlameOffering
	case ofTheImage(code, message):
		return BlameTemplate
	case aws.IsAccessCode(code), strings.HasPrefix(code, "AuthFailure."):
		return BlameAccount
	case aws.EndsByItself(code), failuresInside[code]:
		return BlameMoment
	case strings.HasSuffix(code, "LimitExceeded"):
		return BlameAccount
	}
	return BlameTemplate
}

// failuresInside are codes of failures inside AWS (AWS: EC2 API reference, errors-overview, "Server error codes").
var failuresInside = map[string]bool{
	"InternalError": true, "InternalFailure": true, "InternalServerError": true, "ServiceUnavailable": true, "Unavailable": true, "RequestExpired": true,
}

// ofTheImage reports whether a refusal to authorize is about the image alone: one that is not shared with the account ("Not authorized for images: [ami-…]"), or
// whose terms the account has not accepted.
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

// gravity orders what may be to blame for one launch: what another offering may mend comes before what holds for all of them.
var gravity = []Blame{BlameOffering, BlameSubnet, BlameMissingTemplate, BlameTemplate, BlameAccount, BlameMoment}

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

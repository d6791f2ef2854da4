// Package errorcode sorts the error codes that AWS answers with, as errors or as part of an answer: by
// what is wrong, and so by who has to act before the call succeeds.
package errorcode

import (
	"slices"
	"strings"
)

// The codes are EC2's (AWS: EC2 API reference, errors-overview), Auto Scaling's (its API reference,
// Errors of each action, and the fault types of the SDK), SSM's and STS's.
var (
	throttle = set(
		"RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
		"RequestThrottledException", "TooManyRequestsException", "RateExceeded", "EC2ThrottledException", "SlowDown",
		"BandwidthLimitExceeded",
	)
	notFound = set(
		// DescribeInstanceTypes: "The following supplied instance types do not exist: [...]"
		"InvalidInstanceType",
		"InvalidAMIID.Unavailable",                  // deregistered
		"ParameterNotFound",                         // SSM
		"ParameterVersionNotFound",                  // SSM
		"ParameterVersionLabelNotFound",             // SSM
		"NoSuchEntity", "ResourceNotFoundException", // IAM, EKS
		"NoSuchBucket", "NoSuchKey", "NotFound", // S3; the last is all that HEAD returns
	)
	alreadyExists = set(
		"AlreadyExists", // Auto Scaling
		"EntityAlreadyExists",
		"ParameterAlreadyExists", // SSM
		"InvalidLaunchTemplateName.AlreadyExistsException",
	)
	conflict = set(
		// Auto Scaling
		"ResourceContention", "ScalingActivityInProgress", "InstanceRefreshInProgress", "IdempotentCallInProgress",
		"IncorrectState", "IncorrectInstanceState", "ConcurrentTagAccess", "ConcurrentCreateDelete", // EC2
		"TooManyUpdates", "OperationAborted", // SSM, S3
	)
	inUse = set(
		"ResourceInUse", // Auto Scaling
		"ResourceInUseException", "DependencyViolation", "InvalidGroup.InUse", "DeleteConflict",
	)
	access = set(
		"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "AuthFailure", "Blocked", "ExpiredToken",
		"ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId", "InvalidIdentityToken", "MissingAuthenticationToken",
		"OptInRequired", "PendingVerification", "SignatureDoesNotMatch", "UnrecognizedClientException",
		"Forbidden", // S3, which returns no details to HEAD
	)
	sessionOver = set("ExpiredToken", "ExpiredTokenException", "RequestExpired")
	capacity    = set(
		"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity",
		"InsufficientCapacityOnHost", "InsufficientFreeAddressesInSubnet", "InsufficientAddressCapacity",
		"InsufficientVolumeCapacity", "SpotMaxPriceTooLow", "UnfulfillableCapacity", "ReservationCapacityExceeded",
	)
)

func set(codes ...string) map[string]bool {
	members := make(map[string]bool, len(codes))
	for _, code := range codes {
		members[code] = true
	}
	return members
}

// IsThrottled reports whether the request rate was too high.
func IsThrottled(code string) bool { return throttle[code] }

// IsNotFound reports whether what was named does not exist, or is not visible yet.
func IsNotFound(code string) bool {
	return notFound[code] || strings.HasSuffix(code, ".NotFound") || strings.HasSuffix(code, ".NotFoundException")
}

// IsAlreadyExists reports whether the name is taken.
func IsAlreadyExists(code string) bool {
	return alreadyExists[code] || strings.HasSuffix(code, ".Duplicate") || strings.HasSuffix(code, ".AlreadyExists")
}

// IsConflict reports whether another operation on the resource is in progress.
func IsConflict(code string) bool { return conflict[code] }

// IsInUse reports whether a resource cannot be removed or changed because another resource needs
// it.
func IsInUse(code string) bool { return inUse[code] }

// IsAccessDenied reports whether the credentials are not valid or do not allow the call.
func IsAccessDenied(code string) bool { return access[code] }

// IsSessionOver reports whether the session of the credentials has expired by AWS's clock.
func IsSessionOver(code string) bool { return sessionOver[code] }

// IsCapacity reports whether AWS currently has no capacity.
func IsCapacity(code string) bool { return capacity[code] }

// IsInstanceCapacity reports whether EC2 lacks capacity for instances, as opposed to addresses of a
// subnet, or to capacity at the price that is offered.
func IsInstanceCapacity(code string) bool {
	return capacity[code] && !slices.Contains([]string{"InsufficientFreeAddressesInSubnet", "InsufficientAddressCapacity", "SpotMaxPriceTooLow"}, code)
}

// IsQuota reports whether the account has as many of these as it may have.
func IsQuota(code string) bool {
	if throttle[code] {
		return false
	}
	return strings.HasSuffix(code, "LimitExceeded") || strings.HasSuffix(code, "LimitExceededException") ||
		code == "MaxSpotInstanceCountExceeded" || code == "ServiceQuotaExceededException"
}

// IsTemporary reports whether the error resolves without a user: AWS finishes or frees something,
// or the call is retried.
func IsTemporary(code string) bool {
	return conflict[code] || inUse[code] || capacity[code] || throttle[code]
}

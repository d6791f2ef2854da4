package errorcode

import "testing"

// TestCodes holds what each code says about who has to act.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, code string
		is           func(string) bool
		want         bool
	}{
		{"the request rate has a code that ends like a quota", "RequestLimitExceeded", IsQuota, false},
		{"the request rate", "RequestLimitExceeded", IsThrottled, true},
		{"a quota of EC2", "VcpuLimitExceeded", IsQuota, true},
		{"a quota of EKS", "ResourceLimitExceededException", IsQuota, true},
		{"a quota does not end by itself", "VcpuLimitExceeded", IsTemporary, false},
		{"instances are missing", "InsufficientInstanceCapacity", IsInstanceCapacity, true},
		{"addresses are missing, not instances", "InsufficientFreeAddressesInSubnet", IsInstanceCapacity, false},
		{"addresses become free", "InsufficientFreeAddressesInSubnet", IsTemporary, true},
		{"another operation ends", "ScalingActivityInProgress", IsTemporary, true},
		{"a user has to allow the call", "UnauthorizedOperation", IsTemporary, false},
		{"a user has to allow the call", "UnauthorizedOperation", IsAccessDenied, true},
		{"EC2's codes end alike", "InvalidInstanceID.NotFound", IsNotFound, true},
		{"EC2's codes for launch templates end alike", "InvalidLaunchTemplateName.NotFoundException", IsNotFound, true},
		{"a name is taken", "InvalidKeyPair.Duplicate", IsAlreadyExists, true},
		{"no code, no answer", "", IsTemporary, false},
	} {
		if got := row.is(row.code); got != row.want {
			t.Errorf("%s: %q gives %v", row.reason, row.code, got)
		}
	}
}

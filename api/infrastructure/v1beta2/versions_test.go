package v1beta2_test

import (
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestListedVersions holds what is found of a version in the status of an AWSLaunchConfig, by its number.
func TestListedVersions(t *testing.T) {
	t.Parallel()
	status := &infrav1.AWSLaunchConfigStatus{Versions: []infrav1.LaunchTemplateVersionStatus{
		{Number: 7, ConfigFingerprint: "b"}, {Number: 9, ConfigFingerprint: "a"}, {Number: 2},
	}}
	for _, row := range []struct {
		reason, fingerprint string
		number              int64
		listed              bool
	}{
		{"the first of the list", "b", 7, true},
		{"one that follows", "a", 9, true},
		{"one whose configuration is not known", "", 2, true},
		{"one that is too old to be listed", "", 1, false},
		{"none is wanted yet", "", 0, false},
	} {
		found := status.FindVersion(row.number)
		if (found != nil) != row.listed || found != nil && found.Number != row.number {
			t.Errorf("%s: version %d is found as %+v", row.reason, row.number, found)
		}
		if got := status.FingerprintOf(row.number); got != row.fingerprint {
			t.Errorf("%s: version %d has the fingerprint %q, want %q", row.reason, row.number, got, row.fingerprint)
		}
	}
	if newest := status.NewestVersion(); newest != 9 {
		t.Errorf("the newest version is %d, want 9", newest)
	}
	if newest := (&infrav1.AWSLaunchConfigStatus{}).NewestVersion(); newest != 0 {
		t.Errorf("the newest version of none is %d", newest)
	}
	status.FindVersion(7).Reason = "changed"
	if status.Versions[0].Reason != "changed" {
		t.Error("what FindVersion returns is a copy")
	}
}

package simulation

import (
	"slices"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"
)

// TestTooManyVersions holds which versions are too many once everything is as it must be. Slipway
// deletes them sooner or later.
func TestTooManyVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// types are the instance types of the versions, the oldest first, and wanted is the number
		// of the default version.
		types  string
		wanted int64
		keep   int32
		runs   int64
		pinned int64
		want   string
	}{
		{"as many configurations as are to be kept", "large xlarge", 2, 2, 2, 0, ""},
		{"one configuration too many", "small large xlarge", 3, 2, 3, 0, "versions with 3 configurations"},
		{"the wanted one is older than what is to be kept", "large xlarge", 1, 1, 1, 0, ""},
		{"versions that differ by the join token stay alone", "large large large", 3, 1, 3, 0, ""},
		{"but not with an older wanted configuration", "xlarge large xlarge", 2, 1, 2, 0, "versions [1]"},
		{"unless an instance runs it", "large large xlarge", 2, 1, 1, 0, ""},
		{"unless the pool is pinned to it, and a newer version has the present join token", "large large xlarge", 2, 1, 2, 1, ""},
		{"not if the pool is pinned to another one", "large large large xlarge", 3, 1, 3, 2, "versions [1]"},
	} {
		wanted := configuration{}
		var versions []ec2types.LaunchTemplateVersion
		for i, instanceType := range strings.Fields(row.types) {
			number := int64(i + 1)
			if number == row.wanted {
				wanted.instanceType = instanceType
			}
			versions = append(versions, ec2types.LaunchTemplateVersion{
				LaunchTemplateId: ptr.To("lt-1"), VersionNumber: &number, DefaultVersion: ptr.To(number == row.wanted),
				LaunchTemplateData: &ec2types.ResponseLaunchTemplateData{InstanceType: ec2types.InstanceType(instanceType)},
			})
		}
		slices.Reverse(versions)
		known := facts{instances: map[string]*instance{"i-1": {template: "lt-1", version: row.runs}}}
		err := tooManyVersions(&row.keep, &row.pinned, wanted, versions, known.runs)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.reason, err, row.want)
		}
	}
}

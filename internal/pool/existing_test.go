package pool

import (
	"strings"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// A launch template that Slipway does not own must satisfy the pool's own rules, and have
// everything that the pool's kind needs.
func TestUnfitExisting(t *testing.T) {
	t.Parallel()
	gap := func(kind string, blocking bool) []infrav1.LaunchConfigGap {
		return []infrav1.LaunchConfigGap{{For: kind, Member: "ImageId", Blocking: blocking, Message: "it names no image"}}
	}
	for _, row := range []struct {
		reason   string
		resolved *infrav1.ResolvedLaunchConfig
		given    []string
		says     string
	}{
		{reason: "the template was not read yet"},
		{reason: "it fits", resolved: &infrav1.ResolvedLaunchConfig{InstanceType: "m5.large", Market: "on-demand"}},
		{reason: "the pool's rules see what the template holds", resolved: &infrav1.ResolvedLaunchConfig{Market: "spot"}, says: "Spot"},
		{reason: "what is missing for the kind", resolved: &infrav1.ResolvedLaunchConfig{Missing: gap("AWSMachinePool", true)}, says: "it names no image"},
		{reason: "what the pool has itself is not missing", resolved: &infrav1.ResolvedLaunchConfig{Missing: gap("AWSMachinePool", true)}, given: []string{"ImageId"}},
		{reason: "a warning is none", resolved: &infrav1.ResolvedLaunchConfig{Missing: gap("AWSMachinePool", false)}},
		{reason: "what is missing for another kind is that one's", resolved: &infrav1.ResolvedLaunchConfig{Missing: gap("Provisioner", true)}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			config := &infrav1.AWSLaunchConfig{}
			config.Spec.Existing, config.Status.Resolved = &infrav1.ExistingLaunchTemplate{Name: "theirs"}, row.resolved
			problem := ""
			if spec := Inspected(config); spec != nil {
				spot, _ := Bought(spec)
				problem = If(spot, "it asks for Spot Instances")
			}
			got := ConfigRequest{Kind: "AWSMachinePool", Given: row.given}.UnfitReferred(config, problem)
			if (got == "") != (row.says == "") || !strings.Contains(got, row.says) {
				t.Errorf("it says %q, want %q", got, row.says)
			}
		})
	}
}

package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/manager"
)

// TestProvisionerFlags holds that what bounds a provisioner arrives where it is bounded.
func TestProvisionerFlags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		flag, value string
		arrives     func(manager.ProvisionerOptions) bool
	}{
		{"leader-election-id", "blue", func(o manager.ProvisionerOptions) bool { return o.LeaderElection.ID == "blue" }},
		{"launches-per-minute", "7", func(o manager.ProvisionerOptions) bool { return o.LaunchesPerMinute == 7 }},
		{"batch-max", "10s", func(o manager.ProvisionerOptions) bool { return o.BatchMax == 10*time.Second }},
		{"pods-per-pass", "9", func(o manager.ProvisionerOptions) bool { return o.PodsPerPass == 9 }},
		{"registration-timeout", "3m", func(o manager.ProvisionerOptions) bool { return o.RegistrationTimeout == 3*time.Minute }},
		{"instance-profile", "nodes", func(o manager.ProvisionerOptions) bool { return o.InstanceProfile == "nodes" }},
	} {
		flags, set := provisionerFlags{}, pflag.NewFlagSet("provisioner", pflag.ContinueOnError)
		flags.bind(set)
		if row.arrives(flags.options) {
			t.Errorf("--%s has the value %s by default", row.flag, row.value)
		}
		if err := set.Parse([]string{"--" + row.flag + "=" + row.value}); err != nil {
			t.Fatal(err)
		}
		if !row.arrives(flags.options) {
			t.Errorf("--%s does not arrive: %+v", row.flag, flags.options)
		}
	}
}

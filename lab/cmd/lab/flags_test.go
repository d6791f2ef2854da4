package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
)

// TestEditsSettleAsInTheProduct holds that the manager of the laboratory has the product's settle
// window unless a flag says otherwise.
func TestEditsSettleAsInTheProduct(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		arguments []string
		want      time.Duration
	}{
		{"nothing is said", nil, manager.DefaultSettleWindow},
		{"no wait", []string{"--rollout-settle-window=0"}, 0},
	} {
		flags, set := &labFlags{}, pflag.NewFlagSet("lab", pflag.ContinueOnError)
		flags.register(set)
		if err := set.Parse(row.arguments); err != nil {
			t.Fatal(err)
		}
		if got := flags.managerOptions(lab.ManagerEnv{}).SettleWindow; got != row.want {
			t.Errorf("%s: edits settle for %v, want %v", row.reason, got, row.want)
		}
	}
}

// TestManagerReachesWorkloadClustersOfThisMachine holds that nodes of the laboratory are drained:
// its workload clusters are at loopback addresses.
func TestManagerReachesWorkloadClustersOfThisMachine(t *testing.T) {
	t.Parallel()
	if !new(labFlags).managerOptions(lab.ManagerEnv{}).LoopbackWorkloads {
		t.Error("the manager refuses to connect to the laboratory's workload clusters")
	}
}

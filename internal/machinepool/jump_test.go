package machinepool

import (
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/steadyclock"
)

// settable is the clock of a manager's machine, which can be set. AWS's and the API server's go on.
type settable struct {
	*simclock.Clock
	ahead time.Duration
}

func (s *settable) Now() time.Time { return s.Clock.Now().Add(s.ahead) }

// TestClockOfTheManagerIsSet holds that no node is replaced, and that no roll-out is stopped or waits,
// because the clock of the manager's machine is set: new nodes still have their time to join.
func TestClockOfTheManagerIsSet(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{24 * time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			k := newKubelets(t, nil)
			machine, start := &settable{Clock: k.clock}, k.clock.Now()
			steady := steadyclock.New(machine, func() time.Duration { return k.clock.Since(start) })
			k.pools.kind.Clock, k.pools.Clock = steady, steady
			k.want("m5.xlarge", "")
			k.until("a new instance is in service", func() bool {
				for _, instance := range k.group().Instances {
					if *instance.LaunchTemplate.Version == "2" && instance.LifecycleState == asgtypes.LifecycleStateInService {
						return true
					}
				}
				return false
			})
			k.reconcile(time.Minute)
			k.sim.ClearCalls()
			machine.ahead = by
			k.reconcile(5 * time.Second)
			if writes := awssimtest.Writes(k.sim); len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			k.ready["2"] = true
			k.settled(2)
			if status := k.refreshStatus(); status != "Successful" {
				t.Errorf("the refresh is %s", status)
			}
		})
	}
}

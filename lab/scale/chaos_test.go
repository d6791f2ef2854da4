package scale

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim"
)

var (
	chaosTime  = flag.Duration("chaos", 8*time.Hour, "for how long, in simulated time, pools are edited while AWS fails")
	chaosPools = flag.Int("chaos-pools", 50, "how many pools are edited while AWS fails")
	chaosSeed  = flag.Uint64("seed", 0, "decides what is edited and which calls fail; another one each time if zero")
)

const (
	// fine is the step of the clock in the minute after edits, coarse the one until the next.
	fine, coarse = 5 * time.Second, time.Minute
	// lull is the average time between edits.
	lull = 20 * time.Minute
	// converging is the simulated time that everything may take to become as wanted once AWS no
	// longer fails: a refresh waits up to an hour for an instance, and the next one up to an hour
	// after one that failed.
	converging = 4 * time.Hour
	// resting is the time after that in which nothing may be changed.
	resting = time.Hour
)

// failing returns how AWS fails for the manager meanwhile: of its calls a tenth is refused for the
// rate, a fiftieth fails, half of those after they had their effect, and the answer to a hundredth
// is lost.
func failing(principal string) []awssim.Fault {
	const unwell = "An internal error has occurred"
	return []awssim.Fault{
		{Service: "ec2", Chance: 0.1, Code: "RequestLimitExceeded", Status: 503, Message: "Request limit exceeded.", Principal: principal},
		{Service: "autoscaling", Chance: 0.1, Code: "Throttling", Message: "Rate exceeded", Principal: principal},
		{Service: "ssm", Chance: 0.1, Code: "ThrottlingException", Message: "Rate exceeded", Principal: principal},
		{Service: "s3", Chance: 0.1, Code: "SlowDown", Status: 503, Message: "Please reduce your request rate.", Principal: principal},
		{Chance: 0.01, Code: "InternalError", Status: 500, Message: unwell, Principal: principal},
		{Chance: 0.01, Place: awssim.AfterEffect, Code: "InternalError", Status: 500, Message: unwell, Principal: principal},
		{Chance: 0.01, Place: awssim.AfterEffect, Drop: true, Principal: principal},
	}
}

// TestChaos holds that pools which are edited for hours, while AWS throttles, fails, lags, loses
// answers and runs out of capacity and managers come and go, become what their specs say once AWS
// is well again, and that nothing is left over or there twice.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("the seed is %d: -args -seed %d does the same edits again", seed, seed)
	c := newChaos(t, seed, *chaosPools)
	began := time.Now()
	c.until(converging, "the new pools are as wanted", c.unsettled)
	t.Logf("%d pools were there after %v", *chaosPools, time.Since(began).Round(time.Second))

	for _, fault := range failing(c.principal) {
		if _, err := c.Cloud.AWS.AddFault(fault); err != nil {
			t.Fatal(err)
		}
	}
	began = time.Now()
	for end := c.clock.Now().Add(*chaosTime); c.clock.Now().Before(end); {
		c.stirUp()
		c.advance(time.Minute, fine)
		c.advance(c.pause(), coarse)
		c.once()
	}
	t.Logf("%v of chaos took %v: %v, and calls %v", *chaosTime, time.Since(began).Round(time.Second), c.did, c.calls)

	began = time.Now()
	c.Cloud.AWS.RemoveFault("")
	c.capacity()
	from := c.clock.Now()
	c.until(converging, "everything becomes as wanted", c.unsettled)
	t.Logf("everything was as wanted %v later, which took %v", c.clock.Since(from).Round(time.Minute), time.Since(began).Round(time.Second))
	c.advance(resting, coarse)
	c.count()
	c.advance(resting, coarse)
	if writes := c.count(); len(writes) > 0 {
		t.Errorf("in an hour of rest the manager wrote %v", writes)
	}
	c.audit()
}

// until lets time pass until f returns nil.
func (c *chaos) until(most time.Duration, reason string, f func() error) {
	c.Helper()
	err := errors.New("the state was not checked")
	for end := c.clock.Now().Add(most); c.clock.Now().Before(end); {
		c.advance(time.Minute, fine)
		if err = f(); err == nil {
			return
		}
	}
	c.Fatalf("after %v it was not so that %s: %v", most, reason, err)
}

// unsettled is nil once all pools that there should be are as their specs say, and the others are gone.
func (c *chaos) unsettled() error {
	pools, err := c.Pools(c.Context())
	if err != nil {
		return err
	}
	configs, err := c.Configs(c.Context())
	if err != nil {
		return err
	}
	if len(pools) != len(c.tokens) || len(configs) != len(c.tokens) {
		return fmt.Errorf("there are %d pools and %d launch configs, and should be %d", len(pools), len(configs), len(c.tokens))
	}
	reasons := map[string]string{}
	for i := range pools {
		if err := c.asWanted(&pools[i]); err != nil {
			reasons[pools[i].Name] = err.Error()
		}
	}
	for i := range configs {
		if err := sound(&configs[i]); err != nil {
			reasons[configs[i].Name+" (launch config)"] = err.Error()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		return fmt.Errorf("%d are not as wanted; %s: %s", len(reasons), name, reasons[name])
	}
	return nil
}

package aws

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason, service, action string
		want                    Limit
		key                     string
		unlimited               bool
	}{
		{reason: "Non-mutating actions, filtered or paginated.", service: "ec2", action: "DescribeLaunchTemplateVersions", want: Limit{100, 20}, key: "ec2:DescribeLaunchTemplateVersions"},
		{reason: "Mutating actions without a class of their own.", service: "ec2", action: "CreateLaunchTemplate", want: Limit{50, 5}, key: "ec2:CreateLaunchTemplate"},
		{reason: "The same, not the class of its namesake.", service: "ec2", action: "DeleteLaunchTemplateVersions", want: Limit{50, 5}, key: "ec2:DeleteLaunchTemplateVersions"},
		{reason: "Has a row of its own.", service: "ec2", action: "CreateLaunchTemplateVersion", want: Limit{100, 5}, key: "ec2:CreateLaunchTemplateVersion"},
		{reason: "Has a row of its own.", service: "ec2", action: "CreateTags", want: Limit{100, 10}, key: "ec2:CreateTags"},
		{reason: "Has a row of its own.", service: "ec2", action: "RunInstances", want: Limit{5, 2}, key: "ec2:RunInstances"},
		{reason: "One bucket for the service.", service: "autoscaling", action: "DescribeAutoScalingGroups", want: Limit{100, 20}, key: "autoscaling:"},
		{reason: "A guess.", service: "pricing", action: "GetProducts", want: Limit{20, 5}, key: "pricing:GetProducts"},
		{reason: "Asked once a process.", service: "sts", action: "GetCallerIdentity", unlimited: true},
	}
	for _, tc := range cases {
		t.Run(tc.service+":"+tc.action, func(t *testing.T) {
			t.Parallel()
			limit, key, limited := DefaultLimits().find(tc.service, tc.action)
			if limited == tc.unlimited {
				t.Fatalf("%s limited: %v", tc.reason, limited)
			}
			if limited && (limit != tc.want || key != tc.key) {
				t.Errorf("%s got %v in bucket %q", tc.reason, limit, key)
			}
		})
	}
}

// TestServicesHaveBudgets holds that each action of a service that Slipway calls has a request budget.
func TestServicesHaveBudgets(t *testing.T) {
	t.Parallel()
	without := map[string]string{"s3": "its budgets are thousands a second", "sts": "it is called once for each identity"}
	text, err := os.ReadFile("calls.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var services []struct {
		Package string   `json:"package"`
		Actions []string `json:"actions"`
	}
	if err := yaml.Unmarshal(text, &services); err != nil || len(services) < 5 {
		t.Fatalf("reading the actions: error %v, and %d services", err, len(services))
	}
	for _, service := range services {
		for _, action := range service.Actions {
			if _, _, limited := DefaultLimits().find(service.Package, action); limited == (without[service.Package] != "") {
				t.Errorf("%s:%s has a budget: %t", service.Package, action, limited)
			}
		}
	}
}

func TestLimitsOfAnAccountWithOtherRates(t *testing.T) {
	t.Parallel()
	documented := Limits{"ec2:*": {Burst: 50, PerSecond: 5}, "ssm:*": {Burst: 3, PerSecond: 3}}
	for _, row := range []struct {
		reason string
		factor float64
		want   Limits
	}{
		{"as documented", 1, documented},
		{"AWS gave more", 4, Limits{"ec2:*": {Burst: 200, PerSecond: 20}, "ssm:*": {Burst: 12, PerSecond: 12}}},
		{"a part of them for this manager, never nothing", 0.1, Limits{"ec2:*": {Burst: 5, PerSecond: 0.5}, "ssm:*": {Burst: 1, PerSecond: 0.30000000000000004}}},
		{"no bound", 0, nil},
	} {
		if diff := cmp.Diff(row.want, documented.Times(row.factor)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	if _, _, limited := documented.Times(0).find("ec2", "CreateTags"); limited {
		t.Error("nothing limits, and something is limited")
	}
}

func TestBudgetTellsEveryoneAnotherTime(t *testing.T) {
	t.Parallel()
	clock := stoppedClock()
	b := newBudget(clock, Limits{"ec2:*": {Burst: 2, PerSecond: 2}})
	waits := func(names ...string) []time.Duration {
		var all []time.Duration
		for _, name := range names {
			var wait time.Duration
			if throttled, ok := asThrottled(b.take("ec2", "CreateTags", caller{name: name, pass: &pass{}})); ok {
				wait = throttled.RetryAfter
			}
			all = append(all, wait)
		}
		return all
	}
	want := []time.Duration{0, 0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}
	if diff := cmp.Diff(want, waits("a", "b", "c", "d", "e")); diff != "" {
		t.Errorf("five at once (-want +got):\n%s", diff)
	}
	if err := b.take("ec2", "DeleteTags", caller{pass: &pass{}}); err != nil {
		t.Errorf("another action has its own bucket: %v", err)
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if diff := cmp.Diff([]time.Duration{0, 0}, waits("c", "d")); diff != "" {
		t.Errorf("a second later (-want +got):\n%s", diff)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if diff := cmp.Diff(want, waits("a", "b", "c", "d", "e")); diff != "" {
		t.Errorf("rested, it is as new (-want +got):\n%s", diff)
	}
}

// TestBudgetKeepsPlaces holds that who is woken before its time neither loses its place nor takes
// another, that a newcomer does not take what was promised, and that nothing is kept for long for
// who does not come.
func TestBudgetKeepsPlaces(t *testing.T) {
	t.Parallel()
	clock := stoppedClock()
	b := newBudget(clock, Limits{"ec2:*": {Burst: 1, PerSecond: 1}})
	start := clock.Now()
	for _, row := range []struct {
		reason string
		at     time.Duration
		caller string
		wait   time.Duration
	}{
		{"the first", 0, "a", 0},
		{"there is one a second", 0, "b", time.Second},
		{"behind it", 0, "c", 2 * time.Second},
		{"woken for nothing", 0, "b", time.Second},
		{"and again", 500 * time.Millisecond, "b", 500 * time.Millisecond},
		{"behind two, not behind five", 500 * time.Millisecond, "d", 2500 * time.Millisecond},
		{"a newcomer, while one is promised", time.Second, "e", 3 * time.Second},
		{"it comes", time.Second, "b", 0},
		{"so does the next", 2 * time.Second, "c", 0},
		{"the other two did not come, so any caller may take what is left", time.Minute, "f", 0},
	} {
		clock.SetTime(start.Add(row.at))
		var wait time.Duration
		if throttled, ok := asThrottled(b.take("ec2", "CreateTags", caller{name: row.caller, pass: &pass{}})); ok {
			wait = throttled.RetryAfter
		}
		if wait != row.wait {
			t.Errorf("%s: %s waits %v, want %v", row.reason, row.caller, wait, row.wait)
		}
	}
}

// TestBudgetKeepsPlacesOfLateCallers holds that a caller which returns seconds late has its place
// still, and one that does not return at all has none.
func TestBudgetKeepsPlacesOfLateCallers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		late   time.Duration
		wait   bool
	}{
		{"in time", 0, true}, {"as late as a busy process is", 8 * time.Second, true}, {"not at all", time.Minute, false},
	} {
		clock := stoppedClock()
		b := newBudget(clock, Limits{"ec2:*": {Burst: 1, PerSecond: 1}})
		ask := func(name string) error { return b.take("ec2", "CreateTags", caller{name: name, pass: &pass{}}) }
		if first, second := ask("first"), ask("late"); first != nil || second == nil {
			t.Fatalf("%s: %v, %v", row.reason, first, second)
		}
		clock.SetTime(clock.Now().Add(time.Second + row.late))
		if err := ask("newcomer"); (err != nil) != row.wait {
			t.Errorf("%s: the newcomer gets %v", row.reason, err)
		}
		if err := ask("late"); (err == nil) != row.wait {
			t.Errorf("%s: the caller that was promised a request gets %v", row.reason, err)
		}
	}
}

// TestBudgetServesWholePasses holds that callers that send several calls each time that they come
// get all of them in the end, from a bucket that AWS has just reported as empty.
func TestBudgetServesWholePasses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		limit   Limit
		callers int
		// calls has a letter for each call of a pass: o for an own one, s for one that is made for others too.
		calls string
		// passes is how often all of them come at most, and within for how long they wait.
		passes int
		within time.Duration
	}{
		{"one call each", Limit{Burst: 100, PerSecond: 20}, 5, "o", 10, 300 * time.Millisecond},
		{"one caller comes for two, and each second one was kept from it", Limit{Burst: 100, PerSecond: 20}, 1, "oo", 3, 200 * time.Millisecond},
		{"its second call is made for others too", Limit{Burst: 100, PerSecond: 20}, 1, "os", 3, 200 * time.Millisecond},
		{"a call for others too is one of those that are reserved for the pass", Limit{Burst: 100, PerSecond: 20}, 1, "osoo", 6, time.Second},
		{"several callers have such calls", Limit{Burst: 100, PerSecond: 20}, 10, "osoo", 100, 10 * time.Second},
		{"several callers come for several", Limit{Burst: 100, PerSecond: 20}, 10, "oooo", 50, 10 * time.Second},
		{"as many as the bucket holds", Limit{Burst: 3, PerSecond: 3}, 2, "ooo", 20, 10 * time.Second},
	} {
		clock := stoppedClock()
		b := newBudget(clock, Limits{"autoscaling:": row.limit})
		b.empty("autoscaling", "DescribeAutoScalingGroups")
		start, passes, due := clock.Now(), 0, map[string]time.Time{}
		for caller := range row.callers {
			due[fmt.Sprintf("AWSMachinePool/blue/%d", caller)] = start
		}
		for len(due) > 0 {
			next := slices.MinFunc(slices.Sorted(maps.Keys(due)), func(a, b string) int { return due[a].Compare(due[b]) })
			clock.SetTime(due[next])
			if passes++; passes > row.passes || clock.Since(start) > row.within {
				t.Errorf("%s: after %d passes in %v, %d callers still wait", row.reason, passes, clock.Since(start), len(due))
				break
			}
			delete(due, next)
			own := caller{name: next, pass: &pass{}}
			for _, call := range row.calls {
				by := own
				by.shared = call == 's'
				if throttled, is := asThrottled(b.take("autoscaling", "DescribeInstanceRefreshes", by)); is {
					due[next] = clock.Now().Add(throttled.RetryAfter)
					break
				}
			}
		}
	}
}

// serve has callers come when they are due, and again when they were told to, until each has sent all
// requests that it wants. After each pass it calls a function. It returns how often each caller came.
func serve(b *budget, clock *clocktesting.FakePassiveClock, due map[string]time.Time, wants func(name string) int, passed func()) map[string]int {
	passes := map[string]int{}
	for len(due) > 0 {
		next := slices.MinFunc(slices.Sorted(maps.Keys(due)), func(a, b string) int { return due[a].Compare(due[b]) })
		clock.SetTime(due[next])
		passes[next]++
		delete(due, next)
		own := caller{name: next, pass: &pass{}}
		for range wants(next) {
			if throttled, is := asThrottled(b.take("autoscaling", "DescribeInstanceRefreshes", own)); is {
				due[next] = clock.Now().Add(throttled.RetryAfter)
				break
			}
		}
		own.finish()
		passed()
	}
	return passes
}

// TestBudgetReservesWhatOthersNeeded holds that callers that keep coming are refused once each, whatever
// they send: as many requests are reserved for them as the callers before them needed in their namespace,
// and newcomers do not take them. All are served as fast as the rate allows.
func TestBudgetReservesWhatOthersNeeded(t *testing.T) {
	t.Parallel()
	const callers, calls, between = 40, 4, 150 * time.Millisecond
	clock := stoppedClock()
	b := newBudget(clock, Limits{"autoscaling:": {Burst: 100, PerSecond: 20}})
	b.empty("autoscaling", "DescribeAutoScalingGroups")
	start, due := clock.Now(), map[string]time.Time{}
	for number := range callers {
		due[fmt.Sprintf("AWSMachinePool/blue/%02d", number)] = start.Add(time.Duration(number) * between)
	}
	due["AWSMachinePool/green/last"] = start.Add(callers * between)
	wants := func(name string) int {
		if name == "AWSMachinePool/green/last" {
			return 1
		}
		return calls
	}
	passes := serve(b, clock, due, wants, func() {
		for _, waiting := range b.states(budgetKey{})[0].Waiting {
			if waiting.Name == "AWSMachinePool/green/last" && waiting.Requests != 1 {
				t.Errorf("%d requests are reserved in a namespace whose objects need one", waiting.Requests)
			}
		}
	})
	sum := 0
	for _, times := range passes {
		sum += times
	}
	if most := 2*callers + 12; sum > most {
		t.Errorf("%d callers came %d times, and %d times is enough", callers+1, sum, most)
	}
	if took, most := clock.Since(start), time.Duration(callers*calls+1)*time.Second/20+time.Second; took > most {
		t.Errorf("all were served after %s, and the rate allows %s", took, most)
	}
}

// TestBudgetForgetsWhatOneNeeded holds that one object that sent many requests does not have all others of
// its namespace wait for as many.
func TestBudgetForgetsWhatOneNeeded(t *testing.T) {
	t.Parallel()
	const callers, between = 400, 40 * time.Millisecond
	clock := stoppedClock()
	b := newBudget(clock, Limits{"autoscaling:": {Burst: 100, PerSecond: 20}})
	b.empty("autoscaling", "DescribeAutoScalingGroups")
	start, due := clock.Now(), map[string]time.Time{"AWSMachinePool/blue/many": clock.Now()}
	for number := range callers {
		due[fmt.Sprintf("AWSMachinePool/blue/%03d", number)] = start.Add(time.Duration(number) * between)
	}
	wants := func(name string) int {
		if name == "AWSMachinePool/blue/many" {
			return 10
		}
		return 1
	}
	serve(b, clock, due, wants, func() {})
	if took, most := clock.Since(start), 2*callers*time.Second/20; took > most {
		t.Errorf("%d callers with one request each, and one with more, took %s, want at most %s", callers, took, most)
	}
}

// TestBudgetServesSharedCalls holds that a shared call that is held back has one place, whichever
// caller repeats it, and that other waiting callers do not take this place.
func TestBudgetServesSharedCalls(t *testing.T) {
	t.Parallel()
	clock := stoppedClock()
	b := newBudget(clock, Limits{"autoscaling:": {Burst: 100, PerSecond: 20}})
	b.empty("autoscaling", "DescribeAutoScalingGroups")
	start := clock.Now()
	for _, row := range []struct {
		reason string
		at     time.Duration
		caller string
		shared bool
		wait   time.Duration
	}{
		{"nothing is left", 0, "AWSMachinePool/blue/a", false, 50 * time.Millisecond},
		{"behind the caller", 0, "AWSMachinePool/blue/b", true, 100 * time.Millisecond},
		{"the same place", 0, "AWSMachinePool/green/c", true, 100 * time.Millisecond},
		{"behind the shared call", 0, "AWSMachinePool/blue/d", false, 150 * time.Millisecond},
		{"the first caller to retry sends the shared call", 100 * time.Millisecond, "AWSMachinePool/green/c", true, 0},
		{"the caller that was first has its place", 100 * time.Millisecond, "AWSMachinePool/blue/a", false, 0},
		{"a new shared call waits behind all", 100 * time.Millisecond, "AWSMachinePool/blue/b", true, 100 * time.Millisecond},
		{"the last one does not", 150 * time.Millisecond, "AWSMachinePool/blue/d", false, 0},
	} {
		clock.SetTime(start.Add(row.at))
		var wait time.Duration
		if throttled, is := asThrottled(b.take("autoscaling", "DescribeAutoScalingGroups", caller{name: row.caller, shared: row.shared, pass: &pass{}})); is {
			wait = throttled.RetryAfter
		}
		if wait.Round(time.Millisecond) != row.wait {
			t.Errorf("%s: %s waits %v, want %v", row.reason, row.caller, wait, row.wait)
		}
	}
}

// TestBudgetCountsWholeRequests holds that a caller which returns exactly at its time is not refused for
// a rest that only rounding leaves.
func TestBudgetCountsWholeRequests(t *testing.T) {
	t.Parallel()
	clock := stoppedClock()
	b := newBudget(clock, Limits{"autoscaling:": {Burst: 100, PerSecond: 20}})
	for i := range 1000 {
		b.empty("autoscaling", "DescribeAutoScalingGroups")
		clock.SetTime(clock.Now().Add(time.Duration(i) * 37_003 * time.Nanosecond))
		got, passes := 0, 0
		for got < 3 {
			if passes++; passes > 4 {
				t.Fatalf("caller %d gets %d of 3 requests in the fourth pass", i, got)
			}
			by := caller{name: "AWSMachinePool/blue/pool", pass: &pass{}}
			for got = 0; got < 3; got++ {
				if throttled, is := asThrottled(b.take("autoscaling", "DescribeInstanceRefreshes", by)); is {
					clock.SetTime(clock.Now().Add(throttled.RetryAfter))
					break
				}
			}
		}
	}
}

// TestBudgetIsNeverExceeded holds that in any period, the requests that are spent are at most the
// requests that the bucket held plus the requests that were added.
func TestBudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := stoppedClock()
		start := clock.Now()
		limit := Limit{Burst: rapid.IntRange(1, 10).Draw(t, "burst"), PerSecond: float64(rapid.IntRange(1, 20).Draw(t, "per second"))}
		b := newBudget(clock, Limits{"ec2:*": limit})
		spent := 0
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			clock.SetTime(clock.Now().Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "pause")) * time.Millisecond))
			err := b.take("ec2", "CreateTags", caller{name: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "caller"), pass: &pass{}})
			if err == nil {
				spent++
			}
			allowed := float64(limit.Burst) + clock.Since(start).Seconds()*limit.PerSecond
			if float64(spent) > allowed+1e-6 {
				t.Fatalf("spent %d of %f", spent, allowed)
			}
			if throttled, ok := asThrottled(err); ok && throttled.RetryAfter <= 0 {
				t.Fatal("refused, but told to come back at once")
			}
		}
	})
}

func TestCallsAreHeldBack(t *testing.T) {
	t.Parallel()
	clock := stoppedClock()
	metrics := NewMetrics()
	w := newWire(t)
	clients := w.clients(t, WithClock(clock), WithMetrics(metrics), WithLimits(Limits{"ec2:Describe*": {Burst: 1, PerSecond: 0.5}}))
	if _, err := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1); err != nil {
		t.Fatal(err)
	}
	_, err := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1)
	var throttled *ThrottledError
	if !errors.As(err, &throttled) {
		t.Fatalf("got %v", err)
	}
	if want := (Fate{Kind: RetrySoon, After: 2 * time.Second}); FateOf(err) != want {
		t.Errorf("fate %v", FateOf(err))
	}
	if !IsThrottled(err) || IsUncertain(err) {
		t.Errorf("nothing was sent, so nothing is uncertain: %v", err)
	}
	if w.called() != 1 {
		t.Errorf("%d calls reached AWS", w.called())
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	if got := counted(t, registry, "slipway_aws_calls_held_back_total", "action")["DescribeLaunchTemplates"]; got != 1 {
		t.Errorf("held back %v times: the SDK must not retry", got)
	}
	clock.SetTime(clock.Now().Add(2 * time.Second))
	if _, err := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1); err != nil {
		t.Errorf("after the wait it was told: %v", err)
	}
}

// TestThrottlingByAWSEmptiesTheBudget holds that when AWS says that the account has no requests
// left, ours are gone too, whatever we counted.
func TestThrottlingByAWSEmptiesTheBudget(t *testing.T) {
	t.Parallel()
	w := newWire(t, answer{status: 503, code: "RequestLimitExceeded", message: "Request limit exceeded."})
	clients := w.clients(t, WithClock(stoppedClock()), WithLimits(Limits{"ec2:*": {Burst: 100, PerSecond: 1}}))
	_, err := clients.EC2.DescribeLaunchTemplates(t.Context(), describe1)
	if _, ours := asThrottled(err); !ours || w.called() != 1 {
		t.Errorf("%d calls, %v", w.called(), err)
	}
}

// TestNamespacesTakeTurns holds that a namespace with a thousand objects that wait for a request
// delays the only one of another namespace by a moment.
func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	const flood, perSecond = 1000, 5
	start := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	b := &bucket{limit: Limit{PerSecond: perSecond, Burst: 10}, tokens: 10, last: start}
	due := map[string]time.Time{}
	ask := func(caller string, now time.Time) bool {
		wait := b.take(now, caller, 1)
		due[caller] = now.Add(wait)
		return wait == 0
	}
	for i := range flood {
		ask(fmt.Sprintf("AWSMachinePool/flood/%d", i), start)
	}
	arrived, quiet := start.Add(time.Second), "AWSMachinePool/quiet/pool"
	due[quiet] = arrived
	answered := 0
	for now := start; now.Before(start.Add(time.Minute)); now = now.Add(10 * time.Millisecond) {
		for caller, at := range due {
			if at.After(now) {
				continue
			}
			if ask(caller, now) {
				answered++
				due[caller] = now.Add(time.Millisecond) // and it asks again at once
			}
			if caller == quiet && !due[quiet].After(now.Add(time.Millisecond)) {
				if waited := now.Sub(arrived); waited > 10*time.Second {
					t.Errorf("the other namespace waited %v", waited)
				}
				if limit := int(now.Sub(start).Seconds()*perSecond) + 1; answered > limit {
					t.Errorf("%d requests were sent in %v", answered, now.Sub(start))
				}
				return
			}
		}
	}
	t.Error("the other namespace got no request within a minute")
}

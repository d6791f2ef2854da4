package prices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
)

// shops are sources of prices by the name of the Cluster.
type shops map[string]*shop

func (s shops) Source(_ context.Context, place Place) (Source, error) {
	if place.Cluster == "new" {
		return nil, &cluster.NotReadyError{Message: "the infrastructure is not provisioned yet"}
	}
	return s[place.Cluster], nil
}

// onDemand returns instances that are bought on demand.
func onDemand(types ...string) Running {
	running := Running{System: discovery.Linux, LeastOnDemand: len(types), MostOnDemand: len(types)}
	for _, name := range types {
		running.Instances = append(running.Instances, Instance{Type: name, Zone: "a"})
	}
	return running
}

// costs returns what the table says about a cost.
func costs(table *Table, cluster string, of Running) string {
	cost, err := table.Cost(Place{Namespace: "team", Cluster: cluster}, of)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.2f to %.2f", cost.PerHour.Min, cost.PerHour.Max)
}

func TestTable(t *testing.T) {
	t.Parallel()
	clk, source := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)), &shop{}
	table := NewTable(shops{"prod": source}, clk)
	expect := func(what, want string, of Running) {
		t.Helper()
		if got := costs(table, "prod", of); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	expect("A price that was never asked for is not known, and nobody waits for AWS", "the prices are being read", onDemand("m5.large"))
	if len(source.asked) > 0 {
		t.Errorf("AWS was asked for %v by whoever wants a cost", source.asked)
	}
	select {
	case <-table.Wanted():
	default:
		t.Error("Nothing reports that a price is wanted")
	}
	table.Refresh(t.Context())
	expect("A price that was read is known", "3.00 to 3.00", onDemand("m5.large", "m5.large", "m5.large"))
	expect("A type that is not sold has no price", "the prices are being read", onDemand("unlisted"))
	table.Refresh(t.Context())
	expect("A type that is not sold has no price", "no price of unlisted is known", onDemand("unlisted"))
	for range 10 {
		clk.SetTime(clk.Now().Add(5 * time.Minute))
		expect("A price stays known", "1.00 to 1.00", onDemand("m5.large"))
		if table.Refresh(t.Context()) {
			t.Error("Prices are read again before an hour has passed")
		}
	}
	clk.SetTime(clk.Now().Add(11 * time.Minute))
	table.Refresh(t.Context())
	if diff := cmp.Diff([]string{"m5.large", "unlisted", "m5.large", "unlisted"}, source.asked); diff != "" {
		t.Errorf("Each price is read once an hour. -want +got:\n%s", diff)
	}
	clk.SetTime(clk.Now().Add(forgottenAfter))
	if table.Refresh(t.Context()) || table.Knows() {
		t.Error("Prices that nothing asks for are read, or kept")
	}
}

func TestTableProblems(t *testing.T) {
	t.Parallel()
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"}
	for name, tc := range map[string]struct {
		reason, cluster string
		fails           error
		cost            string
		problems        []string
		again           time.Duration
		calls           int
	}{
		"Denied": {
			reason: "A missing permission is reported once, and one call finds it.", cluster: "prod", fails: denied, calls: 1, again: rereadAfter,
			cost: "these credentials may not call pricing:GetProducts", problems: []string{"these credentials may not call pricing:GetProducts"},
		},
		"Broken": {
			reason: "A failure is tried again within minutes.", cluster: "prod", fails: errors.New("no route"), calls: 1, again: retryAfter,
			cost: "calling pricing:GetProducts: no route", problems: []string{"calling pricing:GetProducts: no route"},
		},
		"Throttled": {reason: "A call that AWS throttles is not a problem, and repeated soon.", cluster: "prod", fails: &smithy.GenericAPIError{Code: "ThrottlingException"}, calls: 1, again: soonest, cost: "the prices are being read"},
		"NotReady":  {reason: "A new Cluster has no prices yet, and nobody must act.", cluster: "new", again: retryAfter, cost: "the infrastructure is not provisioned yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk, source := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)), &shop{fails: tc.fails}
			table := NewTable(shops{"prod": source}, clk)
			costs(table, tc.cluster, onDemand("m5.large", "m5.xlarge", "c5.large"))
			table.Refresh(t.Context())
			if got := costs(table, tc.cluster, onDemand("m5.large", "m5.xlarge")); got != tc.cost {
				t.Errorf("%s Cost() = %q, want %q", tc.reason, got, tc.cost)
			}
			if diff := cmp.Diff(tc.problems, table.Problems()); diff != "" || len(source.asked) != tc.calls {
				t.Errorf("%s %d calls, want %d; problems -want +got:\n%s", tc.reason, len(source.asked), tc.calls, diff)
			}
			clk.SetTime(clk.Now().Add(tc.again - time.Second))
			early := table.Refresh(t.Context())
			clk.SetTime(clk.Now().Add(time.Second))
			if early || !table.Refresh(t.Context()) {
				t.Errorf("%s it is not tried again after %v", tc.reason, tc.again)
			}
		})
	}
}

// TestTableBounds holds that tenants who choose places and instance types cannot fill memory.
func TestTableBounds(t *testing.T) {
	t.Parallel()
	table := NewTable(shops{}, clocktesting.NewFakePassiveClock(time.Time{}))
	for i := range mostPricesEver + 1000 {
		costs(table, fmt.Sprint(i/(2*mostPrices)), onDemand(fmt.Sprintf("m%d.large", i)))
	}
	if table.count > mostPricesEver {
		t.Errorf("the table has %d prices, want at most %d", table.count, mostPricesEver)
	}
	if got := costs(table, "0", onDemand("one.more")); !strings.Contains(got, "too many") {
		t.Errorf("a place with too many types reports %q", got)
	}
}

package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/aws/requestbudget"
)

func TestBudgetRows(t *testing.T) {
	t.Parallel()
	if rows, err := New(Options{}).budgets(); err != nil || len(rows) != 0 {
		t.Errorf("a process without a limiter shows no budgets: %v, %v", rows, err)
	}
	many := make([]requestbudget.Waiter, 30)
	for i := range many {
		many[i] = requestbudget.Waiter{Name: fmt.Sprintf("AWSMachinePool/team/p%d", i), At: now.Add(time.Duration(i) * time.Second), Requests: 1}
	}
	states := []requestbudget.State{
		{Account: "111122223333", Region: "eu-central-1", Name: "ec2:CreateTags", Left: 0.7, Burst: 100, PerSecond: 10, Waiting: many},
		{Region: "eu-central-1", Name: "autoscaling:", Left: 3, Burst: 100, PerSecond: 20},
		{Region: "eu-central-1", Name: "autoscaling:", Left: 99, Burst: 100, PerSecond: 20},
	}
	d := New(Options{Budgets: func() []requestbudget.State { return states }})
	rows, err := d.budgets()
	if err != nil || len(rows) != 2 {
		t.Fatalf("each budget has a row, the emptiest of those that cannot be told apart: %v, %v", rows, err)
	}
	var row budget
	if err := json.Unmarshal(rows["Budget/111122223333/eu-central-1/ec2:CreateTags"], &row); err != nil {
		t.Fatal(err)
	}
	if row.Left != 0 || row.Waiters != 30 || len(row.Waiting) != mostWaiting {
		t.Errorf("a part of a request is none, and not all callers are named: got %+v", row)
	}
	if diff := cmp.Diff(`{"kind":"Budget","name":"autoscaling:","region":"eu-central-1","left":3,"burst":100,"perSecond":20,"waiters":0}`, string(rows["Budget//eu-central-1/autoscaling:"])); diff != "" {
		t.Errorf("row -want +got:\n%s", diff)
	}
	states = states[:1]
	if rows, err = d.budgets(); err != nil || rows["Budget//eu-central-1/autoscaling:"] != nil || len(rows) != 2 {
		t.Errorf("a budget that is gone has no row: %v, %v", rows, err)
	}
}

func TestBudgetsAreSent(t *testing.T) {
	t.Parallel()
	c := newClusterWith(t, func(options *Options) {
		options.Budgets = func() []requestbudget.State {
			return []requestbudget.State{{Region: "eu-central-1", Name: "ec2:CreateTags", Left: 50, Burst: 100, PerSecond: 10}}
		}
	})
	if rest := c.page.rest(); rest != recompute {
		t.Errorf("budgets are computed while no page is open: after %v", rest)
	}
	page := c.open()
	_, all := page.next()
	if all.Rows["Budget//eu-central-1/ec2:CreateTags"] == nil || !strings.Contains(string(all.Rows[metaKey]), `"budgets":true`) {
		t.Fatalf("a page begins with the budgets: got %v", all)
	}
	if rest := c.page.rest(); rest != budgetInterval {
		t.Errorf("requests come back within seconds: they are computed after %v", rest)
	}
}

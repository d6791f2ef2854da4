package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/slipway-project/slipway/internal/aws/requestbudget"
)

const (
	// budgetRow is the kind of the rows of request budgets.
	budgetRow = "Budget"
	// budgetInterval is the interval at which the rows of budgets are computed again while a page is
	// open: their requests come back within seconds.
	budgetInterval = 2 * time.Second
	// mostWaiting bounds the callers that a row names.
	mostWaiting = 20
)

// budget is the row of a request budget.
type budget struct {
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`
	Account   string  `json:"account,omitempty"`
	Region    string  `json:"region"`
	Left      int     `json:"left"`
	Burst     int     `json:"burst"`
	PerSecond float64 `json:"perSecond"`
	// Waiting are the first callers that wait, of Waiters.
	Waiting []waiting `json:"waiting,omitempty"`
	Waiters int       `json:"waiters"`
}

// waiting is an object that a request was not sent for.
type waiting struct {
	// Caller is <kind>/<namespace>/<name>, empty for callers that share the request.
	Caller   string    `json:"caller,omitempty"`
	At       time.Time `json:"at"`
	Requests int       `json:"requests"`
}

// budgets returns the rows of all budgets. A budget that is gone has a nil row.
func (d *Dashboard) budgets() (map[string]json.RawMessage, error) {
	rows := map[string]json.RawMessage{}
	if d.options.Budgets == nil {
		return rows, nil
	}
	for key := range d.shownBudgets {
		rows[key] = nil
	}
	clear(d.shownBudgets)
	for _, state := range d.options.Budgets() {
		row, err := json.Marshal(budgetOf(state))
		if err != nil {
			return nil, fmt.Errorf("encoding a request budget: %w", err)
		}
		key := budgetRow + "/" + state.Account + "/" + state.Region + "/" + state.Name
		if d.shownBudgets[key] {
			continue // another identity whose account is not known; the fullest bucket comes last
		}
		rows[key], d.shownBudgets[key] = row, true
	}
	return rows, nil
}

func budgetOf(state requestbudget.State) budget {
	row := budget{
		Kind: budgetRow, Name: state.Name, Account: state.Account, Region: state.Region,
		Left: int(math.Floor(state.Left)), Burst: state.Burst, PerSecond: state.PerSecond, Waiters: len(state.Waiting),
	}
	for _, caller := range state.Waiting[:min(len(state.Waiting), mostWaiting)] {
		row.Waiting = append(row.Waiting, waiting{Caller: caller.Name, At: caller.At.UTC(), Requests: caller.Requests})
	}
	return row
}

package plan

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-project/slipway/internal/prices"
	"github.com/slipway-project/slipway/internal/terminal"
)

// longestText bounds a value or a message of the output. Texts come from servers and from files.
const longestText = 1000

// Print writes a plan for people.
func Print(out io.Writer, plan Plan) error {
	p := &printer{out: out, screen: terminal.ScreenOf(out, os.Getenv)}
	if plan.Empty() && !plan.Failed() && !plan.waits() {
		p.printf("Nothing changes in AWS, and no node is replaced.\n")
	}
	p.changes(plan.Changes)
	for _, pool := range plan.Pools {
		if len(pool.Steps)+len(pool.Problems) > 0 {
			p.pool(pool)
		}
	}
	return p.err
}

// printer folds lines at the width of a terminal, and keeps the first error of a writer.
type printer struct {
	out    io.Writer
	screen terminal.Screen
	err    error
	// begun is true once something was printed.
	begun bool
}

func (p *printer) printf(format string, values ...any) {
	p.begun = true
	if p.err == nil {
		p.err = p.screen.Fprintf(p.out, format, values...)
	}
}

// changes prints one line for each field.
func (p *printer) changes(changes []Change) {
	if len(changes) == 0 {
		return
	}
	p.begun = true
	table := terminal.NewTable(p.out, p.screen)
	object := ""
	for _, change := range changes {
		if change.Object != object {
			object = change.Object
			fmt.Fprintf(table, "%s\n", printable(object))
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", printable(change.Path), transition(change.Old, change.New), change.Effect)
	}
	if err := table.Flush(); p.err == nil {
		p.err = err
	}
}

// transition shows the values of a field.
func transition(before, after string) string {
	switch {
	case before == "":
		return "set to " + printable(after)
	case after == "":
		return "removed, was " + printable(before)
	}
	return printable(before) + " → " + printable(after)
}

// pool prints what is done for a pool.
func (p *printer) pool(pool Pool) {
	if p.begun {
		p.printf("\n")
	}
	p.printf("%s %s/%s\n", pool.Kind, pool.Namespace, pool.Name)
	number := 0
	if shared := pool.shared(); shared != "" {
		number++
		p.printf("  %d. %s\n", number, printable(shared))
	}
	for _, step := range pool.Steps {
		if step.SharedWith != "" {
			continue
		}
		number++
		p.printf("  %d. %s\n", number, printable(step.Action))
		if step.Reason != "" && !strings.Contains(step.Action, step.Reason) {
			p.printf("     because: %s\n", printable(step.Reason))
		}
	}
	if replaced := pool.Replaced(); len(replaced) > 0 {
		p.printf("  Replaces %d of %d instances: %s\n", len(replaced), pool.Instances, strings.Join(replaced, ", "))
	}
	if pool.Rollout != nil {
		p.rollout(pool.Rollout)
	}
	if pool.Drains != nil {
		p.drains(pool.Drains)
	}
	p.price(pool.Price)
	if pool.Permissions != nil {
		p.permissions(pool.Permissions)
	}
	for _, problem := range pool.Problems {
		p.printf("  %s: %s\n", problem.Reason, printable(problem.Message))
	}
}

// rollout prints how instances are replaced.
func (p *printer) rollout(rollout *Rollout) {
	for _, stay := range rollout.Stay {
		p.printf("  Not replaced: %s, because %s\n", printable(strings.Join(stay.Instances, ", ")), stay.Reason)
	}
	if rollout.Batches > 1 {
		p.printf("  At most %d at a time, in at least %d batches. %s.\n", rollout.AtOnce, rollout.Batches, rollout.Order)
	} else if rollout.Replaced > 1 {
		p.printf("  All of them at once. %s.\n", rollout.Order)
	}
	for _, checkpoint := range rollout.Checkpoints {
		p.printf("  At the checkpoint of %d %%, with %d replaced, the roll-out pauses for %s.\n", checkpoint.Percentage, checkpoint.Replaced, checkpoint.Delay)
	}
	if rollout.Left > 0 {
		p.printf("  The roll-out ends at its last checkpoint, with %d left. AWS chooses which.\n", rollout.Left)
	}
	for _, held := range rollout.Held {
		p.printf("  AWS waits for %s, and fails the roll-out after an hour: %s\n", printable(strings.Join(held.Instances, ", ")), held.Reason)
	}
	if rollout.AtMost > 0 {
		least := ""
		if rollout.AtLeast > 0 {
			least = fmt.Sprintf("at least %s, and ", rollout.AtLeast)
		}
		p.printf("  The roll-out takes %sabout %s if drains and starts take as long as they may.\n", least, rollout.AtMost)
	}
	switch expected := rollout.Expected; {
	case expected == nil:
	case expected.Unknown != "":
		p.printf("  How long earlier roll-outs took is not known: %s.\n", printable(expected.Unknown))
	default:
		p.printf("  It takes %s, by %s of this pool.\n", expected.text(), terminal.Counted(expected.Rollouts, "earlier roll-out"))
	}
}

// permissions prints the calls that IAM would deny.
func (p *printer) permissions(checked *Permissions) {
	if checked.Unknown != "" {
		p.printf("  Whether permissions are missing is not known: %s.\n", printable(checked.Unknown))
		return
	}
	for _, denied := range checked.Denied {
		p.printf("  Missing permission: %s, %s (%s)\n", denied.Action, denied.Reason, printable(checked.Principal))
	}
	if checked.RoleUnknown != "" {
		p.printf("  Whether the role of the nodes may be passed to them (iam:PassRole) is not known: %s.\n", printable(checked.RoleUnknown))
	}
	if checked.Command != "" {
		p.printf("  Print the policies with: %s\n", printable(checked.Command))
	}
}

// text returns the expected time, or its bounds.
func (e *Expected) text() string {
	if e.AtLeast == e.AtMost {
		return "about " + e.AtLeast.String()
	}
	return e.AtLeast.String() + " to " + e.AtMost.String()
}

// mostBudgetsShown limits the budgets that are printed. A tenant may have thousands.
const mostBudgetsShown = 20

// drains prints what holds drains.
func (p *printer) drains(drains *Drains) {
	switch {
	case drains.Unknown != "":
		p.printf("  Whether a PodDisruptionBudget holds drains is not known: %s.\n", printable(drains.Unknown))
		return
	case len(drains.Budgets)+len(drains.Overlapping) == 0:
		p.printf("  No PodDisruptionBudget holds a drain of these nodes now.\n")
		return
	}
	for i, budget := range drains.Budgets {
		if i == mostBudgetsShown {
			p.printf("  %d more PodDisruptionBudgets hold drains.\n", len(drains.Budgets)-i)
			break
		}
		p.printf("  PodDisruptionBudget %s\n", printable(budget.String()))
	}
	if pods := drains.Overlapping; len(pods) > 0 {
		p.printf("  Kubernetes refuses to evict pods with several PodDisruptionBudgets: %s\n", printable(strings.Join(pods, ", ")))
	}
	if drains.Limit > 0 {
		p.printf("  A drain can be held for %s at most. Then %s.\n", drains.Limit, drains.After)
	}
}

// String describes what the budget holds.
func (b Budget) String() string {
	name, pods := b.Namespace+"/"+b.Name, fmt.Sprintf("%d pods on %d of these nodes", b.Pods, b.Nodes)
	if b.Pods == 1 {
		pods = "1 pod on 1 of these nodes"
	}
	switch b.Hold {
	case HoldsAlways:
		return fmt.Sprintf("%s holds %s always: it needs all its pods", name, pods)
	case HoldsNow:
		return fmt.Sprintf("%s holds %s now: it needs %d healthy pods and has %d", name, pods, b.Required, b.Healthy)
	case Slows:
	}
	return fmt.Sprintf("%s slows drains of %s: up to %d leave at a time, and it allows %d", name, pods, b.AtOnce, b.Allowed)
}

// price prints the change of the price of a pool.
func (p *printer) price(price *Price) {
	switch {
	case price == nil:
		return
	case price.Unknown != "":
		p.printf("  The change of the price is not known: %s.\n", printable(price.Unknown))
		return
	}
	currency := printable(price.Currency)
	p.printf("  Price of instances: %s per hour, and %s per month,\n", price.PerHour.in(currency), price.PerMonth.in(currency))
	var sources []string
	if price.OnDemand != nil {
		sources = append(sources, "On-Demand list prices of "+price.OnDemand.Format(time.DateOnly))
	}
	if price.Spot != nil {
		sources = append(sources, "Spot prices of "+price.Spot.UTC().Format("2006-01-02 15:04 MST"))
	}
	p.printf("  by %s.\n", strings.Join(sources, " and "))
}

// in shows the amounts in a currency, and their difference.
func (c AmountChange) in(currency string) string {
	less, more := signed(c.After.Min-c.Before.Max), signed(c.After.Max-c.Before.Min)
	if less != more {
		more = less + " to " + more
	}
	return fmt.Sprintf("%s → %s %s (%s)", amount(c.Before), amount(c.After), currency, more)
}

// amount shows a range of money.
func amount(r prices.Range) string {
	low, high := money(r.Min), money(r.Max)
	if low == high {
		return low
	}
	return low + " to " + high
}

// signed shows a difference with its sign.
func signed(difference float64) string {
	if text := money(difference); strings.HasPrefix(text, "-") {
		return text
	}
	return "+" + money(difference)
}

// money shows an amount with as many digits as prices have: four if it is small.
func money(value float64) string {
	if value > -10 && value < 10 {
		return strconv.FormatFloat(value, 'f', 4, 64)
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}

func printable(text string) string { return terminal.Line(text, longestText) }

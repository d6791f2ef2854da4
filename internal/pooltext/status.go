package pooltext

import (
	"fmt"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
)

// mostWriters is the most field managers that a status names.
const mostWriters = 3

// Status writes the status of a pool.
func (p *Printer) Status(view *poolview.View) error {
	p.printf("%s %s/%s\n", p.Screen.Paint(terminal.Bold, view.Kind), printable(view.Namespace), printable(view.Name))
	if view.Cluster != "" {
		p.field("Cluster", printable(view.Cluster))
	}
	state := p.Screen.Paint(stateStyle(view), printable(view.State))
	if view.Message != "" && len(view.Problems) == 0 {
		state += ": " + printable(view.Message)
	}
	p.field("State", state)
	p.field("Nodes", view.NodesText())
	p.versions(view)
	if view.RolloutsPaused {
		p.field("Roll-outs", fmt.Sprintf("paused: edits replace no nodes until \"slipway rollout resume %s -n %s\"", printable(view.Name), printable(view.Namespace)))
	}
	p.rollout(view)
	p.drains(view.Drains)
	p.problems(view.Problems, false)
	p.writers(view.Writers)
	return p.err
}

// stateStyle returns the style of the state of a pool.
func stateStyle(view *poolview.View) terminal.Style {
	switch {
	case view.NeedsHuman:
		return terminal.Red
	case view.State == infrav1.ConvergedReason:
		return terminal.Green
	}
	return terminal.Yellow
}

// versions writes one line for each version.
func (p *Printer) versions(view *poolview.View) {
	label := "Versions"
	for _, version := range view.Versions {
		text := versionName(version) + ": " + count(version.Instances, "instance")
		if version.Wanted {
			text += ", wanted"
		}
		if version.Reason != "" {
			text += " (" + printable(version.Reason) + ")"
		}
		p.field(label, text)
		label = ""
	}
	if view.PendingVersion != 0 {
		p.field(label, fmt.Sprintf("%d: held back", view.PendingVersion))
	}
}

// versionName names a version, with its template and image if they are not the pool's.
func versionName(version poolview.Version) string {
	name := fmt.Sprint(version.Number)
	switch {
	case version.Number == 0:
		name = "not known"
	case version.TemplateID != "":
		name += " of " + printable(version.TemplateID)
	}
	if version.ImageID != "" {
		name += " with " + printable(version.ImageID)
	}
	return name
}

// rollout writes the progress of a roll-out that is not complete.
func (p *Printer) rollout(view *poolview.View) {
	rollout := view.Rollout
	if rollout == nil || rollout.Status == infrav1.RolledOutReason {
		return
	}
	width := min(max(p.Screen.Width/4, 10), 30)
	p.field("Roll-out", fmt.Sprintf("%s %d %% · %d of %s", Bar(rollout.Percent, width), rollout.Percent, rollout.Done, count(rollout.Total, "instance")))
	if rollout.Cause != "" {
		p.note("because: %s", printable(rollout.Cause))
	}
	if rollout.Started == nil || !rollout.Active {
		return
	}
	text := "started " + p.age(rollout.Started) + " ago"
	if eta := rollout.ETA; eta != nil {
		text += ", complete in " + short(eta.Earliest.Sub(p.Now))
		if eta.Latest != nil {
			text += " to " + short(eta.Latest.Sub(p.Now)) + " at this pace"
		} else {
			text += " at the earliest: a drain is blocked"
		}
	}
	p.note("%s", text)
}

// drains writes what each drain waits for.
func (p *Printer) drains(drains []poolview.Drain) {
	label := "Drains"
	for _, drain := range drains {
		text := "instance " + printable(drain.Instance)
		if drain.Node != "" {
			text = fmt.Sprintf("node %s (%s)", printable(drain.Node), printable(drain.Instance))
		}
		if drain.Since != nil {
			text += " for " + p.age(drain.Since)
		}
		text += ": " + printable(drain.Waits)
		p.field(label, text)
		for _, budget := range drain.Budgets {
			if len(budget.Names) > 0 {
				p.note("PodDisruptionBudget %s/%s holds %s", printable(budget.Namespace), printable(budget.Name), printable(strings.Join(budget.Names, ", ")))
			}
		}
		if drain.Until != nil {
			p.note("terminated at %s even if it is not empty", p.clock(*drain.Until))
		}
		label = ""
	}
}

// problems writes each condition that is not as it should be, with what it means for nodes if that is wanted,
// and what to do.
func (p *Printer) problems(problems []poolview.Problem, whole bool) {
	for _, problem := range problems {
		label, style := "Note", terminal.Yellow
		if problem.NeedsHuman {
			label, style = "Problem", terminal.Red
		}
		text := printable(problem.Condition+" is "+problem.Status) + ", " + p.Screen.Paint(style, printable(problem.Reason))
		if problem.Since != nil {
			text += " for " + p.age(problem.Since)
		}
		if problem.Message != "" {
			text += ": " + printable(problem.Message)
		}
		p.field(label, text)
		if whole && problem.Meaning != "" {
			p.field("Meaning", problem.Meaning)
		}
		if whole && problem.Nodes != "" {
			p.field("Nodes", problem.Nodes)
		}
		if problem.Remedy != "" && (whole || problem.NeedsHuman) {
			p.field("To do", problem.Remedy)
		}
		if whole {
			p.field("See", printable(problem.Link))
		}
	}
}

// writers writes who edited the spec last.
func (p *Printer) writers(writers []poolview.Writer) {
	label := "Edited"
	for _, writer := range writers[:min(len(writers), mostWriters)] {
		text := fmt.Sprintf("by %s", printable(writer.Manager))
		if writer.Time != nil {
			text = p.age(writer.Time) + " ago " + text
		}
		p.field(label, fmt.Sprintf("%s, which owns %s of the %s", text, printable(strings.Join(writer.Fields, ", ")), writer.Object))
		label = ""
	}
}

// List writes one line for each pool.
func (p *Printer) List(views []poolview.View, withNamespace bool) error {
	header := "NAME\tKIND\tSTATE\tREADY\tUP TO DATE\tVERSION\tNEEDS YOU"
	if withNamespace {
		header = "NAMESPACE\t" + header
	}
	rows := make([]string, 0, len(views))
	for i := range views {
		view := &views[i]
		row := fmt.Sprintf("%s\t%s\t%s\t%d/%d\t%d/%d\t%s\t%s", printable(view.Name), view.Kind, or(view.State),
			view.Ready, view.Desired, view.UpToDate, view.Replicas, numbered(view.WantedVersion), needs(view))
		if withNamespace {
			row = printable(view.Namespace) + "\t" + row
		}
		rows = append(rows, row)
	}
	p.table(header, rows)
	return p.err
}

// numbered returns the number of a version, or a hyphen for none.
func numbered(version int64) string {
	if version == 0 {
		return "-"
	}
	return fmt.Sprint(version)
}

// needs names the first problem that needs a human.
func needs(view *poolview.View) string {
	for _, problem := range view.Problems {
		if problem.NeedsHuman {
			return printable(problem.Condition + "=" + problem.Reason)
		}
	}
	return "no"
}

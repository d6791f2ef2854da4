package pooltext

import (
	"fmt"
	"strings"

	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/terminal"
)

// History writes the launches of a pool, the oldest first, as rows that are appended.
func (p *Printer) History(launches []poolview.Launch) error {
	if len(launches) == 0 {
		p.printf("No launch is recorded yet.\n")
		return p.err
	}
	rows := make([]string, 0, len(launches))
	for i := len(launches) - 1; i >= 0; i-- {
		launch := launches[i]
		launched := "-"
		if launch.Launched != nil {
			launched = launch.Launched.Format("2006-01-02 15:04")
		}
		version := fmt.Sprint(launch.Version)
		if launch.Deleted {
			version += " (deleted)"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%s", version, launched, or(launch.By), or(launch.Cause), launch.Nodes, launch.Outcome, or(launch.Change)))
	}
	p.table("VERSION\tLAUNCHED\tBY\tCAUSE\tNODES\tOUTCOME\tCHANGE", rows)
	return p.err
}

// Diff writes the difference between two versions.
func (p *Printer) Diff(diff *poolview.Diff) error {
	p.printf("%s of %s\n", p.Screen.Paint(terminal.Bold, fmt.Sprintf("Version %d → %d", diff.From, diff.To)), printable(diff.LaunchTemplateID))
	for _, change := range diff.Changes {
		p.printf("  %s\n", printable(change))
	}
	if len(diff.Changes) == 0 {
		p.printf("  no field differs\n")
	}
	if diff.SameNodes {
		p.printf("No node is replaced for the difference.\n")
	}
	if diff.SecretsDiffer {
		p.printf("The user data differs only by what is redacted.\n")
	}
	for line := range strings.Lines(diff.UserData) {
		line = printable(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = p.Screen.Paint(terminal.Green, line)
		case strings.HasPrefix(line, "-"):
			line = p.Screen.Paint(terminal.Red, line)
		}
		p.write(line + "\n") // as it is, so that it can be copied
	}
	return p.err
}

// Explanation writes why an object is not ready, and what to do.
func (p *Printer) Explanation(explanation *poolview.Explanation) error {
	style := terminal.Green
	if !explanation.Ready {
		style = terminal.Red
	}
	p.printf("%s\n", p.Screen.Paint(terminal.Bold, printable(explanation.Object)))
	p.field("State", p.Screen.Paint(style, printable(explanation.Summary)))
	for _, fact := range explanation.Facts {
		p.field(fact.Name, printable(fact.Value))
	}
	p.drains(explanation.Drains)
	for i := range explanation.Problems {
		p.printf("\n")
		p.problems(explanation.Problems[i:i+1], true)
	}
	if len(explanation.Events) > 0 {
		p.printf("\n")
		_ = p.Events(explanation.Events) // the error is kept
	}
	return p.err
}

// longestMessage bounds the message of an event in a table.
const longestMessage = 240

// Events writes events, the oldest first.
func (p *Printer) Events(events []poolview.Event) error {
	if len(events) == 0 {
		p.printf("There are no events.\n")
		return p.err
	}
	rows := make([]string, 0, len(events))
	for _, event := range events {
		kind := "Normal"
		if event.Warning {
			kind = "Warning"
		}
		message := terminal.Line(event.Message, longestMessage)
		if event.Count > 1 {
			message += fmt.Sprintf(" (%d times)", event.Count)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", p.clock(event.Time), printable(event.Source), kind, printable(event.Reason), message))
	}
	p.table("TIME\tSOURCE\tTYPE\tREASON\tMESSAGE", rows)
	return p.err
}

// Trace writes how an instance came to be.
func (p *Printer) Trace(trace *poolview.Trace) error {
	instance := trace.Instance
	if trace.Provisioner != "" {
		return p.provisioned(trace)
	}
	p.field("Instance", strings.Join(present(printable(instance.ID), instance.Zone, instance.Lifecycle, instance.Health), ", "))
	if instance.Node != "" {
		p.field("Node", printable(instance.Node))
	}
	if trace.Nodegroup != "" {
		p.field("Nodegroup", printable(trace.Nodegroup))
	}
	if trace.Group != "" {
		p.field("Group", printable(trace.Group))
	}
	version := or(instance.Version) + " of " + or(trace.LaunchTemplateID)
	if instance.Wanted {
		version += ", wanted"
	}
	p.field("Version", version)
	if trace.Reason != "" {
		text := "created because: " + printable(trace.Reason)
		if trace.Created != nil {
			text = trace.Created.Format("2006-01-02 15:04:05 UTC") + ", " + text
		}
		p.note("%s", text)
	}
	p.field("Config", "AWSLaunchConfig "+or(trace.LaunchConfig))
	p.field("Pool", fmt.Sprintf("%s %s/%s", trace.Kind, printable(trace.Namespace), printable(trace.Pool)))
	p.field("Cluster", or(trace.Cluster))
	launch := trace.Launch
	if launch == nil {
		p.field("Cause", "not known: the launch is older than the history, or the version was never recorded")
		return p.err
	}
	text := strings.Join(present(launch.Cause, launch.Change), ": ")
	if launch.By != "" {
		text += ", by " + printable(launch.By)
	}
	p.field("Cause", or(text))
	if launch.Launched != nil {
		p.note("first launched %s", launch.Launched.Format("2006-01-02 15:04:05 UTC"))
	}
	return p.err
}

// provisioned writes the trace of an instance that a Provisioner launched.
func (p *Printer) provisioned(trace *poolview.Trace) error {
	instance := trace.Instance
	p.field("Instance", or(strings.Join(present(printable(instance.ID), printable(instance.Type), printable(instance.Zone), printable(instance.Lifecycle)), ", ")))
	if instance.Node != "" {
		p.field("Node", printable(instance.Node))
	}
	p.field("Version", or(instance.Version)+" of "+or(trace.LaunchTemplateID))
	p.field("Launched", "ProvisionedNode "+printable(trace.ProvisionedNode))
	if trace.Created != nil {
		p.note("%s", trace.Created.Format("2006-01-02 15:04:05 UTC"))
	}
	p.field("Launcher", "Provisioner "+printable(trace.Provisioner))
	p.field("Cluster", or(trace.Cluster))
	p.field("Cause", "pods that waited for a node: their events NodeLaunched name the instance")
	return p.err
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	var found []string
	for _, text := range texts {
		if text != "" {
			found = append(found, printable(text))
		}
	}
	return found
}

// Tree writes a cluster with its pools, their versions, and the instances of each.
func (p *Printer) Tree(tree *poolview.Tree) error {
	p.printf("%s\n", p.Screen.Paint(terminal.Bold, "Cluster "+printable(tree.Namespace)+"/"+printable(tree.Cluster)))
	for i := range tree.Pools {
		view := &tree.Pools[i]
		branch, indent := branchOf(i, len(tree.Pools))
		p.printf("%s%s %s  %s  %d/%d ready\n", branch, view.Kind, printable(view.Name), p.Screen.Paint(stateStyle(view), or(view.State)), view.Ready, view.Desired)
		p.config(view, indent)
	}
	if len(tree.Pools) == 0 {
		p.printf("└─ no pools\n")
	}
	return p.err
}

// config writes the AWSLaunchConfig and the group of a pool.
func (p *Printer) config(view *poolview.View, indent string) {
	p.printf("%s├─ AWSLaunchConfig %s  %s\n", indent, or(view.LaunchConfig), or(view.LaunchTemplateID))
	group := "Auto Scaling group " + or(view.Group)
	switch {
	case view.Kind == poolview.ManagedKind && view.Group == "":
		group = "EKS node group " + or(view.Nodegroup)
	case view.Kind == poolview.ManagedKind:
		group = "EKS node group " + or(view.Nodegroup) + "  " + group
	}
	p.printf("%s└─ %s\n", indent, group)
	indent += "   "
	for i, version := range view.Versions {
		branch, below := branchOf(i, len(view.Versions))
		wanted := ""
		if version.Wanted {
			wanted = ", wanted"
		}
		p.printf("%s%sversion %s  %s%s\n", indent, branch, versionName(version), count(version.Instances, "instance"), wanted)
		p.instances(view, version, indent+below)
	}
}

// instances writes the instances that run a version.
func (p *Printer) instances(view *poolview.View, version poolview.Version, indent string) {
	if version.TemplateID != "" || version.ImageID != "" {
		return // the instances do not say which template or image they have
	}
	var running []poolview.Instance
	for _, instance := range view.Instances {
		if instance.Version == fmt.Sprint(version.Number) {
			running = append(running, instance)
		}
	}
	for i, instance := range running {
		branch, _ := branchOf(i, len(running))
		p.printf("%s%s%s\n", indent, branch, strings.Join(present(instance.ID, instance.Node, instance.Zone, instance.Lifecycle), "  "))
	}
}

// branchOf returns how a branch begins, and how the lines below it do.
func branchOf(index, total int) (branch, indent string) {
	if index == total-1 {
		return "└─ ", "   "
	}
	return "├─ ", "│  "
}

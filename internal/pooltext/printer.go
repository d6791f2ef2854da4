// Package pooltext prints the values of package poolview on a terminal.
package pooltext

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slipway-project/slipway/internal/terminal"
)

// longestText bounds a value or a message. Texts come from servers and tenants.
const longestText = 1000

// Printer writes to a screen, and keeps the first error.
type Printer struct {
	Out    io.Writer
	Screen terminal.Screen
	// Now is the time that ages are relative to.
	Now time.Time

	err error
}

// printf writes text whose lines are folded at the width of a terminal.
func (p *Printer) printf(format string, values ...any) {
	if p.err == nil {
		p.err = p.Screen.Fprintf(p.Out, format, values...)
	}
}

// write writes a text as it is.
func (p *Printer) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.Out, text)
	}
}

// labelWidth is the width of the column of labels.
const labelWidth = 10

// field writes a label and a text, which is wrapped at the width of the screen. The text is painted already.
func (p *Printer) field(label, text string) {
	screen := p.Screen
	screen.Width = max(screen.Width, labelWidth+20)
	first := p.Screen.Paint(terminal.Bold, label) + strings.Repeat(" ", max(labelWidth-len(label), 1))
	for _, line := range screen.Hang(first, strings.Repeat(" ", labelWidth), text) {
		p.write(line + "\n")
	}
}

// note writes a text below a field.
func (p *Printer) note(format string, values ...any) { p.field("", fmt.Sprintf(format, values...)) }

// table writes rows below a header. Cells are separated by tabs.
func (p *Printer) table(header string, rows []string) {
	table := terminal.NewTable(p.Out, p.Screen, strings.Split(header, "\t")...)
	for _, row := range rows {
		fmt.Fprintln(table, row)
	}
	if err := table.Flush(); p.err == nil {
		p.err = err
	}
}

// printable returns a text of a server or a tenant as it may be written to a terminal.
func printable(text string) string { return terminal.Line(text, longestText) }

// age returns how long ago something was, such as 18m or 3d.
func (p *Printer) age(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return short(p.Now.Sub(*at))
}

// short returns a duration in its largest unit.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// clock returns a time of the day in UTC, with the date if it is another day.
func (p *Printer) clock(at time.Time) string {
	at = at.UTC()
	if at.Format(time.DateOnly) == p.Now.UTC().Format(time.DateOnly) {
		return at.Format("15:04:05 UTC")
	}
	return at.Format("2006-01-02 15:04 UTC")
}

// count returns a number with a noun in the singular or plural.
func count[T int | int32](number T, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// Bar returns a bar that is filled to a percentage.
func Bar(percent int32, width int) string {
	filled := min(max(int(percent)*width/100, 0), width)
	return "[" + strings.Repeat("#", filled) + strings.Repeat("-", width-filled) + "]"
}

// or returns a dash for an empty text.
func or(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

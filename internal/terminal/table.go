package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

const (
	// padding is the space between two columns.
	padding = 2
	// narrowest bounds the width that wrapping leaves for the last column.
	narrowest = 24
	// below indents the text of a last column that has lines of its own.
	below = "    "
)

// Table writes rows with the cells of each column below one another. On a terminal that is narrower
// than the table, it wraps the last column. If little is left for that column, its cells continue on
// lines of their own, and if the other columns do not fit either, each row becomes a block of lines with
// one cell each. Nothing but the width of a terminal changes the layout.
type Table struct {
	out    io.Writer
	screen Screen
	header []string
	rows   bytes.Buffer
}

// NewTable returns a table with a header. Without one, blocks have no names of columns.
func NewTable(out io.Writer, screen Screen, header ...string) *Table {
	return &Table{out: out, screen: screen, header: header}
}

// Write adds rows. A row ends with a line break, and its cells are separated by tabs. A row of one
// cell is a title.
func (t *Table) Write(rows []byte) (int, error) { return t.rows.Write(rows) }

// Flush writes the table.
func (t *Table) Flush() error {
	text := t.columns()
	if t.screen.Interactive && wider(text, t.screen.Width) {
		rows := t.cells()
		switch begin := lastColumn(rows); {
		case begin+narrowest <= t.screen.Width:
			text = t.wrapped(rows, strings.Repeat(" ", begin))
		case begin-padding <= t.screen.Width:
			text = t.wrapped(rows, "")
		default:
			text = t.blocks(rows)
		}
	}
	if _, err := io.WriteString(t.out, text); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	return nil
}

// columns returns the table as it is without regard to the screen.
func (t *Table) columns() string {
	text := &strings.Builder{}
	writer := tabwriter.NewWriter(text, 0, 0, padding, ' ', 0)
	if len(t.header) > 0 {
		fmt.Fprintln(writer, strings.Join(t.header, "\t"))
	}
	_, _ = writer.Write(t.rows.Bytes()) // a builder returns no error
	_ = writer.Flush()
	return text.String()
}

// wider reports whether a line of a text is wider than a screen.
func wider(text string, width int) bool {
	for line := range strings.Lines(text) {
		if length(strings.TrimRight(line, " \n")) > width {
			return true
		}
	}
	return false
}

// cells returns the cells of each row, with the header's.
func (t *Table) cells() [][]string {
	var rows [][]string
	if len(t.header) > 0 {
		rows = append(rows, t.header)
	}
	for line := range strings.Lines(t.rows.String()) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// widths returns the widths of all columns but the last.
func widths(rows [][]string) []int {
	var found []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(found) {
				found = append(found, 0)
			}
			found[i] = max(found[i], length(cell))
		}
	}
	return found
}

// lastColumn returns where the last column begins.
func lastColumn(rows [][]string) int {
	begin := 0
	for _, width := range widths(rows) {
		begin += width + padding
	}
	return begin
}

// wrapped returns the table with the texts of the last column wrapped. They continue behind rest, or if
// it is empty, a text that does not fit has lines of its own.
func (t *Table) wrapped(rows [][]string, rest string) string {
	text, columns := &strings.Builder{}, widths(rows)
	for _, row := range rows {
		last := len(row) - 1
		if last == 0 {
			text.WriteString(t.screen.Fold(row[0] + "\n"))
			continue
		}
		first := &strings.Builder{}
		for i, cell := range row[:last] {
			first.WriteString(cell + strings.Repeat(" ", columns[i]-length(cell)+padding))
		}
		before, begin := first.String(), rest
		if rest == "" && length(before)+length(row[last]) > t.screen.Width {
			text.WriteString(strings.TrimRight(before, " ") + "\n")
			before = indentation(row[0]) + below
			begin = before
		}
		for _, line := range t.screen.Hang(before, begin, row[last]) {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// blocks returns each row as a block with one line for each cell, after the name of its column.
func (t *Table) blocks(rows [][]string) string {
	text, named := &strings.Builder{}, len(t.header) > 0
	names := 0
	for _, name := range t.header {
		names = max(names, length(name)+padding)
	}
	if named {
		rows = rows[1:]
	}
	for number, row := range rows {
		if named && number > 0 {
			text.WriteString("\n")
		}
		for i, cell := range row {
			var lines []string
			switch {
			case named && i < len(t.header):
				name := t.header[i] + ":"
				lines = t.screen.Hang(name+strings.Repeat(" ", names-length(name)), strings.Repeat(" ", names), cell)
			case i == 0:
				lines = []string{strings.TrimSuffix(t.screen.Fold(cell), "\n")}
			default:
				indent := indentation(row[0]) + "  "
				lines = t.screen.Hang(indent, indent, cell)
			}
			text.WriteString(strings.Join(lines, "\n") + "\n")
		}
	}
	return text.String()
}

// indentation returns the spaces that a text begins with.
func indentation(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " "))]
}

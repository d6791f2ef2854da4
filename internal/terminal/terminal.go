// Package terminal prepares texts of servers and users for output on a terminal.
package terminal

import (
	"strings"
	"unicode"
)

// Line returns a text on one line, without characters that a terminal interprets. Of a text with more
// than longest characters it returns the beginning.
func Line(text string, longest int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
	if len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return string(runes)
}

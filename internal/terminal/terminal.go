// Package terminal prepares texts of servers and users for output on a terminal.
package terminal

import (
	"strings"
	"unicode"
)

// Printable returns a text on one line, without characters that a terminal interprets.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// Cut returns a text of at most longest characters. A text that it cuts ends in an ellipsis.
func Cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}

// Line returns a text on one line, without characters that a terminal interprets. Of a text with more
// than longest characters it returns the beginning.
func Line(text string, longest int) string {
	text = Printable(text)
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

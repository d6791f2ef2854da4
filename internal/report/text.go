package report

import "github.com/slipway-project/slipway/internal/terminal"

// longestText bounds what is said in status (API: maxLength 1024), in characters.
const longestText = 1024

// Shortened returns a text on one line, cut to what status takes.
func Shortened(text string) string {
	return terminal.Cut(terminal.Printable(text), longestText)
}

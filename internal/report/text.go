package report

import "github.com/slipway-project/slipway/internal/reconciling"

// longestText bounds what is said in status (API: maxLength 1024), in characters.
const longestText = 1024

// Shortened returns a text on one line, cut to what status takes.
func Shortened(text string) string {
	text = reconciling.Printable(text)
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return text
}

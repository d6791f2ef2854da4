package report

// longestText bounds what is said in status (API: maxLength 1024), in characters.
const longestText = 1024

// Shortened cuts a text to what status takes.
func Shortened(text string) string {
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return text
}

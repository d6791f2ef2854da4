package terminal

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Hang returns a text in lines of the width of the screen. The first line begins with first, and the
// others with rest. Words are never broken, so that they can be copied. On a terminal, a word that does
// not fit behind first or rest has a line of its own, and begins further left.
func (s Screen) Hang(first, rest, text string) []string {
	var lines []string
	line, used, begun := first, length(first), false
	for _, word := range strings.Fields(text) {
		wide := length(word)
		switch {
		case begun && used+1+wide <= s.Width:
			line, used = line+" "+word, used+1+wide
			continue
		case !begun && (used+wide <= s.Width || !s.Interactive):
			line, used = line+word, used+wide
		default:
			if begun || strings.TrimSpace(line) != "" {
				lines = append(lines, strings.TrimRight(line, " "))
			}
			before := rest
			if left := s.Width - wide; s.Interactive && left < length(rest) {
				before = string([]rune(rest)[:max(left, 0)])
			}
			line, used = before+word, length(before)+wide
		}
		begun = true
	}
	return append(lines, strings.TrimRight(line, " "))
}

// Fold returns a text whose lines fit a terminal: lines that are wider continue on further ones,
// below their indentation. The indentation may be the branches of a tree. Without a terminal, the
// text stays as it is.
func (s Screen) Fold(text string) string {
	if !s.Interactive {
		return text
	}
	folded := &strings.Builder{}
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if length(bare) <= s.Width {
			folded.WriteString(line)
			continue
		}
		words := strings.TrimLeft(bare, branches)
		first := bare[:len(bare)-len(words)]
		rest := continued.Replace(first) + strings.Repeat(" ", max(len(ordinal.FindString(words)), 2))
		folded.WriteString(strings.Join(s.Hang(first, rest, words), "\n"))
		folded.WriteString(line[len(bare):])
	}
	return folded.String()
}

// Fprintf formats a text and writes it to a writer that leads to the screen, as Fold returns it.
func (s Screen) Fprintf(out io.Writer, format string, values ...any) error {
	_, err := io.WriteString(out, s.Fold(fmt.Sprintf(format, values...)))
	return err
}

// branches are the characters before the text of a line in a tree. The replacer continued turns
// them into what precedes the further lines of that text.
const branches = " │├└─"

// ordinal is the number of an item of a list.
var ordinal = regexp.MustCompile(`^\d+\. `)

var continued = strings.NewReplacer("├", "│", "└", " ", "─", " ")

// length returns how many columns of a terminal a text takes. Styles take none.
func length(text string) int {
	columns := utf8.RuneCountInString(text)
	for {
		_, after, styled := strings.Cut(text, escape)
		style, rest, ended := strings.Cut(after, "m")
		if !styled || !ended {
			return columns
		}
		columns -= len(escape) + len(style) + 1
		text = rest
	}
}

// Counted returns a number of things as text. It adds an s to the thing for the plural.
func Counted(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}

// Alternatives returns texts with commas and "or" between them.
func Alternatives(texts ...string) string {
	last := len(texts) - 1
	if last < 2 {
		return strings.Join(texts, " or ")
	}
	return strings.Join(texts[:last], ", ") + ", or " + texts[last]
}

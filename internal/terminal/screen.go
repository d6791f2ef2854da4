package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen describes where a command writes to.
type Screen struct {
	// Width is how many columns there are.
	Width int
	// Interactive is true for a terminal, and Color if it shows colors.
	Interactive, Color bool
}

// Writer is a writer that leads to a known screen.
type Writer struct {
	io.Writer
	On Screen
}

// defaultWidth is the width of a writer that is no terminal.
const defaultWidth = 100

// ScreenOf returns the screen that a writer leads to. The environment variables NO_COLOR and TERM decide
// about colors, as in other programs (https://no-color.org).
func ScreenOf(out io.Writer, getenv func(string) string) Screen {
	if known, is := out.(Writer); is {
		return known.On
	}
	file, is := out.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return Screen{Width: defaultWidth}
	}
	screen := Screen{Width: defaultWidth, Interactive: true, Color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		screen.Width = width
	}
	return screen
}

// Style is a color of text.
type Style string

// The styles.
const (
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// escape begins a style.
const escape = "\x1b["

// Paint returns a text in a style, or as it is on a screen without colors.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return escape + string(style) + "m" + text + escape + "0m"
}

// Package document writes measurements into documents: each into a section that is generated, amid
// text that is written by hand.
package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Replace puts the text between the lines "<!-- measured: SECTION -->" and "<!-- end -->" of a document.
func Replace(path, section, text string) error {
	content, err := os.ReadFile(path) // #nosec G304 -- the file that the user names
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	begin, end := "<!-- measured: "+section+" -->\n", "<!-- end -->"
	head, rest, found := strings.Cut(string(content), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and after it %q", path, strings.TrimSpace(begin), end)
	}
	// #nosec G703 -- the file that the user names
	if err := os.WriteFile(path, []byte(head+begin+"\n"+strings.TrimSpace(text)+"\n\n"+end+tail), 0o600); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}

// Conditions describes a measurement: its date, the machine and the load of the machine, and the
// command.
func Conditions(command string) string {
	return fmt.Sprintf("Measured on %s with %d CPUs (%s/%s, %s)%s by\n\n    %s\n\n", time.Now().UTC().Format("2 January 2006"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		runtime.Version(), load(), command)
}

// load describes the load of the machine, if the system reports it.
func load() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "" // not Linux
	}
	minute, _, _ := strings.Cut(string(content), " ")
	return fmt.Sprintf(", a load of %s before it began,", minute)
}

// Verdict returns how a table says that a goal is met, or is not.
func Verdict(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

// Command buildprogress runs go build and shows how many of the packages that are not in the build
// cache are compiled, and about how long the rest takes. It takes the arguments of go build after
// the directory of the module:
//
//	go run ./hack/buildprogress lab -o ../bin/ ./cmd/lab
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// interval is the time between two lines where the output is no terminal.
const interval = 15 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "buildprogress:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("want the directory of a module, and the arguments of go build")
	}
	directory, arguments := args[0], args[1:]
	stale, err := stalePackages(ctx, directory, arguments[len(arguments)-1])
	if err != nil {
		return err
	}
	// #nosec G204 -- the arguments are those of the Makefile
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-v"}, arguments...)...)
	command.Dir, command.Stdout = directory, os.Stdout
	lines, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("reading what go build says: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting go build: %w", err)
	}
	show := display{out: os.Stderr, terminal: isTerminal(os.Stderr)}
	follow(lines, newProgress(arguments[len(arguments)-1], stale, time.Now()), &show)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// stalePackages returns the packages that go build is going to compile.
func stalePackages(ctx context.Context, directory, target string) ([]string, error) {
	// #nosec G204 -- the target is one of the Makefile
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", target)
	command.Dir, command.Stderr = directory, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w", target, err)
	}
	return strings.Fields(string(out)), nil
}

// follow shows the progress that the lines of go build -v report, and passes other lines on.
func follow(lines io.Reader, progress *progress, show *display) {
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		now := time.Now()
		if progress.compiled(scanner.Text()) {
			show.progress(now, progress.at(now))
			continue
		}
		show.line(scanner.Text())
	}
	show.end()
}

// progress counts the packages of a build.
type progress struct {
	target      string
	began       time.Time
	left        map[string]bool
	done, total int
}

func newProgress(target string, stale []string, began time.Time) *progress {
	left := make(map[string]bool, len(stale))
	for _, name := range stale {
		left[name] = true
	}
	return &progress{target: target, began: began, left: left, total: len(left)}
}

// compiled counts a package, and reports whether a line names one. Go names it when it begins to
// compile it.
func (p *progress) compiled(line string) bool {
	if !p.left[line] {
		return false
	}
	delete(p.left, line)
	p.done++
	return true
}

// at describes the progress at a time. The time left is an estimate: it takes packages to be alike.
func (p *progress) at(now time.Time) string {
	if p.done == p.total {
		return fmt.Sprintf("Building %s: compiled %d packages, linking", p.target, p.total)
	}
	left := now.Sub(p.began) * time.Duration(p.total-p.done) / time.Duration(p.done)
	return fmt.Sprintf("Building %s: compiled %d of %d packages, about %v left", p.target, p.done, p.total, left.Round(time.Second))
}

// display shows progress on one line of a terminal, and as a line now and then elsewhere.
type display struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	open     bool
}

const clearLine = "\r\x1b[K"

func (d *display) progress(now time.Time, text string) {
	switch {
	case d.terminal:
		_, _ = fmt.Fprint(d.out, clearLine+text) // nothing is lost if it cannot be shown
		d.open = true
	case now.Sub(d.shown) >= interval:
		_, _ = fmt.Fprintln(d.out, text)
		d.shown = now
	}
}

// line shows a line of go build's own, such as a compiler's error.
func (d *display) line(text string) {
	d.end()
	_, _ = fmt.Fprintln(d.out, text)
}

// end finishes the line of the progress.
func (d *display) end() {
	if d.open {
		_, _ = fmt.Fprintln(d.out)
		d.open = false
	}
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

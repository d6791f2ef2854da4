// Command oracles reports how true the simulated AWS is. It runs the tests of awssim, collects the
// results that compare it with AWS, and writes a table of them into a document.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway-project/slipway/awssim/oracle"
	"github.com/slipway-project/slipway/bench/document"
)

func main() {
	write := flag.String("write", "", "the document whose section \"oracles\" the table is written to; standard output without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *write)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracles:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, write string) error {
	tests := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "./awssim/...")
	tests.Stderr = os.Stderr
	output, err := tests.StdoutPipe()
	if err != nil {
		return fmt.Errorf("reading the tests' output: %w", err)
	}
	if err := tests.Start(); err != nil {
		return fmt.Errorf("starting the tests: %w", err)
	}
	results, readErr := read(output)
	// A test that fails is a row of the table too, where less is held than there are cases.
	if err := tests.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "oracles: some tests failed:", err)
	}
	if readErr != nil {
		return readErr
	}
	table := markdown(results)
	if write == "" {
		fmt.Print(table)
		return nil
	}
	return document.Replace(write, "oracles", document.Conditions("make oracles")+table)
}

// event is the part of a line of `go test -json` that is read.
type event struct {
	Action, Key, Value string
}

// read collects the results among the output of tests.
func read(output io.Reader) ([]oracle.Result, error) {
	var results []oracle.Result
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action != "attr" || e.Key != oracle.Attribute {
			continue // a line of a build, or of something else
		}
		var r oracle.Result
		if err := json.Unmarshal([]byte(e.Value), &r); err != nil {
			return nil, fmt.Errorf("reading the result %q: %w", e.Value, err)
		}
		results = append(results, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the tests' output: %w", err)
	}
	return results, nil
}

// markdown returns a table with a row for each service and oracle.
func markdown(results []oracle.Result) string {
	slices.SortFunc(results, func(a, b oracle.Result) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Oracle, b.Oracle))
	})
	var text strings.Builder
	text.WriteString("| service | compared with | cases | held | source |\n|---|---|---|---|---|\n")
	cases, held := 0, 0
	for _, r := range results {
		fmt.Fprintf(&text, "| %s | %s | %d | %d | %s |\n", r.Service, r.Oracle, r.Cases, r.Held, r.Source)
		cases, held = cases+r.Cases, held+r.Held
	}
	fmt.Fprintf(&text, "| all | | %d | %d | |\n", cases, held)
	return text.String()
}

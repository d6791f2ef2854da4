// Command packing measures the choice of nodes for pending pods: what it takes of the processor and
// of memory, and what the nodes cost. Another packer, given as a command, is measured alongside it,
// with the same pods and instance types: each reads a problem on its standard input and writes an
// outcome, both as JSON, and each case is a process of its own.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-project/slipway/bench/document"
	"github.com/slipway-project/slipway/bench/workload"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// outcome holds the result of packing a problem once, and the resources that it took.
type outcome struct {
	Placed, Nodes      int
	Price              float64 // an hour
	CPU                time.Duration
	Bytes, Allocations uint64
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "packing:", err)
		os.Exit(1)
	}
}

func run() error {
	measure := flag.Bool("measure", false, "pack the problem on standard input, and write the outcome to standard output")
	beside := flag.String("beside", "", "the command of another packer, which takes the name Karpenter")
	cases := flag.String("cases", "", "only cases whose name begins so, such as '20000 diverse/10'")
	write := flag.String("write", "", "the document whose section \"packing\" the table is written to")
	flag.Parse()
	if *measure {
		return measured(os.Stdin, os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return compare(ctx, strings.Fields(*beside), *cases, *write)
}

// enough is the CPU time for which packing is repeated, so that one slow run does not distort the
// numbers.
const enough = 2 * time.Second

func measured(in io.Reader, out io.Writer) error {
	var p workload.Problem
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("reading the problem: %w", err)
	}
	given := p.Packing()
	runtime.GC()
	began, err := usage()
	if err != nil {
		return err
	}
	var result *packing.Result
	spent, times := began, uint64(0)
	for spent.CPU-began.CPU < enough {
		result = packing.Pack(given)
		times++
		if spent, err = usage(); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(outcome{
		Placed: len(p.Pods) - len(result.Unplaced), Nodes: len(result.New), Price: result.Price(), CPU: (spent.CPU - began.CPU) / time.Duration(times),
		Bytes: (spent.Bytes - began.Bytes) / times, Allocations: (spent.Allocations - began.Allocations) / times,
	})
}

// usage returns the resources that the process has used so far.
func usage() (outcome, error) {
	var rusage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &rusage); err != nil {
		return outcome{}, fmt.Errorf("reading the processor time: %w", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return outcome{CPU: time.Duration(rusage.Utime.Nano() + rusage.Stime.Nano()), Bytes: memory.TotalAlloc, Allocations: memory.Mallocs}, nil
}

// packer is a program that packs.
type packer struct {
	name    string
	command []string
}

// compare makes a table with a line for each packer and case.
func compare(ctx context.Context, beside []string, only, write string) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	packers := []packer{{"Slipway", []string{own, "-measure"}}}
	if len(beside) > 0 {
		packers = append(packers, packer{"Karpenter", beside})
	}
	var table strings.Builder
	table.WriteString(document.Conditions("make bench-packing"))
	table.WriteString("| pods | launch templates | | pods per CPU second | bytes a pod | allocations a pod | nodes | price an hour | placed |\n|---|---|---|---|---|---|---|---|---|\n")
	var all []measurement
	for _, c := range workload.Cases {
		if !strings.HasPrefix(c.Name(), only) {
			continue
		}
		problem, taken := c.Problem(), measurement{of: c}
		for _, packer := range packers {
			o, err := pack(ctx, packer.command, problem)
			if err != nil {
				return fmt.Errorf("packing %s by %s: %w", c.Name(), packer.name, err)
			}
			if packer.name == packers[0].name {
				taken.own = o
			} else {
				taken.beside = &o
			}
			each := uint64(max(o.Placed, 1))
			line := fmt.Sprintf("| %d %s | %d | %s | %.0f | %d | %d | %d | %.2f | %d |\n", c.Number, c.Kind, c.Templates, packer.name,
				o.rate(), o.Bytes/each, o.Allocations/each, o.Nodes, o.Price, o.Placed)
			fmt.Fprint(os.Stderr, line)
			table.WriteString(line)
		}
		all = append(all, taken)
	}
	table.WriteString(goals(all))
	if write != "" {
		return document.Replace(write, "packing", table.String())
	}
	fmt.Print(table.String())
	return nil
}

func pack(ctx context.Context, command []string, p *workload.Problem) (outcome, error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return outcome{}, fmt.Errorf("writing the problem: %w", err)
	}
	// #nosec G204 -- running the user's command is the purpose
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Stdin, program.Stderr = bytes.NewReader(encoded), os.Stderr
	answer, err := program.Output()
	if err != nil {
		return outcome{}, fmt.Errorf("running %s: %w", command[0], err)
	}
	var o outcome
	if err := json.Unmarshal(answer, &o); err != nil {
		return outcome{}, fmt.Errorf("reading the outcome of %s: %w", command[0], err)
	}
	return o, nil
}

// Command figures measures the structure of the Go code from its syntax trees, and prints a table:
// long functions, large receivers, exported names, references between files, and lines of tests. With
// -check it fails if a figure is beyond its goal.
//
//	go run ./hack/figures -check
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	root := flag.String("root", ".", "the directory of the module")
	check := flag.Bool("check", false, "fail if a figure is beyond its goal")
	flag.Parse()
	tree, err := parse(*root)
	if err == nil {
		err = print(os.Stdout, figuresOf(tree), *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// figure is one row of the table.
type figure struct {
	name, goal, measured string
	// worst names what is furthest from the goal.
	worst []string
	met   bool
}

// print prints a table of figures. It returns an error if check is true and a figure is beyond its goal.
func print(out io.Writer, figures []figure, check bool) error {
	beyond := 0
	lines := "| figure | goal | measured | furthest from the goal |\n|---|---|---|---|\n"
	for _, f := range figures {
		lines += fmt.Sprintf("| %s | %s | %s | %s |\n", f.name, f.goal, f.measured, list(f.worst))
		if !f.met {
			beyond++
		}
	}
	if _, err := io.WriteString(out, lines); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	if check && beyond > 0 {
		return fmt.Errorf("%d figures are beyond their goals", beyond)
	}
	return nil
}

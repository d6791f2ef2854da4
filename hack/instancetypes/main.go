// Command instancetypes writes the table of instance types that the simulated AWS answers
// DescribeInstanceTypes from, and compares what the simulator answers with a recording of AWS:
//
//	aws ec2 describe-instance-types --output json > recording.json
//	go run ./hack/instancetypes -write awssim/world/instancetypes.tsv recording.json
//	go run ./hack/instancetypes recording.json
//
// A recording is the output of the AWS CLI, or an object of instance types by name.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "instancetypes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("instancetypes", flag.ContinueOnError)
	write := flags.String("write", "", "write the table to this `file` instead of comparing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("name one recording, not %d", flags.NArg())
	}
	data, err := os.ReadFile(filepath.Clean(flags.Arg(0)))
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	recorded, err := parseRecording(data)
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	if *write == "" {
		return compare(ctx, recorded, out)
	}
	table, err := tableOf(recorded)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Clean(*write), []byte(table), 0o644); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

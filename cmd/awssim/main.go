// Command awssim serves a simulated AWS over HTTP. Point AWS_ENDPOINT_URL at what its first line on
// standard output says. It runs until it gets SIGINT or SIGTERM.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1) // cobra has written what is wrong
	}
}

// flags holds the values of the command-line flags.
type flags struct {
	listen, world    string
	clockStart       string
	clockRate        float64
	seed             uint64
	behavior         awssim.Behavior
	faults, capacity string
}

func command(out io.Writer) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "awssim",
		Short: "Serve a simulated AWS",
		Long: `Serve a simulated AWS: EC2, Auto Scaling, EKS, IAM, STS, S3, SQS, EventBridge and Systems
Manager's parameters, in memory.

The first line on standard output is "listening on URL". Set AWS_ENDPOINT_URL to it, and any
credentials: an access key id that ends in twelve digits is that account's.`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(c *cobra.Command, _ []string) error { return f.run(c.Context(), out) },
	}
	set := c.Flags()
	set.StringVar(&f.listen, "listen", "127.0.0.1:4566", "address to listen on; port 0 takes a free one")
	set.StringVar(&f.world, "world", "", "YAML file with the world that every account starts as (default: the built-in one, with every instance type)")
	set.StringVar(&f.clockStart, "clock-start", "", "simulated time to start at, such as 2026-01-02T15:04:05Z (default: now)")
	set.Float64Var(&f.clockRate, "clock-rate", 1, "how fast simulated time passes; 0 stands still until it is stepped")
	set.Uint64Var(&f.seed, "seed", 0, "seed of the identifiers that are made")
	times := &f.behavior.InstanceTimes
	set.DurationVar(&times.Pending, "instance-pending", 0, "simulated time from launch to running")
	set.DurationVar(&times.Boot, "instance-boot", 0, "simulated time from running until the node is up")
	set.DurationVar(&times.ShuttingDown, "instance-shutting-down", 0, "simulated time from terminate to terminated")
	set.DurationVar(&f.behavior.ReadLag, "read-lag", 0, "how far reads lag behind writes, in simulated time")
	set.BoolVar(&f.behavior.Throttling, "throttling", false, "enforce the token buckets that AWS documents")
	set.StringVar(&f.capacity, "capacity", "", `capacity rules as JSON, or @FILE: [{"instanceType":"m5.large","zone":"us-east-1a","available":2}]`)
	set.StringVar(&f.faults, "faults", "", `faults as JSON, or @FILE: [{"service":"ec2","action":"RunInstances","nth":2,"code":"InternalError","status":500}]`)
	return c
}

func (f *flags) run(ctx context.Context, out io.Writer) (err error) {
	options, err := f.options()
	if err != nil {
		return err
	}
	defer options.Clock.Close()
	simulator := awssim.New(options)
	defer func() {
		if closeErr := simulator.Close(); err == nil {
			err = closeErr
		}
	}()
	url, err := simulator.Start(ctx, f.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "listening on %s\n", url); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (f *flags) options() (awssim.Options, error) {
	o := awssim.Options{Seed: f.seed, Behavior: f.behavior}
	start := time.Now()
	var err error
	if f.clockStart != "" {
		if start, err = time.Parse(time.RFC3339, f.clockStart); err != nil {
			return o, fmt.Errorf("--clock-start: %w", err)
		}
	}
	if f.clockRate < 0 {
		return o, fmt.Errorf("--clock-rate: time does not go backward, but it is %v", f.clockRate)
	}
	// The default world has a choice of instance types, for tests that name them and count calls. A
	// client of a simulator of its own may ask for any.
	whole := *world.Default()
	whole.InstanceTypes = world.Catalogue()
	o.World = &whole
	if f.world != "" {
		if o.World, err = world.Load(f.world); err != nil {
			return o, fmt.Errorf("--world: %w", err)
		}
	}
	if f.faults != "" {
		if o.Faults, err = parse(f.faults, awssim.ParseFaults); err != nil {
			return o, fmt.Errorf("--faults: %w", err)
		}
	}
	if f.capacity != "" {
		if o.Behavior.Capacity, err = parse(f.capacity, awssim.ParseCapacity); err != nil {
			return o, fmt.Errorf("--capacity: %w", err)
		}
	}
	if err := o.Behavior.Check(); err != nil {
		return o, err
	}
	o.Clock = simclock.New(start, f.clockRate)
	return o, nil
}

// parse reads a flag's JSON, from a file if it begins with @.
func parse[T any](text string, read func([]byte) (T, error)) (T, error) {
	data := []byte(text)
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if data, err = os.ReadFile(filepath.Clean(path)); err != nil {
			var zero T
			return zero, fmt.Errorf("reading JSON: %w", err)
		}
	}
	return read(data)
}

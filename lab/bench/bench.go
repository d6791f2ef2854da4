// Package bench measures what a controller of machine pools costs: calls to AWS, time, CPU and memory, for some number of pools. The
// controller runs as a process of its own against a laboratory, so that what is measured is its own; it may be Slipway's or any
// other for the same kinds.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
)

// Options say what to measure.
type Options struct {
	// Pools is the number of pools; with Managed they are AWSManagedMachinePools.
	Pools   int
	Managed bool
	// Command runs the controller, with the laboratory's variables in its environment. Own is true for Slipway's.
	Command []string
	Own     bool
	// CRDs are directories of definitions that take the place of Slipway's.
	CRDs []string
	// Latency is the time that AWS takes to answer; with Throttling it refuses calls beyond its
	// documented rates.
	Latency    time.Duration
	Throttling bool
	// Unbounded has Slipway assume no request rates, as in an account that AWS gave higher ones.
	Unbounded bool
	// Storage is where pools keep their bootstrap data; in launch templates if empty.
	Storage infrav1.BootstrapStorage
	// CreateOnly leaves out everything after the pools are there.
	CreateOnly bool
	// Quiet is how long a foreign controller is watched at rest, in real time. Slipway's hour passes on a stepped clock.
	Quiet time.Duration
	// Profiles is the directory that profiles of each phase are written to, for go tool pprof: the laboratory's CPU time, and the heap of Slipway. None if empty.
	Profiles string
	// Log gets what the controller prints; Progress what is being done.
	Log, Progress io.Writer
}

// Phase holds the cost of one phase.
type Phase struct {
	Name string
	// Took is real time. Hours is the time that passed on a stepped clock, zero for none.
	Took  time.Duration
	Hours int
	// Calls to AWS by action, and Requests to the API server by verb and resource, including the
	// laboratory's own.
	Calls, Requests map[string]int
	// LabCPU is what the laboratory used: API server, etcd, Cluster API's webhooks and the simulated AWS.
	LabCPU time.Duration
	// CPU is what the controller's process used, Memory its resident set afterwards in bytes. Both are zero where it ran inside this process.
	CPU    time.Duration
	Memory int64
	// Anonymous is the part of Memory that is not the program's file.
	Anonymous int64
	// Answered is the time until the result that users wait for, where that is not the whole phase:
	// the last pool that is ready, the slowest edit, the last version, the last answer after a start.
	Answered time.Duration
	// Note says more.
	Note string
}

// Total returns the number of calls.
func (p Phase) Total() int {
	total := 0
	for _, count := range p.Calls {
		total += count
	}
	return total
}

// hourly returns the calls of one of so many pools in an hour of a stepped clock.
func (p Phase) hourly(pools int) float64 {
	return float64(p.Total()) / float64(max(p.Hours, 1)) / float64(pools)
}

// Result holds the measurements of one run.
type Result struct {
	Options Options
	Phases  []Phase
	// Reconciles are how long passes took, by what the controller's own metrics say; nil if it serves none.
	Reconciles *Histogram
}

// The names of phases.
const (
	alone, creating, coldStart, oneEdit, allEdited, quietHour, quiet = "no controller", "create", "cold start", "one edit", "all edited", "quiet hour", "quiet"
)

// garbage is the garbage collector's target of this process, in percent: with a thousand pools it takes some 3 GB. With few pools the same memory allows for the second.
const garbage, garbageOfFew = 200, 800

// patience bounds how long any one step may take.
const patience = 20 * time.Minute

// bench is one run.
type bench struct {
	Options
	lab   *lab.Lab
	fleet *fleet.Fleet
	clock *simclock.Clock
	// standing is true once the clock stands but for steps.
	standing bool
	process  *process
	subject  string // names the measured thing in messages
	result   Result
}

// Run measures everything that the options ask for.
func Run(ctx context.Context, options Options) (_ Result, err error) {
	// The measured controller is a process of its own. The less this one takes of the CPUs that
	// they share, the better.
	target := garbage
	if options.Pools <= some {
		target = garbageOfFew
	}
	defer debug.SetGCPercent(debug.SetGCPercent(target))
	b := &bench{Options: options, clock: simclock.New(time.Now(), 1), subject: fmt.Sprintf("%d pools", options.Pools), result: Result{Options: options}}
	defer b.clock.Close()
	b.lab, err = lab.Start(ctx, lab.Options{
		WithoutPools: true, WithoutClusterTopology: true, WithoutSlipway: len(options.CRDs) > 0, CRDDirs: options.CRDs,
		Cloud: lab.CloudOptions{
			AWS: awssim.Options{Clock: b.clock, World: fleet.World(), Behavior: awssim.Behavior{Throttling: options.Throttling}},
			// They are the API server's of another cluster, and this one has enough to do.
			WithoutNodes: true,
		},
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.lab.Close()) }()
	if options.Latency > 0 {
		if _, err := b.lab.Cloud.AWS.AddFault(awssim.Fault{ID: "latency", Delay: options.Latency}); err != nil {
			return Result{}, err
		}
	}
	cluster := lab.ClusterOptions{Managed: options.Managed}
	if options.Managed {
		cluster.KubernetesVersion = fleet.ManagedVersion
	}
	if _, err := b.lab.NewCluster(ctx, cluster); err != nil {
		return Result{}, err
	}
	b.fleet = &fleet.Fleet{
		Client: b.lab.Client(), Namespace: "default", Cluster: "capa", Subnet: "subnet-0b2000000000000aa", Replicas: 1, NoRefresh: true,
		Managed: options.Managed,
	}
	if options.Managed {
		b.fleet.Replicas = 0 // EKS cannot be kept from replacing nodes after an edit
	}
	if options.Storage != "" {
		b.fleet.Shape = func(_ int, pool *infrav1.AWSMachinePool) { fleet.StoreIn(options.Storage, pool) }
	}
	if err := b.applyAlone(ctx); err != nil {
		return b.result, err
	}
	if err := b.start(ctx); err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.process.stop()) }()
	phases := []func(context.Context) error{b.idle, b.create, b.restart, b.editOne, b.editAll, b.quietHour}
	if options.CreateOnly {
		phases = phases[:2]
	}
	for _, phase := range phases {
		if err := phase(ctx); err != nil {
			return b.result, err
		}
	}
	return b.result, nil
}

func (b *bench) say(format string, values ...any) {
	_, _ = fmt.Fprintf(b.Progress, format+"\n", values...) // progress is worth no failure
}

// measure runs one phase, which may add to its measurements.
func (b *bench) measure(ctx context.Context, name string, do func(*Phase) error) error {
	requests, err := b.requests(ctx)
	if err != nil {
		return err
	}
	profiled, err := b.profile(ctx, name)
	if err != nil {
		return err
	}
	b.lab.Cloud.AWS.ClearCalls()
	phase, cpu, labCPU, began := Phase{Name: name}, b.process.cpu(), ownCPU(), time.Now()
	if err := do(&phase); err != nil {
		return errors.Join(fmt.Errorf("%s of %s: %w", name, b.subject, err), profiled())
	}
	phase.Took, phase.Calls, phase.CPU = time.Since(began), b.calls(), b.process.cpu()-cpu
	phase.LabCPU = ownCPU() - labCPU
	phase.Memory, phase.Anonymous = b.process.memory(), b.process.anonymous()
	if err := profiled(); err != nil {
		return err
	}
	after, err := b.requests(ctx)
	if err != nil {
		return err
	}
	phase.Requests = since(after, requests)
	b.result.Phases = append(b.result.Phases, phase)
	b.say("%s of %s: %v, %d calls, %v CPU beside the laboratory's %v, %d MB. %s", name, b.subject, phase.Took.Round(time.Millisecond), phase.Total(), phase.CPU,
		phase.LabCPU, phase.Memory>>20, phase.Note)
	return nil
}

func (b *bench) calls() map[string]int {
	counts := map[string]int{}
	for _, call := range b.lab.Cloud.AWS.Calls() {
		counts[call.Action]++
	}
	return counts
}

// count returns how often an action succeeded.
func (b *bench) count(action string) int {
	count := 0
	for _, call := range b.lab.Cloud.AWS.Calls() {
		if call.Action == action && call.Status == 200 {
			count++
		}
	}
	return count
}

// await looks until done returns nil.
func await(ctx context.Context, every time.Duration, what string, done func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s took more than %v", what, patience))
	defer cancel()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

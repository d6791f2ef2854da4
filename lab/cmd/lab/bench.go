package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/bench/document"

	"github.com/slipway-project/slipway/lab/bench"
)

// benchFlags say what to measure.
type benchFlags struct {
	kind       string
	pools      []int
	pods       int
	single     int
	apart      time.Duration
	controller string
	crds       []string
	latency    time.Duration
	throttled  int
	quiet      time.Duration
	storage    string
	log        string
	profiles   string
	write      string
}

func newBenchCommand() *cobra.Command {
	flags := &benchFlags{}
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure what pools, or nodes for pods, cost: AWS calls, time, CPU and memory",
		Long: "bench runs a controller as a process of its own against a laboratory, creates pools, edits one and all of them, restarts the\n" +
			"controller and lets an hour pass, and says what each cost. The controller is bin/slipway beside this program, or the command that\n" +
			"--controller names, with KUBECONFIG, AWS_ENDPOINT_URL, AWS_REGION and credentials in its environment. Of a Provisioner, it measures how\n" +
			"long single pods wait for the launch of their nodes, and what very many pods take that wait at once.",
		Example: "  lab bench --kind AWSMachinePool --pools 1,100,1000\n  lab bench --pools 100 --controller './manager --leader-elect=false' --crds ./config/crd/bases",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&flags.kind, "kind", "AWSMachinePool", "the kind of pools, AWSManagedMachinePool, or Provisioner")
	set.IntSliceVar(&flags.pools, "pools", []int{1, 100, 1000}, "how many pools; several numbers are measured one after the other, and 0 is none")
	set.IntVar(&flags.pods, "pods", 20000, "how many pods wait at once for a Provisioner's nodes")
	set.IntVar(&flags.single, "single-pods", 31, "how many pods come one after the other for a Provisioner's nodes")
	set.DurationVar(&flags.apart, "apart", 3*time.Second, "how long after the launch for one single pod the next comes")
	set.StringVar(&flags.controller, "controller", "", "the command of another controller to measure in Slipway's place, run by sh")
	set.StringArrayVar(&flags.crds, "crds", nil, "directory of that controller's CustomResourceDefinitions, in place of Slipway's (may be repeated)")
	set.DurationVar(&flags.latency, "latency", 100*time.Millisecond, "how long AWS takes to answer")
	set.IntVar(&flags.throttled, "throttled", 100, "also create so many pools with AWS throttling as it documents, and without any request rates; 0 for not")
	set.DurationVar(&flags.quiet, "quiet", 24*time.Minute, "how long another controller is watched at rest; it should be some of its resync periods")
	set.StringVar(&flags.storage, "bootstrap-storage", "", "where pools keep their bootstrap data, SSM or S3; in launch templates if empty")
	set.StringVar(&flags.log, "log", os.DevNull, "file for the controller's log")
	set.StringVar(&flags.profiles, "profiles", "", "directory for profiles of each phase, the laboratory's CPU time and the heap of Slipway; none are made if empty")
	set.StringVar(&flags.write, "write", "", "document whose section \"pools\", \"managed pools\", \"another controller\" or \"provisioner\" the tables are written to")
	return command
}

func (f *benchFlags) run(ctx context.Context, output, progress io.Writer) error {
	managed := f.kind == "AWSManagedMachinePool"
	if !slices.Contains([]string{"AWSMachinePool", "AWSManagedMachinePool", provisionerKind}, f.kind) {
		return fmt.Errorf("kind %q can not be measured: AWSMachinePool, AWSManagedMachinePool and Provisioner can", f.kind)
	}
	if f.kind == provisionerKind && f.controller != "" {
		return errors.New("no other controller launches nodes for a Provisioner: leave --controller out")
	}
	if managed && f.storage != "" {
		return errors.New("managed pools of EKS's images have no bootstrap data to keep: leave --bootstrap-storage out")
	}
	options := bench.Options{Managed: managed, CRDs: f.crds, Latency: f.latency, Quiet: f.quiet, Storage: infrav1.BootstrapStorage(f.storage), Profiles: f.profiles, Progress: progress}
	if err := f.command(&options); err != nil {
		return err
	}
	log, err := os.Create(f.log) // #nosec G304 -- the file that the user names
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	options.Log = log

	text := document.Conditions(invocation())
	if f.kind == provisionerKind {
		result, err := bench.RunProvisioner(ctx, bench.ProvisionerOptions{
			Command: options.Command, Latency: f.latency, Alone: f.single, Apart: f.apart, Pods: f.pods, Log: log, Progress: progress, Profiles: f.profiles,
		})
		return f.put(output, "provisioner", text+bench.ProvisionerMarkdown(&result), err)
	}
	section := "pools"
	switch {
	case f.controller != "":
		section = "another controller"
	case managed:
		section = "managed pools"
	}
	results, err := f.measure(ctx, options)
	return f.put(output, section, text+bench.Markdown(results), err)
}

const provisionerKind = "Provisioner"

// put writes what was measured into the document, or prints it if there is none or not all was measured.
func (f *benchFlags) put(output io.Writer, section, text string, err error) error {
	if f.write != "" && err == nil {
		return document.Replace(f.write, section, text)
	}
	_, printErr := fmt.Fprint(output, text)
	return errors.Join(err, printErr)
}

// invocation returns the command line, without the place of the program.
func invocation() string {
	return "bin/" + filepath.Base(os.Args[0]) + " " + strings.Join(os.Args[1:], " ")
}

func (f *benchFlags) measure(ctx context.Context, options bench.Options) ([]bench.Result, error) {
	var runs []bench.Options
	for _, pools := range f.pools {
		if options.Pools = pools; pools > 0 {
			runs = append(runs, options)
		}
	}
	if f.throttled > 0 {
		options.Pools, options.Latency, options.CreateOnly, options.Unbounded = f.throttled, 0, true, true
		runs = append(runs, options)
		options.Throttling, options.Unbounded = true, false
		runs = append(runs, options)
	}
	var results []bench.Result
	for i := range runs {
		result, err := bench.Run(ctx, runs[i])
		results = append(results, result)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

func (f *benchFlags) command(options *bench.Options) error {
	if f.controller != "" {
		options.Command = []string{"sh", "-c", "exec " + f.controller}
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	slipway := filepath.Join(filepath.Dir(program), "slipway")
	if _, err := os.Stat(slipway); err != nil {
		return fmt.Errorf("finding slipway beside this program (make build): %w", err)
	}
	role := "manager"
	if f.kind == provisionerKind {
		role = "provisioner"
	}
	options.Command, options.Own = []string{slipway, role}, true
	return nil
}

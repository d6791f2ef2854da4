package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/migration"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/terminal"
)

// pollInterval is the time between two checks of a step that waits for a controller.
const pollInterval = 2 * time.Second

// migrateFlags holds the flags of `slipway migrate capa`.
type migrateFlags struct {
	cluster             clusterFlags
	plan, execute, back bool
	skipAWS             bool
	// secretNamespace, nodeRolePath, and nodeRoleBoundary are the manager's settings of these names.
	secretNamespace, nodeRolePath, nodeRoleBoundary string
	timeout                                         time.Duration
	output                                          string
	clock                                           clock.Clock
}

func newMigrateCommand() *cobra.Command {
	command := newGroupCommand("migrate", "Migrate pools from another provider to Slipway, and back")
	command.AddCommand(newMigrateCAPACommand())
	return command
}

func newMigrateCAPACommand() *cobra.Command {
	flags := &migrateFlags{clock: wallClock}
	command := &cobra.Command{
		Use:   "capa",
		Short: "Migrate the pools of a management cluster from Cluster API Provider AWS to Slipway, and back",
		Long: `Migrate the AWSMachinePools and AWSManagedMachinePools of a management cluster from Cluster API Provider AWS (CAPA) to Slipway,
or with --back from Slipway to CAPA. No step replaces a node. An instance refresh that is in progress continues, so wait for it first.

Without --execute, the command prints the steps and changes nothing. With --execute, it performs the steps that are due in their
order, waits for controllers in between, and stops at the first step that is blocked. To go on, do what the step asks for, and run
the command again. It remembers nothing: the cluster shows which steps are done. It installs and deletes no software: it stops
where you must install or uninstall Slipway.

To Slipway, the command pauses Clusters, removes CAPA's webhooks for pools, turns CAPA's controllers of pools off, and resumes one
Cluster after the other once Slipway runs. It records what it changes in annotations, and --back restores that. It leaves out pools
that have the annotation cluster.x-k8s.io/paused.

Before anything is paused, the step check-aws runs Slipway's controllers over copies of the management cluster and of AWS, with your
credentials. It is blocked if Slipway would not take a pool over, or would replace its nodes. It reads the Secrets of identities and
of bootstrap data. Without AWS credentials, or with --skip-aws, the step is skipped. Give --identity-secret-namespace,
--node-role-path, and --node-role-permissions-boundary the values that the manager has.

The exit code is 0 if no step is blocked, 1 if a step is blocked or failed, and 2 if the cluster could not be read.`,
		Example: `  slipway migrate capa                     # print the steps to Slipway
  slipway migrate capa --execute           # perform them, or resume
  slipway migrate capa --back              # print the steps back to CAPA
  slipway migrate capa --back --execute -o json`,
		Args: func(command *cobra.Command, args []string) error { return unusable(NoArgs(command, args)) },
		RunE: flags.run,
	}
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return unusable(seeHelp(command, err)) })
	set := command.Flags()
	flags.cluster.bind(set)
	set.BoolVar(&flags.plan, "plan", false, "print the steps and change nothing, which is the default")
	set.BoolVar(&flags.execute, "execute", false, "perform the steps that are due")
	set.BoolVar(&flags.back, "back", false, "migrate from Slipway to CAPA")
	set.BoolVar(&flags.skipAWS, "skip-aws", false, "do not check in AWS whether Slipway can take the pools over")
	BindSecretNamespace(set, &flags.secretNamespace)
	BindNodeRoles(set, &flags.nodeRolePath, &flags.nodeRoleBoundary)
	set.DurationVar(&flags.timeout, "timeout", 15*time.Minute, "how long --execute waits for controllers in total")
	bindOutput(set, &flags.output)
	return command
}

func (f *migrateFlags) run(command *cobra.Command, _ []string) error {
	if f.plan && f.execute {
		return unusable(errors.New("--plan and --execute exclude each other"))
	}
	if err := checkOutput(f.output); err != nil {
		return unusable(err)
	}
	runner, err := f.runner(command.ErrOrStderr())
	if err != nil {
		return unusable(err)
	}
	direction := migration.ToSlipway
	if f.back {
		direction = migration.ToCAPA
	}
	if f.execute {
		report, err := runner.Run(command.Context(), direction)
		if len(report.Steps) == 0 && err != nil {
			return unusable(err)
		}
		return errors.Join(f.print(command.OutOrStdout(), report), err)
	}
	observed, err := runner.Observe(command.Context())
	if err != nil {
		return unusable(err)
	}
	return f.print(command.OutOrStdout(), migration.Decide(direction, observed))
}

// runner returns what reads and changes the cluster. It reports progress to a writer.
func (f *migrateFlags) runner(progress io.Writer) (migration.Runner, error) {
	config, err := f.cluster.config()
	if err != nil {
		return migration.Runner{}, err
	}
	kubernetes, err := preflight.NewKubernetes(config)
	if err != nil {
		return migration.Runner{}, err
	}
	objects, err := migration.NewClient(config)
	if err != nil {
		return migration.Runner{}, err
	}
	trial := &takeovers{config: config, skip: f.skipAWS || f.back, settings: plan.Planner{
		SecretNamespace: f.secretNamespace, SettleWindow: manager.DefaultSettleWindow, NodeRolePath: f.nodeRolePath, NodeRoleBoundary: f.nodeRoleBoundary,
	}}
	deadline := f.clock.Now().Add(f.timeout)
	outlast := &outlasting{flags: f, deadline: deadline, progress: progress}
	return migration.Runner{
		Observe: func(ctx context.Context) (observed migration.Observed, err error) {
			err = outlast.do(ctx, func() error {
				seen := preflight.Observed{Now: f.clock.Now(), Namespace: f.cluster.namespace, Cluster: kubernetes.ObserveCluster(ctx, f.cluster.namespace)}
				observed, err = migration.Observe(ctx, objects, seen)
				return err
			})
			if err != nil {
				return observed, err
			}
			err = trial.addTo(ctx, &observed)
			return observed, err
		},
		Writer: patientWriter{objects, outlast},
		Wait:   func(ctx context.Context) error { return f.wait(ctx, deadline) },
		Progress: func(step migration.Step) {
			text := step.Change
			if step.State != migration.Due {
				text = step.Found
			}
			fmt.Fprintf(progress, "%s: %s: %s\n", step.Name, step.Target, printable(text))
		},
	}, nil
}

// wait waits until the next check of a step, unless that is too late.
func (f *migrateFlags) wait(ctx context.Context, deadline time.Time) error {
	if f.clock.Now().Add(pollInterval).After(deadline) {
		return fmt.Errorf("not complete within --timeout %s. Run the command again to go on", f.timeout)
	}
	return sleep(ctx, f.clock, pollInterval)
}

// outlasting sends requests again while the API server does not answer, until a deadline: a migration
// waits for minutes, and the API server may restart meanwhile. Until a request succeeds, none is sent
// again, so that a mistake in the kubeconfig is reported at once.
type outlasting struct {
	flags    *migrateFlags
	deadline time.Time
	progress io.Writer
	// answered is true once a request succeeded.
	answered bool
}

// do sends a request until it succeeds, or fails for another reason than an outage.
func (o *outlasting) do(ctx context.Context, send func() error) error {
	for reported := false; ; reported = true {
		err := send()
		if err == nil {
			o.answered = true
		}
		if err == nil || !o.answered || !temporary(err) {
			return err
		}
		if !reported {
			fmt.Fprintf(o.progress, "%s. The next attempts are every %s until --timeout is over.\n", unansweredText(err), pollInterval)
		}
		if o.flags.wait(ctx, o.deadline) != nil {
			return err
		}
	}
}

// patientWriter patches objects again if the API server does not answer. A patch that was applied
// although its answer was lost is refused the second time, because it tests what it changes.
type patientWriter struct {
	client.Writer
	outlast *outlasting
}

// Patch implements client.Writer.
func (w patientWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return w.outlast.do(ctx, func() error { return w.Writer.Patch(ctx, object, patch, options...) })
}

// print prints the steps, and returns an error if one is blocked.
func (f *migrateFlags) print(out io.Writer, report migration.Report) error {
	printed := printSteps
	if f.output != textOutput {
		printed = func(out io.Writer, report migration.Report) error { return encode(out, report, f.output) }
	}
	if err := printed(out, report); err != nil {
		return unusable(fmt.Errorf("printing the steps: %w", err))
	}
	if f.output == textOutput && !f.execute && report.State != migration.Done {
		fmt.Fprintln(out, "\nNothing was changed. Run the command with --execute to perform the steps that are due.")
	}
	if blocked := report.Count(migration.Blocked); blocked > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d steps are blocked", blocked, len(report.Steps))}
	}
	return nil
}

// printSteps prints one line for each step, and then what each step that is due changes, and what to do
// about each step that is blocked.
func printSteps(out io.Writer, report migration.Report) error {
	screen := terminal.ScreenOf(out, os.Getenv)
	table := terminal.NewTable(out, screen, "STEP", "TARGET", "STATE", "FOUND")
	for _, step := range report.Steps {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", step.Name, step.Target, step.State, printable(step.Found))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, step := range report.Steps {
		if step.State != migration.Due && step.State != migration.Blocked {
			continue
		}
		label, text := "Change", step.Change
		if step.State == migration.Blocked {
			label, text = "To do", step.Remedy
		}
		err := screen.Fprintf(out, "\n%s %s: %s\n  Nodes: %s\n  %s: %s\n", step.Name, step.Target, step.State, printable(step.Nodes), label, printable(text))
		if err != nil {
			return err
		}
	}
	return nil
}

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
	"github.com/slipway-project/slipway/internal/terminal"
)

// controlFlags holds the flags of a command that controls roll-outs.
type controlFlags struct {
	planFlags
	yes, skipPlan bool
	dryRun        string
	// plannerOf returns what plans a change of a management cluster.
	plannerOf func(context.Context, planCluster) (*plan.Planner, error)
}

// control describes a command that controls roll-outs.
type control struct {
	use, short, long, example string
	// silent is true of a command that replaces no node. It makes no plan, and does not ask.
	silent bool
	// decide returns what the command changes.
	decide func(ctx context.Context, cluster planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error)
}

// controlNote is part of the help of all commands that control roll-outs.
const controlNote = `

POOL is the name of an AWSMachinePool, an AWSManagedMachinePool, a MachinePool, or an AWSLaunchConfig, or its kind and its name,
such as awsmachinepool/workers.`

// planNote is part of the help of the commands that make a plan.
const planNote = `

The command shows the plan of the change, and asks before it makes the change. The plan reads AWS with your credentials, as
"slipway plan" does. With --skip-plan, the command makes no plan.`

// newControlCommand returns a command that controls roll-outs.
func newControlCommand(control control) *cobra.Command {
	flags := &controlFlags{}
	flags.plannerOf = flags.planner
	note := controlNote
	if !control.silent {
		note = planNote + note
	}
	command := &cobra.Command{
		Use: control.use, Short: control.short, Long: control.long + note, Example: control.example, Args: namedArgs,
		RunE:              func(command *cobra.Command, args []string) error { return flags.run(command, control, args[0]) },
		ValidArgsFunction: flags.complete,
	}
	set := command.Flags()
	flags.bindManager(set)
	set.StringVar(&flags.dryRun, "dry-run", "none", "none, or server: the API server validates the change, and nothing is changed")
	set.BoolVarP(&flags.yes, "yes", "y", false, "make the change without asking, for scripts")
	set.BoolVar(&flags.skipPlan, "skip-plan", false, "do not plan the change, for example if you have no AWS credentials")
	return command
}

func newUndoCommand() *cobra.Command {
	version := int64(0)
	command := newControlCommand(control{
		use: "undo POOL", short: "Go back to a version that was launched before",
		long: `Go back to a version that was launched before: pin the version before the one that the spec asks for, or the version of --to.

Slipway launches the configuration of the pinned version with the current bootstrap data, and replaces the nodes that run another
one. The rest of the spec of the launch template waits until you remove the pin with "slipway unpin".`,
		example: `  slipway undo workers -n blue
  slipway undo workers -n blue --to 3
  slipway undo awslaunchconfig/shared --yes --skip-plan`,
		decide: func(_ context.Context, _ planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
			return rolloutcontrol.Undo(subject, version)
		},
	})
	command.Flags().Int64Var(&version, "to", 0, "number of the version to pin, which must be in the history")
	return command
}

func newUnpinCommand() *cobra.Command {
	return newControlCommand(control{
		use: "unpin POOL", short: "Launch what the spec asks for again, instead of a pinned version",
		long:    `Remove spec.pinnedVersion, so that Slipway launches what the spec asks for again.`,
		example: `  slipway unpin workers -n blue`,
		decide:  decideBy(rolloutcontrol.Unpin),
	})
}

// decideBy returns the decision of a command that needs nothing but its subject.
func decideBy(decide func(rolloutcontrol.Subject) (rolloutcontrol.Change, error)) func(context.Context, planCluster, rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
	return func(_ context.Context, _ planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
		return decide(subject)
	}
}

func newRolloutCommand() *cobra.Command {
	command := newGroupCommand("rollout", "Approve, pause, resume, cancel, or retry a roll-out")
	command.AddCommand(
		newApproveCommand(),
		newControlCommand(control{
			use: "pause POOL", short: "Stop replacing nodes, and hold later edits back", silent: true,
			long: `Stop replacing nodes, and hold later edits of the launch template back, until you resume roll-outs.

Slipway cancels the instance refresh in progress that it started, and nodes that were not replaced yet stay as they are. EKS cannot
stop an update of a managed node group, so one that is in progress continues.`,
			example: `  slipway rollout pause workers -n blue`, decide: decideBy(rolloutcontrol.Pause),
		}),
		newControlCommand(control{
			use: "resume POOL", short: "Continue with what a pause held back",
			long:    `Continue with what a pause held back: replace the remaining nodes, and launch the latest edit.`,
			example: `  slipway rollout resume workers -n blue`, decide: decideBy(rolloutcontrol.Resume),
		}),
		newControlCommand(control{
			use: "cancel POOL", short: "Stop a roll-out in progress and go back",
			long: `Stop a roll-out in progress and go back: pin the version that was launched before. Nodes that were replaced already are
replaced again. To launch what the spec asks for later, use "slipway unpin".`,
			example: `  slipway rollout cancel workers -n blue`, decide: decideBy(rolloutcontrol.Cancel),
		}),
		newControlCommand(control{
			use: "retry POOL", short: "Start a failed roll-out again now",
			long: `Start a failed roll-out again now, and not after the delay that grows with each attempt. A pool that was rolled back launches
what its spec asks for again.`,
			example: `  slipway rollout retry workers -n blue`,
			decide: func(_ context.Context, _ planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
				return rolloutcontrol.Retry(subject, wallClock.Now().UTC().Format(time.RFC3339Nano))
			},
		}),
	)
	return command
}

func newApproveCommand() *cobra.Command {
	version := int64(0)
	command := newControlCommand(control{
		use: "approve POOL", short: "Approve the version that waits for approval",
		long: `Approve the version that waits for approval because spec.rollout is Manual, and record your name.

With the admission policy slipway-rollout-approval, this requires the verb approve on the subresource rollout of the object.`,
		example: `  slipway rollout approve workers -n blue
  slipway rollout approve workers -n blue --version 7 --yes`,
		decide: func(ctx context.Context, cluster planCluster, subject rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
			return decideApproval(ctx, cluster, subject, version)
		},
	})
	command.Flags().Int64Var(&version, "version", 0, "number of the version; the command fails if another one waits for approval")
	return command
}

// decideApproval decides about an approval by the user whom the API server knows by the credentials of the
// kubeconfig.
func decideApproval(ctx context.Context, cluster planCluster, subject rolloutcontrol.Subject, version int64) (rolloutcontrol.Change, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := cluster.Create(ctx, review); err != nil {
		return rolloutcontrol.Change{}, fmt.Errorf("asking the API server who approves: %w", err)
	}
	return rolloutcontrol.Approve(subject, version, review.Status.UserInfo.Username)
}

func (f *controlFlags) run(command *cobra.Command, control control, name string) error {
	if f.dryRun != "none" && f.dryRun != "server" {
		return fmt.Errorf("--dry-run is %.64q, and must be server or none", f.dryRun)
	}
	cluster, err := f.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	return f.runOn(command, control, cluster, name)
}

// runOn does what a command does with a cluster.
func (f *controlFlags) runOn(command *cobra.Command, control control, cluster planCluster, name string) error {
	ctx, cancel := context.WithTimeout(command.Context(), planTimeout)
	defer cancel()
	subject, err := rolloutcontrol.Read(ctx, cluster, cluster.namespace, name)
	var missing *rolloutcontrol.NotFoundError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w%s", err, elsewhereText(cluster.elsewhere(ctx, missing.Name, missing.Kinds...)))
	case err != nil:
		return err
	}
	change, err := control.decide(ctx, cluster, subject)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	showChange(out, change)
	edited, err := cluster.change(ctx, control, name, change, client.DryRunAll)
	if err != nil {
		return err
	}
	problems := false
	if !control.silent && !f.skipPlan {
		if problems, err = f.plan(ctx, out, cluster, edited); err != nil {
			return fmt.Errorf("%w. Nothing was changed. --skip-plan goes without a plan", err)
		}
	}
	if f.dryRun == "server" {
		fmt.Fprintln(out, "Dry run: nothing was changed.")
		return nil
	}
	if !control.silent && !f.yes {
		if err := confirm(command.InOrStdin(), out); err != nil {
			return err
		}
	}
	// A user may think for longer than the requests before and after it may take.
	ctx, cancel = context.WithTimeout(command.Context(), requestTimeout)
	defer cancel()
	if _, err := cluster.change(ctx, control, name, change); err != nil {
		return err
	}
	fmt.Fprintln(out, outcome(problems))
	return nil
}

// outcome describes a change that was made. A plan with problems does not come true before they are solved.
func outcome(problems bool) string {
	if problems {
		return "The change is made, but the plan reports a problem: Slipway replaces no node for the change until the problem is solved."
	}
	return "Done. Slipway acts on it within seconds."
}

// showChange prints what a command changes.
func showChange(out io.Writer, change rolloutcontrol.Change) {
	reason, text := printable(change.Reason), &strings.Builder{}
	fmt.Fprintf(text, "%s%s.\n", strings.ToUpper(reason[:1]), reason[1:])
	for _, note := range change.Notes {
		fmt.Fprintf(text, "  %s\n", printable(note))
	}
	if len(change.Affected) > 0 {
		use := "uses"
		if len(change.Affected) > 1 {
			use = "use"
		}
		fmt.Fprintf(text, "  This also affects %s, which %s the same AWSLaunchConfig.\n", printable(strings.Join(change.Affected, ", ")), use)
	}
	_ = terminal.ScreenOf(out, os.Getenv).Fprintf(out, "%s", text)
}

// plan prints what edited objects do to nodes, and reports whether the plan has problems.
func (f *controlFlags) plan(ctx context.Context, out io.Writer, cluster planCluster, edited []client.Object) (problems bool, err error) {
	planner, err := f.plannerOf(ctx, cluster)
	if err != nil {
		return false, fmt.Errorf("planning the change: %w", err)
	}
	forMany(planner)
	made, err := planner.Plan(ctx, edited...)
	if err != nil {
		return false, fmt.Errorf("planning the change: %w", err)
	}
	fmt.Fprintln(out)
	if err := plan.Print(out, made); err != nil {
		return false, fmt.Errorf("printing the plan: %w", err)
	}
	fmt.Fprintln(out)
	return slices.ContainsFunc(made.Pools, func(pool plan.Pool) bool { return slices.ContainsFunc(pool.Problems, hinders) }), nil
}

// hinders reports whether a problem keeps a command from what it is for. A pin holds back edits of the
// launch template, and not the roll-out of the pinned version.
func hinders(problem plan.Problem) bool {
	return problem.Condition != infrav1.RolloutApprovedCondition || problem.Reason != infrav1.PinnedReason
}

// mostConflicts bounds how often a change is decided again because a controller wrote an object meanwhile.
const mostConflicts = 10

// change makes a change, and returns the objects as the API server stores them. Controllers write the
// status of objects at any time, so a change that conflicts with a write is decided again. It is made
// only if the decision is still the one that the user has seen.
func (c planCluster) change(ctx context.Context, control control, name string, change rolloutcontrol.Change, options ...client.PatchOption) ([]client.Object, error) {
	seen := change.Reason
	for attempt := 1; ; attempt++ {
		patched, err := c.patchAll(ctx, change, options...)
		if !apierrors.IsConflict(err) || attempt == mostConflicts {
			return patched, err
		}
		subject, readErr := rolloutcontrol.Read(ctx, c, c.namespace, name)
		if readErr != nil {
			return nil, readErr
		}
		again, decideErr := control.decide(ctx, c, subject)
		if decideErr != nil || again.Reason != seen {
			return nil, err
		}
		change = again
	}
}

// patchAll applies the patches of a change, and returns the objects as the API server stores them.
func (c planCluster) patchAll(ctx context.Context, change rolloutcontrol.Change, options ...client.PatchOption) ([]client.Object, error) {
	options = append(options, client.FieldOwner(rolloutcontrol.FieldManager))
	var patched []client.Object
	for _, patch := range change.Patches {
		object := patch.Object.DeepCopyObject().(client.Object)
		err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch.Body), options...)
		switch {
		case apierrors.IsConflict(err):
			return nil, fmt.Errorf("%q was changed by another user since it was read. Run the command again: %w", object.GetName(), err)
		case err != nil:
			return nil, fmt.Errorf("changing %q: %w", object.GetName(), refusal("", err))
		}
		patched = append(patched, object)
	}
	return patched, nil
}

// confirm asks whether to go on, and returns an error unless the answer is yes.
func confirm(in io.Reader, out io.Writer) error {
	fmt.Fprint(out, "Go on? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	case "":
		fmt.Fprintln(out)
	}
	return errors.New("nothing was changed, because the change was not confirmed. Use --yes to go without the question")
}

// complete returns the names of pools, and of launch configs with their kind. A shell shows no errors.
func (f *planFlags) complete(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	cluster, err := f.connect(io.Discard)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return controlNames(ctx, cluster, prefix)
}

// controlNames returns the names with a prefix that a command accepts.
func controlNames(ctx context.Context, cluster planCluster, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, list := range []client.ObjectList{&infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}} {
		if err := cluster.List(ctx, list, client.InNamespace(cluster.namespace)); err != nil {
			continue // a user may not list all kinds
		}
		names = append(names, namesIn(list)...)
	}
	return withPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
}

// namesIn returns what names the objects of a list.
func namesIn(list client.ObjectList) []string {
	var names []string
	switch list := list.(type) {
	case *infrav1.AWSMachinePoolList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	case *infrav1.AWSManagedMachinePoolList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	case *infrav1.AWSLaunchConfigList:
		for i := range list.Items {
			if len(list.Items[i].OwnerReferences) == 0 { // a pool's own config follows the pool
				names = append(names, "awslaunchconfig/"+list.Items[i].Name)
			}
		}
	}
	return names
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/terminal"
)

// Exit codes of `slipway preflight`.
const (
	exitFailed   = 1 // a check failed
	exitUnusable = 2 // the checks could not be done
)

const (
	// preflightTimeout bounds the checks of the cluster, and the checks of AWS, so that a slow API server
	// takes no time from AWS. requestTimeout bounds one request to the API server.
	preflightTimeout = 3 * time.Minute
	requestTimeout   = 15 * time.Second
	// longestBackoff bounds the time between attempts of a call to AWS.
	longestBackoff = 5 * time.Second
)

// preflightFlags holds the flags of the command.
type preflightFlags struct {
	cluster                 clusterFlags
	region, roleARN, output string
	skip                    []string
	policy                  policyFlags
	timeout                 time.Duration
}

func newPreflightCommand() *cobra.Command { return preflightCommand(preflightTimeout) }

func preflightCommand(timeout time.Duration) *cobra.Command {
	flags := &preflightFlags{timeout: timeout}
	command := &cobra.Command{
		Use:        "preflight",
		Aliases:    []string{"doctor"},
		SuggestFor: []string{"check", "verify"},
		Short:      "Check what Slipway needs from a management cluster and from AWS, and print what to do",
		Long: `Check what Slipway needs from a management cluster and from AWS, before or after the installation, and print what to do.

The command changes nothing. It uses your kubeconfig and your AWS credentials. The permissions that it needs itself in AWS are
those of "slipway iam policy --feature preflight". IAM simulates the policies of your identity, or of --role-arn, for the
requests that Slipway sends. The flags of "slipway iam policy" select features and resources.

Checks: ` + strings.Join(preflight.Names(), ", ") + `.

The exit code is 0 if no check failed, 1 if a check failed, and 2 if the checks could not be done.`,
		Example: `  slipway preflight --region eu-central-1
  slipway preflight --role-arn arn:aws:iam::111122223333:role/slipway-manager --eks-cluster blue_control-plane
  slipway preflight --skip iam-permissions,auto-scaling-quota -o json`,
		Args: func(command *cobra.Command, args []string) error { return unusable(NoArgs(command, args)) },
		RunE: flags.run,
	}
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return unusable(seeHelp(command, err)) })
	set := command.Flags()
	flags.cluster.bind(set)
	set.StringVar(&flags.region, "region", "", "AWS region; the region of the AWS configuration if empty")
	set.StringVar(&flags.roleARN, "role-arn", "", "ARN of the role whose permissions are checked, such as the manager's; your own identity if empty")
	set.StringSliceVar(&flags.skip, "skip", nil, "name of a check to skip; can be repeated")
	bindOutput(set, &flags.output)
	flags.policy.bindScope(set)
	return command
}

// unusable marks an error as one that prevents the checks.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUnusable, err: err}
}

func (f *preflightFlags) run(command *cobra.Command, _ []string) error {
	ctx := command.Context()
	identity, err := f.identity(command.Flags())
	if err != nil {
		return unusable(err)
	}
	observed := preflight.Observed{Now: wallClock.Now(), Namespace: f.cluster.namespace}
	if preflight.NeedsCluster(f.skip) {
		if observed.Cluster, err = f.observeCluster(ctx); err != nil {
			return unusable(err)
		}
	}
	if preflight.NeedsAccount(f.skip) {
		if observed.Account, err = f.observeAccount(ctx, identity); err != nil {
			return unusable(err)
		}
	}
	report := preflight.Decide(observed, f.skip)
	if err := printReport(command.OutOrStdout(), report, f.output); err != nil {
		return unusable(fmt.Errorf("printing the findings: %w", err))
	}
	if failures := report.Failures(); failures > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d checks failed", failures, len(report.Findings))}
	}
	return nil
}

// identity returns whose permissions are checked, and which. It fails if a flag is not valid.
func (f *preflightFlags) identity(set *pflag.FlagSet) (preflight.Identity, error) {
	for _, name := range f.skip {
		if !slices.Contains(preflight.Names(), name) {
			return preflight.Identity{}, fmt.Errorf("--skip names %q, and the checks are %s", name, strings.Join(preflight.Names(), ", "))
		}
	}
	if err := checkOutput(f.output); err != nil {
		return preflight.Identity{}, err
	}
	if err := checkRole(f.roleARN); err != nil {
		return preflight.Identity{}, err
	}
	features, err := f.policy.selected()
	if err != nil {
		return preflight.Identity{}, err
	}
	if _, err := permissions.Policies(f.policy.scope, features...); err != nil {
		return preflight.Identity{}, err
	}
	return preflight.Identity{RoleARN: f.roleARN, Scope: f.policy.scope, Features: features, Command: policyCommand(set)}, nil
}

// checkRole returns what is wrong with the flag that names a role. It may be empty.
func checkRole(text string) error {
	if role, err := arn.Parse(text); text != "" && (err != nil || role.Service != "iam" || !strings.HasPrefix(role.Resource, "role/")) {
		return fmt.Errorf("--role-arn is %.256q, and must be the ARN of a role, such as arn:aws:iam::111122223333:role/slipway-manager", text)
	}
	return nil
}

// policyCommand returns the command that prints the policies that are checked.
func policyCommand(set *pflag.FlagSet) string {
	scope := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&policyFlags{}).bindScope(scope)
	command := &strings.Builder{}
	command.WriteString("slipway iam policy")
	set.Visit(func(flag *pflag.Flag) {
		if scope.Lookup(flag.Name) == nil {
			return
		}
		value := flag.Value.String()
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			value = strings.Join(list.GetSlice(), ",")
		}
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@") != "" {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(command, " --%s %s", flag.Name, value)
	})
	return command.String()
}

func (f *preflightFlags) observeCluster(ctx context.Context) (preflight.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	config, err := f.cluster.config()
	if err != nil {
		return preflight.Cluster{}, err
	}
	kubernetes, err := preflight.NewKubernetes(config)
	if err != nil {
		return preflight.Cluster{}, err
	}
	return kubernetes.ObserveCluster(ctx, f.cluster.namespace), nil
}

func (f *preflightFlags) observeAccount(ctx context.Context, identity preflight.Identity) (preflight.Account, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	base, err := aws.LoadBase(ctx)
	if err != nil {
		return preflight.Account{}, err
	}
	// One run sends a few dozen requests, which need no budget, and may wait until AWS takes them.
	sessions := aws.NewSessions(base, aws.WithVersion(buildinfo.Version()), aws.WithLimits(nil), aws.WithBackoff(longestBackoff))
	clients, err := sessions.For(ctx, aws.Principal{}, f.region)
	var none *aws.NoRegionError
	var invalid *aws.InvalidRegionError
	switch {
	case errors.As(err, &none):
		return preflight.Account{}, errors.New("no AWS region is configured: set --region or AWS_REGION")
	case errors.As(err, &invalid):
		return preflight.Account{}, fmt.Errorf("--region is %.64q, and must be the name of an AWS region, such as eu-central-1", invalid.Region)
	case err != nil:
		return preflight.Account{}, err
	}
	searching, stop := context.WithTimeout(ctx, credentialsTimeout)
	defer stop()
	if _, err := base.Credentials.Retrieve(searching); err != nil {
		return preflight.Account{Region: clients.Region, NoCredentials: true, Unreachable: &preflight.Unread{Text: err.Error()}}, nil
	}
	return preflight.ObserveAccount(ctx, clients, identity, f.skip)
}

func printReport(out io.Writer, report preflight.Report, format string) error {
	if format == textOutput {
		return printTable(out, report)
	}
	return encode(out, report, format)
}

// textOutput is the format of output for users. The other formats are for programs.
const textOutput = "text"

// bindOutput adds the flag of the format of the output, which is the same for all commands.
func bindOutput(set *pflag.FlagSet, output *string) {
	set.StringVarP(output, "output", "o", textOutput, "format of the output: text, json, or yaml")
}

// checkOutput refuses formats that do not exist.
func checkOutput(output string) error {
	if !slices.Contains([]string{textOutput, "json", "yaml"}, output) {
		return fmt.Errorf("--output is %.64q, and must be text, json, or yaml", output)
	}
	return nil
}

// printTable prints one line for each check, and then what to do about each problem.
func printTable(out io.Writer, report preflight.Report) error {
	screen := terminal.ScreenOf(out, os.Getenv)
	table := terminal.NewTable(out, screen, "CHECK", "RESULT", "FOUND")
	for _, finding := range report.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", finding.Name, finding.Result, printable(finding.Message))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, finding := range report.Findings {
		if finding.Remedy == "" {
			continue
		}
		err := screen.Fprintf(out, "\n%s: %s\n  Nodes: %s\n  To do: %s\n", finding.Name, finding.Result, printable(finding.Nodes), printable(finding.Remedy))
		if err != nil {
			return err
		}
	}
	return nil
}

// longestText bounds a cell of the table. The text of errors comes from servers.
const longestText = 4000

func printable(text string) string { return terminal.Line(text, longestText) }

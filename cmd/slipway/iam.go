package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/internal/permissions"
)

func newIAMCommand() *cobra.Command {
	command := &cobra.Command{Use: "iam", Short: "What Slipway needs of AWS's Identity and Access Management"}
	command.AddCommand(newPolicyCommand())
	return command
}

// policyFlags are what a policy is made for.
type policyFlags struct {
	features  []string
	scope     permissions.Scope
	directory string
}

func newPolicyCommand() *cobra.Command {
	flags := &policyFlags{}
	command := &cobra.Command{
		Use:   "policy",
		Short: "Print the IAM policy of the identity that Slipway acts as",
		Long: `Print the IAM policy of the identity that Slipway acts as, as JSON.

Slipway makes nothing without its tags, and may change and delete only what bears them. Without --feature, the policy is for
those marked with *. What is too long for one managed policy is printed as several, to be attached together.

Features:
` + featureList(),
		Example: `  slipway iam policy > slipway.json
  slipway iam policy --feature machine-pools --cluster blue --account 111122223333
  slipway iam policy --feature events --queue slipway-events
  slipway iam policy --feature machine-pools,adoption,s3-bootstrap-data --cluster blue --directory policies`,
		Args: cobra.NoArgs,
		RunE: flags.run,
	}
	set, scope := command.Flags(), &flags.scope
	set.StringSliceVar(&flags.features, "feature", nil, "what the policy is for; can be repeated")
	set.StringVar(&scope.Cluster, "cluster", "", "the name of the Cluster whose pools alone are to be kept")
	set.StringVar(&scope.Partition, "partition", "", "aws, aws-cn or aws-us-gov; any if empty")
	set.StringVar(&scope.Account, "account", "", "the account's twelve digits; any if empty")
	set.StringVar(&scope.Region, "region", "", "the only region; any if empty")
	set.StringSliceVar(&scope.NodeRoles, "node-role", nil, "the name of a further role that nodes may have, with its path, such as nodes/blue; can be repeated")
	set.StringSliceVar(&scope.NodePolicies, "node-policy", nil, "the ARN of a further policy that may be attached to roles that Slipway makes; can be repeated")
	set.StringSliceVar(&scope.ImageParameters, "image-parameter", nil, "the name of a Systems Manager parameter with an image, beside AWS's own; can be repeated")
	set.StringSliceVar(&scope.IdentityRoles, "identity-role", nil, "the ARN of a role that may be assumed; any if empty; can be repeated")
	set.StringVar(&scope.Bucket, "bucket", "", "the name of the bucket with bootstrap data; any if empty")
	set.StringVar(&scope.Queue, "queue", "", "the name of the queue with events; any if empty")
	set.StringVar(&flags.directory, "directory", "", "where to write policies, as slipway-1.json and so on, in place of printing them")
	return command
}

func featureList() string {
	text := &strings.Builder{}
	for _, purpose := range permissions.Features {
		mark := " "
		if purpose.Default {
			mark = "*"
		}
		fmt.Fprintf(text, "%s %-19s %s\n", mark, purpose.Feature, strings.ReplaceAll(purpose.Text, "`", ""))
	}
	return text.String()
}

func (f *policyFlags) run(command *cobra.Command, _ []string) error {
	features := permissions.Defaults()
	if len(f.features) > 0 {
		features = nil
	}
	for _, name := range f.features {
		feature, err := permissions.ParseFeature(name)
		if err != nil {
			return err
		}
		features = append(features, feature)
	}
	if err := f.scope.Check(); err != nil {
		return err
	}
	policies, err := permissions.Policies(f.scope, features...)
	if err != nil {
		return err
	}
	for i, policy := range policies {
		if f.directory == "" {
			_, err = fmt.Fprintln(command.OutOrStdout(), policy)
		} else {
			err = os.WriteFile(filepath.Join(f.directory, fmt.Sprintf("slipway-%d.json", i+1)), []byte(policy.String()+"\n"), 0o600)
		}
		if err != nil {
			return fmt.Errorf("writing a policy: %w", err)
		}
	}
	return nil
}

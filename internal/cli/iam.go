package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/permissions"
)

func newIAMCommand() *cobra.Command {
	command := newGroupCommand("iam", "Print IAM policies for Slipway")
	command.AddCommand(newPolicyCommand())
	return command
}

// policyFlags holds the flags that determine the content of a policy.
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

The policy allows changes only to resources that carry Slipway's owner tag, and allows that tag only on resources that are
being created, or that the feature adoption covers. Without --feature, the policy is for the features marked with *, except
those whose flag is missing. A policy that is too long for one managed policy is printed as several, to be attached together.

Features:
` + featureList(),
		Example: `  slipway iam policy > slipway.json
  slipway iam policy --eks-cluster blue_control-plane > slipway.json
  slipway iam policy --feature machine-pools --cluster blue --account 111122223333
  slipway iam policy --feature events --queue slipway-events
  slipway iam policy --feature machine-pools,adoption,s3-bootstrap-data --cluster blue --bucket data --directory policies`,
		Args: NoArgs,
		RunE: flags.run,
	}
	set := command.Flags()
	flags.bindScope(set)
	set.StringVar(&flags.scope.Region, "region", "", "the only region; any if empty")
	set.StringVar(&flags.directory, "directory", "", "where to write policies, as slipway-1.json and so on, instead of printing them")
	return command
}

// bindScope adds the flags that determine the content of a policy, except the region.
func (f *policyFlags) bindScope(set *pflag.FlagSet) {
	scope := &f.scope
	set.StringSliceVar(&f.features, "feature", nil, "what the policy is for; can be repeated")
	set.StringSliceVar(&scope.Clusters, permissions.FlagCluster, nil, "the name of a Cluster whose pools the policy is for; any if empty; can be repeated")
	set.StringSliceVar(&scope.EKSClusters, permissions.FlagEKSCluster, nil, "the name of an EKS cluster with managed node groups; can be repeated")
	set.StringSliceVar(&scope.Nodegroups, "nodegroup", nil,
		"the name, or a pattern of names, of node groups that Slipway creates; <namespace>_<pool> if empty, which is "+strings.Join(permissions.DefaultNodegroups(), ", ")+"; can be repeated")
	set.StringVar(&scope.Partition, "partition", "", "aws, aws-cn or aws-us-gov; any if empty")
	set.StringVar(&scope.Account, "account", "", "the account's twelve digits; any if empty")
	set.StringSliceVar(&scope.RolePaths, "role-path", nil,
		"the IAM path of node roles that Slipway creates, as its manager's --node-role-path and rolePath of pools; "+noderole.DefaultPath+" if empty; can be repeated")
	set.StringVar(&scope.PermissionsBoundary, "permissions-boundary", "",
		"the ARN of the permissions boundary that node roles must have, as the manager's --node-role-permissions-boundary; none is required if empty")
	set.StringSliceVar(&scope.NodeRoles, "node-role", nil, "the name of an existing role that nodes may have, with its path, such as nodes/blue; can be repeated")
	set.StringSliceVar(&scope.HookRoles, permissions.FlagHookRole, nil, "the name of a role by which lifecycle hooks notify, with its path; can be repeated")
	set.StringSliceVar(&scope.NodePolicies, "node-policy", nil, "the ARN of a further policy that may be attached to roles that Slipway creates; can be repeated")
	set.StringSliceVar(&scope.ImageParameters, "image-parameter", nil, "the name of a Systems Manager parameter with an image, in addition to AWS's own; can be repeated")
	set.StringSliceVar(&scope.IdentityRoles, permissions.FlagIdentityRole, nil, "the ARN of a role that may be assumed; can be repeated")
	set.StringVar(&scope.Bucket, permissions.FlagBucket, "", "the name of the bucket with bootstrap data")
	set.StringVar(&scope.Queue, permissions.FlagQueue, "", "the name of the queue with events")
}

// selected returns the named features, or the default features that the scope can bound. It fails for
// names and scopes that are not valid.
func (f *policyFlags) selected() ([]permissions.Feature, error) {
	var features []permissions.Feature
	for _, name := range f.features {
		feature, err := permissions.ParseFeature(name)
		if err != nil {
			return nil, err
		}
		features = append(features, feature)
	}
	if len(features) == 0 {
		features = permissions.Defaults(f.scope)
	}
	return features, f.scope.Check()
}

func featureList() string {
	text := &strings.Builder{}
	for _, purpose := range permissions.Features {
		mark := " "
		if purpose.Default {
			mark = "*"
		}
		flags := ""
		if len(purpose.Needs) > 0 {
			flags = " (needs --" + strings.Join(purpose.Needs, " or --") + ")"
		}
		fmt.Fprintf(text, "%s %-19s %s%s\n", mark, purpose.Feature, strings.ReplaceAll(purpose.Text, "`", ""), flags)
	}
	return text.String()
}

func (f *policyFlags) run(command *cobra.Command, _ []string) error {
	features, err := f.selected()
	if err != nil {
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

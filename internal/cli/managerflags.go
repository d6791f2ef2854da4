package cli

import (
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/noderole"
)

// BindSecretNamespace adds the flag that names the namespace in which the credentials of static identities
// are. Commands that call AWS as the manager does have the manager's flags.
func BindSecretNamespace(set *pflag.FlagSet, namespace *string) {
	set.StringVar(namespace, "identity-secret-namespace", identity.DefaultSecretNamespace, "namespace of the Secrets of "+
		"AWSClusterStaticIdentities, usually the namespace that CAPA runs in")
}

// BindNodeRoles adds the flags about the IAM roles of nodes that the manager creates.
func BindNodeRoles(set *pflag.FlagSet, path, boundary *string) {
	set.StringVar(path, "node-role-path", noderole.DefaultPath, "the IAM path of node roles that are "+
		"created, followed by the name of the cluster; the manager's IAM policy is limited to it")
	set.StringVar(boundary, "node-role-permissions-boundary", "", "the ARN of the IAM policy that is the permissions boundary of every node role that is created; pools cannot choose another; none if empty")
}

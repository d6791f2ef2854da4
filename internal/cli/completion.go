package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completeFlags adds the completion of the values of flags to a command and its subcommands.
func completeFlags(command *cobra.Command) {
	for name, complete := range map[string]cobra.CompletionFunc{
		"output":    cobra.FixedCompletions([]cobra.Completion{textOutput, "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp),
		"dry-run":   cobra.FixedCompletions([]cobra.Completion{"none", "server"}, cobra.ShellCompDirectiveNoFileComp),
		"namespace": completeNamespaces,
		"context":   completeContexts,
	} {
		if flag := command.Flags().Lookup(name); flag != nil && flag.Value.Type() == "string" {
			_ = command.RegisterFlagCompletionFunc(name, complete) // a command has its flags once
		}
	}
	for _, sub := range command.Commands() {
		completeFlags(sub)
	}
}

// kubeconfigOf returns the flags of a command that select a cluster.
func kubeconfigOf(command *cobra.Command) *kubeconfigFlags {
	value := func(name string) string {
		if flag := command.Flags().Lookup(name); flag != nil {
			return flag.Value.String()
		}
		return ""
	}
	return &kubeconfigFlags{kubeconfig: value("kubeconfig"), kubeContext: value("context")}
}

// completeNamespaces offers the namespaces of the cluster, if the user may list them.
func completeNamespaces(command *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	scheme := runtime.NewScheme()
	config, err := kubeconfigOf(command).config()
	if err != nil || corev1.AddToScheme(scheme) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespaces := &corev1.NamespaceList{}
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil || cluster.List(ctx, namespaces) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, 0, len(namespaces.Items))
	for i := range namespaces.Items {
		names = append(names, namespaces.Items[i].Name)
	}
	return withPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeContexts offers the contexts of the kubeconfig.
func completeContexts(command *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	raw, err := kubeconfigOf(command).loader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, 0, len(raw.Contexts))
	for name := range raw.Contexts {
		names = append(names, name)
	}
	return withPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
}

// withPrefix returns the names that begin with a prefix, without characters that a terminal interprets, each once.
func withPrefix(names []string, prefix string) []string {
	var offered []string
	for _, name := range names {
		if name = printable(name); strings.HasPrefix(name, prefix) {
			offered = append(offered, name)
		}
	}
	slices.Sort(offered)
	return slices.Compact(offered)
}

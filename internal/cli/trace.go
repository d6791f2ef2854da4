package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-project/slipway/internal/poolview"
)

func newTraceCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags, all := &readFlags{connect: connect}, false
	command := &cobra.Command{
		Use:   "trace INSTANCE|NODE",
		Short: "Show which pool or Provisioner launched an instance, from which version, and because of which change",
		Long: `Show which pool or Provisioner launched an instance, from which launch template version, and because of which change.
Name the instance by its ID, or by the name of its node.

The command reads the management cluster. To find an instance by the name of its node, it also reads the workload clusters
of the namespace. For an instance that a Provisioner launched, use the kubeconfig of the workload cluster: its
ProvisionedNodes are there.`,
		Example: `  slipway trace i-0123456789abcdef0
  slipway trace ip-10-0-1-7.ec2.internal -n blue`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			ctx, cancel, from, err := flags.start(command)
			if err != nil {
				return err
			}
			defer cancel()
			namespace := from.namespace
			if all {
				namespace = ""
			}
			trace, found, err := from.trace(ctx, namespace, strings.TrimPrefix(args[0], "node/"))
			switch {
			case err != nil:
				return err
			case !found:
				return fmt.Errorf("no pool in %s has instance or node %.253q, and no Provisioner of this cluster launched it. If it left its pool, CloudTrail and slipway events still show it%s", scopeOf(namespace), args[0], widen(namespace))
			}
			return show(flags, command.OutOrStdout(), &trace, from.printer(command.OutOrStdout()).Trace)
		},
	}
	flags.bind(command, instanceIDs)
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "search the pools of all namespaces")
	return command
}

func scopeOf(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

// widen says how to search more than a namespace.
func widen(namespace string) string {
	if namespace == "" {
		return ""
	}
	return ". Use -A to search all namespaces"
}

// instanceIDs returns the IDs of the instances of all pools of the namespace.
func instanceIDs(ctx context.Context, from *source) ([]string, error) {
	pools, _, err := from.pools.Pools(ctx, from.namespace)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, view := range viewsOf(pools, from.clock.Now()) {
		for _, instance := range view.Instances {
			ids = append(ids, instance.ID)
		}
	}
	return ids, nil
}

// trace finds an instance of a Provisioner or of a pool by its ID or the name of its node. If the ProvisionedNodes
// cannot be read, that matters only for an instance that no pool has.
func (s *source) trace(ctx context.Context, namespace, name string) (poolview.Trace, bool, error) {
	provisioned, failure := s.provisionedNode(ctx, name)
	if provisioned != nil {
		return traceOfProvisioned(provisioned), true, nil
	}
	trace, found, err := s.tracePool(ctx, namespace, name)
	switch {
	case found:
		return trace, true, nil
	case meta.IsNoMatchError(err) && failure == nil: // a workload cluster has Provisioners, and no pools
		return trace, false, nil
	case err == nil && unlessUnserved(failure) != nil:
		return trace, false, fmt.Errorf("no pool is known to have %.253q, and the nodes of Provisioners cannot be read: %w", name, failure)
	}
	return trace, found, err
}

// tracePool finds an instance of a pool by its ID or the name of its node. It reads workload clusters only for the
// pool that has the ID, or if no pool has it.
func (s *source) tracePool(ctx context.Context, namespace, name string) (poolview.Trace, bool, error) {
	pools, missing, err := s.pools.Pools(ctx, namespace)
	if err != nil {
		return poolview.Trace{}, false, err
	}
	views := viewsOf(pools, s.clock.Now())
	_, known := poolview.TraceOf(pools, views, name)
	var failures []string
	for i := range pools {
		if _, here := poolview.TraceOf(pools[i:i+1], views[i:i+1], name); here || !known {
			if err := s.pools.WithNodes(ctx, &pools[i]); err != nil {
				failures = append(failures, workloadText(err))
			}
			views[i] = poolview.Of(pools[i], s.clock.Now())
		}
	}
	trace, found := poolview.TraceOf(pools, views, name)
	if !found && missing != nil {
		return trace, false, fmt.Errorf("no pool is known to have %.253q, and some pools cannot be read: %w", name, missing)
	}
	if !found && failures != nil {
		slices.Sort(failures) // the pools of a cluster fail for one reason
		return trace, false, fmt.Errorf("no pool is known to have %.253q, and the nodes of some pools cannot be read: %s", name, strings.Join(slices.Compact(failures), "\n"))
	}
	return trace, found, nil
}

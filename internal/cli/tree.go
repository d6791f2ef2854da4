package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/poolview"
)

func newTreeCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &readFlags{connect: connect}
	command := &cobra.Command{
		Use:   "tree CLUSTER",
		Short: "Show the pools of a cluster with their launch templates, versions, and instances",
		Long: `Show the pools of a cluster with their launch configs, groups, launch template versions, and the instances that
run each version.`,
		Example: `  slipway tree prod
  slipway tree prod -n blue -o json`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			ctx, cancel, from, err := flags.start(command)
			if err != nil {
				return err
			}
			defer cancel()
			cluster, err := from.cluster(ctx, args[0])
			if err != nil {
				return err
			}
			pools, missing, err := from.pools.Pools(ctx, from.namespace)
			if err != nil {
				return err
			}
			noted(command.ErrOrStderr(), poolsMissing, missing)
			var failures error
			for i := range pools {
				if owner := pools[i].MachinePool; owner != nil && owner.Spec.ClusterName == cluster.Name && failures == nil {
					failures = from.pools.WithNodes(ctx, &pools[i])
				}
			}
			noted(command.ErrOrStderr(), nodesMissing, failures)
			tree := poolview.TreeOf(cluster.Namespace, cluster.Name, viewsOf(pools, from.clock.Now()))
			return show(flags, command.OutOrStdout(), &tree, from.printer(command.OutOrStdout()).Tree)
		},
	}
	flags.bind(command, clusterNames)
	return command
}

// cluster returns the Cluster of a name, which may have its kind before it and a slash, as kubectl prints it.
func (s *source) cluster(ctx context.Context, name string) (*clusterv1.Cluster, error) {
	for _, kind := range []string{"cluster/", "clusters/", "cluster." + clusterv1.GroupVersion.Group + "/", "clusters." + clusterv1.GroupVersion.Group + "/"} {
		name = strings.TrimPrefix(name, kind)
	}
	cluster := &clusterv1.Cluster{}
	if len(content.IsPathSegmentName(name)) > 0 { // no object can have the name
		return nil, noCluster(ctx, s, name)
	}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil, noCluster(ctx, s, name)
	case err != nil:
		return nil, fmt.Errorf("reading Cluster %.253q: %w", name, err)
	}
	return cluster, nil
}

// noCluster returns the error that there is no Cluster of a name. A user may have named a pool, or a Cluster of another
// namespace.
func noCluster(ctx context.Context, from *source, name string) error {
	text := fmt.Sprintf("namespace %s has no Cluster %.253q", from.namespace, name)
	if pool, err := from.findPool(ctx, name); err == nil {
		if cluster := pool.GetLabels()[clusterv1.ClusterNameLabel]; cluster != "" {
			return fmt.Errorf("%s. %s %s belongs to Cluster %s: use slipway tree %[4]s", text, pool.GetKind(), pool.GetName(), cluster)
		}
	}
	return errors.New(text + elsewhereText(from.elsewhere(ctx, name, kindCluster)))
}

// clusterNames returns the names of the Clusters of the namespace.
func clusterNames(ctx context.Context, from *source) ([]string, error) {
	clusters := &clusterv1.ClusterList{}
	if err := from.List(ctx, clusters, client.InNamespace(from.namespace)); err != nil {
		return nil, fmt.Errorf("listing Clusters: %w", err)
	}
	names := make([]string, 0, len(clusters.Items))
	for i := range clusters.Items {
		names = append(names, clusters.Items[i].Name)
	}
	return names, nil
}

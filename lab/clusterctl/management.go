package clusterctl

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab/crds"
)

// InstallCertManager installs the definitions of cert-manager, which clusterctl and the components of
// providers need. The controllers that issue certificates are the program certmanager's.
func InstallCertManager(ctx context.Context, c client.Client) error {
	set, err := crds.CertManager()
	if err != nil {
		return err
	}
	return crds.ApplyDefinitions(ctx, c, set)
}

// Register writes into a management cluster of the laboratory what clusterctl would have left of
// the providers that run in the laboratory's process: the inventory, and the labels of their
// definitions, by which clusterctl finds what to move.
func (r *Repository) Register(ctx context.Context, kubeconfig string, c client.Client) error {
	if err := InstallCertManager(ctx, c); err != nil {
		return err
	}
	config, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	inventory := cluster.New(cluster.Kubeconfig{Path: kubeconfig}, config).ProviderInventory()
	if err := inventory.EnsureCustomResourceDefinitions(ctx); err != nil {
		return fmt.Errorf("installing clusterctl's inventory: %w", err)
	}
	for _, p := range providers("") {
		if p.name == slipway {
			continue
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.label() + "-system"}}
		if err := c.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating namespace %q: %w", namespace.Name, err)
		}
		entry := clusterctlv1.Provider{
			ObjectMeta:   metav1.ObjectMeta{Namespace: namespace.Name, Name: p.label(), Labels: map[string]string{clusterctlv1.ClusterctlLabel: ""}},
			ProviderName: p.name, Type: p.kind, Version: p.version,
		}
		if err := inventory.Create(ctx, entry); err != nil {
			return fmt.Errorf("entering %s into the inventory: %w", p.label(), err)
		}
	}
	return labelDefinitions(ctx, c)
}

// labelDefinitions sets the labels of definitions that clusterctl reads: its own on all of them,
// and the label of Cluster API Provider AWS on its identities.
func labelDefinitions(ctx context.Context, c client.Client) error {
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(ctx, &list); err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for i := range list.Items {
		definition := &list.Items[i]
		if !strings.HasSuffix(definition.Spec.Group, "cluster.x-k8s.io") {
			continue
		}
		before := definition.DeepCopy()
		if definition.Labels == nil {
			definition.Labels = map[string]string{}
		}
		definition.Labels[clusterctlv1.ClusterctlLabel] = ""
		if strings.HasSuffix(definition.Spec.Names.Kind, "Identity") {
			definition.Labels[clusterctlv1.ClusterctlMoveHierarchyLabel] = ""
		}
		if err := c.Patch(ctx, definition, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("labelling definition %q: %w", definition.Name, err)
		}
	}
	return nil
}

package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab/controlplane"

	"github.com/slipway-project/slipway/awssim"
)

// ClusterOptions says what cluster to create.
type ClusterOptions struct {
	// Namespace is created if it does not exist. Default "default".
	Namespace string
	// Name of the Cluster. Default "capa", as in the documentation of machine pools.
	Name string
	// KubernetesVersion of the control plane. Default v1.25.0, as in the documentation of machine pools.
	KubernetesVersion string
	// Managed selects an EKS control plane, which the simulated AWS has too.
	Managed bool
	// EKSName is the name of the EKS cluster. Default: EKSClusterName of the Cluster.
	EKSName string
	// Account is the AWS account that an EKS cluster is in. Default: the simulated AWS's own.
	Account string
	// AdditionalTags are the tags of the AWSCluster or AWSManagedControlPlane.
	AdditionalTags map[string]string
	// Bucket is the AWSCluster's spec.s3Bucket.name. Default: none.
	Bucket string
	// Cloud is where the cluster is: its region, VPC, subnets and security groups. Default: the
	// laboratory's own.
	Cloud *Cloud
	// Timeout bounds how long Cluster API may take to call the cluster ready. Default 30 s.
	Timeout time.Duration
}

// NewCluster creates a cluster whose infrastructure and control plane are ready: the Cluster, the
// infrastructure and control plane objects with the status that their absent providers would
// report, and the cluster's Secrets. Cluster API's own controllers do the rest, and NewCluster
// waits for it.
func (l *Lab) NewCluster(ctx context.Context, opts ClusterOptions) (*clusterv1.Cluster, error) {
	opts.Namespace = cmp.Or(opts.Namespace, metav1.NamespaceDefault)
	opts.Name = cmp.Or(opts.Name, "capa")
	opts.KubernetesVersion = cmp.Or(opts.KubernetesVersion, "v1.25.0")
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Account = cmp.Or(opts.Account, awssim.DefaultAccount)
	opts.EKSName = cmp.Or(opts.EKSName, EKSClusterName(opts.Namespace, opts.Name))
	opts.Cloud = cmp.Or(opts.Cloud, l.Cloud)
	if opts.Cloud == nil {
		return nil, fmt.Errorf("making cluster %s/%s: neither the options nor the laboratory have a cloud", opts.Namespace, opts.Name)
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: opts.Namespace}}
	if err := l.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating namespace %q: %w", opts.Namespace, err)
	}
	build := l.selfManaged
	if opts.Managed {
		build = l.managed
	}
	infrastructure, controlPlane, err := build(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("making cluster %s/%s: %w", opts.Namespace, opts.Name, err)
	}
	// Before the Cluster: Cluster API waits 30 s before it looks for a missing kubeconfig again.
	if err := l.createClusterSecrets(ctx, opts, controlPlane); err != nil {
		return nil, fmt.Errorf("making the secrets of cluster %s/%s: %w", opts.Namespace, opts.Name, err)
	}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"192.168.0.0/16"}},
			},
			InfrastructureRef: l.reference(infrastructure),
			ControlPlaneRef:   l.reference(controlPlane),
		},
	}
	if err := l.client.Create(ctx, cluster); err != nil {
		return nil, fmt.Errorf("creating Cluster %s/%s: %w", opts.Namespace, opts.Name, err)
	}
	if err := l.waitForCluster(ctx, cluster, opts.Timeout); err != nil {
		return nil, fmt.Errorf("waiting for Cluster %s/%s: %w", opts.Namespace, opts.Name, err)
	}
	return cluster, nil
}

// reference names an object the way that Cluster API's v1beta2 contract does.
func (l *Lab) reference(object client.Object) clusterv1.ContractVersionedObjectReference {
	gvk, err := l.client.GroupVersionKindFor(object)
	if err != nil {
		panic("a kind of the laboratory is missing in its own scheme: " + err.Error())
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: gvk.Group, Kind: gvk.Kind, Name: object.GetName()}
}

func (l *Lab) waitForCluster(ctx context.Context, cluster *clusterv1.Cluster, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := l.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil && ctx.Err() == nil {
			return err
		}
		missing := missingForCluster(cluster)
		if missing == "" {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("it has no %s", missing), context.Cause(ctx))
		}
	}
}

// missingForCluster names the first thing that prevents pools of the cluster.
func missingForCluster(cluster *clusterv1.Cluster) string {
	switch {
	case !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false):
		return "infrastructure"
	case !conditions.IsTrue(cluster, clusterv1.ClusterControlPlaneInitializedCondition):
		return "initialized control plane"
	case !conditions.IsTrue(cluster, clusterv1.ClusterRemoteConnectionProbeCondition):
		return "connection to its API server"
	}
	return ""
}

// createClusterSecrets creates the Secrets that the control plane provider would: certificates and
// kubeconfig. The cluster's authority is the workload API server's own, so that join data leads to
// it.
func (l *Lab) createClusterSecrets(ctx context.Context, opts ClusterOptions, controlPlane client.Object) error {
	kubeconfig, err := l.Workload.Kubeconfig()
	if err != nil {
		return err
	}
	certificate, key := l.Workload.CertificateAuthority()
	secrets := map[string]map[string][]byte{
		"kubeconfig": {"value": kubeconfig},
		"ca":         {corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
	for _, purpose := range []string{"etcd", "proxy", "sa"} {
		certificate, key, err := controlplane.NewAuthority(opts.Name + "-" + purpose)
		if err != nil {
			return err
		}
		secrets[purpose] = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	}
	if opts.Managed {
		secrets["user-kubeconfig"] = secrets["kubeconfig"]
	}
	gvk, err := l.client.GroupVersionKindFor(controlPlane)
	if err != nil {
		return err
	}
	for purpose, data := range secrets {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: opts.Namespace, Name: opts.Name + "-" + purpose,
				Labels:          map[string]string{clusterv1.ClusterNameLabel: opts.Name},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(controlPlane, gvk)},
			},
			Type: clusterv1.ClusterSecretType,
			Data: data,
		}
		if err := l.client.Create(ctx, secret); err != nil {
			return fmt.Errorf("creating Secret %q: %w", secret.Name, err)
		}
	}
	return nil
}

package lab

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RotateBootstrapToken has the kubeadm bootstrap provider replace the join token of a pool's
// KubeadmConfig, as it does by itself before the token expires: it removes the token from the
// workload cluster and asks for a reconcile. It returns the old token, without waiting for the new
// one.
func (l *Lab) RotateBootstrapToken(ctx context.Context, key client.ObjectKey) (old string, err error) {
	config := &bootstrapv1.KubeadmConfig{}
	if err := l.client.Get(ctx, key, config); err != nil {
		return "", fmt.Errorf("reading KubeadmConfig %q: %w", key.Name, err)
	}
	old = config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token
	id, _, ok := strings.Cut(old, ".")
	if !ok {
		return "", fmt.Errorf("KubeadmConfig %q has no join token to rotate", key.Name)
	}
	token := &corev1.Secret{}
	token.Namespace, token.Name = "kube-system", bootstrapapi.BootstrapTokenSecretPrefix+id
	if err := l.workload.Delete(ctx, token); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("taking away the join token of KubeadmConfig %q: %w", key.Name, err)
	}
	before := config.DeepCopy()
	if config.Annotations == nil {
		config.Annotations = map[string]string{}
	}
	config.Annotations["laboratory/token-rotated-at"] = time.Now().Format(time.RFC3339Nano)
	if err := l.client.Patch(ctx, config, client.MergeFrom(before)); err != nil {
		return "", fmt.Errorf("asking for a reconcile of KubeadmConfig %q: %w", key.Name, err)
	}
	return old, nil
}

// SwapBootstrapToken gives a pool's bootstrap data another valid join token, once. It is what a
// rotation by the kubeadm bootstrap provider does to the data Secret, without the provider, which
// now and then rotates twice in a row because it acts on what its cache knows. For tests that
// count.
func (l *Lab) SwapBootstrapToken(ctx context.Context, key client.ObjectKey) error {
	config := &bootstrapv1.KubeadmConfig{}
	if err := l.client.Get(ctx, key, config); err != nil {
		return fmt.Errorf("reading KubeadmConfig %q: %w", key.Name, err)
	}
	old := config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token
	oldID, _, _ := strings.Cut(old, ".")
	token := &corev1.Secret{}
	if err := l.workload.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: bootstrapapi.BootstrapTokenSecretPrefix + oldID}, token); err != nil {
		return fmt.Errorf("reading the join token of KubeadmConfig %q: %w", key.Name, err)
	}
	data := &corev1.Secret{}
	if err := l.client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: config.Status.DataSecretName}, data); err != nil {
		return fmt.Errorf("reading the bootstrap data of KubeadmConfig %q: %w", key.Name, err)
	}
	found := joinToken.FindSubmatch(data.Data["value"])
	if found == nil {
		return fmt.Errorf("the bootstrap data of KubeadmConfig %q holds no join token", key.Name)
	}
	present := found[1]
	fresh, err := bootstraputil.GenerateBootstrapToken()
	if err != nil {
		return fmt.Errorf("making a join token: %w", err)
	}
	id, secret, _ := strings.Cut(fresh, ".")
	renewed := &corev1.Secret{Type: token.Type, Data: maps.Clone(token.Data)}
	renewed.Namespace, renewed.Name = token.Namespace, bootstrapapi.BootstrapTokenSecretPrefix+id
	renewed.Data[bootstrapapi.BootstrapTokenIDKey], renewed.Data[bootstrapapi.BootstrapTokenSecretKey] = []byte(id), []byte(secret)
	if err := l.workload.Create(ctx, renewed); err != nil {
		return fmt.Errorf("creating a join token: %w", err)
	}
	before := data.DeepCopy()
	data.Data["value"] = bytes.ReplaceAll(data.Data["value"], present, []byte(fresh))
	if err := l.client.Patch(ctx, data, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing the bootstrap data of KubeadmConfig %q: %w", key.Name, err)
	}
	return nil
}

// joinToken is a kubeadm join token. In Ignition an escaped character stands before it.
var joinToken = regexp.MustCompile(`(?:\b|%[0-9A-F]{2})([a-z0-9]{6}\.[a-z0-9]{16})\b`)

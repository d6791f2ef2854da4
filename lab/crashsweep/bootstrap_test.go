package crashsweep

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// userData is the data that the kubeadm bootstrap provider writes for a worker, as far as it
// matters here.
const userData = `## template: jinja
#cloud-config
write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    content: |
      apiVersion: kubeadm.k8s.io/v1beta3
      discovery:
        bootstrapToken:
          apiServerEndpoint: capa.example.com:6443
          token: %s
      kind: JoinConfiguration
runcmd:
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`

// putBootstrapData writes the pool's bootstrap data with a join token that the workload cluster knows.
func (h *harness) putBootstrapData(generation int) {
	h.Helper()
	id, secret := h.token(generation)
	ctx := h.env.Context()
	token := &corev1.Secret{Type: bootstrapapi.SecretTypeBootstrapToken, StringData: map[string]string{
		bootstrapapi.BootstrapTokenIDKey:               id,
		bootstrapapi.BootstrapTokenSecretKey:           secret,
		bootstrapapi.BootstrapTokenExpirationKey:       time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		bootstrapapi.BootstrapTokenUsageAuthentication: "true",
	}}
	token.Namespace, token.Name = "kube-system", bootstrapapi.BootstrapTokenSecretPrefix+id
	if err := h.env.WorkloadClient.Create(ctx, token); err != nil {
		h.Fatal(err)
	}
	data := &corev1.Secret{StringData: map[string]string{"value": fmt.Sprintf(userData, id+"."+secret), "format": "cloud-config"}}
	data.Namespace, data.Name = h.env.Namespace, poolName
	if generation == 0 {
		if err := h.env.Client.Create(ctx, data); err != nil {
			h.Fatal(err)
		}
		return
	}
	present := &corev1.Secret{}
	if err := h.env.Client.Get(ctx, client.ObjectKeyFromObject(data), present); err != nil {
		h.Fatal(err)
	}
	before := present.DeepCopy()
	present.StringData = data.StringData
	if err := h.env.Client.Patch(ctx, present, client.MergeFrom(before)); err != nil {
		h.Fatal(err)
	}
}

// token is another one for each world and generation. Letters first, so that YAML needs no quotes.
func (h *harness) token(generation int) (id, secret string) {
	sum := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", h.env.Namespace, h.env.Account, generation)))
	return "t" + sum[:5], "s" + sum[5:20]
}

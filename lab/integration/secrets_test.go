package integration

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// createSecret creates bootstrap data by hand.
func (w *world) createSecret(name string, data map[string][]byte) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Data: data}
	if err := w.Client.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
}

// editSecret changes bootstrap data.
func (w *world) editSecret(name string, edit func(map[string][]byte)) {
	w.Helper()
	edited(w, &corev1.Secret{}, name, func(secret *corev1.Secret) { edit(secret.Data) })
}

// bootstrapBySecret are replacements in the example that have the MachinePool name a Secret instead
// of a KubeadmConfig.
func bootstrapBySecret(name string) []string {
	return []string{`        configRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
          kind: KubeadmConfig
          name: capa-mp-0
`, "        dataSecretName: " + name + "\n"}
}

// joinTokens finds kubeadm join tokens. In Ignition an escaped character stands before them.
var joinTokens = regexp.MustCompile(`(?:\b|%[0-9A-F]{2})([a-z0-9]{6})\.[a-z0-9]{16}\b`)

// expireTokens takes the join tokens in bootstrap data from the cluster, as time does.
func (w *world) expireTokens(data []byte) {
	w.Helper()
	for _, token := range joinTokens.FindAllSubmatch(data, -1) {
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = "kube-system", "bootstrap-token-"+string(token[1])
		if err := client.IgnoreNotFound(w.Lab.WorkloadClient().Delete(w.Context(), secret)); err != nil {
			w.Fatal(err)
		}
	}
}

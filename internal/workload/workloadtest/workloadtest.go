// Package workloadtest serves workload clusters for tests.
package workloadtest

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Serve has a handler answer as the API server of a Cluster, until the test ends. It creates the Secret with
// the kubeconfig, as Cluster API does.
func Serve(t testing.TB, c client.Client, cluster client.ObjectKey, handler http.Handler) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"},
		Data:       map[string][]byte{"value": Kubeconfig(server, "{token: one}")},
	}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// Kubeconfig returns a kubeconfig for a server, with a user given as YAML.
func Kubeconfig(server *httptest.Server, user string) []byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}], users: [{name: u, user: %s}]}`,
		server.URL, base64.StdEncoding.EncodeToString(authority), user)
}

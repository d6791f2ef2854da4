package managertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// certify writes a new certificate for this machine into the directory, as a mounted Secret
// changes, and returns what it is trusted by.
func certify(t testing.TB, directory string) []byte {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": certificate} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

// portsTried separates the ports of tests that run side by side.
var portsTried atomic.Int64

// quietPort returns a port without a listener, below the ports that the kernel hands out by itself.
func quietPort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 20000 + (os.Getpid()*7+int(portsTried.Add(1)))%10000
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// configureWebhooks installs config/webhook for the world's namespace, with the manager's address
// in place of the service.
func (w *world) configureWebhooks(port int, trusted []byte) *admissionv1.ValidatingWebhookConfiguration {
	w.Helper()
	text, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		w.Fatal(err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, configuration); err != nil {
		w.Fatal(err)
	}
	configuration.Name += "-" + w.Namespace
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		webhook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}}
		webhook.ClientConfig = admissionv1.WebhookClientConfig{
			URL: ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, *webhook.ClientConfig.Service.Path)), CABundle: trusted,
		}
	}
	if err := w.Client.Create(w.Context(), configuration); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(w.Context()), configuration); err != nil {
			w.Error(err)
		}
	})
	return configuration
}

// startWarning starts a manager that the API server asks over TLS, with a certificate that it reads
// from the directory.
func (w *world) startWarning(directory string) (*lab.RunningManager, *admissionv1.ValidatingWebhookConfiguration) {
	w.Helper()
	port, trusted := quietPort(w.TB), certify(w.TB, directory)
	running := w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) {
		options.Webhooks = manager.Webhooks{Port: port, CertificateDirectory: directory}
	}}))
	return running, w.configureWebhooks(port, trusted)
}

// warned is a pool that the webhook has something to say about.
func (w *world) warned(version string) *unstructured.Unstructured {
	pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"awsLaunchTemplate": map[string]any{"instanceType": "m5.large"}, "refreshPreferences": map[string]any{"alarms": []any{"broken"}},
	}}}
	pool.SetGroupVersionKind(schema.GroupVersionKind{Group: infrav1.GroupVersion.Group, Version: version, Kind: "AWSMachinePool"})
	pool.SetNamespace(w.Namespace)
	pool.SetName("warned")
	return pool
}

// TestPeopleAreWarned has the API server ask the manager over TLS, with the manifests' configuration.
func TestPeopleAreWarned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	directory := t.TempDir()
	running, configuration := w.startWarning(directory)
	person, heard := w.Listening()

	about := func(field string) func(string) bool {
		return func(warning string) bool { return strings.HasPrefix(warning, field) }
	}
	hears := func(version string) func() error {
		return func() error {
			heard.Taken()
			if err := person.Create(w.Context(), w.warned(version), client.DryRunAll); err != nil {
				return err
			}
			if said := heard.Taken(); !slices.ContainsFunc(said, about("spec.refreshPreferences.alarms: ")) {
				return fmt.Errorf("the API server says %q", said)
			}
			return nil
		}
	}
	w.Eventually("a pool is warned of", hears("v1beta2"))
	w.Eventually("and as CAPA's manifests name it", hears("v1beta1"))

	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return w.settled(poolName) })
	pool, err := w.pool(poolName)
	if err != nil {
		t.Fatal(err)
	}
	before := pool.DeepCopy()
	pool.Spec.MinSize = 5
	if err := person.Patch(w.Context(), pool, client.MergeFrom(before), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if said := heard.Taken(); !slices.ContainsFunc(said, about("spec.minSize, spec.maxSize: spec.replicas of MachinePool")) {
		t.Errorf("an edit that leaves the MachinePool's replicas out of bounds is answered with %q", said)
	}

	pool = before.DeepCopy()
	pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
	if err := person.Patch(w.Context(), pool, client.MergeFrom(before), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	replaces := "AWSMachinePool/" + poolName + " will replace 2 of 2 nodes: instance type "
	if said := heard.Taken(); !slices.ContainsFunc(said, about(replaces)) {
		t.Errorf("an edit that replaces nodes is answered with %q, want %q", said, replaces)
	}

	// The certificate is renewed: the new one alone is trusted, and the manager goes on.
	trusted := certify(t, directory)
	renewed := configuration.DeepCopy()
	for i := range renewed.Webhooks {
		renewed.Webhooks[i].ClientConfig.CABundle = trusted
	}
	if err := w.Client.Patch(w.Context(), renewed, client.MergeFrom(configuration)); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the renewed certificate is served", hears("v1beta2"))

	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	if err := person.Create(w.Context(), w.warned("v1beta2")); err != nil {
		t.Errorf("writes fail while no manager answers: %v", err)
	}
}

package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab/controlplane"
	"github.com/slipway-project/slipway/lab/crds/bundle"
	"github.com/slipway-project/slipway/lab/kubectl"
	"github.com/slipway-project/slipway/lab/labtest"
)

const (
	// capaModule is the module of CAPA. Its main package is CAPA's manager.
	capaModule     = bundle.ClusterAPIProviderAWS
	capaNamespace  = "capa-system"
	capaDeployment = "capa-controller-manager"
	capaService    = "capa-webhook-service"
	// capaRelease has the Deployment and the webhook configurations of CAPA's release.
	capaRelease = root + "/internal/migration/testdata/capa.yaml"
	// kubeletInterval is the time between two checks of the Deployment.
	kubeletInterval = 50 * time.Millisecond
)

// capaPods stands in for what runs the pods of CAPA's Deployment: it replaces the process when the
// arguments in the Deployment change, and reports that in the status.
type capaPods struct {
	*world
	t *testing.T
	// program is CAPA's manager.
	program      string
	environment  []string
	certificates string
	port         int

	mu        sync.Mutex
	process   *exec.Cmd
	arguments []string
	output    *buffer
}

// nodeadmConfigs is the kind that CAPA's manager needs and the laboratory lacks.
const nodeadmConfigs = "bootstrap.cluster.x-k8s.io_nodeadmconfigs"

// capaDefinition returns the file with CAPA's definition of a kind.
func capaDefinition(t *testing.T, name string) string {
	t.Helper()
	directory, err := bundle.ModuleDir(capaModule)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(directory, "config", "crd", "bases", name+".yaml")
}

// applyDefinitions applies CAPA's definitions of pools, as the migration guide does.
func (w *world) applyDefinitions(t *testing.T) {
	t.Helper()
	const label = `{"metadata":{"labels":{"cluster.x-k8s.io/v1beta1":"v1beta1_v1beta2"}}}` // which CAPA's kustomization adds
	for _, name := range []string{"awsmachinepools", "awsmanagedmachinepools"} {
		if _, err := kubectl.Apply(t.Context(), w.Lab.Kubeconfig(), capaDefinition(t, "infrastructure.cluster.x-k8s.io_"+name), "--server-side", "--force-conflicts"); err != nil {
			t.Fatal(err)
		}
		definition := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
		definition.Name = name + ".infrastructure.cluster.x-k8s.io"
		if err := w.Client.Patch(t.Context(), definition, client.RawPatch("application/merge-patch+json", []byte(label))); err != nil {
			t.Fatal(err)
		}
	}
}

// installCAPA installs CAPA's definitions of pools, its Deployment and its webhooks, and runs its pods
// until the test ends. The Service of the webhooks leads to this machine.
func (w *world) installCAPA(t *testing.T) *capaPods {
	t.Helper()
	w.applyDefinitions(t)
	if _, err := kubectl.Apply(t.Context(), w.Lab.Kubeconfig(), capaDefinition(t, nodeadmConfigs), "--server-side"); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pods := &capaPods{world: w, t: t, certificates: t.TempDir(), port: listener.Addr().(*net.TCPAddr).Port, output: &buffer{}}
	_ = listener.Close()
	pods.environment = w.commandEnvironment(w.Lab.Kubeconfig())
	pods.program = filepath.Join(t.TempDir(), "capa")
	if err := labtest.Build(t.Context(), root+"/tools/capa", capaModule, pods.program); err != nil {
		t.Fatal(err)
	}
	authority, certificate, key, err := controlplane.ServingCertificate(capaService, capaService+"."+capaNamespace+".svc")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(pods.certificates, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: capaNamespace}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: capaNamespace, Name: capaService}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
	} {
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	deployment, mutating, validating := &appsv1.Deployment{}, &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	readObjects(t, capaRelease, deployment, mutating, validating)
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle, mutating.Webhooks[i].ClientConfig.Service.Port = authority, ptr.To(int32(pods.port)) // #nosec G115 -- a port
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle, validating.Webhooks[i].ClientConfig.Service.Port = authority, ptr.To(int32(pods.port)) // #nosec G115 -- a port
	}
	if err := w.Client.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pods.keep(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended; pods.stop() })
	w.Eventually("CAPA's manager serves", pods.serving)
	for _, object := range []client.Object{mutating, validating} {
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return pods
}

// readObjects reads the objects of a file in their order.
func readObjects(t *testing.T, path string, objects ...client.Object) {
	t.Helper()
	content, err := os.ReadFile(path) // #nosec G304 -- of the repository
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for _, object := range objects {
		if err := decoder.Decode(object); err != nil {
			t.Fatal(err)
		}
	}
}

// keep runs the process that the Deployment asks for until the context is done.
func (p *capaPods) keep(ctx context.Context) {
	ticker := time.NewTicker(kubeletInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := p.check(ctx); err != nil && ctx.Err() == nil {
			p.t.Errorf("running the pods of CAPA: %v", err)
			return
		}
	}
}

// check replaces the process if the Deployment asks for other arguments.
func (p *capaPods) check(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: capaNamespace, Name: capaDeployment}, deployment); err != nil {
		return client.IgnoreNotFound(err)
	}
	if deployment.Status.ObservedGeneration == deployment.Generation {
		return nil
	}
	arguments := deployment.Spec.Template.Spec.Containers[0].Args
	if !slices.Equal(arguments, p.args()) {
		p.stop()
		if err := p.start(arguments); err != nil {
			return err
		}
	}
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	return p.Client.Status().Update(ctx, deployment)
}

func (p *capaPods) args() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arguments
}

// start starts the process, and waits until it serves.
func (p *capaPods) start(arguments []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Ports are free ones of this machine. The laboratory keeps its AWSClusters as CAPA's controllers leave
	// them, and runs none of these controllers.
	process := exec.Command(p.program, append(slices.Clone(arguments), "--webhook-cert-dir="+p.certificates, "--webhook-port="+strconv.Itoa(p.port),
		"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--leader-elect-namespace="+capaNamespace, "--disable-controllers=unmanaged")...) // #nosec G204 -- CAPA's manager
	process.Env, process.Stderr = p.environment, p.output
	if err := process.Start(); err != nil {
		return err
	}
	p.process, p.arguments = process, slices.Clone(arguments)
	for deadline := time.Now().Add(stopTime); time.Now().Before(deadline); {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), time.Second)
		if err == nil {
			return connection.Close()
		}
	}
	return fmt.Errorf("it does not serve: %s", p.output)
}

// stop stops the process as a kubelet does.
func (p *capaPods) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return
	}
	_ = p.process.Process.Signal(syscall.SIGTERM)
	if err := p.process.Wait(); err != nil {
		p.t.Errorf("CAPA's manager ended with %v: %s", err, p.output)
	}
	p.process = nil
}

// serving returns nil once the process has the arguments of the Deployment.
func (p *capaPods) serving() error {
	if len(p.args()) == 0 {
		return errors.New("it has not started")
	}
	return nil
}

// runsPools reports whether the process has the controllers of pools, by the last value of its gate.
func (p *capaPods) runsPools() bool {
	all := strings.Join(p.args(), " ")
	return strings.LastIndex(all, "MachinePool=true") > strings.LastIndex(all, "MachinePool=false")
}

package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
)

// stopTime bounds how long the process may take to exit after the signal: the grace period of the pod.
const stopTime = 20 * time.Second

// laboratoryArguments lists the arguments that a process needs because it does not run in a pod:
// the namespace of its lease, which a pod reads from a file, and an interval for observing AWS that
// suits its fast clock.
var laboratoryArguments = []string{"--leader-elect-namespace=" + namespace, "--observe-interval-in-motion=500ms", "-v=1"}

// loopback lets the manager reach workload clusters, which are on this machine here. Earlier releases
// do not refuse them.
const loopback = "--loopback-workload-clusters"

// pod is a process that stands in for the pod of a Deployment.
type pod struct {
	*testing.T
	process *exec.Cmd
	ended   chan error
	output  *buffer
	// unroute has the API server reach the webhook by its Service again.
	unroute func()
}

// startPod runs a program as the pod of the installed manager would, and waits until it is ready.
func (w *world) startPod(t *testing.T, program string, more ...string) *pod {
	t.Helper()
	w.Eventually("the API server serves Slipway's kinds", w.serves)
	return w.startPodOf(t, "slipway-manager", program, more...)
}

// serves returns nil once the API server serves the kinds that the manager needs. Until then the manager
// exits, and a kubelet would start it again.
func (w *world) serves() error {
	config := w.Lab.RESTConfig()
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, caller)
	if err != nil {
		return err
	}
	for _, kind := range []string{"AWSMachinePool", "AWSManagedMachinePool", "AWSLaunchConfig", "AWSLaunchConfigTemplate"} {
		if _, err := mapper.RESTMapping(infrav1.GroupVersion.WithKind(kind).GroupKind(), infrav1.GroupVersion.Version); err != nil {
			return err
		}
	}
	return nil
}

// startPodOf runs a program as the pod of an installed Deployment would, and waits until it is ready.
func (w *world) startPodOf(t *testing.T, name, program string, more ...string) *pod {
	t.Helper()
	deployment := &appsv1.Deployment{}
	w.get(deployment, namespace, name)
	template := &deployment.Spec.Template
	container := &template.Spec.Containers[0]
	ports := w.freePorts(container)
	unroute := w.routeWebhooks(template, ports)
	arguments := append(slices.Clone(container.Args), laboratoryArguments...)
	for i := range arguments {
		for number, local := range ports {
			arguments[i] = regexp.MustCompile(fmt.Sprintf(`([:=])%d$`, number)).ReplaceAllString(arguments[i], fmt.Sprintf("${1}%d", local))
		}
		for _, mount := range container.VolumeMounts {
			if strings.HasSuffix(arguments[i], "="+mount.MountPath) {
				arguments[i] = strings.TrimSuffix(arguments[i], mount.MountPath) + w.mount(t, template, mount.Name)
			}
		}
	}
	process := exec.Command(program, append(arguments, more...)...) // #nosec G204 -- the program of the test
	process.Env = append([]string{"HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true", "KUBECONFIG=" + w.kubeconfigOf(t, template.Spec.ServiceAccountName)}, w.environment(container)...)
	p := start(t, process)
	p.unroute = unroute
	probe := container.ReadinessProbe.HTTPGet
	url := fmt.Sprintf("http://127.0.0.1:%d%s", ports[portNamed(container, probe.Port.StrVal)], probe.Path)
	w.Eventually("the manager is ready", func() error { return errors.Join(ask(t.Context(), url), p.running()) })
	return p
}

// start starts a process, which is killed when the test ends if it still runs.
func start(t *testing.T, process *exec.Cmd) *pod {
	t.Helper()
	p := &pod{T: t, process: process, output: &buffer{}, ended: make(chan error, 1)}
	process.Stderr = p.output
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- process.Wait() }()
	t.Cleanup(func() { _ = process.Process.Kill() })
	return p
}

func (w *world) get(object client.Object, namespace, name string) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
}

// freePorts returns a free port of this machine for each port of a container.
func (w *world) freePorts(container *corev1.Container) map[int32]int {
	w.Helper()
	ports := map[int32]int{}
	for _, port := range container.Ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		ports[port.ContainerPort] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// routeWebhooks has the API server reach the webhooks at this machine's ports: the Service that would
// lead it to the pod names this machine instead. So the API server still demands a certificate for the
// Service's name. It returns a function that changes everything back. A pod without a port for webhooks
// has none.
func (w *world) routeWebhooks(template *corev1.PodTemplateSpec, ports map[int32]int) func() {
	w.Helper()
	if portNamed(&template.Spec.Containers[0], "webhook") == 0 {
		return func() {}
	}
	var configurations admissionv1.ValidatingWebhookConfigurationList
	if err := w.Client.List(w.Context(), &configurations, client.HasLabels{"cluster.x-k8s.io/provider"}); err != nil {
		w.Fatal(err)
	}
	configurations.Items = slices.DeleteFunc(configurations.Items, func(configuration admissionv1.ValidatingWebhookConfiguration) bool {
		service := configuration.Webhooks[0].ClientConfig.Service
		return service == nil || service.Namespace != namespace
	})
	if len(configurations.Items) != 1 {
		w.Fatalf("there are %d webhook configurations for Services in namespace %s, want 1", len(configurations.Items), namespace)
	}
	configuration := &configurations.Items[0]
	original := configuration.DeepCopy()
	routed := configuration.DeepCopy()
	for i := range routed.Webhooks {
		reference := routed.Webhooks[i].ClientConfig.Service
		reference.Port = ptr.To(int32(ports[w.endpoint(reference, template)])) // #nosec G115 -- a port
	}
	service := &corev1.Service{}
	w.get(service, namespace, routed.Webhooks[0].ClientConfig.Service.Name)
	spec := service.Spec
	w.patch(service, func() {
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: spec.Ports, Selector: spec.Selector}
	})
	w.patch(configuration, func() { setServices(configuration, routed) })
	return func() {
		w.get(configuration, "", configuration.Name)
		w.patch(configuration, func() { setServices(configuration, original) })
		w.get(service, service.Namespace, service.Name)
		w.patch(service, func() { service.Spec = spec })
	}
}

// setServices has the API server reach the webhooks of a configuration by the Services of another one.
func setServices(configuration, other *admissionv1.ValidatingWebhookConfiguration) {
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].ClientConfig.Service = other.Webhooks[i].ClientConfig.Service
	}
}

// patch changes an object of the management cluster.
func (w *world) patch(object client.Object, change func()) {
	w.Helper()
	before := object.DeepCopyObject().(client.Object)
	change()
	if err := w.Client.Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// endpoint returns the port of the pod that a Service of a webhook leads to.
func (w *world) endpoint(reference *admissionv1.ServiceReference, template *corev1.PodTemplateSpec) int32 {
	w.Helper()
	service := &corev1.Service{}
	w.get(service, reference.Namespace, reference.Name)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
		w.Fatalf("Service %s selects %v, and the pod has labels %v", service.Name, service.Spec.Selector, template.Labels)
	}
	for _, port := range service.Spec.Ports {
		if port.Port == ptr.Deref(reference.Port, 443) {
			return portNamed(&template.Spec.Containers[0], port.TargetPort.StrVal)
		}
	}
	w.Fatalf("Service %s has no port for the webhook", service.Name)
	return 0
}

func portNamed(container *corev1.Container, name string) int32 {
	for _, port := range container.Ports {
		if port.Name == name {
			return port.ContainerPort
		}
	}
	return 0
}

// mount returns a directory with the files of a volume, which is a Secret.
func (w *world) mount(t *testing.T, template *corev1.PodTemplateSpec, volume string) string {
	t.Helper()
	directory := t.TempDir()
	for _, candidate := range template.Spec.Volumes {
		if candidate.Name != volume {
			continue
		}
		secret := &corev1.Secret{}
		w.get(secret, namespace, candidate.Secret.SecretName)
		for name, content := range secret.Data {
			if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return directory
}

// environment returns the environment of a container.
func (w *world) environment(container *corev1.Container) []string {
	w.Helper()
	var environment []string
	for _, variable := range container.Env {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	for _, source := range container.EnvFrom {
		secret := &corev1.Secret{}
		w.get(secret, namespace, source.SecretRef.Name)
		for name, value := range secret.Data {
			environment = append(environment, name+"="+string(value))
		}
	}
	return environment
}

// kubeconfigOf returns the path of a kubeconfig with a token of an existing ServiceAccount.
func (w *world) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	w.get(&corev1.ServiceAccount{}, namespace, account)
	token, err := w.Lab.Management.ServiceAccountToken(t.Context(), namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	config, admin := clientcmdapi.NewConfig(), w.Lab.RESTConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "pod"}
	config.CurrentContext = "pod"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// addCredentials creates the Secret with AWS credentials that the installation guide describes.
func (w *world) addCredentials() {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "slipway-aws-credentials"}, StringData: map[string]string{
		"AWS_ENDPOINT_URL": w.Cloud.Endpoint, "AWS_REGION": w.Cloud.Region(),
		"AWS_ACCESS_KEY_ID": lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY": lab.SecretAccessKey,
	}}
	if err := w.Client.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
}

// awaitCertificates waits until cert-manager has issued every Certificate of the installation, and has
// written its authority into the webhook configurations that ask for it.
func (w *world) awaitCertificates() {
	w.Helper()
	w.EventuallyWithin(time.Minute, "cert-manager has issued the certificates", func() error {
		var certificates unstructured.UnstructuredList
		certificates.SetAPIVersion("cert-manager.io/v1")
		certificates.SetKind("CertificateList")
		if err := w.Client.List(w.Context(), &certificates, client.InNamespace(namespace)); err != nil {
			return err
		}
		var configurations admissionv1.ValidatingWebhookConfigurationList
		if err := w.Client.List(w.Context(), &configurations); err != nil {
			return err
		}
		for i := range certificates.Items {
			if err := w.issued(&certificates.Items[i], configurations.Items); err != nil {
				return fmt.Errorf("certificate %s: %w; cert-manager says:\n%s", certificates.Items[i].GetName(), err, w.certManager.output)
			}
		}
		return w.certManager.running()
	})
}

// issued returns nil if a Certificate's Secret has a certificate, and the webhook configurations that
// ask for its authority have it.
func (w *world) issued(certificate *unstructured.Unstructured, configurations []admissionv1.ValidatingWebhookConfiguration) error {
	name, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return err
	}
	authority := secret.Data[corev1.ServiceAccountRootCAKey]
	if len(authority) == 0 || len(secret.Data[corev1.TLSCertKey]) == 0 {
		return fmt.Errorf("secret %s has no authority or no certificate", name)
	}
	for i := range configurations {
		configuration := &configurations[i]
		if configuration.Annotations["cert-manager.io/inject-ca-from"] != namespace+"/"+certificate.GetName() {
			continue
		}
		for _, webhook := range configuration.Webhooks {
			if !bytes.Equal(webhook.ClientConfig.CABundle, authority) {
				return fmt.Errorf("webhook configuration %s does not have the authority yet", configuration.Name)
			}
		}
	}
	return nil
}

// running returns an error if the process has exited.
func (p *pod) running() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("the process ended (%w): %s", err, p.output)
	default:
		return nil
	}
}

// stop terminates the process as a kubelet does, and fails if the API server refused it anything.
func (p *pod) stop() {
	p.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		p.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			p.Errorf("it ended with %v, want status 0", err)
		}
	case <-time.After(stopTime):
		p.Errorf("it runs %v after SIGTERM", stopTime)
	}
	p.unroute()
	if text := p.output.String(); strings.Contains(text, "forbidden") {
		p.Errorf("the API server refused something:\n%s", text)
	}
}

// ask returns nil if a URL answers with status 200.
func ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(strconv.Itoa(response.StatusCode))
	}
	return nil
}

// buffer can be written to by several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

package clusterapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// webhookServer is a webhook.Server on a free port of the loopback interface.
// controller-runtime's own takes a number that must be known to be free, and
// reads its certificate from files.
type webhookServer struct {
	listener net.Listener
	mux      *http.ServeMux
	server   *http.Server
	started  chan struct{}
}

func newWebhookServer(certificatePEM, keyPEM []byte) (*webhookServer, error) {
	certificate, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("loading the webhooks' certificate: %w", err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for webhooks: %w", err)
	}
	mux := http.NewServeMux()
	return &webhookServer{
		listener: tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		}),
		mux:     mux,
		server:  &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		started: make(chan struct{}),
	}, nil
}

// base returns the URL that serves the webhooks.
func (s *webhookServer) base() string { return "https://" + s.listener.Addr().String() }

func (s *webhookServer) close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *webhookServer) NeedLeaderElection() bool { return false }

// Register implements webhook.Server.
func (s *webhookServer) Register(path string, hook http.Handler) { s.mux.Handle(path, hook) }

// WebhookMux implements webhook.Server.
func (s *webhookServer) WebhookMux() *http.ServeMux { return s.mux }

// StartedChecker implements webhook.Server.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		select {
		case <-s.started:
			return nil
		default:
			return errors.New("webhooks are not served yet")
		}
	}
}

// Start implements webhook.Server: it serves until the context is done.
func (s *webhookServer) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.server.Close() }) // Serve reports what matters
	defer stop()
	close(s.started)
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	return nil
}

// addWebhooks registers every admission and conversion webhook of the providers.
func addWebhooks(manager ctrl.Manager, clusters clustercache.ClusterCache) error {
	getter := apiVersionGetter(manager.GetClient(), manager.GetRESTMapper().RESTMapping)
	coreconversion.SetAPIVersionGetter(getter)
	controlplaneconversion.SetAPIVersionGetter(getter)
	type webhook interface {
		SetupWebhookWithManager(manager ctrl.Manager) error
	}
	c := manager.GetClient()
	for _, webhook := range []webhook{
		&coreadmission.Cluster{Client: c, ClusterCacheReader: clusters},
		&coreadmission.ClusterClass{Client: c},
		&coreadmission.Machine{},
		&coreadmission.MachineSet{},
		&coreadmission.MachineDeployment{},
		&coreadmission.MachineDrainRule{},
		&coreadmission.MachinePool{},
		&coreadmission.MachineHealthCheck{},
		&coreadmission.ClusterResourceSet{},
		&coreadmission.ClusterResourceSetBinding{},
		&coreadmission.ExtensionConfig{},
		&coreadmission.IPAddress{Client: manager.GetAPIReader()},
		&coreadmission.IPAddressClaim{},
		&bootstrapadmission.KubeadmConfig{},
		&bootstrapadmission.KubeadmConfigTemplate{},
		&controlplaneadmission.KubeadmControlPlane{},
		&controlplaneadmission.ScaleValidator{Client: c},
		&controlplaneadmission.KubeadmControlPlaneTemplate{},
	} {
		if err := webhook.SetupWebhookWithManager(manager); err != nil {
			return fmt.Errorf("adding webhook %T: %w", webhook, err)
		}
	}
	return nil
}

// contractVersions are the versions of the Cluster API contract that the linked release
// understands, newest first.
var contractVersions = []string{"v1beta2", "v1beta1"}

// apiVersionGetter returns the apiVersion that a v1beta1 reference gets in conversions: the newest
// one that the kind's definition, by its labels, declares for the newest contract (Cluster API:
// provider contract, "API version labels").
func apiVersionGetter(reader client.Reader, mapping func(schema.GroupKind, ...string) (*meta.RESTMapping, error)) func(context.Context, schema.GroupKind) (string, error) {
	return func(ctx context.Context, kind schema.GroupKind) (string, error) {
		mapped, err := mapping(kind)
		if err != nil {
			return "", fmt.Errorf("finding the resource of %s: %w", kind, err)
		}
		definition := &metav1.PartialObjectMetadata{}
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		key := client.ObjectKey{Name: mapped.Resource.GroupResource().String()}
		if err := reader.Get(ctx, key, definition); err != nil {
			return "", fmt.Errorf("reading definition %q: %w", key.Name, err)
		}
		for _, contract := range contractVersions {
			if newest := newestVersion(definition.Labels[clusterv1.GroupVersion.Group+"/"+contract]); newest != "" {
				return schema.GroupVersion{Group: kind.Group, Version: newest}.String(), nil
			}
		}
		return "", fmt.Errorf("definition %q declares no version of the Cluster API contract in its labels", key.Name)
	}
}

// newestVersion picks from a label's value, which is like "v1alpha4_v1beta1".
func newestVersion(label string) string {
	newest := ""
	for _, candidate := range strings.Split(label, "_") {
		if newest == "" || version.CompareKubeAwareVersionStrings(candidate, newest) > 0 {
			newest = candidate
		}
	}
	return newest
}

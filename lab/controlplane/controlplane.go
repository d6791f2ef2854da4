// Package controlplane runs a real Kubernetes control plane inside the calling
// process: etcd, kube-apiserver, and those controllers of
// kube-controller-manager that an API-only cluster cannot do without (garbage
// collection, namespace deletion, service accounts, expiry of bootstrap
// tokens), and if they are asked for kube-scheduler and the controller of
// DaemonSets. It owns their certificates, files and ports and gives all of them
// back on Stop. There is no kubelet and no other workload controller.
//
// Several control planes can run side by side in one process; each has its own
// certificate authority, etcd and port.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// StopTimeout bounds how long Stop waits for the servers to stop by themselves.
const StopTimeout = 5 * time.Second

// Options says how to run a control plane. The zero value is usable.
type Options struct {
	// Name appears in the kubeconfig and in errors ("management", "workload"). Default "kubernetes".
	Name string
	// Dir is an existing directory under which the control plane creates its own one. Default: the
	// system's.
	Dir string
	// Log receives etcd's log. The other servers log through klog. Default: discarded.
	Log io.Writer
	// ServiceClusterIPRange is the range of Service addresses. Default 10.0.0.0/24.
	ServiceClusterIPRange string
	// Scheduler runs kube-scheduler, so that pods are bound to Nodes, and the controller that
	// creates the pods of DaemonSets.
	Scheduler bool
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	name        string
	dir         string
	pki         *pki
	etcd        *etcdServer
	apiserver   *apiServer
	controllers *controllers
	scheduler   *schedulerServer
	admin       *rest.Config
}

// Start runs a control plane and returns once it is ready: the API server
// answers /readyz, its default RBAC policy is in place and its controllers run.
// The context bounds the start only; the control plane runs until Stop.
func Start(ctx context.Context, opts Options) (_ *ControlPlane, err error) {
	if opts.Name == "" {
		opts.Name = "kubernetes"
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	if opts.ServiceClusterIPRange == "" {
		opts.ServiceClusterIPRange = "10.0.0.0/24"
	}
	dir, err := os.MkdirTemp(opts.Dir, "controlplane-"+opts.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for control plane %q: %w", opts.Name, err)
	}
	c := &ControlPlane{name: opts.Name, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()

	if c.pki, err = newPKI(filepath.Join(dir, "pki")); err != nil {
		return nil, fmt.Errorf("making certificates of control plane %q: %w", c.name, err)
	}
	if c.etcd, err = startEtcd(ctx, filepath.Join(dir, "etcd"), opts.Log); err != nil {
		return nil, fmt.Errorf("starting etcd of control plane %q: %w", c.name, err)
	}
	if c.apiserver, err = startAPIServer(ctx, c.pki, c.etcd.endpoint(), opts.ServiceClusterIPRange); err != nil {
		return nil, fmt.Errorf("starting the API server of control plane %q: %w", c.name, err)
	}
	c.admin = c.pki.restConfig("https://" + c.apiserver.address())
	if err = c.apiserver.waitReady(ctx, c.RESTConfig()); err != nil {
		return nil, fmt.Errorf("waiting for the API server of control plane %q: %w", c.name, err)
	}
	if c.controllers, err = startControllers(ctx, c.RESTConfig(), opts.Scheduler); err != nil {
		return nil, fmt.Errorf("starting the controllers of control plane %q: %w", c.name, err)
	}
	if !opts.Scheduler {
		return c, nil
	}
	if c.scheduler, err = startScheduler(ctx, c.RESTConfig()); err != nil {
		return nil, fmt.Errorf("starting the scheduler of control plane %q: %w", c.name, err)
	}
	return c, nil
}

// Stop stops scheduler, controllers, API server, and etcd, in this order, and removes their files.
// Connections that clients left open are cut. It returns within StopTimeout, with an error if
// something did not stop in time.
func (c *ControlPlane) Stop() error {
	deadline := time.Now().Add(StopTimeout)
	var errs []error
	if c.scheduler != nil {
		errs = append(errs, c.scheduler.stop(deadline))
	}
	if c.controllers != nil {
		errs = append(errs, c.controllers.stop(deadline))
	}
	if c.apiserver != nil {
		errs = append(errs, c.apiserver.stop(deadline))
	}
	if c.etcd != nil {
		errs = append(errs, c.etcd.stop(deadline))
	}
	errs = append(errs, os.RemoveAll(c.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping control plane %q: %w", c.name, err)
	}
	return nil
}

// RESTConfig returns a configuration with the rights of an administrator and
// no client-side rate limit worth feeling.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// CertificateAuthority returns the PEM certificate and private key that sign
// the serving certificate and the client certificates of this control plane.
func (c *ControlPlane) CertificateAuthority() (certificate, key []byte) {
	return c.pki.caCertificate, c.pki.caKey
}

// Address returns host and port of the API server.
func (c *ControlPlane) Address() (host string, port int32) {
	address := c.apiserver.listener.tcpAddr()
	return address.IP.String(), int32(address.Port) // #nosec G115 -- a TCP port fits.
}

// Kubeconfig returns a kubeconfig file with the rights of an administrator.
func (c *ControlPlane) Kubeconfig() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.name] = &clientcmdapi.Cluster{
		Server: c.admin.Host, CertificateAuthorityData: c.pki.caCertificate,
	}
	user := c.name + "-admin"
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: c.admin.CertData, ClientKeyData: c.admin.KeyData,
	}
	config.Contexts[c.name] = &clientcmdapi.Context{Cluster: c.name, AuthInfo: user}
	config.CurrentContext = c.name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of control plane %q: %w", c.name, err)
	}
	return data, nil
}

// ServiceAccountConfig makes sure that the service account exists and returns a configuration that
// acts as it, with a real token valid for an hour. A new service account has only the rights of
// every authenticated user, so that RBAC rules can be tried from nothing.
func (c *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.ServiceAccountToken(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(c.admin)
	config.BearerToken = token
	config.QPS, config.Burst = c.admin.QPS, c.admin.Burst
	return config, nil
}

// ServiceAccountToken makes sure that the service account exists and returns a
// token of it for audiences, or for the API server without any. It is valid for an hour.
func (c *ControlPlane) ServiceAccountToken(ctx context.Context, namespace, name string, audiences ...string) (string, error) {
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return "", fmt.Errorf("making a client of control plane %q: %w", c.name, err)
	}
	accounts := clients.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating service account %s/%s: %w", namespace, name, err)
	}
	lifetime := int64(time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &lifetime}}
	token, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, name, err)
	}
	return token.Status.Token, nil
}

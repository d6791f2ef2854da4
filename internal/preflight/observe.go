package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/providers"
	"github.com/slipway-project/slipway/internal/webhookcertificate"
)

// WebhookConfiguration is the name of Slipway's webhook configuration in config/webhook.
const WebhookConfiguration = "slipway-validating-webhook"

// Kubernetes reads the management cluster.
type Kubernetes struct {
	reader    client.Reader
	discovery rest.Interface
}

// NewKubernetes returns a reader of the cluster. It does not call the API server: the kinds are known.
func NewKubernetes(config *rest.Config) (*Kubernetes, error) {
	scheme := runtime.NewScheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering the kinds of Kubernetes: %w", err)
		}
	}
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"):   meta.RESTScopeRoot,
		admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"): meta.RESTScopeRoot,
		admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"):   meta.RESTScopeRoot,
		appsv1.SchemeGroupVersion.WithKind("Deployment"):                          meta.RESTScopeNamespace,
		corev1.SchemeGroupVersion.WithKind("Secret"):                              meta.RESTScopeNamespace,
	} {
		mapper.Add(kind, scope)
	}
	reader, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	return &Kubernetes{reader: reader, discovery: discoverer.RESTClient()}, nil
}

// ObserveCluster reads the management cluster. The manager is expected in the namespace.
func (k *Kubernetes) ObserveCluster(ctx context.Context, namespace string) Cluster {
	var cluster Cluster
	var err error
	cluster.Version, err = k.version(ctx)
	if cluster.VersionUnread = failure(err); err != nil && !cluster.VersionUnread.Denied {
		return Cluster{Unreachable: cluster.VersionUnread}
	}
	cluster.Definitions, err = k.definitions(ctx)
	cluster.DefinitionsUnread = failure(err)
	managers, err := k.observeDeployments(ctx, &cluster, namespace)
	cluster.DeploymentsUnread = failure(err)
	cluster.HooksUnread = failure(k.observeHooks(ctx, &cluster))
	for _, manager := range managers {
		key, found := manager.certificateSecret()
		known := func(c Certificate) bool { return c.Secret == key.String() }
		if found && !slices.ContainsFunc(cluster.Certificates, known) {
			cluster.Certificates = append(cluster.Certificates, k.certificate(ctx, key))
		}
	}
	return cluster
}

// failure describes an error of the API server, nil for none.
func failure(err error) *Unread {
	if err == nil {
		return nil
	}
	return &Unread{Denied: apierrors.IsForbidden(err), Text: err.Error(), Err: err}
}

func (k *Kubernetes) version(ctx context.Context) (string, error) {
	body, err := k.discovery.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("reading the version of the API server: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("parsing the version of the API server: %w", err)
	}
	return info.GitVersion, nil
}

func (k *Kubernetes) definitions(ctx context.Context) (map[string]Definition, error) {
	definitions := map[string]Definition{}
	for _, name := range slices.Concat(clusterAPIDefinitions, capaDefinitions, sharedDefinitions, ownDefinitions) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := k.reader.Get(ctx, types.NamespacedName{Name: name}, definition)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading custom resource definition %s: %w", name, err)
		}
		found := definitionOf(definition)
		if found.Lacking, err = lackedFields(definition); err != nil {
			return nil, err
		}
		definitions[name] = found
	}
	return definitions, nil
}

func definitionOf(definition *apiextensionsv1.CustomResourceDefinition) Definition {
	var found Definition
	for _, one := range definition.Spec.Versions {
		if one.Served {
			found.Served = append(found.Served, one.Name)
		}
		if !one.Storage {
			continue
		}
		found.Storage = one.Name
		if one.Schema != nil && one.Schema.OpenAPIV3Schema != nil {
			found.Fields = slices.Sorted(maps.Keys(one.Schema.OpenAPIV3Schema.Properties["spec"].Properties))
		}
	}
	return found
}

// observeDeployments reads the Deployments of the providers, and returns Slipway's. A user who may not list
// Deployments of all namespaces may still read Slipway's.
func (k *Kubernetes) observeDeployments(ctx context.Context, cluster *Cluster, namespace string) ([]Deployment, error) {
	var ofClusterAPI, ofCAPA error
	cluster.ClusterAPI, ofClusterAPI = k.deployments(ctx, providers.Query{
		Provider: providers.ClusterAPI, Otherwise: types.NamespacedName{Namespace: "capi-system", Name: "capi-controller-manager"},
	})
	cluster.CAPA, ofCAPA = k.deployments(ctx, providers.Query{
		Provider: providers.CAPA, Otherwise: types.NamespacedName{Namespace: providers.CAPANamespace, Name: providers.CAPAManager},
	})
	everywhere, ofOthers := k.deployments(ctx, providers.Query{
		Provider: providers.Slipway, Otherwise: types.NamespacedName{Namespace: namespace, Name: "slipway-manager"},
	})
	for _, deployment := range everywhere {
		if deployment.Namespace != namespace {
			cluster.Elsewhere = append(cluster.Elsewhere, deployment.name())
		}
	}
	managers, err := k.deployments(ctx, providers.Query{
		Provider: providers.Slipway, Namespace: namespace, Otherwise: types.NamespacedName{Namespace: namespace, Name: "slipway-manager"},
	})
	if len(managers) > 0 {
		cluster.Manager = &managers[0]
	}
	return managers, cmp.Or(ofClusterAPI, ofCAPA, ofOthers, err)
}

func (k *Kubernetes) deployments(ctx context.Context, query providers.Query) ([]Deployment, error) {
	deployments, err := providers.Find(ctx, k.reader, &appsv1.DeploymentList{}, &appsv1.Deployment{}, query)
	var found []Deployment
	for _, deployment := range deployments {
		found = append(found, deploymentOf(deployment))
	}
	return found, err
}

func deploymentOf(deployment *appsv1.Deployment) Deployment {
	found := Deployment{Namespace: deployment.Namespace, Name: deployment.Name, Replicas: 1, Secrets: map[string]string{}}
	if deployment.Spec.Replicas != nil {
		found.Replicas = *deployment.Spec.Replicas
	}
	pod := deployment.Spec.Template.Spec
	secrets := map[string]string{}
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			secrets[volume.Name] = volume.Secret.SecretName
		}
	}
	for _, container := range pod.Containers {
		found.Args = slices.Concat(found.Args, container.Command, container.Args)
		for _, mount := range container.VolumeMounts {
			if name, secret := secrets[mount.Name]; secret {
				found.Secrets[path.Clean(mount.MountPath)] = name
			}
		}
	}
	return found
}

func (k *Kubernetes) observeHooks(ctx context.Context, cluster *Cluster) error {
	own, err := k.validating(ctx, providers.Slipway, WebhookConfiguration)
	if err != nil {
		return err
	}
	for _, configuration := range own {
		for _, webhook := range configuration.Webhooks {
			// Without a host, the certificate is verified for any name.
			host, _ := webhookcertificate.HostOf(webhook.ClientConfig)
			hook := Hook{
				Configuration: configuration.Name, Name: webhook.Name, Host: host, CABundle: webhook.ClientConfig.CABundle,
				Ignored: webhook.FailurePolicy != nil && *webhook.FailurePolicy == admissionv1.Ignore,
			}
			if service := webhook.ClientConfig.Service; service != nil {
				hook.Namespace = service.Namespace
			}
			cluster.Hooks = append(cluster.Hooks, hook)
		}
	}
	ofCAPA := func(configuration, webhook string, rules []admissionv1.RuleWithOperations) {
		if some, _ := providers.ConcernPools(rules); some {
			cluster.CAPAHooks = append(cluster.CAPAHooks, configuration+"/"+webhook)
		}
	}
	validating, err := k.validating(ctx, providers.CAPA, providers.CAPAValidatingWebhook)
	if err != nil {
		return err
	}
	for _, configuration := range validating {
		for _, webhook := range configuration.Webhooks {
			ofCAPA(configuration.Name, webhook.Name, webhook.Rules)
		}
	}
	mutating, err := providers.Find(ctx, k.reader, &admissionv1.MutatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfiguration{},
		providers.Query{Provider: providers.CAPA, Otherwise: types.NamespacedName{Name: providers.CAPAMutatingWebhook}})
	if err != nil {
		return err
	}
	for _, configuration := range mutating {
		for _, webhook := range configuration.Webhooks {
			ofCAPA(configuration.Name, webhook.Name, webhook.Rules)
		}
	}
	return nil
}

func (k *Kubernetes) validating(ctx context.Context, provider, name string) ([]*admissionv1.ValidatingWebhookConfiguration, error) {
	return providers.Find(ctx, k.reader, &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.ValidatingWebhookConfiguration{},
		providers.Query{Provider: provider, Otherwise: types.NamespacedName{Name: name}})
}

// certificate reads the Secret that a manager serves its webhooks with. The private key stays behind.
func (k *Kubernetes) certificate(ctx context.Context, key types.NamespacedName) Certificate {
	certificate, secret := Certificate{Secret: key.String()}, &corev1.Secret{}
	err := k.reader.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		certificate.Missing = true
		return certificate
	}
	certificate.Unread, certificate.PEM = failure(err), secret.Data[corev1.TLSCertKey]
	return certificate
}

// certificateSecret returns the Secret that the manager's flags name: directly, or as a mounted
// directory.
func (d Deployment) certificateSecret() (types.NamespacedName, bool) {
	if value := d.flag("webhook-cert-secret"); value != "" {
		namespace, name, valid := strings.Cut(value, "/")
		return types.NamespacedName{Namespace: namespace, Name: name}, valid && namespace != "" && name != ""
	}
	if directory := d.flag("webhook-cert-dir"); directory != "" {
		name := d.Secrets[path.Clean(directory)]
		return types.NamespacedName{Namespace: d.Namespace, Name: name}, name != ""
	}
	return types.NamespacedName{}, false
}

// flag returns the last value of a flag, empty if it is not set.
func (d Deployment) flag(name string) (value string) {
	for i, arg := range d.Args {
		if text, found := strings.CutPrefix(arg, "--"+name+"="); found {
			value = text
		} else if arg == "--"+name && i+1 < len(d.Args) {
			value = d.Args[i+1]
		}
	}
	return value
}

// Package crds carries the custom resource definitions and webhook
// registrations of the providers that the laboratory runs or stands in for,
// taken from the Go modules that go.mod pins, and applies them to an API
// server. Descriptions are left out of the schemas; nothing else is changed.
package crds

import (
	"context"
	_ "embed" // for the bundles
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab/crds/bundle"
)

//go:generate go run ./generate

//go:embed cluster-api.json.gz
var clusterAPI []byte

//go:embed cluster-api-provider-aws.json.gz
var clusterAPIProviderAWS []byte

//go:embed cert-manager.json.gz
var certManager []byte

// Set is a number of definitions and webhook registrations that belong together.
type Set struct {
	Definitions []*apiextensionsv1.CustomResourceDefinition
	Mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	Validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
}

// ClusterAPI returns the definitions and webhooks of Cluster API core, the
// kubeadm bootstrap provider and the kubeadm control plane provider.
func ClusterAPI() (*Set, error) { return load("cluster-api", clusterAPI) }

// ClusterAPIProviderAWS returns the definitions of CAPA's cluster, control
// plane, machine and identity kinds (not of its pools), without webhooks.
func ClusterAPIProviderAWS() (*Set, error) {
	return load("cluster-api-provider-aws", clusterAPIProviderAWS)
}

// CertManager returns the definitions of cert-manager.
func CertManager() (*Set, error) { return load("cert-manager", certManager) }

func load(name string, compressed []byte) (*Set, error) {
	content, err := bundle.Decompress(compressed)
	if err != nil {
		return nil, fmt.Errorf("decompressing bundle %q: %w", name, err)
	}
	var objects []json.RawMessage
	if err := json.Unmarshal(content, &objects); err != nil {
		return nil, fmt.Errorf("parsing bundle %q: %w", name, err)
	}
	set := &Set{}
	for _, object := range objects {
		if err := set.add(object); err != nil {
			return nil, fmt.Errorf("parsing bundle %q: %w", name, err)
		}
	}
	return set, nil
}

// FromFiles returns the definitions in the YAML and JSON files of a directory
// and of those below it. Objects of other kinds are an error, so that a wrong
// directory does not go unnoticed, except kustomization files. Definitions of
// Cluster API providers that come without the contract's labels, which their
// kustomizations add, get them: for contract v1beta1, with all their versions.
func FromFiles(files fs.FS) (*Set, error) {
	set := &Set{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), "kustomiz") {
			return err
		}
		if extension := path.Ext(name); extension != ".yaml" && extension != ".yml" && extension != ".json" {
			return nil
		}
		return set.addFile(files, name)
	})
	if err != nil {
		return nil, err
	}
	if len(set.Definitions) == 0 {
		return nil, errors.New("there is no CustomResourceDefinition in the directory")
	}
	for _, definition := range set.Definitions {
		labelContract(definition)
	}
	return set, nil
}

// labelContract labels a provider's definition as its kustomization would (Cluster API: provider
// contracts, "API version labels").
func labelContract(definition *apiextensionsv1.CustomResourceDefinition) {
	const group = "cluster.x-k8s.io"
	if !strings.HasSuffix(definition.Spec.Group, "."+group) {
		return
	}
	for label := range definition.Labels {
		if strings.HasPrefix(label, group+"/v1") {
			return
		}
	}
	var versions []string
	for _, version := range definition.Spec.Versions {
		versions = append(versions, version.Name)
	}
	if definition.Labels == nil {
		definition.Labels = map[string]string{}
	}
	definition.Labels[group+"/v1beta1"] = strings.Join(versions, "_")
}

func (s *Set) addFile(files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(file, 64*1024)
	for {
		var object json.RawMessage
		if err := decoder.Decode(&object); err != nil {
			closeErr := file.Close()
			if errors.Is(err, io.EOF) {
				return closeErr
			}
			return errors.Join(fmt.Errorf("parsing %s: %w", name, err), closeErr)
		}
		if len(object) == 0 || string(object) == "null" {
			continue
		}
		if err := s.add(object); err != nil {
			return errors.Join(fmt.Errorf("parsing %s: %w", name, err), file.Close())
		}
	}
}

func (s *Set) add(object json.RawMessage) error {
	var meta struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(object, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "CustomResourceDefinition":
		return appendDecoded(&s.Definitions, object)
	case "MutatingWebhookConfiguration":
		return appendDecoded(&s.Mutating, object)
	case "ValidatingWebhookConfiguration":
		return appendDecoded(&s.Validating, object)
	}
	return fmt.Errorf("kind %q is neither a CustomResourceDefinition nor a webhook configuration", meta.Kind)
}

func appendDecoded[T any](list *[]*T, object json.RawMessage) error {
	decoded := new(T)
	if err := json.Unmarshal(object, decoded); err != nil {
		return err
	}
	*list = append(*list, decoded)
	return nil
}

// ServeWebhooksAt points every conversion and admission webhook of the set at
// a server outside the cluster: where a manifest names a Service, base is put
// before the path, and callers trust caBundle. Definitions with more than one
// served version get conversion webhooks. Configurations are renamed with the
// prefix, since every provider calls them the same before kustomize renames them.
func (s *Set) ServeWebhooksAt(base string, caBundle []byte) {
	for _, definition := range s.Definitions {
		if servedVersions(definition) > 1 {
			url := base + "/convert"
			definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: caBundle},
				},
			}
		}
	}
	move := func(config *admissionregistrationv1.WebhookClientConfig) {
		if config.Service == nil || config.Service.Path == nil {
			return
		}
		url := base + *config.Service.Path
		*config = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: caBundle}
	}
	for i, configuration := range s.Mutating {
		configuration.Name = fmt.Sprintf("cluster-api-mutating-%d", i)
		for j := range configuration.Webhooks {
			move(&configuration.Webhooks[j].ClientConfig)
		}
	}
	for i, configuration := range s.Validating {
		configuration.Name = fmt.Sprintf("cluster-api-validating-%d", i)
		for j := range configuration.Webhooks {
			move(&configuration.Webhooks[j].ClientConfig)
		}
	}
}

func servedVersions(definition *apiextensionsv1.CustomResourceDefinition) int {
	served := 0
	for _, version := range definition.Spec.Versions {
		if version.Served {
			served++
		}
	}
	return served
}

// applyWorkers is the number of definitions that are sent at once; the API server does its part one
// by one.
const applyWorkers = 8

// ApplyDefinitions creates the definitions of all sets, replacing existing ones, and waits until
// the API server serves them. Of several with the same name the last is taken.
func ApplyDefinitions(ctx context.Context, c client.Client, sets ...*Set) error {
	byName := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, set := range sets {
		for _, definition := range set.Definitions {
			byName[definition.Name] = definition
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(applyWorkers)
	for _, definition := range byName {
		group.Go(func() error {
			if err := put(ctx, c, definition, "CustomResourceDefinition"); err != nil {
				return err
			}
			return waitEstablished(ctx, c, definition.Name)
		})
	}
	return group.Wait()
}

func waitEstablished(ctx context.Context, c client.Client, name string) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &definition); err != nil {
			return fmt.Errorf("reading definition %q: %w", name, err)
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
			if condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse {
				return fmt.Errorf("the names of definition %q are not accepted: %s", name, condition.Message)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for definition %q: %w", name, context.Cause(ctx))
		}
	}
}

// Discovery lists what an API server serves; discovery.DiscoveryClient is one.
type Discovery interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// WaitUntilDiscovered waits until the API server lists all served versions of the sets'
// definitions. It lists a definition a moment after it calls it established, and a client that asks
// in between takes the kind for missing.
func WaitUntilDiscovered(ctx context.Context, server Discovery, sets ...*Set) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing, err := undiscovered(server, sets)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the API server to list %v: %w", missing, context.Cause(ctx))
		}
	}
}

// undiscovered returns the resources of the sets' definitions that the API server does not list.
func undiscovered(server Discovery, sets []*Set) ([]schema.GroupVersionResource, error) {
	_, lists, err := server.ServerGroupsAndResources()
	// Of a group that is on its way, some versions may not be there yet.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("listing what the API server serves: %w", err)
	}
	listed := map[schema.GroupVersionResource]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("listing what the API server serves: %w", err)
		}
		for _, resource := range list.APIResources {
			listed[version.WithResource(resource.Name)] = true
		}
	}
	var missing []schema.GroupVersionResource
	for _, set := range sets {
		for _, definition := range set.Definitions {
			for _, version := range definition.Spec.Versions {
				resource := schema.GroupVersionResource{
					Group: definition.Spec.Group, Version: version.Name, Resource: definition.Spec.Names.Plural,
				}
				if version.Served && !listed[resource] {
					missing = append(missing, resource)
				}
			}
		}
	}
	return missing, nil
}

// ApplyWebhooks registers the admission webhooks. From then on the API server needs their server.
func (s *Set) ApplyWebhooks(ctx context.Context, c client.Client) error {
	for _, configuration := range s.Mutating {
		if err := put(ctx, c, configuration, "MutatingWebhookConfiguration"); err != nil {
			return err
		}
	}
	for _, configuration := range s.Validating {
		if err := put(ctx, c, configuration, "ValidatingWebhookConfiguration"); err != nil {
			return err
		}
	}
	return nil
}

// put creates an object, or updates the existing one to equal it.
func put(ctx context.Context, c client.Client, object client.Object, kind string) error {
	err := c.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		existing := object.DeepCopyObject().(client.Object)
		if err = c.Get(ctx, client.ObjectKeyFromObject(object), existing); err == nil {
			object.SetResourceVersion(existing.GetResourceVersion())
			err = c.Update(ctx, object)
		}
	}
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", kind, object.GetName(), err)
	}
	return nil
}

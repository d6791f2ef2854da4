package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/providers"
)

// Scheme returns the kinds that a migration reads and changes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, appsv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	return scheme, nil
}

// NewClient returns a client of the management cluster. It does not call the API server: the kinds are
// known.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"): meta.RESTScopeRoot,
		admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"):   meta.RESTScopeRoot,
		appsv1.SchemeGroupVersion.WithKind("Deployment"):                          meta.RESTScopeNamespace,
		clusterv1.GroupVersion.WithKind("Cluster"):                                meta.RESTScopeNamespace,
		clusterv1.GroupVersion.WithKind("MachinePool"):                            meta.RESTScopeNamespace,
		infrav1.GroupVersion.WithKind(selfManaged):                                meta.RESTScopeNamespace,
		infrav1.GroupVersion.WithKind(managed):                                    meta.RESTScopeNamespace,
		infrav1.GroupVersion.WithKind("AWSLaunchConfig"):                          meta.RESTScopeNamespace,
	} {
		mapper.Add(kind, scope)
	}
	made, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	return made, nil
}

// checked are the checks of preflight that Slipway's installation depends on.
var checked = []string{preflight.KubernetesVersion, preflight.ClusterAPI, preflight.SlipwayCRDs, preflight.WebhookCertificate}

// Observe reads the management cluster past any cache. Management is what preflight read from it.
func Observe(ctx context.Context, reader client.Reader, seen preflight.Observed) (Observed, error) {
	observed := Observed{Namespace: seen.Namespace, Management: seen.Cluster}
	for _, unread := range []*preflight.Unread{seen.Cluster.Unreachable, seen.Cluster.DefinitionsUnread, seen.Cluster.DeploymentsUnread, seen.Cluster.HooksUnread} {
		if unread != nil {
			return observed, cmp.Or(unread.Err, errors.New(unread.Text))
		}
	}
	skip := slices.DeleteFunc(preflight.Names(), func(name string) bool { return slices.Contains(checked, name) })
	for _, finding := range preflight.Decide(seen, skip).Findings {
		if slices.Contains(checked, finding.Name) {
			observed.Checks = append(observed.Checks, finding)
		}
	}
	for _, read := range []func(context.Context, client.Reader) error{
		observed.readDeployments, observed.readHooks, observed.readPools, observed.readClusters, observed.readImages,
	} {
		if err := read(ctx, reader); err != nil {
			return observed, err
		}
	}
	return observed, nil
}

func objectOf(object client.Object) Object {
	annotations := object.GetAnnotations()
	return Object{
		Namespace: object.GetNamespace(), Name: object.GetName(), ResourceVersion: object.GetResourceVersion(),
		Annotations: len(annotations), Record: annotations[infrav1.BeforeMigrationAnnotation],
	}
}

func (o *Observed) readDeployments(ctx context.Context, reader client.Reader) error {
	deployments, err := providers.Find(ctx, reader, &appsv1.DeploymentList{}, &appsv1.Deployment{}, providers.Query{
		Provider: providers.CAPA, Otherwise: types.NamespacedName{Namespace: providers.CAPANamespace, Name: providers.CAPAManager},
	})
	for _, deployment := range deployments {
		o.Deployments = append(o.Deployments, deploymentOf(deployment))
	}
	slices.SortFunc(o.Deployments, func(a, b Deployment) int { return byName(a.Object, b.Object) })
	return err
}

func deploymentOf(deployment *appsv1.Deployment) Deployment {
	labels, status := deployment.Labels, deployment.Status
	found := Deployment{
		Object: objectOf(deployment), Marked: labels[providers.Label] == providers.CAPA && labels["control-plane"] == providers.CAPAManager,
		Generation: deployment.Generation, ObservedGeneration: status.ObservedGeneration,
		Desired: ptr.Deref(deployment.Spec.Replicas, 1), Existing: status.Replicas + ptr.Deref(status.TerminatingReplicas, 0), Updated: status.UpdatedReplicas, Available: status.AvailableReplicas,
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		found.Containers = append(found.Containers, Container{Name: container.Name, Command: container.Command, Args: container.Args})
	}
	return found
}

func byName(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (o *Observed) readHooks(ctx context.Context, reader client.Reader) error {
	for _, one := range []struct{ kind, name string }{
		{"MutatingWebhookConfiguration", providers.CAPAMutatingWebhook}, {"ValidatingWebhookConfiguration", providers.CAPAValidatingWebhook},
	} {
		// as the API server returns them, so that they are restored with every field
		list, object := &unstructured.UnstructuredList{}, &unstructured.Unstructured{}
		list.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(one.kind + "List"))
		object.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(one.kind))
		found, err := providers.Find(ctx, reader, list, object, providers.Query{Provider: providers.CAPA, Otherwise: types.NamespacedName{Name: one.name}})
		if err != nil {
			return err
		}
		for _, configuration := range found {
			read, err := configurationOf(one.kind, configuration)
			if err != nil {
				return fmt.Errorf("reading %s %s: %w", one.kind, configuration.GetName(), err)
			}
			o.Hooks = append(o.Hooks, read)
		}
	}
	return nil
}

// hook holds the fields that validating and mutating webhooks have in common.
type hook struct {
	Name         string                           `json:"name"`
	ClientConfig admissionv1.WebhookClientConfig  `json:"clientConfig"`
	Rules        []admissionv1.RuleWithOperations `json:"rules"`
}

func configurationOf(kind string, object *unstructured.Unstructured) (Configuration, error) {
	found := Configuration{Object: objectOf(object), Kind: kind, Marked: object.GetLabels()[providers.Label] == providers.CAPA}
	raw, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return found, err
	}
	for _, one := range raw {
		fields, _ := one.(map[string]any)
		var read hook
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &read); err != nil {
			return found, err
		}
		webhook := Webhook{Name: read.Name, Raw: fields}
		webhook.Pools, webhook.OnlyPools = providers.ConcernPools(read.Rules)
		if service := read.ClientConfig.Service; service != nil {
			webhook.Namespace = service.Namespace
		}
		found.Webhooks = append(found.Webhooks, webhook)
	}
	return found, nil
}

func (o *Observed) readPools(ctx context.Context, reader client.Reader) error {
	own, eks := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}
	if err := listAll(ctx, reader, own, "AWSMachinePools"); err != nil {
		return err
	}
	if err := listAll(ctx, reader, eks, "AWSManagedMachinePools"); err != nil {
		return err
	}
	add := func(object client.Object, found Pool) error {
		var err error
		found.Refused, err = refusal(ctx, reader, object, found)
		o.Pools = append(o.Pools, found)
		return err
	}
	for i := range own.Items {
		if err := add(&own.Items[i], selfManagedPool(&own.Items[i])); err != nil {
			return err
		}
	}
	for i := range eks.Items {
		if err := add(&eks.Items[i], managedPool(&eks.Items[i])); err != nil {
			return err
		}
	}
	slices.SortStableFunc(o.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster), byName(a.Object, b.Object))
	})
	return nil
}

// listAll lists the objects of a kind. Without its definition, there are none.
func listAll(ctx context.Context, reader client.Reader, list client.ObjectList, what string) error {
	if err := reader.List(ctx, list); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("listing %s: %w", what, err)
	}
	return nil
}

// poolOf returns what both kinds of pools have in common.
func poolOf(object client.Object, kind string, conditions []metav1.Condition, template *infrav1.AWSLaunchTemplate) Pool {
	annotations := object.GetAnnotations()
	_, leftOut := annotations[clusterv1.PausedAnnotation]
	find := func(name string) metav1.Condition {
		if condition := meta.FindStatusCondition(conditions, name); condition != nil {
			return *condition
		}
		return metav1.Condition{}
	}
	found := Pool{
		Object: objectOf(object), Kind: kind, Cluster: object.GetLabels()[clusterv1.ClusterNameLabel],
		Generation: object.GetGeneration(), LeftOut: leftOut, Deleting: object.GetDeletionTimestamp() != nil, Release: annotations[infrav1.ReleaseAnnotation] == "true",
		Adopted: find(infrav1.AdoptedCondition), RolledOut: find(infrav1.RolledOutCondition), Released: find(infrav1.ReleasedCondition),
	}
	if template != nil && (template.AMI.ID == nil || *template.AMI.ID == "") {
		found.Lookup = &Lookup{
			AMI: template.AMI, ImageLookupFormat: template.ImageLookupFormat, ImageLookupOrg: template.ImageLookupOrg, ImageLookupBaseOS: template.ImageLookupBaseOS,
		}
	}
	return found
}

// owned reports whether Slipway manages what the status records. It records a group of CAPA's before it
// has taken the group over.
func (p Pool) owned(recorded bool) bool { return recorded && p.Adopted.Status != metav1.ConditionFalse }

func selfManagedPool(object *infrav1.AWSMachinePool) Pool {
	found := poolOf(object, selfManaged, object.Status.Conditions, object.Spec.AWSLaunchTemplate)
	found.Resource, found.ProviderID, found.AdoptARN = object.Name, object.Spec.ProviderID, object.Annotations[infrav1.AdoptAnnotation]
	found.MachineKind, found.SharedConfig = object.Status.InfrastructureMachineKind, object.Spec.LaunchConfigRef != nil
	found.Owned = found.owned(object.Status.AutoScalingGroup != nil)
	found.OutsideData = object.Spec.BootstrapStorage != "" && object.Spec.BootstrapStorage != infrav1.BootstrapStorageUserData
	if ready := meta.FindStatusCondition(object.Status.Conditions, infrav1.ASGReadyCondition); ready != nil {
		found.Ready = *ready
	}
	return found
}

func managedPool(object *infrav1.AWSManagedMachinePool) Pool {
	found := poolOf(object, managed, object.Status.Conditions, object.Spec.AWSLaunchTemplate)
	found.Resource = ownership.NodegroupName(object)
	found.Owned = found.owned(object.Status.Nodegroup != nil)
	if ready := meta.FindStatusCondition(object.Status.Conditions, infrav1.NodegroupReadyCondition); ready != nil {
		found.Ready = *ready
	}
	if !object.Spec.OwnImage() {
		found.Lookup = nil // EKS chooses the image, with CAPA too
	}
	return found
}

// readClusters reads the Clusters of all pools that are not left out, and the ones that an earlier run
// paused: their pools may have been left out or deleted since.
func (o *Observed) readClusters(ctx context.Context, reader client.Reader) error {
	for _, one := range o.Pools {
		if one.LeftOut || one.Cluster == "" || o.clusterOf(one) != nil {
			continue
		}
		cluster, err := pool.GetCluster(ctx, reader, one.Namespace, one.Cluster)
		if err != nil {
			return err
		}
		if cluster != nil {
			o.Clusters = append(o.Clusters, clusterOf(cluster))
		}
	}
	clusters := &clusterv1.ClusterList{}
	if err := listAll(ctx, reader, clusters, "Clusters"); err != nil {
		return err
	}
	for i := range clusters.Items {
		cluster := clusterOf(&clusters.Items[i])
		known := func(c Cluster) bool { return byName(c.Object, cluster.Object) == 0 }
		if cluster.Record != "" && !slices.ContainsFunc(o.Clusters, known) {
			o.Clusters = append(o.Clusters, cluster)
		}
	}
	return nil
}

func clusterOf(cluster *clusterv1.Cluster) Cluster {
	return Cluster{Object: objectOf(cluster), Paused: cluster.Spec.Paused}
}

// readImages reads the images that pools with a lookup run, from the launch configs of their names.
func (o *Observed) readImages(ctx context.Context, reader client.Reader) error {
	for i := range o.Pools {
		one := &o.Pools[i]
		if !one.Owned || one.Lookup == nil {
			continue
		}
		config := &infrav1.AWSLaunchConfig{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: one.Namespace, Name: one.Name}, config)
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("reading AWSLaunchConfig %q: %w", one.Name, err)
		}
		if launched := config.WhatIsLaunched(); launched != nil {
			one.Image = launched.ImageID
		}
	}
	return nil
}

// refusal returns why a pool is not proven to be one of its cluster, empty if it is or if Slipway would not
// take it over.
func refusal(ctx context.Context, reader client.Reader, object client.Object, p Pool) (string, error) {
	if p.Owned || p.LeftOut || p.Deleting {
		return "", nil
	}
	err := adoption.ProveOwner(ctx, reader, object, p.Kind, p.Cluster)
	var refused *adoption.Error
	if errors.As(err, &refused) {
		return refused.Message, nil
	}
	return "", err
}

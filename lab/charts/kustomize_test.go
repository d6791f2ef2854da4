package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/slipway-project/slipway/lab/release"
)

// installed has what both ways of installing a program must agree on, whatever its objects are called.
type installed struct {
	Pod         corev1.PodTemplateSpec
	Permissions []string // of the pod, each as where, what and which verb
	UserRoles   []string // permissions of ClusterRoles that are for users to bind
	Services    []string // the ports that Services lead to
	Webhooks    any
	Definitions map[string]any
	Policies    []any
	Namespaces  []string
	Provider    []string // values of the label by which clusterctl finds a provider
}

// manifests builds a base of config/ as kustomize does.
func manifests(t *testing.T, base string) map[string]*unstructured.Unstructured {
	t.Helper()
	built, err := release.Kustomize(filepath.Join("..", "..", "config", base))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, base, string(built))
}

// manifestNames has the names in config/ that charts derive from the name of the Deployment.
var manifestNames = strings.NewReplacer(
	"slipway-webhook-certificate", "slipway-manager-webhook-certificate", "slipway-webhook-authority", "slipway-manager-webhook-authority",
	"slipway-validating-webhook", "slipway-manager", "slipway-selfsigned", "slipway-manager-selfsigned", "slipway-webhook", "slipway-manager-webhook",
)

// renamed returns the objects with the names that the charts have.
func renamed(t *testing.T, objects map[string]*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		content, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		other := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(manifestNames.Replace(string(content))), &other.Object); err != nil {
			t.Fatal(err)
		}
		found[other.GetKind()+" "+other.GetName()] = other
	}
	return found
}

// typed returns an object in its own type.
func typed[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var value T
	if object == nil {
		t.Fatalf("there is no object for a %T", value)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// summary returns what objects install.
func summary(t *testing.T, objects map[string]*unstructured.Unstructured, deployment string) installed {
	t.Helper()
	found := installed{Definitions: map[string]any{}}
	pod := typed[appsv1.Deployment](t, objects["Deployment "+deployment]).Spec.Template
	found.Permissions, found.UserRoles = permissions(t, objects, pod.Spec.ServiceAccountName)
	namespaces, providers := sets.New[string](), sets.New[string]()
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		object := objects[key]
		if object.GetKind() == "Namespace" {
			continue // Helm creates it
		}
		namespaces.Insert(object.GetNamespace())
		providers.Insert(object.GetLabels()["cluster.x-k8s.io/provider"])
		switch object.GetKind() {
		case "Service":
			service := typed[corev1.Service](t, object)
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s selects %v, and the pods have %v", key, service.Spec.Selector, pod.Labels)
			}
			for _, port := range service.Spec.Ports {
				found.Services = append(found.Services, fmt.Sprintf("%s %d %s", port.Name, port.Port, port.TargetPort.String()))
			}
		case "ValidatingWebhookConfiguration":
			found.Webhooks = []any{object.GetAnnotations()["cert-manager.io/inject-ca-from"], object.Object["webhooks"]}
		case "CustomResourceDefinition":
			found.Definitions[object.GetName()] = object.Object["spec"]
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Certificate", "Issuer":
			found.Policies = append(found.Policies, object.Object["spec"])
		}
	}
	slices.Sort(found.Services)
	found.Namespaces, found.Provider = sets.List(namespaces), sets.List(providers)
	found.Pod = corev1.PodTemplateSpec{Spec: pod.Spec}
	found.Pod.Annotations = pod.Annotations
	return found
}

// permissions returns the permissions of a ServiceAccount, and of ClusterRoles that nothing binds.
func permissions(t *testing.T, objects map[string]*unstructured.Unstructured, account string) (bound, free []string) {
	t.Helper()
	roles, used := map[string]string{}, sets.New[string]()
	for key, object := range objects {
		if !strings.HasSuffix(object.GetKind(), "RoleBinding") {
			continue
		}
		binding := typed[rbacv1.ClusterRoleBinding](t, object) // a RoleBinding has the same fields
		if len(binding.Subjects) != 1 || binding.Subjects[0].Name != account || binding.Subjects[0].Namespace != releaseNamespace {
			t.Errorf("%s binds %v, and the pods run as %s", key, binding.Subjects, account)
		}
		roles[binding.RoleRef.Kind+" "+binding.RoleRef.Name] = object.GetNamespace()
	}
	granted, unbound := sets.New[string](), sets.New[string]()
	for key, object := range objects {
		if object.GetKind() != "Role" && object.GetKind() != "ClusterRole" {
			continue
		}
		namespace, is := roles[key]
		used.Insert(key)
		for _, rule := range typed[rbacv1.ClusterRole](t, object).Rules {
			if is {
				granted.Insert(atoms(namespace, rule)...)
			} else {
				unbound.Insert(atoms(namespace, rule)...)
			}
		}
	}
	for role := range roles {
		if !used.Has(role) {
			t.Errorf("%s is bound, and does not exist", role)
		}
	}
	return sets.List(granted), sets.List(unbound)
}

// atoms returns the single permissions of a rule, which can be grouped in several ways.
func atoms(namespace string, rule rbacv1.PolicyRule) (all []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			all = append(all, fmt.Sprintf("%s %s", verb, url))
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					all = append(all, fmt.Sprintf("%s %s.%s %s in %q", verb, resource, group, name, namespace))
				}
			}
		}
	}
	return all
}

// alike removes what differs on purpose between the charts and the manifests.
func alike(i installed) installed {
	spec := i.Pod.Spec.DeepCopy()
	spec.TopologySpreadConstraints = nil // the manifests have one replica, as other providers of Cluster API do
	container := &spec.Containers[0]
	container.Image, container.ImagePullPolicy = "", "" // the default for a tag is IfNotPresent
	container.Args = slices.DeleteFunc(container.Args, func(argument string) bool {
		return strings.Contains(argument, "=${") || // a variable of clusterctl
			strings.HasPrefix(argument, "--webhook-configuration=") // the default of the flag is the name in the manifests
	})
	// The manifests have what the dashboard needs, so that an argument is enough to serve it.
	container.Ports = slices.DeleteFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == "dashboard" })
	i.Services = slices.DeleteFunc(i.Services, func(service string) bool { return strings.HasSuffix(service, " dashboard") })
	i.UserRoles = slices.DeleteFunc(i.UserRoles, func(permission string) bool { return permission == "get /dashboard/*" })
	i.Pod.Spec = *spec
	return i
}

// TestManifestsAndCharts holds that the manifests in config/, for clusterctl and for kubectl, install the
// same as the charts with their default values. Charts also have a second replica, a PodDisruptionBudget
// and a NetworkPolicy.
func TestManifestsAndCharts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, chart, values, deployment string }{
		{"default", "slipway", "", "slipway-manager"},
		{"clusterctl", "slipway", "", "slipway-manager"},
		{"standalone", "slipway", "webhook: {certificate: self-managed}", "slipway-manager"},
		{"provisioner", "slipway-provisioner", "", "slipway-provisioner"},
	} {
		charted := objects(t, row.chart, row.values)
		for _, object := range charted {
			annotations := object.GetAnnotations()
			delete(annotations, "helm.sh/resource-policy")
			object.SetAnnotations(annotations)
		}
		want := alike(summary(t, charted, row.deployment))
		got := alike(summary(t, renamed(t, manifests(t, row.base)), row.deployment))
		for _, part := range []struct {
			name      string
			want, got any
		}{
			{"pod", want.Pod, got.Pod}, {"permissions", want.Permissions, got.Permissions}, {"roles for users", want.UserRoles, got.UserRoles},
			{"Services", want.Services, got.Services}, {"webhooks", want.Webhooks, got.Webhooks}, {"definitions", want.Definitions, got.Definitions},
			{"policies and certificates", want.Policies, got.Policies}, {"namespaces", want.Namespaces, got.Namespaces}, {"labels of the provider", want.Provider, got.Provider},
		} {
			if diff := cmp.Diff(part.want, part.got); diff != "" {
				t.Errorf("%s of config/%s and of chart %s differ (-chart +manifests):\n%s", part.name, row.base, row.chart, diff)
			}
		}
	}
}

// TestDriftIsNoticed holds that the comparison sees a change of each kind.
func TestDriftIsNoticed(t *testing.T) {
	t.Parallel()
	built := manifests(t, "default")
	before := alike(summary(t, renamed(t, built), "slipway-manager"))
	before.Definitions = nil // they take long to compare
	for _, row := range []struct {
		reason, object string
		path           []string
		value          any
	}{
		{"nothing", "ClusterRole slipway-metrics-reader", []string{"metadata", "name"}, "slipway-metrics-reader"},
		{"a rule", "ClusterRole slipway-manager-role", []string{"rules"}, []any{}},
		{"the lease", "Role slipway-leader-election-role", []string{"rules"}, []any{}},
		{"a pod security context", "Deployment slipway-manager", []string{"spec", "template", "spec", "securityContext", "runAsNonRoot"}, false},
		{"the priority", "Deployment slipway-manager", []string{"spec", "template", "spec", "priorityClassName"}, ""},
		{"the webhooks", "ValidatingWebhookConfiguration slipway-validating-webhook", []string{"webhooks"}, []any{}},
		{"a Service", "Service slipway-manager-metrics", []string{"spec", "ports"}, []any{}},
		{"a namespace", "Service slipway-webhook", []string{"metadata", "namespace"}, "default"},
		{"the label of the provider", "Service slipway-webhook", []string{"metadata", "labels"}, map[string]any{}},
		{"an argument", "Deployment slipway-manager", []string{"spec", "template", "spec", "containers"}, []any{map[string]any{"name": "manager", "args": []any{"manager"}}}},
	} {
		found := maps.Clone(built)
		for key, object := range found {
			if object.GetKind() == "CustomResourceDefinition" {
				delete(found, key)
			}
		}
		found[row.object] = found[row.object].DeepCopy()
		if err := unstructured.SetNestedField(found[row.object].Object, row.value, row.path...); err != nil {
			t.Fatal(err)
		}
		after := alike(summary(t, renamed(t, found), "slipway-manager"))
		after.Definitions = nil
		if cmp.Equal(before, after) != (row.reason == "nothing") {
			t.Errorf("a change of %s: the summaries are equal: %t", row.reason, cmp.Equal(before, after))
		}
	}
}

// Package config holds the manifests that Slipway is installed with. Its tests hold them together: kustomize is not needed to see that
// what refers to something finds it.
package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// kustomization has the fields that the bases use. Others are refused, because they would not be
// checked.
type kustomization struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Resources  []string          `json:"resources"`
	Images     []map[string]any  `json:"images"`
	Labels     []kustomizeLabels `json:"labels"`
}

type kustomizeLabels struct {
	Pairs            map[string]string `json:"pairs"`
	IncludeSelectors bool              `json:"includeSelectors"`
	IncludeTemplates bool              `json:"includeTemplates"`
}

// build returns the objects of a base and of the bases that it includes, by kind and name. Every
// file of a base must be used.
func build(t *testing.T, directory string) map[string]*unstructured.Unstructured {
	t.Helper()
	var base kustomization
	if err := sigsyaml.UnmarshalStrict(read(t, filepath.Join(directory, "kustomization.yaml")), &base); err != nil {
		t.Fatalf("%s: %v", directory, err)
	}
	objects := map[string]*unstructured.Unstructured{}
	add := func(key string, object *unstructured.Unstructured) {
		if objects[key] != nil {
			t.Errorf("%s has %s twice", directory, key)
		}
		objects[key] = object
	}
	used := sets.New("kustomization.yaml")
	for _, resource := range base.Resources {
		path := filepath.Join(directory, resource)
		used.Insert(resource)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for key, object := range build(t, path) {
				add(key, object)
			}
			continue
		}
		for _, object := range parse(t, path) {
			add(object.GetKind()+" "+object.GetName(), object)
		}
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !used.Has(filepath.Base(file)) {
			t.Errorf("%s is in no kustomization", file)
		}
	}
	return objects
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func parse(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(read(t, path)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// as is an object in its own type. Fields that the type does not have are refused.
func as[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if object == nil {
		t.Fatalf("there is no object for a %T", typed)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

func TestWhatIsInstalled(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	var got []string
	for key := range objects {
		if objects[key].GetKind() != "CustomResourceDefinition" {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	want := []string{
		"Certificate slipway-webhook", "ClusterRole slipway-manager-dashboard-viewer", "ClusterRole slipway-manager-role", "ClusterRole slipway-metrics-auth-role", "ClusterRole slipway-metrics-reader",
		"ClusterRoleBinding slipway-manager-rolebinding", "ClusterRoleBinding slipway-metrics-auth-rolebinding",
		"Deployment slipway-manager", "Issuer slipway-selfsigned", "Namespace slipway-system", "Role slipway-leader-election-role",
		"RoleBinding slipway-leader-election-rolebinding", "Service slipway-manager-dashboard", "Service slipway-manager-metrics", "Service slipway-webhook", "ServiceAccount slipway-manager",
		"ValidatingWebhookConfiguration slipway-validating-webhook",
	}
	if !slices.Equal(got, want) {
		t.Errorf("objects are %q, want %q", got, want)
	}
	for key, object := range objects {
		switch object.GetKind() {
		case "Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ValidatingWebhookConfiguration":
			if object.GetNamespace() != "" {
				t.Errorf("%s has namespace %q", key, object.GetNamespace())
			}
		default:
			if object.GetNamespace() != "slipway-system" {
				t.Errorf("%s has namespace %q", key, object.GetNamespace())
			}
		}
	}
	for _, name := range []string{"awsmachinepools", "awslaunchconfigs", "awsmachinepoolmachines"} {
		if objects["CustomResourceDefinition "+name+".infrastructure.cluster.x-k8s.io"] == nil {
			t.Errorf("the definition of %s is not installed", name)
		}
	}
	var root kustomization
	if err := sigsyaml.UnmarshalStrict(read(t, "default/kustomization.yaml"), &root); err != nil {
		t.Fatal(err)
	}
	// clusterctl finds a provider's objects by this label.
	if len(root.Labels) != 1 || root.Labels[0].Pairs["cluster.x-k8s.io/provider"] != "infrastructure-slipway" {
		t.Errorf("labels are %+v", root.Labels)
	}
}

// TestKustomizationListsEveryDefinition fails when a kind was added, or removed, and kustomize does
// not know it.
func TestKustomizationListsEveryDefinition(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"crd", "provisioner/crd"} {
		var base kustomization
		if err := sigsyaml.UnmarshalStrict(read(t, filepath.Join(directory, "kustomization.yaml")), &base); err != nil {
			t.Fatalf("%s: %v", directory, err)
		}
		files, err := filepath.Glob(filepath.Join(directory, "bases", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var bases []string
		for _, file := range files {
			bases = append(bases, "bases/"+filepath.Base(file))
		}
		slices.Sort(base.Resources)
		if !slices.Equal(bases, base.Resources) {
			t.Errorf("%s/kustomization.yaml has %q, and bases has %q", directory, base.Resources, bases)
		}
	}
}

func TestBindingsFindTheirRoleAndAccount(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	for key, object := range objects {
		var role rbacv1.RoleRef
		var subjects []rbacv1.Subject
		switch object.GetKind() {
		case "ClusterRoleBinding":
			binding := as[rbacv1.ClusterRoleBinding](t, object)
			role, subjects = binding.RoleRef, binding.Subjects
		case "RoleBinding":
			binding := as[rbacv1.RoleBinding](t, object)
			role, subjects = binding.RoleRef, binding.Subjects
		default:
			continue
		}
		if objects[role.Kind+" "+role.Name] == nil {
			t.Errorf("%s refers to %s %q, which does not exist", key, role.Kind, role.Name)
		}
		for _, subject := range subjects {
			if objects[subject.Kind+" "+subject.Name] == nil || subject.Namespace != "slipway-system" {
				t.Errorf("%s binds %s %s/%s, which does not exist", key, subject.Kind, subject.Namespace, subject.Name)
			}
		}
	}
}

func TestRolesGrantNoSecretsBeyondNames(t *testing.T) {
	t.Parallel()
	for key, object := range build(t, "default") {
		var rules []rbacv1.PolicyRule
		switch object.GetKind() {
		case "ClusterRole":
			rules = as[rbacv1.ClusterRole](t, object).Rules
		case "Role":
			rules = as[rbacv1.Role](t, object).Rules
		}
		for _, rule := range rules {
			for _, listed := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				if slices.Contains(listed, "*") {
					t.Errorf("%s has a wildcard: %v", key, rule)
				}
			}
			if slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("%s lets Secrets be %v, want get alone", key, rule.Verbs)
			}
		}
	}
}

func TestDeployment(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	deployment := as[appsv1.Deployment](t, objects["Deployment slipway-manager"])
	pod := deployment.Spec.Template
	service := as[corev1.Service](t, objects["Service slipway-manager-metrics"])
	webhooks := as[corev1.Service](t, objects["Service slipway-webhook"])
	dashboard := as[corev1.Service](t, objects["Service slipway-manager-dashboard"])
	for what, selector := range map[string]map[string]string{
		"the deployment": deployment.Spec.Selector.MatchLabels, "the metrics service": service.Spec.Selector, "the webhook service": webhooks.Spec.Selector, "the dashboard service": dashboard.Spec.Selector,
	} {
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s selects %v, and the pod has %v", what, selector, pod.Labels)
		}
	}
	if objects["ServiceAccount "+pod.Spec.ServiceAccountName] == nil {
		t.Errorf("the pod runs as service account %q, which does not exist", pod.Spec.ServiceAccountName)
	}
	if len(pod.Spec.Containers) != 1 || pod.Spec.Containers[0].Name != "manager" {
		t.Fatalf("containers are %+v, want manager alone: clusterctl changes it by that name", pod.Spec.Containers)
	}
	container := pod.Spec.Containers[0]
	ports := sets.New[string]()
	for _, port := range container.Ports {
		ports.Insert(port.Name)
	}
	for what, port := range map[string]string{
		"liveness": container.LivenessProbe.HTTPGet.Port.StrVal, "readiness": container.ReadinessProbe.HTTPGet.Port.StrVal,
		"metrics": service.Spec.Ports[0].TargetPort.StrVal, "the webhook service": webhooks.Spec.Ports[0].TargetPort.StrVal,
		"the dashboard service": dashboard.Spec.Ports[0].TargetPort.StrVal,
	} {
		if !ports.Has(port) {
			t.Errorf("%s asks port %q, and the container has %v", what, port, sets.List(ports))
		}
	}
	restricted(t, pod.Spec.SecurityContext, container.SecurityContext)
}

// restricted checks what the pod security standard "restricted" and a careful operator want.
func restricted(t *testing.T, pod *corev1.PodSecurityContext, container *corev1.SecurityContext) {
	t.Helper()
	for what, holds := range map[string]bool{
		"runs as no root":          pod.RunAsNonRoot != nil && *pod.RunAsNonRoot && pod.RunAsUser != nil && *pod.RunAsUser > 0,
		"has the runtime's filter": pod.SeccompProfile != nil && pod.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"gains no privileges":      container.AllowPrivilegeEscalation != nil && !*container.AllowPrivilegeEscalation,
		"writes no files":          container.ReadOnlyRootFilesystem != nil && *container.ReadOnlyRootFilesystem,
		"has no capabilities":      container.Capabilities != nil && slices.Equal(container.Capabilities.Drop, []corev1.Capability{"ALL"}),
	} {
		if !holds {
			t.Errorf("it is not so that the manager %s", what)
		}
	}
}

func TestWhatTheProvisionerNeeds(t *testing.T) {
	t.Parallel()
	objects := build(t, "provisioner")
	var got []string
	for key := range objects {
		got = append(got, key)
	}
	slices.Sort(got)
	want := []string{
		"ClusterRole slipway-provisioner-metrics-reader", "ClusterRole slipway-provisioner-role", "ClusterRoleBinding slipway-provisioner-rolebinding",
		"CustomResourceDefinition provisionednodes.provisioning.karpenter.sh", "CustomResourceDefinition provisioners.provisioning.karpenter.sh",
		"Deployment slipway-provisioner", "Namespace slipway-system", "Role slipway-provisioner-leader-election-role",
		"RoleBinding slipway-provisioner-leader-election-rolebinding", "Service slipway-provisioner-metrics", "ServiceAccount slipway-provisioner",
		"ValidatingAdmissionPolicy slipway-provisioner-old-spellings", "ValidatingAdmissionPolicyBinding slipway-provisioner-old-spellings",
	}
	if !slices.Equal(got, want) {
		t.Errorf("config/provisioner installs %q, want %q", got, want)
	}
	deployment := as[appsv1.Deployment](t, objects["Deployment slipway-provisioner"])
	if account := deployment.Spec.Template.Spec.ServiceAccountName; objects["ServiceAccount "+account] == nil {
		t.Errorf("the Deployment runs as %q, which is not there", account)
	}
	binding := as[rbacv1.ClusterRoleBinding](t, objects["ClusterRoleBinding slipway-provisioner-rolebinding"])
	if objects["ClusterRole "+binding.RoleRef.Name] == nil || len(binding.Subjects) != 1 || binding.Subjects[0].Name != deployment.Spec.Template.Spec.ServiceAccountName {
		t.Errorf("the binding is %+v", binding)
	}
}
